"""Chat completions messages and replies as events. Knows nothing of how requests are built.

Accepts every shape of content: text, parts, null, refusals, images by address or data, audio and files
(carried whole), `developer` role, and the legacy `function_call` / role `function` pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from foldmark.wire.media import image_of_url
from foldmark.wire.plain import as_count, as_mapping, as_name, as_text, compact_json, items, plain
from foldmark.wire.shapes import misfits
from foldmark.wire.strangers import check_reply, error_in
from foldmark.wire.tools import neutral_tools
from foldmark.wire.values import Transcript

PROVIDER = "openai"
PART = {
    **{"type": str, "text": str, "refusal": str},
    **{"image_url": {"url": str, "detail": str}, "input_audio": Mapping, "file": Mapping},
}
"""Of what shape a part of a message's content is, for `misfits`."""
FOREIGN = (
    *("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"),
    *("input_text", "output_text", "input_image", "input_file"),
)
"""Blocks of other APIs: refused here."""

REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where compatible servers put a model's thinking. The keys are kept as they came and replayed as they
came."""

_NORMAL_STOPS = (None, "stop", "tool_calls", "function_call")


def read(reply: Any) -> list[Event]:
    """One message, or a chat completion, as events (SDK object or dict). Raises WireError with the path.

    Of several choices the first is read. Reported usage is normalised: `prompt_tokens` holds cached ones
    already.
    """
    reply = as_mapping(reply, "message")
    if "choices" not in reply:
        check_reply(reply, "openai-chat", "chat completions", "`choices` and no `role`", fits="role" in reply)
        return read_message(reply, "message")
    choices = items(reply["choices"], "choices")
    if not choices:
        why = f" ({said})" if (said := error_in(reply)) else ""
        raise WireError("choices", f"the reply holds no choice{why}, so there is no message to read.")
    choice = as_mapping(choices[0], "choices[0]")
    events = read_message(choice.get("message"), "choices[0].message")
    stop = choice.get("finish_reason")
    fields: dict[str, Any] = {"usage": read_usage(reply.get("usage")), "model": str(reply.get("model") or "")}
    if stop not in _NORMAL_STOPS:
        fields["meta"] = {"stop": str(stop)}
    return [msgspec.structs.replace(event, **fields) for event in events]


def read_messages(messages: Any, system: Any = None, tools: Any = None) -> Transcript:
    """A message list as a transcript. Leading system and developer messages are the system text; later ones
    are events where they stand. Raises WireError with the path `messages[i]…`."""
    texts = [as_text(system, "system")] if system else []
    events: list[Event] = []
    names: dict[str, str] = {}
    for at, message in enumerate(items(messages, "messages")):
        read_now = read_message(message, f"messages[{at}]", names)
        if not events and all(event.role == "system" for event in read_now):
            texts += [event.text for event in read_now]
        else:
            events += read_now
    return Transcript(
        system="\n\n".join(text for text in texts if text),
        tools=tuple(neutral_tools(tools)),
        events=tuple(events),
    )


def read_payload(payload: Mapping[str, Any]) -> Transcript:
    """A whole payload (`messages` and `tools`) as a transcript. Raises WireError."""
    payload = as_mapping(payload, "payload")
    return read_messages(payload.get("messages"), tools=payload.get("tools"))


def read_usage(usage: Any) -> Usage | None:
    usage = plain(usage)
    if not isinstance(usage, Mapping):
        return None
    details = plain(usage.get("prompt_tokens_details"))
    details = details if isinstance(details, Mapping) else {}
    return Usage(
        input=as_count(usage.get("prompt_tokens")),
        output=as_count(usage.get("completion_tokens")),
        cache_read=as_count(details.get("cached_tokens")),
        cache_write=as_count(details.get("cache_write_tokens")),  # newer models and routers charge for it, and say so
    )


def read_message(message: Any, path: str, names: dict[str, str] | None = None) -> list[Event]:
    """One message as events. `names` maps call ids to tool names: it is added to, and names results."""
    message = as_mapping(message, path)
    role = as_text(message.get("role"), f"{path}.role")
    if role in ("system", "developer"):
        return [Event(role="system", origin="injected", parts=_content(message.get("content"), f"{path}.content"))]
    if role == "user":
        return [Event(role="user", origin="user", parts=_content(message.get("content"), f"{path}.content"))]
    if role == "assistant":
        return [_assistant(message, path, {} if names is None else names)]
    if role in ("tool", "function"):
        return [_tool(message, path, {} if names is None else names)]
    raise WireError(f"{path}.role", f"{role!r} is no role of chat completions.")


def _assistant(message: Mapping[str, Any], path: str, names: dict[str, str]) -> Event:
    parts: list[Part] = []
    thinking = {key: message[key] for key in REASONING_KEYS if message.get(key)}
    if thinking:
        words = next((value for value in thinking.values() if isinstance(value, str)), "")
        parts.append(Reasoning(words, PROVIDER, {key: plain(value) for key, value in thinking.items()}))
    parts += _content(message.get("content"), f"{path}.content")
    if message.get("refusal"):
        refusal = as_text(message["refusal"], f"{path}.refusal")
        parts.append(Text(refusal, raw={"type": "refusal", "refusal": refusal}))
    if message.get("audio"):
        parts.append(Opaque(PROVIDER, {"audio": dict(as_mapping(message["audio"], f"{path}.audio"))}))
    for at, call in enumerate(items(message.get("tool_calls"), f"{path}.tool_calls")):
        parts.append(_call(as_mapping(call, f"{path}.tool_calls[{at}]"), f"{path}.tool_calls[{at}]"))
    if message.get("function_call"):
        legacy = as_mapping(message["function_call"], f"{path}.function_call")
        name = as_name(legacy.get("name"), f"{path}.function_call.name")
        arguments = _arguments(legacy.get("arguments"), f"{path}.function_call.arguments")
        parts.append(ToolCall(legacy_id(name), name, arguments))
    event = Event(role="assistant", origin="agent", parts=tuple(parts), provider=PROVIDER)
    names.update((call.id, call.name) for call in event.calls)
    return event


def legacy_id(name: str) -> str:
    """The id of a legacy function call, which has none: its result follows at once, so the name links
    them."""
    return f"function_{name}"


def _call(call: Mapping[str, Any], path: str) -> ToolCall:
    call_id = as_name(call.get("id"), f"{path}.id")
    if call.get("type") == "custom":
        custom = as_mapping(call.get("custom"), f"{path}.custom")
        # Its input is free text, not JSON; kept under one key so that every reader of arguments finds JSON.
        arguments = compact_json({"input": as_text(custom.get("input"), f"{path}.custom.input")})
        return ToolCall(call_id, as_name(custom.get("name"), f"{path}.custom.name"), arguments)
    function = as_mapping(call.get("function"), f"{path}.function")
    return ToolCall(
        call_id,
        as_name(function.get("name"), f"{path}.function.name"),
        _arguments(function.get("arguments"), f"{path}.function.arguments"),
    )


def _arguments(value: Any, path: str) -> str:
    """Arguments exactly as they arrived; some servers send an object where the API says text."""
    if isinstance(value, (Mapping, list)):
        return compact_json(value)
    return as_text(value, path)


def _tool(message: Mapping[str, Any], path: str, names: dict[str, str]) -> Event:
    if message["role"] == "function":
        call_id = legacy_id(as_name(message.get("name"), f"{path}.name"))
    else:
        call_id = as_name(message.get("tool_call_id"), f"{path}.tool_call_id")
    content = _content(message.get("content"), f"{path}.content")
    result = ToolResult(
        call_id,
        "\n".join(part.text for part in content if isinstance(part, Text)),
        name=as_text(message.get("name"), f"{path}.name") or names.get(call_id, ""),
        images=tuple(part for part in content if isinstance(part, Image)),
    )
    extra = tuple(part for part in content if isinstance(part, Opaque))
    return Event(role="tool", origin="tool", parts=(result, *extra))


def _content(content: Any, path: str) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(part, f"{path}[{at}]") for at, part in enumerate(items(content, path)))


def _part(part: Any, path: str) -> Part:
    if isinstance(part, str):
        return Text(part)
    part = as_mapping(part, path)
    kind = part.get("type")
    if kind == "text":
        return Text(as_text(part.get("text"), f"{path}.text"))
    if kind == "refusal":
        refusal = as_text(part.get("refusal"), f"{path}.refusal")
        return Text(refusal, raw={"type": "refusal", "refusal": refusal})
    if kind == "image_url":
        image = part.get("image_url")
        if isinstance(image, str):
            return image_of_url(image)
        image = as_mapping(image, f"{path}.image_url")
        url = as_name(image.get("url"), f"{path}.image_url.url")
        return image_of_url(url, as_text(image.get("detail"), f"{path}.image_url.detail"))
    if not isinstance(kind, str):
        raise WireError(f"{path}.type", "a content part has no type.")
    whole = {key: plain(value) for key, value in part.items() if key != "cache_control"}
    for place in misfits(whole, PART):
        raise WireError(f"{path}{place}", "is not of the shape that the API takes.")
    return Opaque(PROVIDER, whole)
