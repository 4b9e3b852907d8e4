"""Whether a compaction is due: the cap and what a person asked for first, then pace, then the policy's trigger.

Knows nothing of how a compaction is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from foldmark.budget import Room
from foldmark.policy import Policy
from foldmark.reports import COMMITTED, Attempt, Reason
from foldmark.rounds import is_thinking, newest_user
from foldmark.store import View
from foldmark.triggers.measuring import Sizes
from foldmark.triggers.renting import BY_CODE, ComingCall, rent_point
from foldmark.triggers.rules import Moment, Rule, leaves, rent, rule_of, size


def due(
    view: View, policy: Policy, room: Room, measured: Sizes, now: float, force: bool, *, why: str = "manual",
    context: Mapping[str, Any] = {}, call: ComingCall = BY_CODE,
    cap_only: bool = False, wanted: bool = False,
) -> Reason | None:  # fmt: skip
    """Why a compaction is due, or None. `force` asks for one whatever the size and pace, for the reason `why`;
    `context` is what the caller hands to triggers, `call` the summary call that a compaction would make.
    `cap_only` leaves everything but the cap to somebody else;
    `wanted`: the agent asks for one, which it gets when a tenth of the request would go, but not what a person has just
    unpacked.

    In this order: force; nothing in vain; the cap; pace; a target; the hold of an undo; what the agent asks for;
    nothing below; the policy's trigger.
    """
    above = measured.whole - room.static
    if force:
        return Reason(why, above, 0, _FORCED.get(why, "asked for"))
    if _in_vain(view, room, measured):
        return None
    capped = above >= room.cap
    if cap_only and not capped:
        return None
    if not capped and (policy.cleanup.bound_thinking and is_thinking(view.events)):
        return None  # its thinking would be refused behind another prefix
    if not capped and _is_paced(view, policy):
        return None
    if room.forced and _target_is_due(view, room, above):
        return Reason(
            "target", above, room.trigger, f"{measured.whole:,} tokens, the target is {room.level + room.static:,}"
        )
    if capped:
        return Reason("cap", above, room.cap, f"{above:,} tokens above the static prefix, the cap is {room.cap:,}")
    if _is_held(view, above):
        return None
    if wanted:
        return _asked_for(measured, room)
    if above < room.nothing_below or not _is_worth_it(policy, room, measured):
        return None
    if policy.triggers is None and room.forced:
        return None
    moment = Moment(view=view, room=room, sizes=measured, policy=policy, now=now, context=context, call=call)
    return trigger_of(policy)(moment)


def _asked_for(measured: Sizes, room: Room) -> Reason | None:
    goes, least = measured.goes, LEAST_ASKED * measured.sent
    return Reason("agent", goes, least, f"the agent asked, and about {goes:,} tokens go") if goes >= least else None


LEAST_RECLAIM = 0.1
"""Share of the landing that must go before a trigger of one's own is asked at all, unless `pace.minimum_reclaim` says
otherwise: `tokens(4_001)` over a landing of 8,000 compacted at every turn, for a hundred tokens each."""
LEAST_ASKED = 0.1
"""Share of the request that must go when the agent itself asks: below it the broken cache costs more than it saves, and
a model that asks at every step would be obeyed for nothing."""

_FORCED = {"overflow": "the provider refused the request as too long"}


def trigger_of(policy: Policy) -> Rule:
    """The policy's trigger; without one, what `pace.rule` says: the rent rule unless it says size."""
    if policy.triggers is not None:
        return rule_of(policy.triggers)
    return size() if policy.pace.rule == "size" else rent()


def _is_held(view: View, above: int) -> bool:
    """Whether an undo holds every trigger but the cap."""
    return above < view.state.held


def _in_vain(view: View, room: Room, measured: Sizes) -> bool:
    """Whether the last attempts gained nothing, one of them with the same aim, and the request has hardly grown since:
    trying again would not either. One that failed for its model is not meant: when that may be tried again, `pacing`
    says."""
    vain = takewhile(lambda one: one.outcome == "ineffective" or (one.outcome == "failed" and not one.calls),
                     reversed(view.attempts))  # fmt: skip
    return any(measured.whole < 1.1 * one.before and _has_same_aim(one, room) for one in vain)


def _has_same_aim(tried: Attempt, room: Room) -> bool:
    """Whether an attempt aimed at the size that one would aim at now. One up to an event that somebody chose (it has
    that boundary) says nothing of any other; a static prefix that changes a little at each request makes no new aim."""
    aim = room.static + room.landing
    slack = 0.0 if room.forced else 0.03 * aim
    return not tried.boundary and (not tried.target or abs(tried.target - aim) <= slack)


def _is_paced(view: View, policy: Policy) -> bool:
    """Whether the task has had its compactions. A message that is covered by now is older than the last one."""
    most = policy.pace.most_per_task
    if most is None:
        return False
    asked = newest_user((*view.kept, *view.events))
    since = asked.seq if asked else view.checkpoint.boundary if view.checkpoint else 0
    return sum(one.outcome in COMMITTED and one.head >= since for one in view.attempts) >= most


def _is_worth_it(policy: Policy, room: Room, measured: Sizes) -> bool:
    """Whether enough would go: the policy's share of the landing; for triggers of one's own at least a tenth of it:
    they fire again on what they left, and each time breaks the cache."""
    least, landing = policy.pace.minimum_reclaim, measured.landed - room.static
    if least is not None:
        return measured.goes >= least * landing
    return policy.triggers is None or measured.whole - measured.landed >= LEAST_RECLAIM * landing


# -- a target


def _target_is_due(view: View, room: Room, above: int) -> bool:
    if _is_held(view, above):
        return False
    return _first_of_target(view, room, above) or above >= max(room.trigger, _landed(view) - room.static)


def _first_of_target(view: View, room: Room, above: int) -> bool:
    """Whether nothing was compacted to this target yet (or only to a larger one) and the request is larger."""
    made = view.checkpoint.compacted_size if view.checkpoint else 0
    fresh = view.checkpoint is None or room.static + room.landing < 0.97 * made
    return fresh and above > room.level and above >= _landed(view) - room.static


def _landed(view: View) -> int:
    """A tenth above the size that the last compaction came to: a target it could not reach is not tried again."""
    last = next((one for one in reversed(view.attempts) if one.outcome in COMMITTED), None)
    return round(1.1 * last.after) if last and last.after > 1.02 * last.target > 0 else 0


# -- what is to be expected


def expected_next(
    policy: Policy, room: Room, measured: Sizes, growth: float | None = None, *, first: bool = False,
    call: ComingCall = BY_CODE, held: int = 0,
) -> tuple[int, str]:  # fmt: skip
    """(size of the whole request at which the next compaction is expected, why). `growth` is tokens per request;
    None takes the mean since the last compaction. `first`: nothing was compacted yet; `held`: an undo holds it up to
    so many tokens above the static prefix.

    With prices: X - Y = sqrt(2 g K / r) above what a compaction leaves; else the trigger.
    """
    size_at, text = _expected(policy, room, measured, growth, first, call)
    if size_at >= room.static + min(held, room.cap):
        return size_at, text
    return room.static + min(held, room.cap), "an undo holds it until then"


def _expected(
    policy: Policy, room: Room, measured: Sizes, growth: float | None, first: bool, call: ComingCall
) -> tuple[int, str]:
    limit = room.static + room.cap
    if room.forced and first:
        return min(room.static + room.level, limit), "target: the first one comes as soon as it is passed"
    if room.forced and policy.triggers is None:
        return min(room.static + room.trigger, limit), "target"
    rule = trigger_of(policy)
    point, text = room.static + room.trigger, "the policy's fixed size rules"
    if policy.prices is None:
        text = "no prices are given, so the fixed size rules"
    elif any(leaf.name == "rent()" for leaf in leaves(rule)):
        point, text = rent_point(policy.prices, policy, room, measured, growth, call)
    if policy.triggers is None:
        return min(point, limit), text
    found = rule.level(room, point)
    if found is None:
        return limit, f"{rule.name}, which no size tells; at the latest the cap"
    return min(max(found, room.static + room.nothing_below), limit), rule.name


def landing_warning(policy: Policy, room: Room, measured: Sizes) -> str:
    """A sentence when the request has the size that a trigger of one's own waits for, and the landing holds it back:
    a compaction that lands where it began would come at every request. Else empty."""
    if policy.triggers is None or room.forced:
        return ""
    point = trigger_of(policy).level(room, room.static + room.trigger)
    least, landing = policy.pace.minimum_reclaim, measured.landed - room.static
    share = LEAST_RECLAIM if least is None else least
    bound = max(room.static + room.nothing_below, round(measured.landed + share * landing))
    if point is None or not point <= measured.whole < bound:
        return ""
    return (
        f"The trigger waits at {point:,} tokens, but nothing is compacted below {bound:,}: a compaction lands on "
        f"{landing:,} above the static prefix (budget.landing_tokens), {share:.0%} of that must go "
        f"(pace.minimum_reclaim), and nothing happens below {room.nothing_below:,} (budget.nothing_below)."
    )


def static_warning(policy: Policy, room: Room) -> str:
    """A sentence when the static prefix alone is as large as a size that a trigger waits for, else empty: no compaction
    can make it smaller, so it does not count and never fires by itself."""
    rule = size() if policy.triggers is None and policy.prices is None else trigger_of(policy)
    found = [(limit, leaf.name) for leaf in leaves(rule) if (limit := leaf.limit(room)) is not None]
    if not found or room.static < min(found)[0]:
        return ""
    limit, name = min(found)
    return (
        f"The static prefix alone (system text and tool schemas) takes {room.static:,} tokens, and the trigger {name} "
        f"waits for {limit:,}. No compaction makes it smaller, so it does not count there. Shorten it, or load tools "
        "when they are needed."
    )
