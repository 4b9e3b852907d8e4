"""The sizes that say when a compaction is due: now, after one, and of the requests in between. Knows no rules."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.budget import CHECKPOINT_FLOOR, Room
from foldmark.drafts import MESSAGE_OVERHEAD, cost
from foldmark.events import Event
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.rounds import border
from foldmark.store import View

IDLE_SECONDS = 300.0
"""A cache is taken for cold after this pause when no prices say otherwise (the shortest lifetime on sale)."""


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of the scope's next request in tokens: `whole` as the mark shows the past (what triggers look at), `sent`
    as it would go out now: less where it begins an epoch all the same (a session just brought in, a cold cache);
    `alive` its part that the provider's cache still holds, `landed` after a compaction (C', with what the host adds
    then), `past` those already sent since the last one (read off the log only when there are prices, which alone ask
    for them)."""

    whole: int
    alive: int
    landed: int
    past: tuple[int, ...]
    cleaned: int | None = None

    @property
    def sent(self) -> int:
        """The next request as it would go out now."""
        return self.whole if self.cleaned is None else self.cleaned

    @property
    def goes(self) -> int:
        """What a compaction would take off the request that would go out."""
        return self.sent - self.landed


def is_cold(view: View, prices: Price | None, now: float) -> bool:
    """Whether the provider's cache has forgotten the last request, by the clock (or never saw one)."""
    lifetime = prices.cache_seconds if prices else IDLE_SECONDS
    return not view.state.last_time or now - view.state.last_time > lifetime


def sizes(view: View, events: Sequence[Event], head: int, policy: Policy, room: Room, now: float) -> Sizes:
    """Measure the view; `events` are its events as the mark shows them, `head` the tokens of checkpoint and kept ones.

    Requests since the last compaction are read off the log: one per assistant event that was recorded after it, at
    the reported input (in our tokens), else the static prefix plus the tokens in front of it.
    """
    checkpoint = view.checkpoint
    start = room.static + head
    past = _past(events, start, checkpoint.head if checkpoint else 0, room) if policy.prices else ()
    if checkpoint and checkpoint.compacted_size:
        landed = checkpoint.compacted_size
    else:
        landed = room.static + max(room.landing, _newest_round(events) + CHECKPOINT_FLOOR)
    cold = is_cold(view, policy.prices, now)
    whole = start + cost(events)
    alive = 0 if cold else min(view.state.last_size, whole)
    return Sizes(whole=whole, alive=alive, landed=landed + room.reinjected, past=past)


def _past(events: Sequence[Event], size: int, sent_after: int, room: Room) -> tuple[int, ...]:
    out: list[int] = []
    for event in events:
        if event.role == "assistant" and event.seq > sent_after:
            reported = event.usage.input if event.usage else 0
            out.append(room.correction.ours(reported) if reported else size)
        if event.role != "control":
            size += event.tokens + MESSAGE_OVERHEAD
    return tuple(out)


def _newest_round(events: Sequence[Event]) -> int:
    return cost(events[border(events, 1) :])
