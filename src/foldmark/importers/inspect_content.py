"""Content of Inspect messages as parts. Knows nothing of samples or of the log they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Opaque, Part, Reasoning, Text, Usage
from foldmark.importers.parts import mappings, redacted_thinking, signed_thinking
from foldmark.wire.media import image_of_url
from foldmark.wire.plain import as_count, as_name, as_text

PROVIDER = "inspect"


def content_parts(content: Any, path: str, maker: str = "") -> tuple[Part, ...]:
    """A message's content: text or blocks. `maker` is whose model said it, for reasoning that goes back to it."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(block, where, maker) for where, block in mappings(content, path))


def _part(block: Mapping[str, Any], path: str, maker: str) -> Part:
    kind = block.get("type")
    if kind == "text":
        return Text(as_text(block.get("text"), f"{path}.text"))
    if kind == "reasoning":
        return _reasoning(block, path, maker)
    if kind == "image":
        url = as_name(block.get("image"), f"{path}.image")
        return image_of_url(url, as_text(block.get("detail"), f"{path}.detail"))
    if not isinstance(kind, str):
        raise WireError(f"{path}.type", "a content block has no type.")
    return Opaque(PROVIDER, dict(block))


def _reasoning(block: Mapping[str, Any], path: str, maker: str) -> Reasoning:
    """Reasoning in the form of its maker where the log keeps all of it; redacted reasoning holds no words."""
    words, signature = as_text(block.get("reasoning"), f"{path}.reasoning"), block.get("signature")
    is_redacted = bool(block.get("redacted"))
    shown = as_text(block.get("summary"), f"{path}.summary") if is_redacted else words
    if maker == "anthropic" and is_redacted:
        return redacted_thinking(words, shown)
    if maker == "anthropic" and signature:
        return signed_thinking(words, signature)
    return Reasoning(shown, PROVIDER, dict(block))


def usage_of_output(output: Mapping[str, Any]) -> Usage | None:
    """Usage of a model call. Whether `input_tokens` holds cached ones differs by provider; the total tells which."""
    reported = output.get("usage")
    if not isinstance(reported, Mapping):
        return None
    fresh, written = as_count(reported.get("input_tokens")), as_count(reported.get("output_tokens"))
    read = as_count(reported.get("input_tokens_cache_read"))
    write = as_count(reported.get("input_tokens_cache_write"))
    is_apart = fresh + read + write + written == as_count(reported.get("total_tokens"))
    return Usage(fresh + read + write if is_apart else fresh, written, read, write)
