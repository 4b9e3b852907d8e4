"""Imports dumps of LangChain messages: `messages_to_dict`, `dumpd` and `model_dump`. Knows nothing of graphs or chains.

A list, `{"messages": […]}`, or one message a line. The three forms hold the same fields in other wrappings. Calls
keep their arguments as the provider sent them where the dump has that text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Event, Part, Text, control
from foldmark.importers.langchain_content import calls_of, content_parts, read_reply, thought
from foldmark.importers.parts import Waiting, result_of, told
from foldmark.importers.values import (
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
    placed_rows,
)
from foldmark.wire.openai_reading import legacy_id
from foldmark.wire.plain import as_mapping, as_name, as_text
from foldmark.wire.tools import neutral_tools

NAME = "langchain"

_KINDS = ("human", "ai", "system", "tool", "function", "chat", "remove", "developer")
_OWN_FIELDS = ("additional_kwargs", "response_metadata", "tool_call_id", "tool_calls", "usage_metadata")
_IDS = ("session_id", "thread_id", "conversation_id", "id")
_ROLES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system"}


def sniff(document: Document) -> bool:
    return any(_is_message(row) for _, row in islice(placed_rows(document), 20))


def _is_message(row: Any) -> bool:
    if not isinstance(row, Mapping) or "role" in row:
        return False
    if row.get("lc") is not None:
        return _class_of(row).endswith(("Message", "MessageChunk"))
    kind = str(row.get("type"))
    if isinstance(row.get("data"), Mapping):
        return _kind(kind) in _KINDS and "content" in row["data"]
    return _kind(kind) in _KINDS and "content" in row and any(key in row for key in _OWN_FIELDS)


def _class_of(row: Mapping[str, Any]) -> str:
    path = row.get("id")
    return str(path[-1]) if isinstance(path, list) and path else ""


def _kind(name: str) -> str:
    """The kind of a message by its type, or by the name of its class; a chunk is a message."""
    bare = name.removesuffix("Chunk").removesuffix("Message")
    return bare.lower() if bare != name else name


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file. Raises WireError with the path of a message that cannot be read."""
    value = document.value
    holder: Mapping[str, Any] = value if isinstance(value, Mapping) and "messages" in value else {}
    reader = _Reader(notes)
    for path, row in placed_rows(document):
        reader.take(as_mapping(row, path), path)
    if not has_messages(reader.events):
        raise nothing_to_import(document)
    own = next((str(holder[key]) for key in _IDS if isinstance(holder.get(key), (str, int))), "")
    tools = holder.get("tools")
    return [
        Imported(
            session=own or derived_id(NAME, reader.events),
            format=NAME,
            wire="anthropic" if reader.is_anthropic else "openai-chat",
            system="\n\n".join(reader.systems),
            tools=tuple(neutral_tools(tools)) if isinstance(tools, list) else (),
            events=tuple(reader.events),
            warnings=notes.lines(),
        )
    ]


class _Reader:
    """Takes messages in order."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.events: list[Event] = []
        self.systems: list[str] = []
        self.waiting = Waiting()
        self.is_anthropic = False

    def take(self, row: Mapping[str, Any], path: str) -> None:
        kind, fields, inside = _unwrapped(row, path)
        if kind == "chat":
            kind = _ROLES.get(str(fields.get("role")), f"chat of role {fields.get('role')}")
        if kind in ("system", "developer"):
            found = list(self.system(fields, inside))
        elif kind == "human":
            found = [self.human(fields, inside)]
        elif kind == "ai":
            found = [self.reply(fields, inside)]
        elif kind in ("tool", "function"):
            found = [self.result(fields, inside, kind)]
        elif kind == "remove":
            found = [control(kind, dict(fields), provider=NAME)]
        else:
            found = [self.notes.kept(kind or "(no type)", dict(row), path, provider=NAME)]
        self.waiting.made(found)
        self.events += found

    def system(self, fields: Mapping[str, Any], path: str) -> Iterator[Event]:
        parts = content_parts(fields.get("content"), f"{path}.content")
        if has_messages(self.events):
            yield Event(role="system", origin="injected", parts=parts)
            return
        self.systems += [part.text for part in parts if isinstance(part, Text) and part.text]

    def human(self, fields: Mapping[str, Any], path: str) -> Event:
        parts = content_parts(fields.get("content"), f"{path}.content")
        extra = fields.get("additional_kwargs")
        source = extra.get("lc_source") if isinstance(extra, Mapping) else None
        if source == "summarization":
            return told(parts, is_user=False, meta={"foreign": "summarization"})
        return told(parts, is_user=not source)

    def reply(self, fields: Mapping[str, Any], path: str) -> Event:
        maker, shared = read_reply(fields)
        calls = calls_of(fields, path)
        by_id = {call.id: call for call in calls}
        extra = as_mapping(fields.get("additional_kwargs") or {}, f"{path}.additional_kwargs")
        parts: list[Part] = list(thought(extra, f"{path}.additional_kwargs"))
        parts += content_parts(fields.get("content"), f"{path}.content", maker, by_id)
        parts += [call for call in calls if call not in parts]
        self.is_anthropic = self.is_anthropic or maker == "anthropic"
        return Event(role="assistant", origin="agent", parts=tuple(parts), provider=maker, **shared)

    def result(self, fields: Mapping[str, Any], path: str, kind: str) -> Event:
        if kind == "function":
            call_id = legacy_id(as_name(fields.get("name"), f"{path}.name"))
        else:
            call_id = as_name(fields.get("tool_call_id"), f"{path}.tool_call_id")
        if fields.get("artifact") is not None:
            self.notes.warn("artifact: what a tool kept for the program and did not show the model, left out")
        return result_of(
            call_id,
            content_parts(fields.get("content"), f"{path}.content"),
            name=as_text(fields.get("name"), f"{path}.name") or self.waiting.names.get(call_id, ""),
            is_error=fields.get("status") == "error",
        )


def _unwrapped(row: Mapping[str, Any], path: str) -> tuple[str, Mapping[str, Any], str]:
    """(kind, fields, the path of the fields) of a message in any of the three forms."""
    if row.get("lc") is not None:
        name = _class_of(row)
        if row.get("type") != "constructor" or not name.endswith(("Message", "MessageChunk")):
            return f"{row.get('type')} {name}".strip(), row, path
        return _kind(name), as_mapping(row.get("kwargs"), f"{path}.kwargs"), f"{path}.kwargs"
    kind = _kind(str(row.get("type") or ""))
    if isinstance(row.get("data"), Mapping):
        return kind, row["data"], f"{path}.data"
    if kind in _KINDS and "content" not in row:
        raise WireError(f"{path}.content", "is missing; a message needs it.")
    return kind, row, path


FORMAT = Format(NAME, sniff, read)
