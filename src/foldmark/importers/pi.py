"""Imports session files of the pi coding agent (JSON lines). Knows nothing of other agents.

Older files are a plain list, newer ones a tree by `id` and `parentId`. A command that the user ran in the
program is injected text; compaction and branch summaries are injected; an aborted step that said nothing is
a control event, one that said something is kept with `meta["stop"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, Usage, control
from foldmark.importers.parts import arguments_of, mappings, redacted_thinking, result_of, signed_thinking, told
from foldmark.importers.tree import Line, Node, main_line
from foldmark.importers.values import (
    Child,
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

NAME = "pi"

_SETTINGS = ("session", "model_change", "thinking_level_change", "label", "custom", "session_info")
_SUMMARIES = ("compaction", "branch_summary")


def sniff(document: Document) -> bool:
    heads = [record for _, record in document.records[:5] if isinstance(record, Mapping)]
    return any(
        (record.get("type") == "session" and "cwd" in record)
        or (record.get("type") == "message" and isinstance(record.get("message"), Mapping) and "uuid" not in record)
        for record in heads
    )


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file, other branches as forks. Raises WireError naming line and field."""
    records: dict[str, tuple[int, Mapping[str, Any]]] = {}
    nodes: list[Node] = []
    before = ""
    for number, value in document.records:
        record = as_mapping(value, f"line {number}")
        key = str(record.get("id") or "") if record.get("type") != "session" else ""
        key = key if key and key not in records else f"line {number}"
        parent = str(record.get("parentId") or "") if "parentId" in record else before
        nodes.append(Node(key, parent, number, record.get("type") in ("message", *_SUMMARIES, "custom_message")))
        records[key] = (number, record)
        before = key
    header = next((record for _, record in records.values() if record.get("type") == "session"), {})
    imported = _imported(main_line(nodes), records, str(header.get("id") or ""), notes)
    if not has_messages(imported.events):
        raise nothing_to_import(document)
    return [msgspec.structs.replace(imported, warnings=notes.lines())]


def _imported(line: Line, records: Mapping[str, tuple[int, Mapping[str, Any]]], session: str, notes: Notes) -> Imported:
    events: list[Event] = []
    ends: dict[str, int] = {}
    for node in line.nodes:
        number, record = records[node.key]
        events.append(_event(record, number, notes))
        ends[node.key] = len(events)
    session = session or derived_id(NAME, events)
    children = tuple(
        Child(
            kind="fork",
            imported=_imported(fork, records, f"fork-{fork.nodes[0].key}", notes),
            at=ends.get(fork.after, 0),
        )
        for fork in line.forks
    )
    providers = [event.provider for event in events if event.role == "assistant"]
    wire = "anthropic" if providers.count("anthropic") * 2 >= len(providers) else "openai-chat"
    return Imported(session=session, format=NAME, wire=wire, events=tuple(events), children=children)


def _event(record: Mapping[str, Any], number: int, notes: Notes) -> Event:
    kind, path = str(record.get("type") or ""), f"line {number}"
    time = seconds(record.get("timestamp"))
    if kind in _SUMMARIES:
        words = as_text(record.get("summary"), f"{path} summary")
        return told([Text(words)], is_user=False, time=time, meta={"foreign": kind})
    if kind == "custom_message":
        return told(_parts(record.get("content"), f"{path} content"), is_user=False, time=time)
    if kind in _SETTINGS:
        return control(kind, dict(record), provider=NAME, time=time)
    if kind != "message":
        return notes.kept(kind, dict(record), path, provider=NAME, time=time)
    message = as_mapping(record.get("message"), f"{path} message")
    time = time if time is not None else seconds(message.get("timestamp"))
    event = _message(message, f"{path} message", notes)
    return msgspec.structs.replace(event, time=time)


def _message(message: Mapping[str, Any], path: str, notes: Notes) -> Event:
    role = message.get("role")
    if role == "user":
        return told(_parts(message.get("content"), f"{path}.content"), is_user=True)
    if role == "assistant":
        return _assistant(message, path)
    if role == "toolResult":
        return _result(message, path)
    if role == "bashExecution":
        return _command(message, path)
    if role in ("branchSummary", "compactionSummary"):
        words = as_text(message.get("summary"), f"{path}.summary")
        return told([Text(words)], is_user=False, meta={"foreign": str(role)})
    if role in ("custom", "hookMessage"):
        return told(_parts(message.get("content"), f"{path}.content"), is_user=False)
    return notes.kept(f"message of role {role}", dict(message), path, provider=NAME)


def _assistant(message: Mapping[str, Any], path: str) -> Event:
    provider = str(message.get("provider") or "")
    parts = _parts(message.get("content"), f"{path}.content", provider, str(message.get("api") or ""))
    stop = str(message.get("stopReason") or "")
    if not parts:
        return control(f"empty step ({stop or 'no reason'})", dict(message), provider=NAME)
    meta = {"stop": stop} if stop not in ("", "stop", "toolUse") else {}
    if message.get("errorMessage"):
        meta["error"] = str(message["errorMessage"])
    return Event(
        role="assistant",
        origin="agent",
        parts=parts,
        usage=_usage(message.get("usage")),
        provider=provider,
        model=str(message.get("model") or ""),
        meta=meta,
    )


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    read, write = as_count(usage.get("cacheRead")), as_count(usage.get("cacheWrite"))
    whole = as_count(usage.get("input")) + read + write
    return Usage(input=whole, output=as_count(usage.get("output")), cache_read=read, cache_write=write)


def _result(message: Mapping[str, Any], path: str) -> Event:
    return result_of(
        as_name(message.get("toolCallId"), f"{path}.toolCallId"),
        _parts(message.get("content"), f"{path}.content"),
        name=as_text(message.get("toolName"), f"{path}.toolName"),
        is_error=bool(message.get("isError")),
    )


def _command(message: Mapping[str, Any], path: str) -> Event:
    """A command that the user ran: the model is told, unless the user said not to."""
    if message.get("excludeFromContext"):
        return control("bashExecution", dict(message), provider=NAME)
    command = as_text(message.get("command"), f"{path}.command")
    output = as_text(message.get("output"), f"{path}.output")
    end = "cancelled" if message.get("cancelled") else f"exit code {message.get('exitCode')}"
    words = f"The user ran `{command}` ({end}):\n{output}" if output else f"The user ran `{command}` ({end})."
    return told([Text(words)], is_user=False)


def _parts(content: Any, path: str, provider: str = "", api: str = "") -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(_part(block, where, provider, api) for where, block in mappings(content, path))


def _part(block: Mapping[str, Any], path: str, provider: str, api: str) -> Part:
    kind = block.get("type")
    if kind == "text":
        return Text(as_text(block.get("text"), f"{path}.text"))
    if kind == "thinking":
        return _thinking(block, path, provider, api)
    if kind == "toolCall":
        name = as_name(block.get("name"), f"{path}.name")
        return ToolCall(as_name(block.get("id"), f"{path}.id"), name, arguments_of(block.get("arguments")))
    if kind == "image":
        media_type = as_text(block.get("mimeType"), f"{path}.mimeType")
        return Image(media_type=media_type, data=as_text(block.get("data"), f"{path}.data"))
    return Opaque(NAME, dict(block))


def _thinking(block: Mapping[str, Any], path: str, provider: str, api: str) -> Reasoning:
    """Thinking in its provider's own form where pi keeps all of it, so that it can go back as it came."""
    words, signature = as_text(block.get("thinking"), f"{path}.thinking"), block.get("thinkingSignature")
    if api.startswith("anthropic") and signature:
        if block.get("redacted"):
            return redacted_thinking(signature)
        return signed_thinking(words, signature)
    return Reasoning(words, provider or NAME, dict(block))


FORMAT = Format(NAME, sniff, read)
