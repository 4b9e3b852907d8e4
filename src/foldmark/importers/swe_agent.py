"""Imports SWE-agent trajectories (`.traj`). Knows nothing of other agents.

Two forms: with function calls (results answer `tool_call_ids`), and as text, where the action stands in a
code fence and the next user row is its observation. The text form becomes real pairs: the action is a call
of `bash` with a derived id, its observation the result. The first user row that is no demonstration is the
user's; demonstrations and all later user rows are injected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.events import (
    Event,
    Part,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    injected,
    result,
    user,
)
from foldmark.importers.parts import thinking_blocks
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id
from foldmark.wire.openai_reading import read_message
from foldmark.wire.plain import compact_json

NAME = "swe-agent"
_TOOL = "bash"

Row = Mapping[str, Any]


def sniff(document: Document) -> bool:
    value = document.value
    return isinstance(value, Mapping) and "trajectory" in value and ("history" in value or "info" in value)


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file, from `history`, else from the steps of `trajectory`. Raises WireError."""
    value = document.value
    source = "history" if value.get("history") else "trajectory"
    rows = value[source]
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise WireError(source, "expected a list of objects.")
    systems: list[str] = []
    events = list(_history(rows, systems, notes) if source == "history" else _steps(rows))
    if value.get("info"):
        notes.warn("info: the outcome of the run (exit status, submission) is no part of the conversation, left out")
    return [
        Imported(
            session=derived_id(NAME, events),
            format=NAME,
            wire="openai-chat",
            system="\n\n".join(systems),
            events=tuple(events),
            warnings=notes.lines(),
        )
    ]


def _history(rows: list[Row], systems: list[str], notes: Notes) -> Iterator[Event]:
    names: dict[str, str] = {}
    waiting = ""
    has_user = False
    for at, row in enumerate(rows):
        path, role = f"history[{at}]", row.get("role")
        if row.get("is_demo"):
            yield injected(_words(row, path))
        elif role == "system":
            systems.append(_words(row, path))
        elif role == "assistant":
            event = _assistant(row, path, at, names)
            waiting = event.calls[0].id if event.calls and not row.get("tool_calls") else ""
            yield event
        elif role == "tool":
            yield from _results(row, path, names)
        elif role == "user" and waiting:
            yield result(waiting, _words(row, path), name=_TOOL)
            waiting = ""
        elif role == "user":
            words = _words(row, path)
            yield injected(words) if has_user else user(words)
            has_user = True
        else:
            yield notes.kept(f"role {role}", dict(row), path, provider=NAME)


def _words(row: Row, path: str) -> str:
    return "\n".join(event.text for event in read_message({**row, "role": "user"}, path))


def _assistant(row: Row, path: str, at: int, names: dict[str, str]) -> Event:
    event = read_message(row, path, names)[0]
    parts: list[Part] = [*thinking_blocks(row.get("thinking_blocks"), f"{path}.thinking_blocks")]
    action = row.get("action")
    if event.calls or not isinstance(action, str) or not action.strip():
        parts += event.parts
    else:
        if words := _without_action(event.text, row.get("thought"), action):
            parts.append(Text(words))
        parts.append(ToolCall(f"action_{at}", _TOOL, compact_json({"command": action})))
    return Event(role="assistant", origin="agent", parts=tuple(parts))


def _without_action(content: str, thought: Any, action: str) -> str:
    """The thought alone when the rest of the content is just the fenced action, which the call already
    holds."""
    if isinstance(thought, str) and content.startswith(thought):
        fence = content[len(thought) :].strip().strip("`").strip()
        if fence == action.strip():
            return thought.rstrip()
    return content


def _results(row: Row, path: str, names: Mapping[str, str]) -> Iterator[Event]:
    ids = row.get("tool_call_ids") or [row.get("tool_call_id")]
    if not isinstance(ids, list) or not all(isinstance(call_id, str) and call_id for call_id in ids):
        raise WireError(f"{path}.tool_call_ids", "a result must name the call that it answers.")
    event = read_message({**row, "role": "tool", "tool_call_id": ids[0]}, path, dict(names))[0]
    yield event
    for call_id in ids[1:]:
        note = ToolResult(call_id, f"(answered together with {ids[0]})", name=names.get(call_id, ""))
        yield Event(role="tool", origin="tool", parts=(note,))


def _steps(rows: list[Row]) -> Iterator[Event]:
    for at, row in enumerate(rows):
        thought, action = str(row.get("thought") or row.get("response") or ""), str(row.get("action") or "")
        if not action.strip():
            yield assistant(thought)
            continue
        yield assistant(thought.rstrip(), ToolCall(f"action_{at}", _TOOL, compact_json({"command": action})))
        yield result(f"action_{at}", str(row.get("observation") or ""), name=_TOOL)


FORMAT = Format(NAME, sniff, read)
