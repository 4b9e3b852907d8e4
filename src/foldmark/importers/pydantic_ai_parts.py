"""Parts of pydantic-ai messages. Knows nothing of the messages they stand in.

Thinking takes its provider's own form where the dump has all of it, so that it can go back as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, control
from foldmark.importers.parts import arguments_of, redacted_thinking, result_of, signed_thinking, told, words_of
from foldmark.wire.media import image_of_url
from foldmark.wire.plain import as_mapping, as_name, as_text, items

NAME = "pydantic-ai"

_CARRIED = ("builtin-tool-call", "builtin-tool-return")

Row = Mapping[str, Any]


def answer_part(part: Row, path: str, maker: str) -> Part | None:
    """What a part of a response says; None for a kind that nobody knows."""
    kind = part.get("part_kind")
    if kind == "text":
        return Text(as_text(part.get("content"), f"{path}.content"))
    if kind == "thinking":
        return _thinking(part, path, str(part.get("provider_name") or maker))
    if kind == "tool-call":
        call_id = as_name(part.get("tool_call_id"), f"{path}.tool_call_id")
        return ToolCall(call_id, as_name(part.get("tool_name"), f"{path}.tool_name"), arguments_of(part.get("args")))
    if kind == "file":
        return _media(as_mapping(part.get("content"), f"{path}.content"), f"{path}.content")
    if kind == "speech":
        return Text(as_text(part.get("transcript"), f"{path}.transcript"))
    return Opaque(NAME, dict(part)) if kind in _CARRIED else None


def _thinking(part: Row, path: str, maker: str) -> Reasoning:
    """Thinking in its provider's own form where the dump has all of it."""
    words = as_text(part.get("content"), f"{path}.content")
    signature, own_id = part.get("signature"), part.get("id")
    if maker == "anthropic" and own_id == "redacted_thinking":
        return redacted_thinking(signature)
    if maker == "anthropic" and signature:
        return signed_thinking(words, signature)
    if maker == "openai" and signature and own_id:
        summary = [{"type": "summary_text", "text": words}] if words else []
        raw = {"type": "reasoning", "id": own_id, "summary": summary, "encrypted_content": signature}
        return Reasoning(words, "openai-responses", raw)
    return Reasoning(words, maker or NAME, dict(part))


def returned_event(part: Row, path: str) -> Event:
    content = part.get("content")
    is_media = isinstance(content, Mapping) and content.get("kind") in ("binary", "image-url")
    values = content if isinstance(content, list) else [content]
    has_media = any(isinstance(value, Mapping) and value.get("kind") in ("binary", "image-url") for value in values)
    parts = user_parts(values if is_media or has_media else words_of(content), f"{path}.content")
    return result_of(
        as_name(part.get("tool_call_id"), f"{path}.tool_call_id"),
        parts,
        name=as_text(part.get("tool_name"), f"{path}.tool_name"),
        is_error=part.get("outcome") not in (None, "success"),
    )


def retry_event(part: Row, path: str) -> Event:
    """A demand to try again: the answer of the call that it names, else words of the program."""
    words = words_of(part.get("content"))
    name = as_text(part.get("tool_name"), f"{path}.tool_name")
    if not name:
        return told([Text(words)], is_user=False)
    return result_of(as_name(part.get("tool_call_id"), f"{path}.tool_call_id"), words, name=name, is_error=True)


def compaction_event(part: Row, path: str) -> Event:
    words = as_text(part.get("content"), f"{path}.content")
    if not words:
        return control("compaction", dict(part), provider=NAME)
    return told([Text(words)], is_user=False, meta={"foreign": "compaction"})


def user_parts(content: Any, path: str) -> tuple[Part, ...]:
    """User content, or a result's: text, or a list of texts, media and values."""
    if isinstance(content, str):
        return (Text(content),)
    parts: list[Part] = []
    for at, value in enumerate(items(content, path)):
        where = f"{path}[{at}]"
        if isinstance(value, str):
            parts.append(Text(value))
        elif isinstance(value, Mapping) and value.get("kind") == "text":
            parts.append(Text(as_text(value.get("content"), f"{where}.content")))
        elif isinstance(value, Mapping) and "kind" in value:
            parts += [] if value["kind"] == "cache-point" else [_media(value, where)]
        else:
            parts.append(Text(words_of(value)))
    return tuple(parts)


def _media(value: Row, path: str) -> Part:
    media_type = str(value.get("media_type") or "")
    if value.get("kind") == "image-url":
        return image_of_url(as_name(value.get("url"), f"{path}.url"))
    if value.get("kind") == "binary" and media_type.startswith("image/"):
        return Image(media_type=media_type, data=as_text(value.get("data"), f"{path}.data"))
    return Opaque(NAME, dict(value))
