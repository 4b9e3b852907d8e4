"""Imports message dumps of pydantic-ai (`ModelMessagesTypeAdapter`). Knows nothing of agents or runs.

A request's parts become events of their own: user words, results, retries. A response is one assistant step. System
prompts and the newest instructions are the system text. What a provider's own tool did stays inside its step,
carried whole; a compaction is an injected event before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from foldmark.events import Event, Part, Text, control
from foldmark.importers.parts import mappings, told, usage_of
from foldmark.importers.pydantic_ai_parts import (
    NAME,
    answer_part,
    compaction_event,
    retry_event,
    returned_event,
    user_parts,
)
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
from foldmark.wire.plain import as_mapping, as_text

_NOTES = (
    "instruction-baseline",
    "instruction-delta",
    "model-settings-delta",
    "tool-availability-delta",
    "capability-load-delta",
)
"""Parts of a request that record settings and say nothing."""

_NORMAL_STOPS = (None, "stop", "tool_call")
_USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")

Row = Mapping[str, Any]


def sniff(document: Document) -> bool:
    rows = [row for _, row in islice(placed_rows(document), 5)]
    return bool(rows) and all(
        isinstance(row, Mapping) and row.get("kind") in ("request", "response") and isinstance(row.get("parts"), list)
        for row in rows
    )


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file. Raises WireError with the path of a part that cannot be read."""
    reader = _Reader(notes)
    for path, row in placed_rows(document):
        reader.take(as_mapping(row, path), path)
    if not has_messages(reader.events):
        raise nothing_to_import(document)
    makers = [event.provider for event in reader.events if event.role == "assistant"]
    return [
        Imported(
            session=reader.session or derived_id(NAME, reader.events),
            format=NAME,
            wire="anthropic" if "anthropic" in makers else "openai-chat",
            system="\n\n".join([*reader.systems, *([reader.instructions] if reader.instructions else [])]),
            events=tuple(reader.events),
            warnings=notes.lines(),
        )
    ]


class _Reader:
    """Takes messages in order. `instructions` are the newest: the model is sent those alone."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.events: list[Event] = []
        self.systems: list[str] = []
        self.instructions = self.session = ""

    def take(self, row: Row, path: str) -> None:
        self.session = self.session or str(row.get("conversation_id") or "")
        if row.get("kind") == "request":
            self.instructions = as_text(row.get("instructions"), f"{path}.instructions") or self.instructions
            for where, part in mappings(row.get("parts"), f"{path}.parts"):
                time = seconds(part.get("timestamp") or row.get("timestamp"))
                self.events += [msgspec.structs.replace(event, time=time) for event in self.asked(part, where)]
        elif row.get("kind") == "response":
            time = seconds(row.get("timestamp"))
            self.events += [msgspec.structs.replace(event, time=time) for event in self.answered(row, path)]
        else:
            self.events.append(self.notes.kept(f"kind {row.get('kind')}", dict(row), path, provider=NAME))

    def asked(self, part: Row, path: str) -> Iterator[Event]:
        kind = part.get("part_kind")
        if kind == "system-prompt":
            words = as_text(part.get("content"), f"{path}.content")
            if has_messages(self.events):
                yield Event(role="system", origin="injected", parts=(Text(words),))
            else:
                self.systems.append(words)
        elif kind == "user-prompt":
            yield told(user_parts(part.get("content"), f"{path}.content"), is_user=True)
        elif kind == "speech" and part.get("speaker") != "assistant":
            yield told([Text(as_text(part.get("transcript"), f"{path}.transcript"))], is_user=True)
        elif kind == "tool-return":
            yield returned_event(part, path)
        elif kind in ("retry-prompt", "retry-feedback"):
            yield retry_event(part, path)
        elif kind in _NOTES:
            yield control(str(kind), dict(part), provider=NAME)
        else:
            yield self.notes.kept(f"part {kind}", dict(part), path, provider=NAME)

    def answered(self, row: Row, path: str) -> Iterator[Event]:
        maker = str(row.get("provider_name") or "")
        parts: list[Part] = []
        for where, part in mappings(row.get("parts"), f"{path}.parts"):
            if part.get("part_kind") == "compaction":
                yield compaction_event(part, where)
            elif (read := answer_part(part, where, maker)) is not None:
                parts.append(read)
            else:
                yield self.notes.kept(f"part {part.get('part_kind')}", dict(part), where, provider=NAME)
        stop = row.get("finish_reason")
        if not parts:
            yield control(f"empty step ({stop or 'no reason'})", dict(row), provider=NAME)
            return
        usage = row.get("usage")
        yield Event(
            role="assistant",
            origin="agent",
            parts=tuple(parts),
            usage=usage_of(usage, *_USAGE) or usage_of(usage, "request_tokens", "response_tokens"),
            provider=maker,
            model=str(row.get("model_name") or ""),
            meta={} if stop in _NORMAL_STOPS else {"stop": str(stop)},
        )


FORMAT = Format(NAME, sniff, read)
