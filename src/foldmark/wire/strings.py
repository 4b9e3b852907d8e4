"""Finds text and shapes that cannot go over any wire. Knows nothing of what the messages of an API mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_LISTS = ("content", "tool_calls")


def misshapen(messages: Sequence[Any], start: int) -> Iterator[str]:
    """Paths of messages, blocks and calls, from message `start` on, that are no objects where an API wants
    them."""
    for at in range(start, len(messages)):
        message = messages[at]
        if not isinstance(message, Mapping):
            yield f"messages[{at}]"
            continue
        for key in _LISTS:
            held = message.get(key)
            if held is None or isinstance(held, str):
                continue
            if not isinstance(held, (list, tuple)):
                yield f"messages[{at}].{key}"
                continue
            for number, item in enumerate(held):
                if not isinstance(item, Mapping):
                    yield f"messages[{at}].{key}[{number}]"


DIRT = {"unencodable": "holds a lone surrogate.", "nul": "holds U+0000."}


def dirty_strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """(path, "unencodable" or "nul") of every text, key or value, that is not clean."""
    try:
        # One encoding at C speed clears nearly every message; only a dirty one is searched.
        if b"\\u0000" not in msgspec.json.encode(value):
            return
    except (UnicodeEncodeError, TypeError, ValueError):
        pass
    yield from _search(value, path)


def _search(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        code = _dirt(value)
        if code:
            yield path, code
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str) and (code := _dirt(key)):
                yield f"{path}.{key!a}", code
            yield from _search(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from _search(item, f"{path}[{at}]")


def _dirt(text: str) -> str:
    if "\x00" in text:
        return "nul"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "unencodable"
    return ""
