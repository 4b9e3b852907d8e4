"""Finds text that cannot go over any wire. Knows nothing of what the messages of an API mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

DIRT = {"unencodable": "holds a lone surrogate.", "nul": "holds U+0000."}


def dirty_strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """(path, "unencodable" or "nul") of every text, key or value, that is not clean."""
    try:
        # One encoding at C speed clears nearly every message; only a dirty one is searched.
        if b"\\u0000" not in msgspec.json.encode(value):
            return
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        pass
    yield from _search(value, path)


def _search(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """In order, whatever the depth: what stands inside waits on a stack with its path."""
    waiting = [(value, path)]
    while waiting:
        one, where = waiting.pop()
        if isinstance(one, str):
            if code := _dirt(one):
                yield where, code
        elif isinstance(one, Mapping):
            for key in one:
                if isinstance(key, str) and (code := _dirt(key)):
                    yield f"{where}.{key!a}", code
            waiting += reversed([(item, f"{where}.{key}") for key, item in one.items()])
        elif isinstance(one, (list, tuple)):
            waiting += reversed([(item, f"{where}[{at}]") for at, item in enumerate(one)])


def _dirt(text: str) -> str:
    if "\x00" in text:
        return "nul"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "unencodable"
    return ""
