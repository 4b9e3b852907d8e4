"""Imports message lists of the two APIs: OpenAI-style and Anthropic-shaped. Knows nothing of agents.

A list of messages, `{"messages": […], "tools": […], "system": …}`, or one message a line. Which of the two
it is shows in the blocks; without a telling block it is OpenAI's. Messages with a role that neither API has,
and records without a role, become control events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from foldmark.events import Event
from foldmark.importers.values import (
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
    placed_rows,
    seconds,
)
from foldmark.wire import anthropic_reading, neutral_tools, openai_reading
from foldmark.wire.plain import items

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
    return any(isinstance(row, Mapping) and "role" in row for _, row in islice(placed_rows(document), 20))


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file. Raises WireError with the path of a message that cannot be read."""
    value: Any = document.value
    holder: Mapping[str, Any] = {}
    if isinstance(value, Mapping) and "messages" in value:
        holder = value
        rows = [(f"messages[{at}]", row) for at, row in enumerate(items(value["messages"], "messages"))]
    else:
        rows = list(placed_rows(document))
    tools = neutral_tools(items(holder.get("tools"), "tools"))
    wire = wire_of((row for _, row in rows), holder.get("tools"))
    system, events = read_rows(rows, wire, notes, system=holder.get("system"))
    if not has_messages(events) and not system:
        raise nothing_to_import(document)
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


def _several(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def wire_of(rows: Iterable[Any], tools: Any = None) -> str:
    """Whose shape the messages have: `anthropic` when a block or tool tells, else `openai-chat`."""
    if any(isinstance(tool, Mapping) and "input_schema" in tool for tool in _several(tools)):
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
        spoken = has_messages(events)
        if role in ("system", "developer") and not spoken:
            texts += [event.text for event in read_now if event.text]
            continue
        time = next((seconds(row[key]) for key in ("timestamp", "created_at", "time") if row.get(key)), None)
        events += [msgspec.structs.replace(event, time=time) for event in read_now] if time else read_now
    for warning in anthropic_reading.unknown_blocks(events):
        notes.warn(warning)
    return "\n\n".join(texts), events


FORMAT = Format(NAME, sniff, read)
