"""What a session itself reports: a request joined with the compaction in front of it, an attempt that was broken off, a
request that is refused again. Knows nothing of how any of it was made.
"""

from __future__ import annotations

import msgspec

from foldmark.drafts import Request
from foldmark.refs import compaction_ref
from foldmark.reports import COMMITTED, Attempt, Call, Report
from foldmark.store import Key, View
from foldmark.summarizer import Occasion


def joined(compaction: Report, request: Report) -> Report:
    """The report of a request after a compaction: what the compaction says, but for what the request knows better."""
    return msgspec.structs.replace(
        compaction,
        boundary=request.boundary,
        version=request.version,
        after=request.after,
        changes=request.changes,
        preloaded=request.preloaded,
        epoch=request.epoch or compaction.epoch,
        warnings=(*compaction.warnings, *request.warnings),
    )


def moved(made: Request, compaction: Report, key: Key) -> Request:
    """A request of another line than `key`, which was compacted: the compaction is none of its past."""
    if compaction.outcome == "not_due":
        return made
    said = f"The session moved on while session {key.session!r} was compacted there ({compaction.outcome})."
    return made.with_report(msgspec.structs.replace(made.report, warnings=(said, *made.report.warnings)))


def on_the_way(report: Report) -> str:
    """What a request that could not be built says of the compaction in front of it."""
    if report.outcome not in COMMITTED:
        return "Nothing was changed."
    ref = compaction_ref(report.version)
    return f"It was compacted on the way ({ref}), and nothing is lost; session.control.undo() takes that back."


def broken(error: BaseException, note: Attempt | None, stands: int = 0) -> Report:
    """An attempt that an error or an interrupt ended, with what its calls had cost by then (`note`: what was noted of
    it). `stands` is a version that is there since it began: an error may come behind a commit that went through. The
    error is raised all the same; its words stay with it."""
    state = f"{compaction_ref(stands)} stands now" if stands else "the session is as it was"
    name = type(error).__name__
    calls = (
        (Call(model=note.model, mode=note.mode, usage=note.usage, seconds=note.seconds, failure="cancelled"),)
        if note and note.calls
        else ()
    )
    return Report(
        outcome="failed", text=f"Broken off ({name}); {state}.", reasons=(name,), calls=calls,
        failure="error" if isinstance(error, Exception) else "cancelled", mode=note.mode if note else "code",
        trigger=note.trigger if note else "", before=note.before if note else 0,
        version=stands,
    )  # fmt: skip


def signed(report: Report, occasion: Occasion, began: float, ended: float) -> Report:
    """The report with whose past it was, how it was run, and how long it took."""
    return msgspec.structs.replace(
        report, session=occasion.key.session, scope=occasion.key.scope, run=occasion.run, time=began,
        seconds=max(0.0, ended - began),
    )  # fmt: skip


def refused_again(view: View, now: float) -> Report:
    """The provider refused the request at the head of this view a second time: no loop may come of it."""
    text = f"The provider refused the request of event:{view.head} again, after it was made smaller."
    return Report(
        outcome="failed", trigger="overflow", text=text, before=view.state.last_size, warnings=(text,), time=now,
        session=view.key.session, scope=view.key.scope, run="overflow", failure="too_long",
    )  # fmt: skip
