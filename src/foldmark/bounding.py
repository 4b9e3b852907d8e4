"""Where a boundary that came from elsewhere stands in a log: of an imported summary, by the event it ends with or by a
time. Pure; knows nothing of stores, scopes and of how a checkpoint is written.

This is the one place where a time says anything about order. Everything else compares seqs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import msgspec

from foldmark.events import Event
from foldmark.rounds import Round, rounds


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """Up to where a summary tells: the id of the last event in it, or a time in Unix seconds that all of it is before.
    The id wins where the log knows it."""

    event_id: str = ""
    cutoff: float | None = None


def boundary_of(
    events: Sequence[Event], *, event_id: str = "", cutoff: float | None = None, others: Sequence[Ending] = ()
) -> int:
    """The seq of the last event that the summary covers, on the border of a round; 0: nothing, everything stays raw.

    `events` are those that the scope sees, in order, from the first (a store's `log`). `others` are the endings of
    further summaries that are told together with it (of sub-scopes): the earliest counts, and one that ends nowhere
    makes it 0. Leave summaries without words out.

    The newest round is never covered. An ending inside a round moves back to the round before it; control records at
    the end of a round, which no summary tells of, go with it.
    """
    found = min(_covered(events, ending) for ending in (Ending(event_id=event_id, cutoff=cutoff), *others))
    last = events[found - 1].seq if found else 0
    return max((one.last for one in rounds(events)[:-1] if _told_until(one) <= last), default=0)


def _told_until(one: Round) -> int:
    """The last event of a round that is sent at all."""
    return next((event.seq for event in reversed(one.events) if event.role != "control"), one.last)


def _covered(events: Sequence[Event], ending: Ending) -> int:
    """How many events stand up to the ending.

    By time: those in front of the first one that is not before the cutoff. Times may jump back and clocks differ, so
    one that follows is never covered, whatever its time; those at the very instant may be in the summary or not, so
    they stay.
    """
    if ending.event_id:
        for number, event in enumerate(events, 1):
            if event.id == ending.event_id:
                return number
    cutoff = _usable(ending.cutoff)
    if cutoff is None:
        return 0
    times = _times(events)
    return next((at for at, time in enumerate(times) if time is None or time >= cutoff), len(events))


def _times(events: Sequence[Event]) -> list[float | None]:
    """The time of every event; one without takes that of the event before it, the first ones that of the next. All are
    None where no event has one."""
    known = [_usable(event.time) for event in events]
    last = next((time for time in known if time is not None), None)
    out: list[float | None] = []
    for time in known:
        last = time if time is not None else last
        out.append(last)
    return out


def _usable(time: float | None) -> float | None:
    """A time that says something: zero is what programs write for none."""
    return time if time is not None and isfinite(time) and time > 0 else None
