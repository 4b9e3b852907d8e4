"""What an attempt came to, as reports and stored notes. Knows nothing of how anything was decided."""

from __future__ import annotations

import msgspec

from foldmark.budget import Room
from foldmark.checkpoint import Checkpoint, Mark
from foldmark.drafts import Request
from foldmark.errors import StaleBoundary, SummaryError, SummaryRejected
from foldmark.prefix import digest
from foldmark.reports import Attempt, Reason, Report
from foldmark.store import Frame, Key, ScopeState, Store, View


def not_due(view: View, room: Room, size: int) -> Report:
    """Nothing to do: the normal answer. Reported, never stored."""
    above = size - room.static
    small = above < room.nothing_below
    text = (
        f"{above:,} tokens above the static prefix: too short for a compaction to help (nothing below "
        f"{room.nothing_below:,})."
        if small
        else f"{above:,} tokens above the static prefix; not due yet."
    )
    return Report(outcome="not_due", text=text, boundary=_boundary(view), before=size, after=size)


def ineffective(store: Store, key: Key, view: View, reason: Reason, size: int, now: float) -> Report:
    """Due, and nothing could be gained. Noted, so that the next request does not try again at once."""
    text = "There is no whole round to cover, or the checkpoint would not be smaller than what it replaces."
    store.note(
        key, Attempt(time=now, outcome="ineffective", trigger=reason.trigger, before=size, after=size, reasons=(text,))
    )
    return Report(
        outcome="ineffective", trigger=reason.trigger, text=text, boundary=_boundary(view), before=size, after=size
    )


def failed(store: Store, key: Key, view: View, reason: Reason, size: int, now: float, error: SummaryError) -> Report:
    """No checkpoint passed validation. Noted; the session is as it was, and requests go on without one."""
    why = error.reasons if isinstance(error, SummaryRejected) else (str(error),)
    store.note(key, Attempt(time=now, outcome="failed", trigger=reason.trigger, before=size, after=size, reasons=why))
    return Report(
        outcome="failed", trigger=reason.trigger, text=str(error), boundary=_boundary(view), before=size, after=size,
        reasons=why, warnings=(str(error),),
    )  # fmt: skip


def applied(
    store: Store, key: Key, view: View, checkpoint: Checkpoint, reason: Reason, room: Room, size: int, after: int
) -> Report:
    """Commit checkpoint, boundary and mark together, with the note of the attempt. When another compaction of the
    scope won meanwhile, nothing is written and the outcome is `deferred`."""
    attempt = Attempt(
        time=checkpoint.time,
        outcome="applied",
        trigger=reason.trigger,
        version=checkpoint.version,
        boundary=checkpoint.boundary,
        before=size,
        after=after,
        target=room.static + room.landing,
        reasons=(reason.text,) if reason.text else (),
    )
    expected = view.checkpoint.version if view.checkpoint else 0
    target = room.static + room.landing
    warnings = checkpoint.warnings
    if after < 0.97 * target and not warnings:
        text = f"{after:,} of {target:,} tokens: the covered past had no more to say, and the next round is larger."
        warnings = (text,)
    try:
        store.commit(key, checkpoint, expected=expected, attempt=attempt)
    except StaleBoundary as stale:
        return Report(
            outcome="deferred", trigger=reason.trigger, text=str(stale), boundary=_boundary(view), before=size
        )
    return Report(
        outcome="applied",
        trigger=reason.trigger,
        text=reason.text,
        boundary=checkpoint.boundary,
        version=checkpoint.version,
        before=size,
        after=after,
        target=target,
        epoch="compaction",
        warnings=warnings,
    )


def _boundary(view: View) -> int:
    return view.checkpoint.boundary if view.checkpoint else 0


def request_report(view: View, mark: Mark, frame: Frame) -> Report:
    """The report of a request before it is made to fit: its boundary and whether the stable prefix was broken.

    A request breaks it when the mark moved, when a compaction came since the last one, or when the static prefix
    is another; the first request of a scope breaks nothing.
    """
    last = view.state.frame
    epoch = ""
    if last is not None and view.state.last_time:
        if last.static_hash != frame.static_hash:
            epoch = "static prefix changed"
        elif view.checkpoint and view.checkpoint.version != view.state.last_version:
            epoch = "compaction"
        elif mark.seq != view.mark.seq or mark.options != view.mark.options:
            epoch = mark.reason
    elif view.checkpoint:
        epoch = "compaction"
    return Report(
        outcome="not_due", boundary=_boundary(view), version=view.checkpoint.version if view.checkpoint else 0,
        epoch=epoch, warnings=frame.warnings,
    )  # fmt: skip


def named(made: Request, state: ScopeState) -> Request:
    """The request with an epoch in its report when its stable prefix does not go on from the last one's. A mark, a
    compaction and a changed static prefix are named already; what is left are `fit`, a layout, an edited or forked
    past, and a call whose marker gave way to its result."""
    if made.report.epoch or not state.last_count:
        return made
    if len(made.messages) >= state.last_count and digest(made.messages[: state.last_count]) == state.last_hash:
        return made
    by_fit = any(change.reason.startswith("fit") for change in made.report.changes)
    epoch = "fit" if by_fit else "the shown past changed"
    return made.with_report(msgspec.structs.replace(made.report, epoch=epoch))


def after_request(state: ScopeState, frame: Frame, mark: Mark, made: Request, now: float) -> ScopeState:
    """The scope's state once a request was built."""
    return msgspec.structs.replace(
        state,
        frame=frame,
        mark=mark,
        last_size=made.tokens.total,
        last_time=now,
        last_version=made.report.version,
        last_hash=digest(made.messages[: made.stable]),
        last_count=made.stable,
    )
