"""Content, calls and reports of LangChain messages. Knows nothing of the wrappings they are dumped in.

Content blocks are the provider's own, or LangChain's standard ones. A block of a call stands where the call was made;
the call itself is the parsed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Image, Opaque, Part, Reasoning, Text, ToolCall, Usage
from foldmark.importers.parts import arguments_of, mappings, signed_thinking, usage_of
from foldmark.wire.media import image_of_url
from foldmark.wire.openai_reading import REASONING_KEYS, legacy_id
from foldmark.wire.plain import as_mapping, as_name, as_text, items

PROVIDER = "langchain"

_CALLS = ("tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta", "invalid_tool_call")
_NORMAL_STOPS = ("", "None", "stop", "tool_calls", "function_call", "end_turn", "tool_use", "stop_sequence", "STOP")
_MAKERS = {"google_genai": "google", "google_vertexai": "google", "azure": "openai", "azure_openai": "openai"}

Fields = Mapping[str, Any]


def content_parts(
    content: Any, path: str, maker: str = "", calls: Mapping[str, ToolCall] | None = None
) -> tuple[Part, ...]:
    """The parts of a content: text, or blocks. `calls` are the parsed calls by id, put where their blocks stand."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    out: list[Part] = []
    for at, block in enumerate(items(content, path)):
        where = f"{path}[{at}]"
        fields = {"type": "text", "text": block} if isinstance(block, str) else as_mapping(block, where)
        if fields.get("type") in _CALLS:
            call = (calls or {}).get(str(fields.get("call_id") or fields.get("id")))
            out += [call] if call and call not in out else []
        else:
            out.append(_part(fields, where, maker))
    return tuple(out)


def _part(block: Fields, path: str, maker: str) -> Part:
    kind = block.get("type")
    if kind in ("text", "output_text", "input_text"):
        return Text(as_text(block.get("text"), f"{path}.text"), _whole(block) if block.get("citations") else None)
    if kind in ("thinking", "redacted_thinking"):
        return Reasoning(as_text(block.get("thinking"), f"{path}.thinking"), "anthropic", _whole(block))
    if kind == "reasoning":
        return _reasoning(block, path, maker)
    if kind in ("image", "image_url", "input_image"):
        return _image(block, path) or Opaque(PROVIDER, dict(block))
    if not isinstance(kind, str):
        raise WireError(f"{path}.type", "a content block has no type.")
    return Opaque(maker or PROVIDER, _whole(block))


def _whole(block: Fields) -> dict[str, Any]:
    """The block as it came, without cache marks and without the index that streaming leaves."""
    return {key: value for key, value in block.items() if key not in ("cache_control", "index")}


def _reasoning(block: Fields, path: str, maker: str) -> Reasoning:
    """A standard block, or an item of the Responses API; in its maker's form when all of it is there."""
    if "summary" in block or "encrypted_content" in block:
        texts = [
            as_text(shown.get("text"), f"{path}.summary")
            for shown in items(block.get("summary"), f"{path}.summary")
            if isinstance(shown, Mapping)
        ]
        return Reasoning("\n\n".join(texts), "openai-responses", _whole(block))
    words = as_text(block.get("reasoning"), f"{path}.reasoning")
    extras = block.get("extras")
    signature = extras.get("signature") if isinstance(extras, Mapping) else None
    if maker == "anthropic" and signature:
        return signed_thinking(words, signature)
    return Reasoning(words, maker or PROVIDER, _whole(block))


def _image(block: Fields, path: str) -> Part | None:
    held = block.get("image_url")
    url = held.get("url") if isinstance(held, Mapping) else held or block.get("url")
    if isinstance(url, str) and url:
        return image_of_url(url)
    inner = block.get("source")
    source = inner if isinstance(inner, Mapping) else block
    data = source.get("base64") or source.get("data")
    media_type = source.get("mime_type") or source.get("media_type")
    if isinstance(data, str) and data:
        return Image(media_type=as_text(media_type, f"{path}.mime_type"), data=data)
    return image_of_url(source["url"]) if isinstance(source.get("url"), str) else None


def thought(extra: Fields, path: str) -> Iterator[Part]:
    """Reasoning beside the content, where compatible servers and the Responses API put it."""
    held = extra.get("reasoning")
    if isinstance(held, Mapping):
        yield _reasoning(held, f"{path}.reasoning", "")
    elif found := {key: extra[key] for key in REASONING_KEYS if extra.get(key)}:
        words = next((value for value in found.values() if isinstance(value, str)), "")
        yield Reasoning(words, "openai", found)


def calls_of(fields: Fields, path: str) -> list[ToolCall]:
    """The calls of a reply: the parsed ones with their arguments as text where the dump has it, those that could
    not be parsed, else the raw ones alone."""
    extra = as_mapping(fields.get("additional_kwargs") or {}, f"{path}.additional_kwargs")
    raw = list(_raw_calls(extra, f"{path}.additional_kwargs"))
    as_sent = {call.id: call.arguments for call in raw}
    found: list[ToolCall] = []
    for key in ("tool_calls", "invalid_tool_calls"):
        for where, call in mappings(fields.get(key), f"{path}.{key}"):
            name = as_text(call.get("name"), f"{where}.name") or "(no name)"
            call_id = as_text(call.get("id"), f"{where}.id") or f"call_{_place(path)}_{len(found)}"
            found.append(ToolCall(call_id, name, as_sent.get(call_id) or arguments_of(call.get("args"))))
    return found or raw


def _place(path: str) -> str:
    """The number of a message in its path: calls without ids get one of it."""
    return "".join(letter for letter in path if letter.isdigit())


def _raw_calls(extra: Fields, path: str) -> Iterator[ToolCall]:
    for where, call in mappings(extra.get("tool_calls"), f"{path}.tool_calls"):
        function = as_mapping(call.get("function"), f"{where}.function")
        name = as_name(function.get("name"), f"{where}.function.name")
        yield ToolCall(as_name(call.get("id"), f"{where}.id"), name, arguments_of(function.get("arguments")))
    if legacy := extra.get("function_call"):
        function = as_mapping(legacy, f"{path}.function_call")
        name = as_name(function.get("name"), f"{path}.function_call.name")
        yield ToolCall(legacy_id(name), name, arguments_of(function.get("arguments")))


def read_reply(fields: Fields) -> tuple[str, dict[str, Any]]:
    """(whose model said it, usage, model and stop reason as fields of an event)."""
    report = fields.get("response_metadata")
    report = report if isinstance(report, Mapping) else {}
    maker = str(report.get("model_provider") or "")
    content = fields.get("content")
    blocks = content if isinstance(content, list) else ()
    if not maker and any(isinstance(b, Mapping) and b.get("type") in ("thinking", "tool_use") for b in blocks):
        maker = "anthropic"
    stop = str(report.get("finish_reason") or report.get("stop_reason") or "")
    shared: dict[str, Any] = {
        "usage": _usage(fields.get("usage_metadata"), report),
        "model": str(report.get("model_name") or report.get("model") or ""),
        "meta": {} if stop in _NORMAL_STOPS else {"stop": stop},
    }
    return _MAKERS.get(maker, maker), shared


def _usage(reported: Any, report: Fields) -> Usage | None:
    usage = usage_of(reported, "input_tokens", "output_tokens")
    if usage is None:
        return usage_of(report.get("token_usage"), "prompt_tokens", "completion_tokens")
    details = usage_of(reported.get("input_token_details"), "", "", "cache_read", "cache_creation")
    return Usage(usage.input, usage.output, details.cache_read, details.cache_write) if details else usage
