"""Messages of a trace as events, in whatever shape the traced framework has them. Knows nothing of traces.

Read are the messages of chat completions and of Anthropic, items of the Responses API, contents of Gemini, the
`parts` of OpenTelemetry's gen_ai conventions, LangChain's serialised messages, and steps written as text with a
function's name, input and output. Calls and results without an id have an empty one here: who puts the events in
line knows which call is meant. None stands for a value that holds no messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part, Role, ToolCall, assistant, result, user
from foldmark.importers import response_items
from foldmark.importers.langfuse_parts import DERIVED, parts_events, said, without_derived_id
from foldmark.importers.parts import arguments_of, result_of, words_of
from foldmark.importers.values import Notes
from foldmark.wire import anthropic_reading, openai_reading
from foldmark.wire.plain import as_mapping, as_text, items

_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_OF_CLASS = {"HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system", "ToolMessage": "tool"}
_STEP_AS_TEXT = re.compile(
    r"(?:Thought: (?P<thought>.*?)\n)?Function Name: (?P<name>[^\n]+)\nFunction Input: (?P<input>.*?)\n"
    r"Function Output: (?P<output>.*)",
    re.DOTALL,
)


def asked(value: Any, path: str, notes: Notes) -> list[Event] | None:
    """The messages of a model's input."""
    if isinstance(value, str):
        return [user(value)] if value.strip() else None
    if isinstance(value, Mapping):
        return _asked_of(value, path, notes)
    if isinstance(value, list) and value and all(isinstance(row, Mapping) and _is_message(row) for row in value):
        return list(_rows(value, path, notes))
    return None


def _asked_of(value: Mapping[str, Any], path: str, notes: Notes) -> list[Event] | None:
    if _is_message(value):
        return list(_rows([value], path, notes))
    head = next((value[key] for key in ("system", "instructions", "systemInstruction") if value.get(key)), None)
    system = _system(head, f"{path}.system") if head is not None else []
    for key in ("messages", "contents", "input", "prompt"):
        found = asked(value[key], f"{path}.{key}", notes) if value.get(key) else None
        if found is not None:
            return [*system, *found]
    return None


def _system(value: Any, path: str) -> list[Event]:
    parts = value.get("parts") if isinstance(value, Mapping) else value
    return [Event(role="system", parts=said(parts, path))]


def answered(value: Any, path: str, notes: Notes) -> list[Event]:
    """The messages of a model's output; a value that is no message is its words, as JSON."""
    if value is None or value in ("", "None", [], {}):
        return []
    if isinstance(value, str):
        return [assistant(value)]
    if isinstance(value, list) and all(isinstance(row, Mapping) and _is_message(row) for row in value):
        return list(_rows(value, path, notes))
    if isinstance(value, Mapping):
        if isinstance(value.get("choices"), list):
            return openai_reading.read(value)
        if isinstance(value.get("output"), list) and value.get("object") == "response":
            return list(_rows(value["output"], f"{path}.output", notes))
        if isinstance(value.get("candidates"), list) and value["candidates"]:
            first = as_mapping(value["candidates"][0], f"{path}.candidates[0]")
            return list(_rows([first.get("content")], f"{path}.candidates[0].content", notes))
        if _is_message(value):
            return list(_rows([value], path, notes))
    return [assistant(words_of(value))]


def _is_message(row: Mapping[str, Any]) -> bool:
    kind = _kind(row)
    is_item = kind in (*response_items.CALLS, *response_items.OUTPUTS, "reasoning")
    is_shaped = isinstance(row.get("parts"), list) or (kind in _ROLES and "content" in row)
    return "role" in row or _is_serialised(row) or is_item or is_shaped


def _kind(row: Mapping[str, Any]) -> str:
    kind = row.get("type")
    return kind if isinstance(kind, str) else ""


def _is_serialised(row: Mapping[str, Any]) -> bool:
    return bool(row.get("lc")) and isinstance(row.get("kwargs"), Mapping)


def _rows(rows: Iterable[Any], path: str, notes: Notes) -> Iterator[Event]:
    """Rows as events; items of one step of the Responses API are one assistant event."""
    step: list[Part] = []
    tools: set[str] = set()
    for at, value in enumerate(rows):
        where = f"{path}[{at}]"
        row = as_mapping(value, where)
        if _is_item(row):
            step += response_items.step_part(row, where)
            continue
        if step:
            yield Event(role="assistant", origin="agent", parts=tuple(step))
            step = []
        for event in _row(row, where, tools, notes):
            tools.update(call.name for call in event.calls)
            yield event
    if step:
        yield Event(role="assistant", origin="agent", parts=tuple(step))


def _is_item(row: Mapping[str, Any]) -> bool:
    """Whether a row is an item of the assistant's side. A message with plain text is a message like any other."""
    if _kind(row) == "message":
        return row.get("role") == "assistant" and isinstance(row.get("content"), list)
    return _kind(row) in (*response_items.CALLS, "reasoning")


def _row(row: Mapping[str, Any], path: str, tools: set[str], notes: Notes) -> Iterable[Event]:
    if _kind(row) in response_items.OUTPUTS:
        return [response_items.output_event(row, path, {})]
    if _is_serialised(row):
        row = _unserialised(row, path)
    named = str(row.get("role") or _kind(row) or "user")
    role = _ROLES.get(named)
    if role is None and named in tools:
        # A framework that puts the tool's name where the role belongs: its result.
        return [result_of("", said(row.get("content"), f"{path}.content"), name=named)]
    if role is None:
        return [notes.kept(f"role {named}", dict(row), path, provider="langfuse")]
    if isinstance(row.get("parts"), list):
        return parts_events(row["parts"], role, f"{path}.parts")
    if "content" not in row and isinstance(row.get("text"), str):
        row = {**row, "content": row["text"]}
    return _message({**row, "role": role}, path)


def _unserialised(row: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A LangChain message from its constructor's arguments, with calls as chat completions has them."""
    kind = str((items(row.get("id"), f"{path}.id") or [""])[-1]).removesuffix("Chunk")
    fields = dict(row["kwargs"])
    calls = [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": arguments_of(call.get("args"))}}
        for call in items(fields.get("tool_calls"), f"{path}.kwargs.tool_calls")
        if isinstance(call, Mapping)
    ]
    return {**fields, "type": None, "role": _OF_CLASS.get(kind, kind), "tool_calls": calls or None}


def _message(row: Mapping[str, Any], path: str) -> Iterable[Event]:
    content, role = _flat(row.get("content")), row["role"]
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    if role != "tool" and any(block.get("type") in _ANTHROPIC_BLOCKS or "source" in block for block in blocks):
        return anthropic_reading.read_message(row, path)
    if role == "tool":
        is_error = row.get("status") == "error" or bool(row.get("tool_call_error"))
        name = as_text(row.get("name") or row.get("tool_name"), f"{path}.name")
        call_id = as_text(row.get("tool_call_id"), f"{path}.tool_call_id")
        return [result_of(call_id, said(content, f"{path}.content"), name=name, is_error=is_error)]
    if role == "assistant" and isinstance(content, str) and (step := _STEP_AS_TEXT.fullmatch(content)):
        call = ToolCall("", step["name"].strip(), step["input"].strip())
        return [assistant(step["thought"] or "", call), result("", step["output"], name=call.name)]
    read_now = openai_reading.read_message({**row, "tool_calls": _identified(row.get("tool_calls"))}, path)
    return [_nameless(event) for event in read_now]


def _identified(calls: Any) -> Any:
    """Calls that all have an id, a made-up one where the trace has none."""
    if not isinstance(calls, list):
        return calls
    return [
        {**call, "id": f"{DERIVED}{at}"} if isinstance(call, Mapping) and not call.get("id") else call
        for at, call in enumerate(calls)
    ]


def _nameless(event: Event) -> Event:
    return msgspec.structs.replace(event, parts=tuple(without_derived_id(part) for part in event.parts))


def _flat(content: Any) -> Any:
    """Content where a step as text may stand in a list of one text."""
    only = content[0] if isinstance(content, list) and len(content) == 1 else None
    is_text = isinstance(only, Mapping) and only.get("type") == "text" and isinstance(only.get("text"), str)
    return only["text"] if is_text else content  # type: ignore[index]
