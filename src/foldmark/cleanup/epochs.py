"""Whether an epoch between two compactions is worth the cache that it breaks: arithmetic that knows no events."""

from __future__ import annotations

from foldmark.budget import Room
from foldmark.prices import Price, swing

READ, WRITE = 0.1, 1.25
"""Without prices: a cached token at a tenth, a new one at five quarters of the plain price. The widest gap on sale, so
the most careful answer: where rewriting is cheaper, an epoch that pays here pays there."""


def pays(room: Room, prices: Price | None, *, after: int, shed: int, rewritten: int, growth: float) -> bool:
    """Whether what an epoch saves until the next compaction is more than what it costs.

    It costs `rewritten` tokens at the price of new ones in place of cached ones. It saves `shed` cached tokens at each
    request until the next compaction would have come: in (reach - before) / `growth` requests. That it comes later then
    is no gain: where the trigger is a good one, the requests in between cost what the compaction would have.
    """
    read, write = (prices.read, prices.write) if prices else (READ, WRITE)
    if write <= read:
        return True  # nothing is cached: every token less is a saving
    reach = _reach(room, prices, growth)
    requests = max(0.0, reach - after - shed) / max(1.0, growth)
    return read * shed * requests >= (write - read) * rewritten


def _reach(room: Room, prices: Price | None, growth: float) -> float:
    """The size above the static prefix at which the next compaction is expected: the trigger, or where the rent of what
    was added has paid for a rewriting (`prices.swing`)."""
    if prices is None or room.forced or prices.read <= 0:
        return float(room.trigger)
    return min(float(room.cap), room.landing + swing(prices, landing=room.landing, growth=growth))
