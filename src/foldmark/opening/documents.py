"""Reads an opened body as JSON: one document, or JSON lines. Knows nothing of queries and tables.

A document stands in memory as objects while it is read, at several times its size, so a larger body is refused with
what to do in place of it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec

from foldmark.errors import PolicyError
from foldmark.kinds.records import describe
from foldmark.opening.opened import Opened

LARGEST_JSON = 16 << 20
"""Bytes that are read as JSON at once: about 0.2 s, and 100 to 200 MB of memory."""
_KEYS = 12


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON value; `is_lines`: the list of the values of JSON lines, `skipped` of which are no JSON."""

    value: Any
    is_lines: bool = False
    skipped: int = 0


def document(body: Opened) -> Document:
    """The JSON that a body holds. Raises PolicyError, with the next move, where it is none, too large or nested too
    deeply."""
    if body.stop - body.start > LARGEST_JSON:
        raise PolicyError(
            f"{body.ref} has {body.stop - body.start:,} bytes; JSON is read up to {LARGEST_JSON:,} at once. Of JSON "
            f"lines name some ({body.at(1, 20_000)}); else grep it, and read the lines around a match."
        )
    data = body.read(body.start, body.stop).removeprefix(b"\xef\xbb\xbf")
    try:
        return Document(value=_decoded(data))
    except RecursionError:
        raise PolicyError(f"{body.ref} is JSON nested too deeply to be read; grep it, or read its lines.") from None
    except ValueError as error:
        return _lines(body, data, str(error))


def _lines(body: Opened, data: bytes, reason: str) -> Document:
    """JSON lines; a few that are none (a line that was cut, a warning) are passed over. Raises PolicyError."""
    with suppress(msgspec.DecodeError, RecursionError):
        if len(values := _decoder.decode_lines(data)) > 1:
            return Document(value=values, is_lines=True)
    values, skipped = [], 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            values.append(_decoded(line))
        except (ValueError, RecursionError):
            skipped += 1
            if skipped > 20 + len(values):
                break
    if len(values) < 2 or skipped * 2 > len(values):
        raise PolicyError(
            f"{body.ref} is no JSON and no JSON lines ({reason}). Name the lines that are ({body.ref}#L2-40), grep it, "
            "or read its lines."
        )
    return Document(value=values, is_lines=True, skipped=skipped)


def _decoded(data: bytes) -> Any:
    """A JSON text as objects. Raises ValueError, RecursionError."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:  # NaN, half characters, raw controls: the standard library is less strict
        return json.loads(data.decode("utf-8", "surrogatepass"), strict=False)


_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def shape(value: Any) -> str:
    """What a value is, two levels deep: `object with 2 keys: users (array of 81 objects with id, name), total
    (number)`."""
    if not isinstance(value, dict) or not value:
        return _one(value)
    told = [f"{_key(key)} ({_one(item)})" for key, item in list(value.items())[:_KEYS]]
    more = f", … {len(value) - _KEYS:,} more" if len(value) > _KEYS else ""
    return f"{describe(value)}: {', '.join(told)}{more}"


def _one(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if value is None:
        return "null"
    return "number" if isinstance(value, int | float) else describe(value)


def _key(key: str) -> str:
    return key if len(key) <= 60 else f"{key[:60]}…"


def written(value: Any, limit: int) -> tuple[str, bool]:
    """A value as JSON text of at most `limit` characters, and whether that is all of it. Stops as soon as it is long
    enough: a value may be far larger than memory when written."""
    parts: list[str] = []
    size = 0
    for part in _encoder.iterencode(value):
        parts.append(part)
        size += len(part)
        if size > limit:
            return "".join(parts)[:limit], False
    return "".join(parts), True


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "))
