"""Anthropic messages and replies as events. Knows nothing of how requests are built.

A user message with tool results gives one tool event per result, then a user event with the rest. Thinking,
redacted thinking and every block we do not know are kept whole, so that they go back as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from foldmark.wire.anthropic_blocks import block_shape
from foldmark.wire.plain import as_count, as_mapping, as_name, as_text, compact_json, items, plain
from foldmark.wire.shapes import misfits
from foldmark.wire.strangers import check_reply
from foldmark.wire.tools import neutral_tools
from foldmark.wire.values import Transcript

PROVIDER = "anthropic"

_NORMAL_STOPS = (None, "end_turn", "tool_use", "stop_sequence")
KNOWN_BLOCKS = frozenset(
    [
        "document",
        "search_result",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "container_upload",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "compaction",
        "tool_search_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
        "tool_reference",
    ]
)
"""Blocks that we carry and do not read, and that need no warning."""


def read(reply: Any) -> list[Event]:
    """One message, or a reply, as events (SDK object or dict). Raises WireError with the path.

    Reported usage is normalised: fresh, cached and newly cached input tokens are added up.
    """
    reply = as_mapping(reply, "message")
    check_reply(reply, PROVIDER, "the Messages API", "`role`", fits="role" in reply)
    events = read_message(reply, "message")
    if reply.get("role") != "assistant":
        return events
    stop = reply.get("stop_reason")
    fields: dict[str, Any] = {"usage": read_usage(reply.get("usage")), "model": str(reply.get("model") or "")}
    if stop not in _NORMAL_STOPS:
        fields["meta"] = {"stop": str(stop)}
    return [msgspec.structs.replace(event, **fields) for event in events]


def read_messages(messages: Any, system: Any = None, tools: Any = None) -> Transcript:
    """A message list as a transcript. Block types nobody knows are kept and give one warning each. Raises
    WireError with the path `messages[i]…`."""
    texts = [part.text for part in _content(system, "system") if isinstance(part, Text)]
    events: list[Event] = []
    names: dict[str, str] = {}
    for at, message in enumerate(items(messages, "messages")):
        read_now = read_message(message, f"messages[{at}]", names)
        if not events and read_now and all(event.role == "system" for event in read_now):
            texts += [event.text for event in read_now]
        else:
            events += read_now
    return Transcript(
        system="\n\n".join(text for text in texts if text),
        tools=tuple(neutral_tools(tools)),
        events=tuple(events),
        warnings=tuple(unknown_blocks(events)),
    )


def read_payload(payload: Mapping[str, Any]) -> Transcript:
    """A whole payload (`system`, `messages`, `tools`) as a transcript. Raises WireError."""
    payload = as_mapping(payload, "payload")
    return read_messages(payload.get("messages"), payload.get("system"), payload.get("tools"))


def unknown_blocks(events: Iterable[Event]) -> list[str]:
    """One warning for every block type that was kept whole because we do not know it."""
    kinds = {
        str(part.raw.get("type"))
        for event in events
        for part in event.parts
        if isinstance(part, Opaque) and part.provider == PROVIDER
    }
    return [f"blocks of type {kind!r} are kept whole and not read" for kind in sorted(kinds - KNOWN_BLOCKS)]


def read_usage(usage: Any) -> Usage | None:
    usage = plain(usage)
    if not isinstance(usage, Mapping):
        return None
    read = as_count(usage.get("cache_read_input_tokens"))
    write = as_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input=as_count(usage.get("input_tokens")) + read + write,
        output=as_count(usage.get("output_tokens")),
        cache_read=read,
        cache_write=write,
    )


def read_message(message: Any, path: str, names: dict[str, str] | None = None) -> list[Event]:
    """One message as events. `names` maps call ids to tool names: it is added to, and names results."""
    message = as_mapping(message, path)
    role, where = as_text(message.get("role"), f"{path}.role"), f"{path}.content"
    names = {} if names is None else names
    if role == "assistant":
        parts = _content(message.get("content"), where)
        event = Event(role="assistant", origin="agent", parts=parts, provider=PROVIDER)
        names.update((call.id, call.name) for call in event.calls)
        return [event]
    if role == "system":
        return [Event(role="system", origin="injected", parts=_content(message.get("content"), where))]
    if role != "user":
        raise WireError(f"{path}.role", f"{role!r} is no role of the Messages API.")
    content = message.get("content")
    if not isinstance(content, str):
        content = [plain(block) for block in items(content, where)]
        results = [at for at, block in enumerate(content) if _is_result(block)]
        events = [_result(content[at], f"{where}[{at}]", names) for at in results]
        rest = tuple(_block(b, f"{where}[{at}]") for at, b in enumerate(content) if not _is_result(b))
    else:
        events, rest = [], _content(content, where)
    if rest or not events:
        events.append(Event(role="user", origin="user", parts=rest))
    return events


def _is_result(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_result"


def _result(block: Mapping[str, Any], path: str, names: Mapping[str, str]) -> Event:
    call_id = as_name(block.get("tool_use_id"), f"{path}.tool_use_id")
    content = _content(block.get("content"), f"{path}.content")
    result = ToolResult(
        call_id,
        "\n".join(part.text for part in content if isinstance(part, Text)),
        name=names.get(call_id, ""),
        is_error=bool(block.get("is_error")),
        images=tuple(part for part in content if isinstance(part, Image)),
    )
    extra = tuple(part for part in content if isinstance(part, Opaque))
    return Event(role="tool", origin="tool", parts=(result, *extra))


def _content(content: Any, path: str) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_block(block, f"{path}[{at}]") for at, block in enumerate(items(content, path)))


def _block(block: Any, path: str) -> Part:
    if isinstance(block, str):
        return Text(block)
    block = as_mapping(block, path)
    kind = block.get("type")
    if kind == "text":
        text = as_text(block.get("text"), f"{path}.text")
        return Text(text, raw=_whole(block) if block.get("citations") else None)
    if kind == "thinking":
        return Reasoning(as_text(block.get("thinking"), f"{path}.thinking"), PROVIDER, _whole(block))
    if kind == "redacted_thinking":
        return Reasoning("", PROVIDER, _whole(block))
    if kind == "tool_use":
        arguments = block.get("input")
        if not isinstance(arguments, str):
            arguments = compact_json(as_mapping({} if arguments is None else arguments, f"{path}.input"))
        call_id = as_name(block.get("id"), f"{path}.id")
        return ToolCall(call_id, as_name(block.get("name"), f"{path}.name"), arguments)
    if kind == "image":
        return _image(block, path)
    if not isinstance(kind, str):
        raise WireError(f"{path}.type", "a content block has no type.")
    whole = _whole(block)
    for place in misfits(whole, block_shape):
        raise WireError(f"{path}{place}", "is not of the shape that the API takes.")
    return Opaque(PROVIDER, whole)


def _image(block: Mapping[str, Any], path: str) -> Part:
    source = as_mapping(block.get("source"), f"{path}.source")
    if source.get("type") == "base64":
        data = as_name(source.get("data"), f"{path}.source.data")
        return Image(media_type=as_text(source.get("media_type"), f"{path}.source.media_type"), data=data)
    if source.get("type") == "url":
        return Image(url=as_name(source.get("url"), f"{path}.source.url"))
    return Opaque(PROVIDER, _whole(block))


def _whole(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as it came, without cache marks: where to cache is decided anew for every request."""
    return {key: plain(value) for key, value in block.items() if key != "cache_control"}
