"""Messages of AutoGen as events. Knows nothing of the calls they were recorded with.

A message says of what kind it is in `type`; the reply of a call has none, but a reason why it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall
from foldmark.importers.parts import arguments_of, mappings, result_of, told, usage_of, words_of
from foldmark.importers.values import Notes
from foldmark.wire.plain import as_mapping, as_name, as_text, compact_json, items

NAME = "autogen"

_PEOPLE = ("user", "human", "user_proxy", "userproxy", "human_user")
_NORMAL_STOPS = ("", "stop", "function_calls", "unknown")

Row = Mapping[str, Any]


def message_key(kind: str, message: Row) -> str:
    """What makes two messages the same: their kind and what they say."""
    return compact_json([kind, message.get("content"), message.get("thought")])


def message_events(message: Row, path: str, notes: Notes) -> Iterator[Event]:
    """The events of a message, or of the reply of a call."""
    kind, where = message.get("type"), f"{path}.content"
    content = message.get("content")
    if kind == "UserMessage":
        is_user = str(message.get("source") or "user").lower() in _PEOPLE
        yield told(_content(content, where), is_user=is_user)
    elif kind == "AssistantMessage" or "finish_reason" in message:
        yield _step(message, path)
    elif kind == "FunctionExecutionResultMessage":
        yield from (_result(entry, place) for place, entry in mappings(content, where))
    elif kind == "SystemMessage":
        yield Event(role="system", origin="injected", parts=(Text(as_text(content, where)),))
    else:
        yield notes.kept(f"message {kind}", dict(message), path, provider=NAME)


def _step(message: Row, path: str) -> Event:
    """What the model said, of a message or of a reply: only the reply reports usage and why it ended."""
    content, thought = message.get("content"), as_text(message.get("thought"), f"{path}.thought")
    parts: list[Part] = [Reasoning(thought, NAME)] if thought else []
    if isinstance(content, str):
        parts += [Text(content)] if content else []
    else:
        parts += [_call(call, where) for where, call in mappings(content, f"{path}.content")]
    stop = str(message.get("finish_reason") or "")
    return Event(
        role="assistant",
        origin="agent",
        parts=tuple(parts),
        usage=usage_of(message.get("usage"), "prompt_tokens", "completion_tokens"),
        meta={} if stop in _NORMAL_STOPS else {"stop": stop},
    )


def _call(call: Row, path: str) -> ToolCall:
    name = as_name(call.get("name"), f"{path}.name")
    return ToolCall(as_name(call.get("id"), f"{path}.id"), name, arguments_of(call.get("arguments")))


def _result(entry: Row, path: str) -> Event:
    return result_of(
        as_name(entry.get("call_id"), f"{path}.call_id"),
        words_of(entry.get("content")),
        name=as_text(entry.get("name"), f"{path}.name"),
        is_error=bool(entry.get("is_error")),
    )


def _content(content: Any, path: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    return [_part(value, f"{path}[{at}]") for at, value in enumerate(items(content, path))]


def _part(value: Any, path: str) -> Part:
    if isinstance(value, str):
        return Text(value)
    image = as_mapping(value, path)
    if isinstance(image.get("data"), str):
        # The program turns every image into PNG before it stores it.
        return Image(media_type="image/png", data=image["data"])
    return Opaque(NAME, dict(image))
