"""Imports message lists of the two APIs: OpenAI-style and Anthropic-shaped. Knows nothing of agents.

A list of messages, `{"messages": […], "tools": […], "system": …}`, or one message a line. Which of the two
it is shows in the blocks; without a telling block it is OpenAI's. Messages with a role that neither API has,
and records without a role, become control events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, seconds
from foldmark.wire import anthropic_reading, neutral_tools, openai_reading

NAME = "openai-json"

_ROLES = {
    "openai-chat": ("system", "developer", "user", "assistant", "tool", "function"),
    "anthropic": ("system", "user", "assistant"),
}
_TELLING = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_IDS = ("session_id", "sessionId", "session", "thread_id", "conversation_id", "id")


def sniff(document: Document) -> bool:
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        return True
    rows = value if isinstance(value, list) else [record for _, record in document.records]
    return bool(rows) and any(isinstance(row, Mapping) and "role" in row for row in rows[:20])


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file. Raises WireError with the path of a message that cannot be read."""
    value: Any = document.value
    holder: Mapping[str, Any] = {}
    if isinstance(value, Mapping) and "messages" in value:
        holder = value
        rows = [(f"messages[{at}]", row) for at, row in enumerate(_list(value["messages"], "messages"))]
    elif isinstance(value, list):
        rows = [(f"[{at}]", row) for at, row in enumerate(value)]
    else:
        rows = [(f"line {line}", record) for line, record in document.records]
    tools = neutral_tools(_list(holder.get("tools"), "tools"))
    wire = wire_of((row for _, row in rows), holder.get("tools"))
    system, events = read_rows(rows, wire, notes, system=holder.get("system"))
    if not any(event.role != "control" for event in events) and not system:
        raise WireError(document.name or "file", "holds no message; there is nothing to import.")
    own = next((str(holder[key]) for key in _IDS if isinstance(holder.get(key), (str, int))), "")
    session = own or derived_id(NAME, events)
    return [
        Imported(
            session=session,
            format=NAME,
            wire=wire,
            system=system,
            tools=tuple(tools),
            events=tuple(events),
            warnings=notes.lines(),
        )
    ]


def _list(value: Any, path: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise WireError(path, f"expected a list, found {type(value).__name__}.")
    return value


def wire_of(rows: Iterable[Any], tools: Any = None) -> str:
    """Whose shape the messages have: `anthropic` when a block or tool tells, else `openai-chat`."""
    if any(isinstance(tool, Mapping) and "input_schema" in tool for tool in tools or ()):
        return "anthropic"
    for row in rows:
        content = row.get("content") if isinstance(row, Mapping) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Mapping) and (block.get("type") in _TELLING or "source" in block):
                return "anthropic"
    return "openai-chat"


def read_rows(
    rows: Iterable[tuple[str, Any]], wire: str, notes: Notes, *, system: Any = None
) -> tuple[str, list[Event]]:
    """(system text, events) of messages that each come with their path in the file."""
    reader = anthropic_reading if wire == "anthropic" else openai_reading
    head = reader.read_messages([], system=system).system if not isinstance(system, str) else system
    texts = [head] if head else []
    names: dict[str, str] = {}
    events: list[Event] = []
    for path, row in rows:
        role = row.get("role") if isinstance(row, Mapping) else None
        if role not in _ROLES[wire]:
            kind = f"role {role}" if role else str(row.get("type") if isinstance(row, Mapping) else type(row).__name__)
            events.append(notes.kept(kind, row, path, provider=NAME))
            continue
        read_now = reader.read_message(row, path, names)
        spoken = any(event.role != "control" for event in events)
        if role in ("system", "developer") and not spoken:
            texts += [event.text for event in read_now if event.text]
            continue
        time = next((seconds(row[key]) for key in ("timestamp", "created_at", "time") if row.get(key)), None)
        events += [msgspec.structs.replace(event, time=time) for event in read_now] if time else read_now
    for warning in anthropic_reading.unknown_blocks(events):
        notes.warn(warning)
    return "\n\n".join(texts), events


FORMAT = Format(NAME, sniff, read)
