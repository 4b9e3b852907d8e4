"""Imports request bodies of the Responses and Gemini APIs, and our own export of a log. Knows nothing of agents.

`{"input": […], "instructions": …}` and `{"contents": […], "systemInstruction": …}` are read by their wires. Lines of
`foldmark export` are events as they are: seqs, fingerprints and the names of artifacts are left out, since the log that
they come into gives its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Image, Part, Paste, Text, ToolResult, from_json
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, nothing_to_import
from foldmark.wire import gemini, openai_responses

_ITEMS = ("function_call", "function_call_output", "custom_tool_call", "reasoning")
RESPONSES, GEMINI, EVENTS = "openai-responses-json", "gemini-json", "foldmark-events"


def sniff_responses(document: Document) -> bool:
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("input"), list):
        return any(isinstance(item, Mapping) and ("type" in item or "role" in item) for item in value["input"])
    return isinstance(value, list) and any(isinstance(item, Mapping) and item.get("type") in _ITEMS for item in value)


def sniff_gemini(document: Document) -> bool:
    contents = document.value.get("contents") if isinstance(document.value, Mapping) else None
    return isinstance(contents, list) and any(isinstance(one, Mapping) and "parts" in one for one in contents)


def sniff_events(document: Document) -> bool:
    first = document.records[0][1] if document.records else None
    return isinstance(first, Mapping) and {"role", "seq", "session", "parts"} <= set(first)


def read_responses(document: Document, notes: Notes) -> list[Imported]:
    return [_of_payload(document, notes, RESPONSES, openai_responses)]


def read_gemini(document: Document, notes: Notes) -> list[Imported]:
    return [_of_payload(document, notes, GEMINI, gemini)]


def _of_payload(document: Document, notes: Notes, name: str, wire: Any) -> Imported:
    payload = document.value if isinstance(document.value, Mapping) else {wire.MESSAGES: document.value}
    found = wire.read_payload(payload)
    if not found.events:
        raise nothing_to_import(document)
    for warning in found.warnings:
        notes.warn(warning)
    return Imported(
        session=derived_id(name, found.events),
        format=name,
        wire=wire.NAME,
        system=found.system,
        tools=found.tools,
        events=found.events,
        warnings=notes.lines(),
    )


def read_events(document: Document, notes: Notes) -> list[Imported]:
    """The one session of an exported log. Raises WireError with the line of what is no event."""
    events, session = [], ""
    for number, record in document.records:
        try:
            event = from_json(msgspec.json.encode(record))
        except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, ValueError) as error:
            raise WireError(f"line {number}", f"is no event of an exported log ({error}).") from error
        session = event.session or session
        events.append(_fresh(event))
    return [
        Imported(
            session=session or derived_id(EVENTS, events),
            format=EVENTS,
            wire="openai-chat",
            events=tuple(events),
            warnings=notes.lines(),
        )
    ]


def _fresh(event: Event) -> Event:
    """The event as it was before it was recorded; an export holds every body in full."""
    meta = {key: value for key, value in event.meta.items() if key not in ("outcome", "continues")}
    parts = tuple(map(_whole, event.parts))
    return msgspec.structs.replace(
        event, id="", session="", seq=0, plain="", chain="", tokens=0, meta=meta, parts=parts
    )


def _whole(part: Part) -> Part:
    if isinstance(part, Paste):
        return Text(part.text)
    if isinstance(part, ToolResult) and (part.artifact or part.images):
        images = tuple(msgspec.structs.replace(image, artifact=None) for image in part.images)
        return msgspec.structs.replace(part, artifact=None, images=images)
    return msgspec.structs.replace(part, artifact=None) if isinstance(part, Image) else part


FORMATS = (
    Format(RESPONSES, sniff_responses, read_responses),
    Format(GEMINI, sniff_gemini, read_gemini),
    Format(EVENTS, sniff_events, read_events),
)
