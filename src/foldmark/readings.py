"""Makes the whole, redacted reading of new events that every note-taking step works from. Pure text work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from foldmark.events import (
    Body,
    Event,
    Image,
    Opaque,
    Part,
    Paste,
    Reading,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from foldmark.evidence import RECALLED
from foldmark.redact import redact_json, redact_value


class Made(Protocol):
    """A call and where it was made, as the store's context gives it."""

    @property
    def seq(self) -> int: ...

    @property
    def call(self) -> ToolCall: ...

    @property
    def key(self) -> str: ...


def read(
    events: Sequence[Event], bodies: Sequence[Body], answers: Sequence[Made | None], redact: Callable[[str], str]
) -> list[Reading]:
    """One reading per event. `answers` has for each event the call that its result answers."""
    whole = {(body.seq, body.number): body.text for body in bodies}
    out: list[Reading] = []
    for event, found in zip(events, answers, strict=True):
        made = tuple(_redacted(call, redact) for call in event.calls)
        call, call_seq, call_key = None, 0, ""
        if found:
            call_seq, call, call_key = found.seq, _redacted(found.call, redact), found.key
        text = redact(words_of(event, whole)) if event.role != "control" else ""
        out.append(Reading(event, text, made, call, call_seq, call_key))
    return out


def without_recalled(readings: Sequence[Reading], recalls: Callable[[str], bool]) -> list[Reading]:
    """Readings in which calls that only bring back what stands in the log, and their results, say nothing: else a
    search would find earlier searches, and an old error would be a new one. `recalls` is asked by a tool's name."""
    return [_silent(reading, recalls) for reading in readings]


def is_recalled(event: Event, call: ToolCall | None, recalls: Callable[[str], bool]) -> bool:
    """Whether a result shows what stands in the log already: it answers such a call, or says so itself."""
    if event.result is None:
        return False
    return RECALLED in event.meta or recalls(call.name if call else event.result.name)


def _silent(reading: Reading, recalls: Callable[[str], bool]) -> Reading:
    if is_recalled(reading.event, reading.call, recalls):
        return msgspec.structs.replace(reading, text="", call=None)
    calls = tuple(call for call in reading.calls if not recalls(call.name))
    return reading if len(calls) == len(reading.calls) else msgspec.structs.replace(reading, calls=calls)


def _redacted(call: ToolCall, redact: Callable[[str], str]) -> ToolCall:
    arguments = redact_json(call.arguments, redact)
    return call if arguments == call.arguments else msgspec.structs.replace(call, arguments=arguments)


def words_of(event: Event, whole: Mapping[tuple[int, int], str]) -> str:
    """The event's words with each preview replaced by its full body."""
    found: list[str] = []
    for part in event.parts:
        match part:
            case Text(text=text) if text:
                found.append(text)
            case ToolResult(text=text, artifact=artifact) | Paste(text=text, artifact=artifact):
                body = whole.get((event.seq, artifact.number)) if artifact else None
                found.append(text if body is None else body)
    return "\n".join(found)


def with_calls(text: str, calls: Sequence[ToolCall]) -> str:
    """An event's words followed by its calls: the text whose lines search points at and `load` opens."""
    if not calls:
        return text
    said = "\n".join(call_text(call) for call in calls)
    return f"{text}\n{said}" if text else said


def call_text(call: ToolCall) -> str:
    """A call as lines to search: decoded, so that text inside arguments comes apart at its own lines."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return f"{call.name} {call.arguments}"
    if not isinstance(arguments, dict):
        return f"{call.name} {call.arguments}"
    lines = [value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in arguments.values()]
    named = [f"{name}: {value}" for name, value in zip(arguments, lines, strict=True)]
    return "\n".join([call.name, *named]) if any("\n" in each for each in named) else " ".join([call.name, *named])


def without_secrets(event: Event, redact: Callable[[str], str]) -> Event:
    """The event with labels for its secrets, and without fingerprints: they tell what was said to whoever guesses."""
    parts = tuple(_part_without_secrets(part, redact) for part in event.parts)
    meta = {name: redact(value) for name, value in event.meta.items()}
    return msgspec.structs.replace(event, parts=parts, meta=meta, plain="", chain="")


def _part_without_secrets(part: Part, redact: Callable[[str], str]) -> Part:
    match part:
        case Text(text=text, raw=raw) | Reasoning(text=text, raw=raw):
            return msgspec.structs.replace(part, text=redact(text), raw=redact_value(raw, redact))
        case ToolCall(arguments=arguments):
            return msgspec.structs.replace(part, arguments=redact_json(arguments, redact))
        case ToolResult(text=text, images=images):
            shown = tuple(msgspec.structs.replace(one, url=redact(one.url)) for one in images)
            return msgspec.structs.replace(part, text=redact(text), images=shown)
        case Paste(text=text):
            return msgspec.structs.replace(part, text=redact(text))
        case Image(url=url):
            return msgspec.structs.replace(part, url=redact(url))
        case Opaque(raw=raw):
            return msgspec.structs.replace(part, raw=redact_value(raw, redact))
