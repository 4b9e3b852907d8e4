"""Tools that an agent itself may call: for now one that compacts its own context. Knows nothing of frameworks.

    tool = compact_tool(session)
    request = session.request(system=SYSTEM, tools=[*TOOLS, tool.schema])
    ...
    if call.name == tool.name:
        session.record(tool_result(call.id, tool(call.arguments)))

`tool.schema` is neutral: every wire writes it in its provider's form. What a tool answers is text for the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from typing import Any

import msgspec

from foldmark.aio import AsyncSession, drive
from foldmark.driving import drive as drive_plainly
from foldmark.reports import COMMITTED, Report
from foldmark.session import Session

COMPACT_DESCRIPTION = (
    "Shorten the earlier part of this conversation to a record of what is known, done and open. Use it before a long "
    "new piece of work, when a piece of work is finished and its details are not needed any more. The newest steps "
    "stay as they are, and nothing is lost: refs in the record can be opened again."
)


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool for a model: its `name`, what it is for, a JSON Schema of its `parameters`, and what runs it
    with its arguments (None: they could not be read)."""

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[Mapping[str, Any] | None], Any]

    @property
    def schema(self) -> dict[str, Any]:
        """Name, description and parameters, as `Session.request(tools=…)` takes them for any wire."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def __call__(self, arguments: Mapping[str, Any] | str = "") -> Any:
        """Run it with a call's arguments (a mapping, or JSON text as models write it); the answer is text for the model
        (to be awaited, for a tool of an AsyncSession). Arguments that cannot be read are answered as such."""
        return self.run(_arguments(arguments))


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


def _arguments(given: Mapping[str, Any] | str) -> Mapping[str, Any] | None:
    if isinstance(given, Mapping):
        return given
    try:
        found = json.loads(given) if given.strip() else {}
    except ValueError:
        return None
    return {} if found is None else found if isinstance(found, Mapping) else None
