"""When a compaction is due. Knows nothing of how one is made.

With prices the rent rule decides (see docs/explanation/when.md): compact when the reads of what a compaction
would remove have cost as much as the compaction costs now. Without prices a size does. The cap always counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.budget import CHECKPOINT_FLOOR, Room
from foldmark.drafts import MESSAGE_OVERHEAD, cost
from foldmark.events import Event
from foldmark.policy import Policy
from foldmark.prices import Price, swing
from foldmark.reports import Reason
from foldmark.rounds import border, is_thinking
from foldmark.store import View

IDLE_SECONDS = 300.0
"""A cache is taken for cold after this pause when no prices say otherwise (the shortest lifetime on sale)."""


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of the scope's next request in tokens: `whole` as it would go out now, `alive` its part that the
    provider's cache still holds, `landed` after a compaction (C'), `past` those already sent since the last one (read
    off the log only when there are prices, which alone ask for them)."""

    whole: int
    alive: int
    landed: int
    past: tuple[int, ...]


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
    return Sizes(whole=whole, alive=alive, landed=landed, past=past)


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


def due(view: View, policy: Policy, room: Room, measured: Sizes, now: float, force: bool) -> Reason | None:
    """Why a compaction is due, or None. `force` asks for one whatever the size."""
    above = measured.whole - room.static
    if force:
        return Reason("manual", above, 0, "asked for")
    if _in_vain(view, measured):
        return None
    if above < room.cap and policy.cleanup.bound_thinking and is_thinking(view.events):
        return None  # its thinking would be refused behind another prefix
    if room.forced and _target_is_due(view, room, above):
        return Reason(
            "target", above, room.trigger, f"{measured.whole:,} tokens, the target is {room.landing + room.static:,}"
        )
    if above >= room.cap:
        return Reason("cap", above, room.cap, f"{above:,} tokens above the static prefix, the cap is {room.cap:,}")
    if above < room.nothing_below or _is_held(view, above):
        return None
    if policy.triggers is not None:
        reason: Reason | None = policy.triggers(view, now)
        return reason
    if room.forced:
        return None
    if policy.prices is not None:
        return rent(policy.prices, room, measured)
    if above >= room.trigger:
        return Reason(
            "size", above, room.trigger,
            f"{above:,} tokens above the static prefix; without prices {room.trigger:,} is the limit",
        )  # fmt: skip
    return None


def _target_is_due(view: View, room: Room, above: int) -> bool:
    if _is_held(view, above):
        return False
    return _first_of_target(view, room, above) or above >= max(room.trigger, _landed(view) - room.static)


def _is_held(view: View, above: int) -> bool:
    """Whether an undo holds every trigger but the cap."""
    return above < view.state.held


def _first_of_target(view: View, room: Room, above: int) -> bool:
    """Whether nothing was compacted to this target yet (or only to a larger one) and the request is larger."""
    made = view.checkpoint.compacted_size if view.checkpoint else 0
    fresh = view.checkpoint is None or room.static + room.landing < 0.97 * made
    return fresh and above > room.landing and above >= _landed(view) - room.static


def _landed(view: View) -> int:
    """A tenth above the size that the last compaction came to: a target it could not reach is not tried again."""
    last = next((one for one in reversed(view.attempts) if one.outcome == "applied"), None)
    return round(1.1 * last.after) if last and last.after > 1.02 * last.target > 0 else 0


def _in_vain(view: View, measured: Sizes) -> bool:
    """Whether the last attempt gained nothing and the request has hardly grown since: trying again would not either."""
    last = view.attempts[-1] if view.attempts else None
    return bool(last and last.outcome in ("ineffective", "failed") and measured.whole < 1.1 * last.before)


def rent(prices: Price, room: Room, measured: Sizes) -> Reason | None:
    """The rent rule (docs/explanation/when.md), in units of one plain input token; the call is 0, made by code."""
    cost, paid = rent_account(prices, room, measured)
    goes = measured.whole - measured.landed
    if paid >= cost and goes >= (measured.landed - room.static) / 4:
        return Reason("rent", paid, cost, f"reads of what would go have cost {paid:,.0f}, compacting costs {cost:,.0f}")
    return None


def rent_account(prices: Price, room: Room, measured: Sizes) -> tuple[float, float]:
    """(cost of compacting now, rent paid since the last compaction)."""
    read, write, head = prices.read, prices.write, room.static
    cold = measured.alive == 0 or head < prices.minimum_prefix
    after = (write if cold else read) * head + write * (measured.landed - head)
    before = read * measured.alive + write * (measured.whole - measured.alive)
    paid = read * sum(max(0, size - measured.landed) for size in measured.past)
    return after - before, paid


def expected_next(
    policy: Policy, room: Room, measured: Sizes, growth: float | None = None, *, first: bool = False
) -> tuple[int, str]:
    """(size of the whole request at which the next compaction is expected, why). `growth` is tokens per request;
    None takes the mean since the last compaction. `first`: nothing was compacted yet.

    With prices: X - Y = sqrt(2 g K / r) above what a compaction leaves; else the trigger.
    """
    limit = room.static + room.cap
    if room.forced and first:
        return min(room.static + room.landing, limit), "target: the first one comes as soon as it is passed"
    if policy.prices is None:
        size = room.static + (room.trigger if room.trigger < room.cap else room.cap)
        word = "target" if room.forced else "no prices are given, so the fixed size rules"
        return min(size, limit), word
    if policy.prices.read <= 0:
        return limit, "cached tokens cost nothing, so only the cap counts"
    if growth is None:
        growth = (measured.whole - min(measured.past)) / len(measured.past) if measured.past else 1_000.0
    landing = measured.landed - room.static
    added = swing(policy.prices, landing=landing, static=room.static, growth=max(growth, 1.0))
    size = max(measured.landed + round(added), room.static + room.nothing_below)
    return min(size, limit), f"rent rule at {growth:,.0f} tokens of growth per request"
