"""Where every event of a scope is and why: raw, demoted, kept, covered or left out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from foldmark.drafts import Request
from foldmark.events import Event
from foldmark.merging import own_tokens
from foldmark.refs import artifact_ref, compaction_ref, event_ref
from foldmark.reports import Entry
from foldmark.rounds import newest_user
from foldmark.store import View


def entries(log: Sequence[Event], view: View, made: Request) -> list[Entry]:
    """One entry per event of the scope's log, in order.

    `tokens` is what the event takes in the request; for covered and left-out ones what it would take.
    """
    changes = {change.seq: change for change in made.report.changes}
    shown = {event.seq: event for event in made.messages if event.seq}
    boundary = view.checkpoint.boundary if view.checkpoint else 0
    kept = {event.seq for event in view.kept}
    version = view.checkpoint.version if view.checkpoint else 0
    out: list[Entry] = []
    for event in log:
        change = changes.get(event.seq)
        if event.role == "control":
            status, reason = "left_out", f"control record ({event.meta.get('control', 'unknown')}): never sent"
        elif event.seq in kept:
            status, reason = "kept", _why_kept(event, view)
        elif event.seq <= boundary:
            status, reason = "covered", f"by {compaction_ref(version)}"
        elif change and change.status == "demoted" and event.seq not in shown:
            status, reason = "left_out", f"nothing of it is left to show: {change.reason}"
        elif change and change.status in ("demoted", "left_out"):
            status, reason = change.status, change.reason
        else:
            status, reason = "raw", "after the boundary" if boundary else "nothing is compacted yet"
            if event.artifacts:
                reason += "; a preview, the whole is outside"
        sent = shown.get(event.seq, event)
        out.append(
            Entry(
                seq=event.seq,
                ref=event_ref(event.seq),
                status=status,  # type: ignore[arg-type]
                tokens=own_tokens(sent),
                reason=reason,
                artifact=artifact_ref(event.seq) if event.artifacts else None,
            )
        )
    return out


def _why_kept(event: Event, view: View) -> str:
    if event.seq in view.pins:
        return "pinned"
    if event is newest_user(view.kept):
        return "the current request, verbatim behind the checkpoint"
    return "protected by policy.keep or by a hook"
