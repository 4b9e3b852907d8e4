"""Events of the OpenHands agent kit (`kind` names the class of each). Knows nothing of the older event streams.

Parallel actions of one reply share its `llm_response_id` and are one assistant step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part, Reasoning, Text, ToolCall, control
from foldmark.importers.openhands_records import NAME, condensation_event
from foldmark.importers.parts import arguments_of, result_of, thinking_blocks, told
from foldmark.importers.values import Imported, Notes, derived_id, seconds
from foldmark.wire.openai_reading import read_message
from foldmark.wire.plain import as_mapping, as_name, as_text, compact_json, items
from foldmark.wire.tools import neutral_tools

_SILENT = ("ConversationStateUpdateEvent", "PauseEvent", "CondensationRequest", "TokenEvent", "LLMCompletionLogEvent")
_FAILURES = ("AgentErrorEvent", "UserRejectObservation")

Row = Mapping[str, Any]


def is_event(row: Row) -> bool:
    kind = row.get("kind")
    return isinstance(kind, str) and "source" in row and kind.endswith(("Event", "Observation", "Condensation"))


def read_run(rows: list[Any], head: str, notes: Notes) -> Imported:
    """The session that the events of one run are. Raises WireError with the path in the file."""
    reader = _Reader(notes)
    for at, row in enumerate(rows):
        path = f"{head}[{at}]"
        reader.take(as_mapping(row, path), path)
    return Imported(
        session=derived_id(NAME, reader.events),
        format=NAME,
        wire="openai-chat",
        system="\n\n".join(reader.systems),
        tools=tuple(reader.tools),
        events=tuple(reader.events),
    )


class _Reader:
    """Takes events in order; `reply` is the reply whose actions are being read."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.events: list[Event] = []
        self.systems: list[str] = []
        self.tools: list[dict[str, Any]] = []
        self.reply = ""

    def take(self, row: Row, path: str) -> None:
        time = seconds(row.get("timestamp"))
        reply = str(row.get("llm_response_id") or "") if row.get("kind") == "ActionEvent" else ""
        found = [msgspec.structs.replace(event, time=time) for event in self.read(row, path)]
        if reply and reply == self.reply and self.events and found:
            whole = self.events[-1]
            parts = (*whole.parts, *(part for part in found[0].parts if part not in whole.parts))
            self.events[-1] = msgspec.structs.replace(whole, parts=parts)
        else:
            self.events += found
        self.reply = reply

    def read(self, row: Row, path: str) -> Iterator[Event]:
        kind = str(row.get("kind") or "")
        if kind == "SystemPromptEvent":
            self.systems += [part.text for part in _content([row.get("system_prompt")], f"{path}.system_prompt")]
            tools = items(row.get("tools"), f"{path}.tools")
            self.tools += neutral_tools(tool for tool in tools if isinstance(tool, Mapping) and "function" in tool)
        elif kind == "MessageEvent":
            yield from self.message(row, path)
        elif kind == "ActionEvent":
            yield _action(row, path)
        elif kind == "ObservationEvent" or kind in _FAILURES:
            yield _observation(row, path, kind in _FAILURES)
        elif kind == "Condensation":
            yield condensation_event(kind, row, row.get("summary"), path)
        elif kind in _SILENT:
            yield control(kind, dict(row), provider=NAME)
        else:
            yield self.notes.kept(kind or "(no kind)", dict(row), path, provider=NAME)

    def message(self, row: Row, path: str) -> Iterator[Event]:
        message = as_mapping(row.get("llm_message"), f"{path}.llm_message")
        for event in read_message(message, f"{path}.llm_message"):
            is_injected = event.role == "user" and row.get("source") != "user"
            yield msgspec.structs.replace(event, origin="injected") if is_injected else event
        if extra := _content(row.get("extended_content"), f"{path}.extended_content"):
            yield told(extra, is_user=False)


def _content(blocks: Any, path: str) -> list[Text]:
    """The texts of blocks."""
    found: list[Text] = []
    for at, block in enumerate(items(blocks, path)):
        if isinstance(block, Mapping) and block.get("type", "text") == "text":
            found.append(Text(as_text(block.get("text"), f"{path}[{at}].text")))
    return found


def _action(row: Row, path: str) -> Event:
    parts: list[Part] = [*thinking_blocks(row.get("thinking_blocks"), f"{path}.thinking_blocks")]
    if (words := row.get("reasoning_content")) and not parts:
        parts.append(Reasoning(as_text(words, f"{path}.reasoning_content"), "openai", {"reasoning_content": words}))
    parts += _content(row.get("thought"), f"{path}.thought")
    call = as_mapping(row.get("tool_call") or {}, f"{path}.tool_call")
    inner = call.get("function")
    function = inner if isinstance(inner, Mapping) else call
    call_id = as_name(row.get("tool_call_id") or call.get("id"), f"{path}.tool_call_id")
    name = as_name(row.get("tool_name") or function.get("name"), f"{path}.tool_name")
    action = as_mapping(row.get("action") or {}, f"{path}.action")
    done = {key: value for key, value in action.items() if key != "kind"}
    parts.append(ToolCall(call_id, name, arguments_of(function.get("arguments", done))))
    return Event(role="assistant", origin="agent", parts=tuple(parts))


def _observation(row: Row, path: str, has_failed: bool) -> Event:
    call_id = as_name(row.get("tool_call_id"), f"{path}.tool_call_id")
    seen = as_mapping(row.get("observation") or {}, f"{path}.observation")
    content = seen.get("content")
    if isinstance(content, list):
        parts = read_message({"role": "user", "content": [_openai(block) for block in content]}, path)[0].parts
    elif has_failed:
        parts = (Text(as_text(row.get("error") or row.get("rejection_reason"), f"{path}.error")),)
    else:
        output = seen.get("output") or content
        parts = (Text(output if isinstance(output, str) else compact_json(dict(seen))),)
    code = seen.get("exit_code")
    is_error = has_failed or bool(seen.get("is_error") or seen.get("error")) or (isinstance(code, int) and code > 0)
    return result_of(call_id, parts, name=str(row.get("tool_name") or ""), is_error=is_error)


def _openai(block: Any) -> Any:
    """A block as chat completions have it: an image block of the kit lists its addresses."""
    if isinstance(block, Mapping) and block.get("type") == "image":
        urls = block.get("image_urls")
        return {"type": "image_url", "image_url": {"url": urls[0] if isinstance(urls, list) and urls else ""}}
    return block
