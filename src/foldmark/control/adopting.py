"""Takes in a summary that was made elsewhere: code writes the record of what it tells of, and quotes it there. Knows
nothing of who made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec

from foldmark.assembly import dressed
from foldmark.bounding import boundary_of
from foldmark.checkpoint import Section
from foldmark.cleanup import clean, mark_at
from foldmark.compose import adopted_section, cost_of_section, with_adopted_section
from foldmark.control.committing import named, said_of, seen, version_of, written
from foldmark.control.setting import Setting, Wish
from foldmark.drafting import narrowed, write
from foldmark.errors import NotFound, PolicyError
from foldmark.events import Event
from foldmark.gauging import gauge
from foldmark.keeping import ruled
from foldmark.kinds import clean_text
from foldmark.outcomes import Trial
from foldmark.redact import redactor
from foldmark.refs import compaction_ref, parse
from foldmark.reports import Reason, Report
from foldmark.selection import Span, select
from foldmark.store import View
from foldmark.validation import validate

MOST_SHARE = 0.5
"""Share of the landing that a summary made elsewhere may take: the other half is for what code knows."""

LATEST = 1e11
"""Unix seconds: the year 5138. A number above it counts milliseconds."""


def adopted(
    at: Setting, text: str, event_id: str, cutoff: float | None, author: str, expected: int | None, wish: Wish
) -> Report:
    """Write a version that covers what the summary tells of. Raises PolicyError when it tells of nothing here or is too
    long, StaleBoundary when another compaction won."""
    _check(text, event_id, cutoff)
    looked = seen(at, expected)
    frame, policy, now = at.frame(wish), at.policy(wish), at.clock()
    view = ruled(looked, frame, policy)[0]
    redact = redactor(view.secret, policy.redact)
    size = gauge(view, frame, policy, now)
    section = _quoted(clean_text(redact(text)), named(author, redact), round(MOST_SHARE * size.room.landing))
    boundary = _boundary(at, view, event_id, cutoff)
    mark = mark_at(view.events, policy, "adopted", now, view.mark, view.pins)
    events = dressed(*clean(view.events, mark, policy, view.secret))
    span = _chosen(select(view, events, policy, size.room, mark, now=now, upto=boundary), boundary)
    trial = Trial(
        store=at.store, key=at.key, view=view, policy=policy, room=size.room, reason=Reason("adopted"),
        before=size.sizes.whole, now=now, clock=at.clock,
    )  # fmt: skip
    code = write(trial, narrowed(span, cost_of_section(section)))
    made = with_adopted_section(code, section)
    made = msgspec.structs.replace(made, kind="adopted", source=version_of(view))
    made = validate(made, at.store.covered(at.key, made.boundary, limit=0), view)
    name = made.author.partition(", ")[2]
    return written(at, view, made, f"{said_of(made)}, {name}. Code wrote the rest of it from the log.", wish)


def _quoted(text: str, name: str, most: int) -> Section:
    section = adopted_section(text, name)
    if not section.lines:
        raise PolicyError("The summary to adopt has no words.")
    if (tokens := cost_of_section(section)) > most:
        raise PolicyError(
            f"The summary to adopt has {tokens:,} tokens, and half of the landing is {most:,}. Shorten it, or let the "
            "policy land higher (budget.landing_tokens)."
        )
    return section


def _boundary(at: Setting, view: View, event_id: str, cutoff: float | None) -> int:
    log = at.store.log(at.key)
    if event_id and all(event.id != event_id for event in log):
        event_id = _by_ref(at, log, event_id)
    found = boundary_of(log, event_id=event_id, cutoff=cutoff)
    where = f"event_id={event_id!r}" if event_id else f"cutoff={cutoff!r}"
    if not found:
        raise PolicyError(f"By {where} the summary tells of no whole round of session {at.key.session!r}.")
    if view.checkpoint and found <= view.checkpoint.boundary:
        raise PolicyError(
            f"By {where} the summary ends at event:{found}, and {compaction_ref(version_of(view))} covers event:1-"
            f"{view.checkpoint.boundary} already. Undo it first where the other one is better."
        )
    return found


def _by_ref(at: Setting, log: Sequence[Event], ref: str) -> str:
    """The id of the event that a ref names, as it does for pins; whatever is no ref stays an id that nobody knows."""
    try:
        parse(ref)
    except NotFound:
        return ref
    seq = at.seq_of(ref)
    return next(event.id for event in log if event.seq == seq)


def _check(text: Any, event_id: Any, cutoff: Any) -> None:
    """Raises PolicyError, naming the argument, for what cannot be meant."""
    if not isinstance(text, str):
        raise PolicyError(f"adopt(text={text!r:.80}): the summary is a text.")
    if not isinstance(event_id, str):
        raise PolicyError(f"adopt(event_id={event_id!r:.80}): it takes an event's id or its ref ('event:12').")
    if not event_id and cutoff is None:
        raise PolicyError("Say up to where the summary tells: event_id= (its last event) or cutoff= (a time).")
    if cutoff is None:
        return
    if isinstance(cutoff, bool) or not isinstance(cutoff, int | float) or not isfinite(cutoff):
        raise PolicyError(f"adopt(cutoff={cutoff!r:.80}): it takes a time in Unix seconds (1_700_000_000.0).")
    if cutoff > LATEST:
        raise PolicyError(
            f"adopt(cutoff={cutoff!r}) is a time in milliseconds; it takes Unix seconds: {cutoff / 1000!r}."
        )


def _chosen(span: Span | None, boundary: int) -> Span:
    if span is None or not span.covered:
        raise PolicyError(f"No whole round ends between the record and event:{boundary}: nothing would be covered.")
    return span
