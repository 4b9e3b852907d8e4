"""Imports what Gemini CLI records: session files, saved chats, and replies recorded for tests. Knows nothing of other
agents.

A recording of replies (`{method, response}` a line) holds what the model said and nothing that it was asked: calls
have no results, but for a sub-agent's, whose report is the call that ended it. Its replies are a child session,
from the call that began it to that end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foldmark.events import Event, ToolCall, control, injected
from foldmark.importers import gemini_cli_chats
from foldmark.importers.gemini_parts import PROVIDER, Piece, field, pieces, step_parts, stop_of, usage_metadata
from foldmark.importers.parts import result_of, words_of
from foldmark.importers.values import (
    Child,
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
)
from foldmark.wire.plain import as_mapping, as_text, items, parse_json

NAME = gemini_cli_chats.NAME
_WIRE = "gemini"

_REPLIES = ("generateContent", "generateContentStream")
_SILENT = ("countTokens", "embedContent")
_BEGINS, _ENDS = "invoke_agent", "complete_task"


def sniff(document: Document) -> bool:
    return _is_recording(document) or gemini_cli_chats.sniff(document)


def _is_recording(document: Document) -> bool:
    rows = [record for _, record in document.records[:5]]
    return bool(rows) and all(
        isinstance(row, Mapping) and isinstance(row.get("method"), str) and "response" in row for row in rows
    )


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file. Raises WireError naming the line or the message, and the field."""
    if not _is_recording(document):
        return gemini_cli_chats.read(document, notes)
    steps = [event for number, record in document.records for event in _replies(record, number, notes)]
    if not has_messages(steps):
        raise nothing_to_import(document, "reply")
    notes.warn("a recording of replies holds no requests: users' words and results of tools are not in it")
    events, children = _told(iter(steps))
    return [
        Imported(
            session=derived_id(NAME, events),
            format=NAME,
            wire=_WIRE,
            events=tuple(events),
            children=tuple(children),
            warnings=notes.lines(),
        )
    ]


def _replies(record: Any, number: int, notes: Notes) -> Iterator[Event]:
    path = f"line {number}"
    row = as_mapping(record, path)
    method, response = row.get("method"), row.get("response")
    if method in _SILENT:
        yield control(str(method), dict(row), provider=NAME)
    elif method in _REPLIES:
        chunks = response if isinstance(response, list) else [response]
        yield _reply([as_mapping(chunk, f"{path} response[{at}]") for at, chunk in enumerate(chunks)], path, number)
    else:
        yield notes.kept(f"method {method}", dict(row), path, provider=NAME)


def _reply(chunks: list[Mapping[str, Any]], path: str, number: int) -> Event:
    """One assistant step of the chunks of a reply; the last report of usage is of all of it."""
    found: list[Piece] = []
    stop: dict[str, str] = {}
    usage, model = None, ""
    for at, chunk in enumerate(chunks):
        usage = usage_metadata(field(chunk, "usage_metadata")) or usage
        model = str(field(chunk, "model_version") or model)
        for candidate in items(chunk.get("candidates"), f"{path} response[{at}].candidates")[:1]:
            where = f"{path} response[{at}].candidates[0]"
            answer = as_mapping(candidate, where)
            content = as_mapping(answer.get("content") or {}, f"{where}.content")
            found += pieces(content.get("parts"), f"{where}.content.parts")
            stop = stop_of(field(answer, "finish_reason")) or stop
    parts = step_parts(found, str(number), is_stream=True)
    if not parts:
        return control("empty reply", {"response": [dict(chunk) for chunk in chunks]}, provider=NAME)
    return Event(role="assistant", origin="agent", parts=parts, usage=usage, provider=PROVIDER, model=model, meta=stop)


def _told(steps: Iterator[Event], ends: str = "") -> tuple[list[Event], list[Child]]:
    """The line of an agent up to the call `ends`, its sub-agents as children; they take the steps in between."""
    events: list[Event] = []
    children: list[Child] = []
    for event in steps:
        events.append(event)
        if ends and _named(event.calls, ends):
            break
        for call in (call for call in event.calls if call.name == _BEGINS):
            told, theirs = _told(steps, _ENDS)
            if not told:
                continue
            children.append(_child(call, told, theirs))
            if report := _report(told):
                events.append(result_of(call.id, report, name=call.name))
    return events, children


def _named(calls: Iterable[ToolCall], name: str) -> ToolCall | None:
    return next((call for call in calls if call.name == name), None)


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        value = parse_json(call.arguments)
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def _report(events: list[Event]) -> str:
    """What a sub-agent ended with, "" while it is running."""
    last = _named(events[-1].calls, _ENDS)
    return words_of(_arguments(last).get("result")) if last else ""


def _child(call: ToolCall, events: list[Event], children: list[Child]) -> Child:
    prompt = as_text(_arguments(call).get("prompt"), f"{call.id}.prompt")
    whole = ([injected(prompt)] if prompt else []) + events
    imported = Imported(session=call.id, format=NAME, wire=_WIRE, events=tuple(whole), children=tuple(children))
    return Child(kind="child", imported=imported, call_id=call.id)


FORMAT = Format(NAME, sniff, read)
