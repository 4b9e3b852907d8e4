"""JSON: documents, arrays of objects, JSON lines. Knows nothing of what the fields mean.

Values are shown as they stand in the text (a number is never written anew), and whatever is left out is
said in items, keys or lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from foldmark.events import ToolCall
from foldmark.kinds import giants
from foldmark.kinds.base import Kind, clip, listed, plain_preview, plural, remembered
from foldmark.kinds.body import Body, Count, compose, count_lines, edges, whole
from foldmark.kinds.cuts import without_controls

_BOUND = 100_000
"""Characters: parsing to objects costs several times the text's size in memory and 0.1 s a megabyte; a larger text is
outlined without."""
_CHECKED = 2_000_000
"""Characters of a text that is checked whole when it is recognised; of a larger one only its first value."""
_SHORT = 60
# What a giant text must begin with to be taken for JSON before it is opened: `[2026-05-01 …]` is a log.
_OPENING = re.compile(r'\s*(?:\{\s*(?:"|\})|\[\s*(?:[\[{"\]]|(?:-?\d[\d.eE+-]*|true|false|null)\s*[,\]]))')


class _Number(str):
    """A number as it is spelled."""


_reader = json.JSONDecoder(parse_int=_Number, parse_float=_Number, strict=False)
_scan = json.JSONDecoder(strict=False).raw_decode


@remembered
def document(text: str) -> Any:
    """The JSON value of a text with numbers as they are spelled (`str`), or None when it is none or too
    large."""
    bare = text.strip()
    if not bare or len(bare) > _BOUND or bare[0] + bare[-1] not in ("{}", "[]"):
        return None
    try:
        return _reader.decode(bare)
    except (ValueError, RecursionError):
        return None


def is_json_lines(text: str) -> bool:
    lines = [line for line in text[:20_000].split("\n")[:6] if line.strip()]
    if len(text) > 20_000:
        lines = lines[:-1] or lines
    if len(lines) < 2:
        return False
    for line in lines[:4]:
        if line.strip()[:1] != "{":
            return False
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return False
    return True


def _recognise(text: str, call: ToolCall | None) -> float:
    head = text[:200].lstrip()[:1]
    if head not in ("{", "["):
        return 0.0
    tail = text[-200:].rstrip()[-1:]
    if head + tail in ("{}", "[]"):
        if is_json_lines(text):
            return 0.9
        if len(text) <= _BOUND:
            return 0.9 if document(text) is not None else 0.0
        if not _OPENING.match(text[:400]):
            return 0.0
        return 0.9 if len(text) > _CHECKED or giants.is_json(text) else 0.0
    return 0.9 if is_json_lines(text) else 0.0


def describe(value: Any) -> str:
    """`array of 12 objects with id, name`, `object with 5 keys`, `text of 812 characters`."""
    match value:
        case dict():
            return f"object with {plural(len(value), 'key')}"
        case list():
            if value and all(isinstance(item, dict) for item in value):
                keys = list(dict.fromkeys(key for item in value[:50] for key in item))
                named = without_controls(listed([giants.short_key(key) for key in keys], 10))
                return f"array of {plural(len(value), 'object')} with {named}"
            if value and all(isinstance(item, list) for item in value):
                return f"array of {plural(len(value), 'array')}, the first an {describe(value[0])}"
            return f"array of {plural(len(value), 'item')}"
        case str():
            return f"text of {plural(len(value), 'character')}"
    return "value"


def scalars(value: Any, limit: int = 8) -> list[str]:
    """`key=value` of short top-level values, in order, as they are spelled."""
    if not isinstance(value, dict):
        return []
    words = {True: "true", False: "false", None: "null"}
    found = []
    for key, item in value.items():
        if len(key) > giants.LONG_KEY:
            continue
        if isinstance(item, bool) or item is None:
            found.append(f"{key}={words[item]}")
        elif isinstance(item, str) and 0 < len(item) <= _SHORT and "\n" not in item:
            found.append(f"{key}={item}")
    return [without_controls(text) for text in found[:limit]]


def outcome(text: str, call: ToolCall | None) -> str:
    if (value := document(text)) is None:
        return (
            f"JSON lines: {plural(count_lines(text), 'line')}" if is_json_lines(text) else clip(giants.say(text), 400)
        )
    said = f"JSON {describe(value)}"
    if isinstance(value, dict):
        shown = scalars(value)
        rest = [giants.short_key(key) for key, item in value.items() if isinstance(item, dict | list)]
        said += f": {', '.join(shown)}" if shown else ""
        said += f"; also {without_controls(listed(rest, 6))}" if rest else ""
    elif isinstance(value, list) and value and (first := scalars(value[0], 4)):
        said += f"; first: {', '.join(first)}"
    return clip(said, 400)


def spans(text: str) -> list[tuple[str, int, int]] | None:
    """(label, start, end) of the items of a top-level array or of the values of an object, in place."""
    at = len(text) - len(text.lstrip())
    is_array = text[at : at + 1] == "["
    found: list[tuple[str, int, int]] = []
    at = _skip(text, at + 1)
    try:
        while at < len(text) and text[at] not in "]}":
            label = f"item {len(found) + 1:,}"
            if not is_array:
                _, end = _scan(text, at)
                label = text[at:end]
                at = _skip(text, _skip(text, end) + 1)
            _, end = _scan(text, at)
            found.append((label, at, end))
            at = _skip(text, end)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
    except (ValueError, RecursionError):
        return None
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _items(text: str, budget_tokens: int, count: Count, top: str) -> str:
    """Whole items (or `key: value` pairs) from both ends; those between are counted."""
    found = spans(text) or []
    is_array = text.lstrip()[:1] == "["
    shown: dict[int, str] = {}
    spent = count(top) + 40
    for index in _inwards(len(found)):
        label, start, end = found[index]
        raw = text[start:end] if end - start <= 4_000 else ""
        piece = raw if is_array else f"{label}: {raw}"
        cost = count(piece) + 1
        if not raw or cost > budget_tokens // (2 if index == 0 else 3) or spent + cost > budget_tokens:
            piece = f"{label if is_array else label + ':'} … {end - start:,} characters not shown …"
            cost = 18
            if is_array or spent + cost > budget_tokens:
                continue
        shown[index] = without_controls(piece)
        spent += cost
    unit = "items" if is_array else "keys"
    out, last = [top], -1
    for index in [*sorted(shown), len(found)]:
        if index > last + 1:
            out.append(f"… {unit} {last + 2:,}-{index:,} of {len(found):,} not shown …")
        if index < len(found):
            out.append(shown[index])
        last = index
    return "\n".join(out)


def _inwards(total: int, limit: int = 400) -> Iterator[int]:
    for step in range(min(limit, (total + 1) // 2)):
        yield step
        if total - 1 - step > step:
            yield total - 1 - step


def preview(text: str, budget_tokens: int, count: Count) -> str:
    if fits := whole(text, budget_tokens, count):
        return fits
    if len(text) > _BOUND and not is_json_lines(text):
        return giants.preview(text, budget_tokens, count) or plain_preview(text, budget_tokens, count)
    body = Body(text)
    value = document(text)
    if value is None or body.total > 20:
        lines = (
            "JSON lines"
            if value is None and is_json_lines(text)
            else f"JSON {describe(value)}"
            if value is not None
            else "JSON"
        )
        return compose(body, edges(body, 400, 100), budget_tokens, count, f"{lines}, {plural(body.total, 'line')}")
    shown = _items(text, budget_tokens, count, f"JSON {describe(value)}, {len(text):,} characters:")
    if count(shown) <= budget_tokens and len(shown) < len(text):
        return shown
    return compose(body, edges(body), budget_tokens, count, f"JSON {describe(value)}")


JSON = Kind("json", _recognise, outcome, preview)
