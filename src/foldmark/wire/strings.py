"""Finds text and shapes that cannot go over any wire. Knows nothing of what the messages of an API mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.wire.shapes import misfits


def misshapen(
    payload: Mapping[str, Any], key: str, start: int, head: Any, message: Any, blocks: Mapping[str, Any]
) -> Iterator[str]:
    """Paths of what has not the shape that an API wants, so that rules may read without asking.

    `head` is the shape of the payload, `key` its field of messages. From message `start` on, each fits `message`; a
    field in `blocks` is text, or a list of that shape.
    """
    yield from misfits(payload, head, "")
    messages: Any = payload.get(key)
    for at in range(start, len(messages)) if isinstance(messages, (list, tuple)) else ():
        path = f"{key}[{at}]"
        yield from misfits(messages[at], message, path)
        for field, shape in blocks.items() if isinstance(messages[at], Mapping) else ():
            held = messages[at].get(field)
            if held is not None and not isinstance(held, str):
                yield from misfits(held, [shape], f"{path}.{field}")


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
