"""Session files and saved chats of Gemini CLI. Knows nothing of recorded replies.

A session file is one object with `messages`, or their lines: a message that comes again under its id replaces the
earlier one, `$rewindTo` takes back that message and all after it (they become a fork), `$set` changes what is known
of the session. A saved chat is a list of contents as the API takes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part, Reasoning, Text, ToolCall, Usage, control
from foldmark.importers.gemini_parts import (
    PROVIDER,
    Piece,
    is_failure,
    media_part,
    pieces,
    response_event,
    response_words,
    step_parts,
)
from foldmark.importers.parts import Told, Waiting, arguments_of, mappings, result_of, told
from foldmark.importers.values import (
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
    seconds,
)
from foldmark.wire.plain import as_count, as_mapping, as_name, as_text

NAME = "gemini-cli"
_WIRE = "gemini"

_NOTICES = ("info", "error", "warning")
_BY_PROGRAM = re.compile(r"\s*(<session_context>|<state_snapshot>|This is the Gemini CLI\. We are setting up)")
_FAILED = ("error", "cancelled")


def sniff(document: Document) -> bool:
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list) and "sessionId" in value:
        return "projectHash" in value
    if _contents(document):
        return True
    return any(
        isinstance(record, Mapping) and "projectHash" in record and "sessionId" in record
        for _, record in document.records[:5]
    )


def _contents(document: Document) -> list[Any]:
    value = document.value
    rows = value.get("history") if isinstance(value, Mapping) else value
    if not isinstance(rows, list):
        return []
    shaped = (
        isinstance(row, Mapping) and row.get("role") in ("user", "model") and isinstance(row.get("parts"), list)
        for row in rows[:5]
    )
    return rows if rows and all(shaped) else []


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file, rewound messages as forks. Raises WireError naming the message and the field."""
    about: dict[str, Any] = {}
    rows = _contents(document)
    line = _saved(rows, notes) if rows else _session(document, about, notes)
    if not has_messages(line.events) and not line.children:
        raise nothing_to_import(document)
    if about.get("kind") == "subagent":
        notes.warn("this is the session of a sub-agent; the file of its session says which call began it")
    return [
        Imported(
            session=str(about.get("sessionId") or derived_id(NAME, line.events)),
            format=NAME,
            wire=_WIRE,
            events=tuple(line.events),
            children=tuple(line.children),
            warnings=notes.lines(),
        )
    ]


def _saved(rows: list[Any], notes: Notes) -> Told:
    line, waiting = Told(), Waiting()
    for at, row in enumerate(rows):
        found = list(_content(as_mapping(row, f"[{at}]"), at, waiting, notes))
        waiting.made(found)
        line.events += found
    return line


def _content(content: Mapping[str, Any], at: int, waiting: Waiting, notes: Notes) -> Iterator[Event]:
    found = list(pieces(content.get("parts"), f"[{at}].parts"))
    role = content.get("role")
    if role == "model":
        yield _step(step_parts(found, str(at)))
    elif role == "user":
        yield from (response_event(piece, waiting) for piece in found if piece.kind == "function_response")
        yield from _said([piece for piece in found if piece.kind != "function_response"], None)
    else:
        yield notes.kept(f"role {role}", dict(content), f"[{at}]", provider=NAME)


def _step(parts: tuple[Part, ...], **fields: Any) -> Event:
    return Event(role="assistant", origin="agent", parts=parts, provider=PROVIDER, **fields)


def _said(found: list[Piece], time: float | None) -> Iterator[Event]:
    parts = [media_part(piece) for piece in found if piece.kind != "text" or piece.value]
    if not parts:
        return
    first = next((part.text for part in parts if isinstance(part, Text)), "")
    is_foreign = first.lstrip().startswith("<state_snapshot>")
    meta = {"foreign": "state_snapshot"} if is_foreign else {}
    yield told(parts, is_user=not _BY_PROGRAM.match(first), time=time, meta=meta)


def _session(document: Document, about: dict[str, Any], notes: Notes) -> Told:
    line = Told()
    ends: dict[str, int] = {}
    for path, message in _latest(document, about, line, ends, notes):
        ends[str(message.get("id") or path)] = len(line.events)
        line.events += _message(message, path, notes)
    return line


def _latest(
    document: Document, about: dict[str, Any], line: Told, ends: dict[str, int], notes: Notes
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Messages in their order, each as its newest line has it; takes back what was rewound on the way."""
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        about.update({key: held for key, held in value.items() if key != "messages"})
        yield from mappings(value["messages"], "messages")
        return
    rows = [(f"line {number}", as_mapping(record, f"line {number}")) for number, record in document.records]
    newest = {str(row["id"]): row for _, row in rows if "id" in row}
    seen: set[str] = set()
    for path, row in rows:
        key = str(row.get("id") or "")
        if "$rewindTo" in row:
            rewound = str(row["$rewindTo"])
            line.take_back(ends.get(rewound, 0), f"rewound-{rewound}", NAME, _WIRE)
        elif "$set" in row:
            about.update(as_mapping(row["$set"], f"{path} $set"))
        elif key and key not in seen:
            seen.add(key)
            yield path, newest[key]
        elif not key and "sessionId" in row:
            about.update(row)
        elif not key:
            line.events.append(notes.kept("line without id", dict(row), path, provider=NAME))


def _message(message: Mapping[str, Any], path: str, notes: Notes) -> Iterator[Event]:
    kind, time = message.get("type"), seconds(message.get("timestamp"))
    if kind in _NOTICES:
        yield control(str(kind), dict(message), provider=NAME, time=time)
    elif kind == "user":
        yield from _said(list(pieces(message.get("content"), f"{path}.content")), time)
    elif kind == "gemini":
        yield from _turn(message, path, time)
    else:
        yield notes.kept(f"message of type {kind}", dict(message), path, provider=NAME, time=time)


def _turn(message: Mapping[str, Any], path: str, time: float | None) -> Iterator[Event]:
    """A step with its calls, then the results that the file keeps inside the calls."""
    thoughts = mappings(message.get("thoughts"), f"{path}.thoughts")
    parts: list[Part] = [Reasoning(_thought(thought), PROVIDER) for _, thought in thoughts]
    parts += step_parts(list(pieces(message.get("content"), f"{path}.content")), path.replace(" ", "_"))
    calls = list(mappings(message.get("toolCalls"), f"{path}.toolCalls"))
    for where, call in calls:
        call_id, name = as_name(call.get("id"), f"{where}.id"), as_name(call.get("name"), f"{where}.name")
        if not any(isinstance(part, ToolCall) and part.id == call_id for part in parts):
            parts.append(ToolCall(call_id, name, arguments_of(call.get("args"))))
    if not parts:
        yield control("empty step", dict(message), provider=NAME, time=time)
        return
    yield _step(tuple(parts), time=time, usage=_usage(message.get("tokens")), model=str(message.get("model") or ""))
    for where, call in calls:
        yield from _result(call, where, time)


def _thought(thought: Mapping[str, Any]) -> str:
    subject, words = str(thought.get("subject") or ""), str(thought.get("description") or "")
    return f"{subject}: {words}" if subject and words else subject or words


def _usage(tokens: Any) -> Usage | None:
    if not isinstance(tokens, Mapping):
        return None
    output = as_count(tokens.get("output")) + as_count(tokens.get("thoughts"))
    return Usage(as_count(tokens.get("input")), output, as_count(tokens.get("cached")))


def _result(call: Mapping[str, Any], path: str, before: float | None) -> Iterator[Event]:
    """The answer of a call that has one; a call that was cancelled or failed has one too."""
    found = list(pieces(call.get("result"), f"{path}.result"))
    status = call.get("status")
    if not found and status not in _FAILED:
        return
    time = seconds(call.get("timestamp"))
    answers = [as_mapping(piece.value, piece.path) for piece in found if piece.kind == "function_response"]
    parts: list[Part] = [Text(response_words(answer.get("response"))) for answer in answers]
    parts += [media_part(piece) for piece in found if piece.kind != "function_response"]
    if not parts:
        parts = [Text(as_text(call.get("resultDisplay"), path) if isinstance(call.get("resultDisplay"), str) else "")]
    is_error = status in _FAILED or any(is_failure(answer.get("response")) for answer in answers)
    event = result_of(str(call["id"]), parts, name=str(call["name"]), is_error=is_error)
    yield msgspec.structs.replace(event, time=time if time is not None else before)


FORMAT = Format(NAME, sniff, read)
