"""The tool by which an agent compacts its own context. Knows nothing of recall."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from foldmark.aio import AsyncSession, drive
from foldmark.driving import drive as drive_plainly
from foldmark.reports import COMMITTED, Report
from foldmark.session import Session
from foldmark.tools.tool import Tool

COMPACT_DESCRIPTION = (
    "Shorten the earlier part of this conversation to a record of what is known, done and open. Use it before a long "
    "new piece of work, when a piece of work is finished and its details are not needed any more. The newest steps "
    "stay as they are, and nothing is lost: refs in the record can be opened again."
)


def compact_tool(session: Session | AsyncSession, *, name: str = "compact_context") -> Tool:
    """A tool by which the agent compacts its own context, with an optional `focus`. It is obeyed when at least a tenth
    of the request would go; models that rest are not woken by it. The round in which it is called stays raw."""
    plain = session.session if isinstance(session, AsyncSession) else session

    def steps(arguments: Mapping[str, Any] | None) -> Generator[Any, Any, Report | None]:
        if arguments is None:
            return None
        return (yield from plain.compact_steps(focus=str(arguments.get("focus") or "")[:FOCUS_CHARACTERS], run="tool"))

    async def awaited(arguments: Mapping[str, Any] | None) -> str:
        return said(await drive(steps(arguments), plain.lock))

    def run(arguments: Mapping[str, Any] | None) -> Any:
        return (
            awaited(arguments)
            if isinstance(session, AsyncSession)
            else said(drive_plainly(steps(arguments), plain.lock))
        )

    return Tool(name=name, description=COMPACT_DESCRIPTION, parameters=_COMPACT, run=run)


def said(report: Report | None) -> str:
    """A report in a sentence for the model; None: its arguments could not be read."""
    if report is None:
        return "The arguments are no JSON object, so nothing was done. Call it again with {} or with a focus."
    size = f"{report.sent or report.before:,} tokens"
    if report.outcome in COMMITTED:
        return (
            f"Compacted: the request had {size} and has {report.after:,} now. Its earlier part (up to "
            f"event:{report.boundary}) is a record at the beginning; go on with the work."
        )
    if report.outcome in ("not_due", "ineffective"):
        return (
            f"Nothing was compacted: at {size} too little would go, or it is not time for it yet. Go on with the work."
        )
    return "Nothing was compacted this time, and nothing is lost. Go on with the work."


FOCUS_CHARACTERS = 500
"""A focus is a few words; a model that pastes a page into it is cut."""

_COMPACT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "focus": {"type": "string", "description": "What matters for the work to come, in a few words."},
    },
    "additionalProperties": False,
}
