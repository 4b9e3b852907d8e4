"""Events as a chat completions payload. Knows nothing of reading, storage or budgets.

What the API cannot take is written in the nearest form it can: images of tool results follow in a user
message that names the call; arguments that are no JSON (a call cut at the output limit) are wrapped as
`{"_raw": "…"}`, because strict servers refuse a session for good over one broken string; ids and names
outside the allowed pattern get a safe spelling; lone surrogates and NUL become U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldmark.events import Event, Image, Opaque, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.wire.grouping import Group, UsedIds, Writer
from foldmark.wire.media import is_supported, left_out, url_of_image
from foldmark.wire.openai_reading import FOREIGN, PART, PROVIDER, REASONING_KEYS
from foldmark.wire.plain import clean_text, clean_value, compact_json, is_json, safe_name
from foldmark.wire.shapes import fits
from foldmark.wire.tools import openai_tools

ID_LIMIT = 40
NAME_LIMIT = 64
EMPTY_RESULT = "(no output)"
"""Written for an empty tool result: strict servers refuse empty content, and a silent result makes models
stop."""

_THINKING = frozenset(REASONING_KEYS)
_NEUTRAL = frozenset(["text", "refusal", "image_url", *FOREIGN])
"""Parts that are never carried whole, because an event has them as its own, or that are of other APIs."""

Message = dict[str, Any]


def write(
    system: str,
    tools: Iterable[Any] | None,
    events: Sequence[Event],
    *,
    model: str | None = None,
    max_output: int | None = None,
) -> dict[str, Any]:
    """The payload for `client.chat.completions.create(**payload)`; the same input gives the same bytes.

    It is the caller's to change: nothing in it is shared with later payloads but strings and nested
    arguments.
    """
    payload: dict[str, Any] = {}
    if model:
        payload["model"] = model
    if max_output:
        payload["max_completion_tokens"] = max_output
    if shaped := openai_tools(tools):
        payload["tools"] = shaped
    messages: list[Message] = [{"role": "system", "content": clean_text(system)}] if system else []
    payload["messages"] = messages + _WRITER.messages(events)
    return payload


def lost(events: Iterable[Event]) -> list[str]:
    """What this wire cannot carry of these events, one line per sort: other providers' reasoning and blocks,
    images of types that it refuses, and error marks of results."""
    counts: dict[str, int] = {}
    for event in events:
        for part in event.parts if event.role != "control" else ():
            if isinstance(part, Reasoning) and not _replayable(part):
                what = f"reasoning of {part.provider or 'an unnamed provider'}"
            elif isinstance(part, Opaque) and not _is_sent(part, event.role):
                what = f"{part.raw.get('type', 'block')} block of {part.provider or 'an unnamed provider'}"
            elif isinstance(part, Image) and (event.role != "user" or not is_supported(part)):
                what = f"image of type {part.media_type or 'unknown'}"
            elif isinstance(part, ToolResult) and not all(map(is_supported, part.images)):
                what = "image that cannot be sent"
            elif isinstance(part, ToolResult) and part.is_error:
                what = "error mark of a result"
            else:
                continue
            counts[what] = counts.get(what, 0) + 1
    return [f"{count} x {what}" for what, count in counts.items()]


def _extend(messages: list[Message], group: Group[Message], _used: UsedIds) -> None:
    if len(group.assistants) > 1:
        first = _fresh(group.assistants[0][1])
        for _, form in group.assistants[1:]:
            join(first, _fresh(form))
        messages.append(first)
    elif group.assistants:
        messages.append(group.assistants[0][1])
    pictures: list[Message] = []
    for _, form in group.results:
        message = dict(form)
        pictures += message.pop("_images", ())
        messages.append(message)
    if pictures:
        messages.append({"role": "user", "content": pictures})
    messages += [form for _, form in group.others]


def _fresh(message: Message) -> Message:
    """A copy that a caller may change (mark for caching, extend) without touching what is remembered."""
    copy = message.copy()
    if "tool_calls" in message:
        copy["tool_calls"] = calls = [call.copy() for call in message["tool_calls"]]
        for call in calls:
            call["function"] = call["function"].copy()
    if type(message.get("content")) is list:
        copy["content"] = [part.copy() for part in message["content"]]
    return copy


def join(first: Message, second: Message) -> None:
    """Make one message of two of one role: words, reasoning and calls of the second follow those of the first."""
    if second.get("content"):
        both = [content for content in (first["content"], second["content"]) if content]
        if all(isinstance(content, str) for content in both):
            first["content"] = "\n\n".join(both)
        else:
            first["content"] = [part for content in both for part in as_parts(content)]
    for key, value in second.items():
        if key == "tool_calls":
            first["tool_calls"] = first.get("tool_calls", []) + value
        elif key in _THINKING and key in first:
            first[key] = _thought(first[key], value)
        elif key not in first:
            first[key] = value


def _thought(first: Any, second: Any) -> Any:
    """Reasoning of two messages under one key: texts as paragraphs, else as a list of details."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [detail for value in (first, second) for detail in (value if isinstance(value, list) else [value])]


def as_parts(content: Any) -> list[Message]:
    """The content of a message as a list of parts."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _form(event: Event) -> Message:
    """The message of one event, empty when it has nothing to say."""
    if event.role == "assistant":
        return _assistant(event)
    if event.role == "tool":
        return _result(event)
    content = _content(event)
    return {"role": event.role, "content": content} if content else {}


def _assistant(event: Event) -> Message:
    message: Message = {"role": "assistant", "content": _content(event) or None}
    for part in event.parts:
        if isinstance(part, Reasoning) and part.raw is not None and _replayable(part):
            message.update(clean_value(part.raw))
        elif isinstance(part, Opaque) and part.provider == PROVIDER and isinstance(part.raw.get("audio"), Mapping):
            message["audio"] = clean_value({"id": part.raw["audio"].get("id")})
    if calls := event.calls:
        message["tool_calls"] = [_call(call) for call in calls]
    has_words = message["content"] is not None or "audio" in message or bool(calls)
    return message if has_words else {}


def _replayable(part: Reasoning) -> bool:
    return part.provider == PROVIDER and part.raw is not None and part.raw.keys() <= _THINKING


def _call(call: ToolCall) -> Message:
    function = {"name": safe_name(call.name, NAME_LIMIT), "arguments": valid_arguments(call.arguments)}
    return {"id": safe_id(call.id), "type": "function", "function": function}


def safe_id(call_id: str) -> str:
    """Call ids may hold any character but at most 40 of them."""
    clean = clean_text(call_id)
    return clean if len(clean) <= ID_LIMIT else safe_name(call_id, ID_LIMIT)


def valid_arguments(arguments: str) -> str:
    """Arguments untouched when they are JSON; `{}` for none; anything else wrapped as `{"_raw": "…"}`."""
    if not arguments.strip():
        return "{}"
    return clean_text(arguments) if is_json(arguments) else compact_json({"_raw": clean_text(arguments)})


def _result(event: Event) -> Message:
    result = event.result
    if result is None:
        return {}
    pictures = [image for image in result.images if is_supported(image)]
    lines = [clean_text(result.text)] if result.text.strip() else []
    lines += [left_out(image) for image in result.images if not is_supported(image)]
    if pictures:
        lines.append(f"[{len(pictures)} image(s) of this result follow in the next user message]")
    message: Message = {
        "role": "tool",
        "tool_call_id": safe_id(result.call_id),
        "content": "\n".join(lines) or EMPTY_RESULT,
    }
    if pictures:
        label = {"type": "text", "text": f"[image(s) of the tool result {safe_id(result.call_id)}]"}
        message["_images"] = (label, *(_image(image) for image in pictures))
    return message


def _content(event: Event) -> Any:
    """The content of a message: one text as text, everything else as parts; empty texts are left out."""
    parts: list[Message] = []
    for part in event.parts:
        if isinstance(part, (Text, Paste)):
            if isinstance(part, Text) and part.raw and part.raw.get("type") == "refusal" and event.role == "assistant":
                parts.append({"type": "refusal", "refusal": clean_text(part.text)})
            elif part.text:
                parts.append({"type": "text", "text": clean_text(part.text)})
        elif isinstance(part, Image) and event.role == "user":
            parts.append(_image(part))
        elif isinstance(part, Opaque) and event.role != "assistant":
            parts += _opaque(part, event.role)
        elif isinstance(part, ToolResult):
            parts.append({"type": "text", "text": clean_text(part.text) or EMPTY_RESULT})
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return parts


def _image(image: Image) -> Message:
    if not is_supported(image):
        return {"type": "text", "text": left_out(image)}
    address = {"url": clean_text(url_of_image(image))}
    if image.detail:
        address["detail"] = image.detail
    return {"type": "image_url", "image_url": address}


def _opaque(part: Opaque, role: str) -> list[Message]:
    if part.provider == PROVIDER:
        return [dict(clean_value(part.raw))] if _is_sent(part, role) else []
    what = f"[a {part.raw.get('type', 'foreign')} block of another provider is left out]"
    return [{"type": "text", "text": clean_text(what)}]


def _is_sent(part: Opaque, role: str) -> bool:
    """Whether something carried whole goes out: sound that the model made, and parts of this API of their own sort."""
    if part.provider != PROVIDER or role == "tool":
        return False
    if role == "assistant":
        return isinstance(part.raw.get("audio"), Mapping)
    kind = part.raw.get("type")
    return isinstance(kind, str) and bool(kind) and kind not in _NEUTRAL and fits(part.raw, PART)


_WRITER: Writer[Message] = Writer(_form, _extend, _fresh)
