"""What a compaction covers: whole rounds up to a new boundary, and what is kept in spite of it. Pure.

Knows nothing of how the covered part is written down.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.budget import CHECKPOINT_FLOOR, Room
from foldmark.checkpoint import Checkpoint, Mark
from foldmark.drafts import MESSAGE_OVERHEAD, cost
from foldmark.errors import PolicyError, words_of_error
from foldmark.events import Event
from foldmark.options import Tail
from foldmark.policy import Policy
from foldmark.profiles import Profile, profile_of_call
from foldmark.rounds import Round, border, newest_user, rounds, unanswered
from foldmark.store import View

MARKER_TOKENS = 24
"""What the marker in place of a missing result costs, as a message (see `assembly.NO_RESULT`)."""
_APPROVALS = ("approv", "confirm")
"""What the names of tools hold that ask for a yes, which no other words give."""
KEPT_HEADING = 12
"""Tokens of the line that names a kept event inside the checkpoint's message."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What goes and what stays. `covered` are the events from the old boundary to the new one, `tail` the raw rest
    (both cleaned); `kept` are covered events shown all the same; `room_tokens` is what the checkpoint's text may
    cost; `floor_tokens` is the least that a compaction can come to (newest round + kept + 2K). `shortened` are
    the results of the tail that it does not show whole (demoted, or previews): the checkpoint may quote them.
    `warnings` name the part that prevents the landing."""

    boundary: int
    covered: tuple[Event, ...]
    tail: tuple[Event, ...]
    kept: tuple[Event, ...]
    mark: Mark
    tail_tokens: int
    room_tokens: int
    floor_tokens: int = 0
    shortened: frozenset[int] = frozenset()
    warnings: tuple[str, ...] = ()


def select(
    view: View, events: Sequence[Event], policy: Policy, room: Room, mark: Mark, *, more: int = 0, now: float = 0.0,
    upto: int | None = None,
) -> Span | None:  # fmt: skip
    """Choose the span, or None when there is nothing to cover. `events` are the view's, already cleaned by `mark`;
    `more` are tokens that the tail may take beyond its share, when a checkpoint could not use them. With `upto` (a seq)
    somebody has chosen: whole rounds up to there go, whatever the shares say, but never the newest whole round.

    The tail is at least the newest whole round (and any round with an open call), at most the tail's share of the
    landing; the checkpoint never gets less than 2,000 tokens for it. A call that waits for an approval stays raw up to
    there, whatever was said since. What `policy.tail` holds back besides stays raw up to half the cap.
    """
    all_rounds = rounds(events)
    if upto is None:
        waits, held = asked_from(events, policy.profiles), held_from(events, policy.tail, now)
        stay, warnings = _tail(all_rounds, held, waits, policy, room, more)
    else:
        stay, warnings = _behind(all_rounds, upto), ()
    going = all_rounds[: len(all_rounds) - len(stay)]
    if not going and (upto is not None or view.checkpoint is None or not view.checkpoint.boundary):
        return None
    covered = tuple(event for one in going for event in one.events)
    tail = tuple(event for one in stay for event in one.events)
    boundary = covered[-1].seq if covered else (view.checkpoint.boundary if view.checkpoint else 0)
    kept = _kept(view, covered, tail)
    tail_tokens = cost(tail) + MARKER_TOKENS * len(unanswered(tail))
    kept_tokens = cost(kept) + KEPT_HEADING * len(kept)
    left = room.landing - tail_tokens - kept_tokens - MESSAGE_OVERHEAD
    floor = min(CHECKPOINT_FLOOR, room.landing // 4)
    what = "the newest whole round" if upto is None else f"what stays raw behind event:{boundary}"
    if left < floor:
        warnings = (
            *warnings,
            f"The landing of {room.landing:,} tokens above the static prefix is passed: {what} "
            f"takes {tail_tokens:,}, kept messages {kept_tokens:,}, and the checkpoint gets at least {floor:,}.",
        )
    return Span(
        boundary=boundary,
        covered=covered,
        tail=tail,
        kept=kept,
        mark=mark,
        tail_tokens=tail_tokens,
        room_tokens=max(left, floor),
        floor_tokens=cost(tail[border(tail, 1) :]) + kept_tokens + CHECKPOINT_FLOOR,
        shortened=_shortened(view, tail),
        warnings=warnings,
    )


def anchor(view: View, span: Span) -> str | None:
    """The chain of the boundary event, by which a store knows that its log is still this one; None when the boundary
    does not move."""
    return next((event.chain for event in view.events if event.seq == span.boundary), None)


def unused(span: Span, checkpoint: Checkpoint) -> int:
    """Tokens of its room that the checkpoint could not use, when they are more than 3% of it; else 0."""
    spare = span.room_tokens - checkpoint.tokens
    return spare if spare > 0.03 * span.room_tokens else 0


def held_from(events: Sequence[Event], tail: Tail, now: float) -> int:
    """The first seq that `tail` holds back as raw (by events, tokens, time or a function); none: behind the newest.

    Raises PolicyError when `tail.choose` fails or gives no count.
    """
    if not events:
        return 1
    counts = [tail.minimum_events, _chosen(events, tail)]
    if tail.minimum_tokens:
        counts.append(_filling(events, tail.minimum_tokens))
    if tail.minimum_seconds:
        counts.append(_since(events, now - tail.minimum_seconds))
    newest = min(len(events), max(counts))
    return events[-newest].seq if newest > 0 else events[-1].seq + 1


def asked_from(events: Sequence[Event], profiles: Sequence[Profile] = ()) -> int:
    """The seq of the first call that still waits for a person's yes; none: behind the newest. Whoever gives it answers
    that call, hours and many messages later. A question counts until the user says something: that may be the answer.
    """
    spoken = newest_user(events)
    waiting = [
        event.seq
        for event, call in unanswered(events)
        if profile_of_call(call, profiles).role == "asks"
        and (spoken is None or spoken.seq < event.seq or any(word in call.name.lower() for word in _APPROVALS))
    ]
    return min(waiting, default=events[-1].seq + 1 if events else 1)


def _chosen(events: Sequence[Event], tail: Tail) -> int:
    if tail.choose is None:
        return 0
    try:
        count = tail.choose(tuple(events))
    except Exception as error:
        raise PolicyError(f"tail.choose failed ({words_of_error(error)}). Nothing was changed.") from error
    if isinstance(count, bool) or not isinstance(count, int):
        raise PolicyError(f"tail.choose returned {count!r}; it must say how many of the newest events stay raw.")
    return count


def _filling(events: Sequence[Event], least: int) -> int:
    """How many of the newest events it takes to fill so many tokens."""
    size = 0
    for number, event in enumerate(reversed(events), 1):
        size += cost((event,))
        if size >= least:
            return number
    return len(events)


def _since(events: Sequence[Event], moment: float) -> int:
    """How many of the newest events there are from the first one behind a moment on; an event without a time is as old
    as its neighbour."""
    for number, event in enumerate(events):
        if event.time is not None and event.time >= moment:
            return len(events) - number
    return 0


def _tail(
    all_rounds: Sequence[Round], held: int, waits: int, policy: Policy, room: Room, more: int
) -> tuple[list[Round], tuple[str, ...]]:
    """The newest rounds that stay raw, and a warning when more should be held back than fits."""
    limit = min(room.landing * policy.tail.share, room.landing - CHECKPOINT_FLOOR) + more
    stay: list[Round] = []
    used = finished = 0
    for one in reversed(all_rounds):
        size = cost(one.events)
        wanted = one.events[-1].seq >= held
        most = max(limit, room.cap // 2) if wanted else limit
        if one.events[-1].seq >= waits:
            most = max(most, room.landing - CHECKPOINT_FLOOR)
        if finished >= policy.tail.minimum_rounds and used + size > most:
            if one.events[-1].seq >= waits and not wanted:
                return stay, (f"The call of event:{waits} waits for an approval and is covered: too much came since.",)
            said = (
                f"Events from event:{held} on should stay raw; those before event:{stay[0].events[0].seq} would take "
                f"more than half of the cap of {room.cap:,} tokens and are covered.",
            )
            return stay, said if wanted else ()
        stay.insert(0, one)
        used += size
        finished += one.is_finished
    return stay, ()


def _behind(all_rounds: Sequence[Round], upto: int) -> list[Round]:
    """The rounds that stay when somebody says up to where all goes: those that end behind it, and the newest that an
    assistant has finished."""
    stay: list[Round] = []
    finished = False
    for one in reversed(all_rounds):
        if one.last <= upto and finished:
            break
        stay.insert(0, one)
        finished = finished or one.is_finished
    return stay


def _shortened(view: View, tail: Sequence[Event]) -> frozenset[int]:
    """Results and pastes whose whole text the tail does not hold: previews, and what cleanup has demoted."""
    whole = {event.seq: event for event in view.events}
    return frozenset(
        event.seq
        for event in tail
        if event.role in ("tool", "user") and (event.artifacts or event.text != whole[event.seq].text)
    )


def _kept(view: View, covered: Sequence[Event], tail: Sequence[Event]) -> tuple[Event, ...]:
    """Pins, and the newest real user message when it is covered: the request being worked on stays verbatim."""
    known = {event.seq: event for event in (*view.kept, *view.pinned, *covered)}
    kept = {seq for seq in view.pins if seq in known and known[seq].role != "control"}  # those are never sent
    if newest_user(tail) is None:
        current = newest_user([known[seq] for seq in sorted(known)])
        if current:
            kept.add(current.seq)
    return tuple(known[seq] for seq in sorted(kept))
