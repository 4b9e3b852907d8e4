"""The judge's rule of size: o200k tokens of content, call names and arguments, and 4 per message."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from foldmark.tokens import count

PER_MESSAGE = 4


@lru_cache(maxsize=200_000)
def text_tokens(text: str) -> int:
    return count(text)


def content_text(message: dict[str, Any]) -> str:
    """The text of a message's content, whichever form it has."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content if isinstance(part, dict))


def message_text(message: dict[str, Any]) -> str:
    """Everything a model reads of a message: content, call names and arguments."""
    parts = [content_text(message)]
    for call in message.get("tool_calls") or []:
        parts += [call["function"]["name"], call["function"]["arguments"]]
    return "\n".join(parts)


def message_tokens(message: dict[str, Any]) -> int:
    total = PER_MESSAGE + text_tokens(content_text(message))
    for call in message.get("tool_calls") or []:
        total += text_tokens(call["function"]["name"]) + text_tokens(call["function"]["arguments"])
    return total


def size(messages: Iterable[dict[str, Any]]) -> int:
    return sum(map(message_tokens, messages))
