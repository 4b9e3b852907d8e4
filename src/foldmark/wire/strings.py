"""Finds text that cannot go over a wire, anywhere inside JSON data. Knows nothing of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec


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
