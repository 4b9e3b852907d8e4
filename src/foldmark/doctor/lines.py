"""Reads one line of a JSON lines file, also when it is damaged. Knows nothing of what the records mean."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import msgspec

DEPTH_LIMIT = 100
"""No transcript nests deeper; programs that walk values by recursion fail near a thousand."""

_LENIENT = json.JSONDecoder(strict=False)
_TRIES = 200


class Read(NamedTuple):
    """A line as records, each with its text; `code` names what was wrong, empty when nothing was; `lost` is text that
    belongs to no record."""

    records: list[tuple[str, Any]]
    code: str = ""
    lost: str = ""


def read_line(text: str) -> Read:
    """The record of a line. A line of several records, or of half a record and a whole one, is taken apart."""
    try:
        value = _decode(text)
    except (ValueError, RecursionError):
        return _damaged(text)
    if text.count("[") + text.count("{") <= DEPTH_LIMIT:
        return Read([(text, value)])
    return Read([], "too_deep", text) if is_deep(value) else Read([(text, value)])


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        # The standard decoder takes lone surrogates, NaN and integers of any length, which real files hold.
        return json.loads(text)


def _damaged(text: str) -> Read:
    if "\x00" in text:
        inner = _damaged_or_whole(text.replace("\x00", ""))
        is_empty = not text.strip("\x00 \t")
        code = "nul_bytes" if inner.records or is_empty else "bad_line"
        return Read(inner.records, code, "" if inner.records else text)
    try:
        value = _LENIENT.decode(text)
        return Read([], "too_deep", text) if is_deep(value) else Read([(text, value)], "control_characters")
    except RecursionError:
        return Read([], "too_deep", text)
    except ValueError:
        return _glued(text)


def _damaged_or_whole(text: str) -> Read:
    return read_line(text) if text.strip() else Read([])


def _glued(text: str) -> Read:
    """Records that stand on one line because a line end is missing, with what is between them."""
    records: list[tuple[str, Any]] = []
    lost, at, tries = "", 0, 0
    while at < len(text):
        begin = text.find('{"', at)
        if begin < 0 or tries > _TRIES:
            lost += text[at:]
            break
        lost += text[at:begin]
        tries += 1
        found = _record_at(text, begin)
        if found is None:
            lost += text[begin : begin + 2]
            at = begin + 2
        else:
            value, at = found
            records.append((text[begin:at], value))
    return Read(records, "glued_lines", lost.strip()) if records else Read([], "bad_line", text)


def _record_at(text: str, begin: int) -> tuple[Any, int] | None:
    """A record that ends the line or is followed by another one; parts of a broken record do neither."""
    try:
        value, end = _LENIENT.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    rest = text[end:].lstrip()
    is_record = isinstance(value, dict) and ("type" in value or "role" in value)
    return (value, end) if is_record and (not rest or rest.startswith('{"')) and not is_deep(value) else None


def is_deep(value: Any, limit: int = DEPTH_LIMIT) -> bool:
    """Whether a value nests deeper than `limit` levels. Walks without recursion."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            item
            for held in level
            if isinstance(held, (dict, list))
            for item in (held.values() if isinstance(held, dict) else held)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return False
    return True


def has_nan(value: Any) -> bool:
    """Whether NaN or an infinity is inside, which is no JSON. Walks without recursion."""
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(held, float) and not math.isfinite(held):
            return True
        if isinstance(held, (dict, list)):
            waiting += held.values() if isinstance(held, dict) else held
    return False


def without_nan(value: Any) -> Any:
    """The same value with null for NaN and infinities, as JavaScript writes them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    return [without_nan(item) for item in value] if isinstance(value, list) else value
