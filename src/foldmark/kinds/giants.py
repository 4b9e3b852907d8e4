"""JSON too large to be parsed: an outline of keys, counts and ends, without making objects of it. Knows nothing of what
the fields mean.

Each level is opened once at the speed of the codec, its values stay slices of the text. Where a level has more values
than memory should hold, the first ones are counted and the outline says how far it looked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from foldmark.kinds.base import listed, plural
from foldmark.kinds.body import Count, compose, hidden
from foldmark.kinds.cuts import without_controls

_RAW_ITEMS = 1_500_000
"""Slices of one level that may be held at once: about 100 MB."""
_WALKED = 100_000
"""Items counted one by one where a level has more than that."""
_WHOLE = 400
"""Characters of a value that is shown as it stands."""
_ENDS = 60
_FEW = 4
LONG_KEY = 80
"""Characters: a longer key is named by its length, never cut."""
_BRACE = ord("{")

_scan = json.JSONDecoder(strict=False).raw_decode
_any = msgspec.json.Decoder(msgspec.Raw)
_arrays = msgspec.json.Decoder(list[msgspec.Raw])
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Level:
    """One value opened. `head` children are had from the front, `tail` from the end, of `total`; where not all
    were counted, `looked` says how many bytes were."""

    data: bytes
    keys: list[str] | None
    head: list[msgspec.Raw]
    tail: list[msgspec.Raw]
    total: int
    looked: int = 0

    @property
    def unit(self) -> str:
        return "item" if self.keys is None else "key"

    def child(self, index: int) -> tuple[str, bytes] | None:
        """Label and text of a child, None for one that was not kept."""
        at = index - self.total + len(self.tail)
        if index < len(self.head):
            value = self.head[index]
        elif 0 <= at < len(self.tail):
            value = self.tail[at]
        else:
            return None
        label = f"item {index + 1:,}" if self.keys is None else _spelled(self.keys[index])
        return label, bytes(value).strip()

    def ends(self, head: int, tail: int) -> list[int]:
        """Indexes of children from both ends, in order; of a level that was not counted whole none of the end."""
        first = range(min(head, self.total))
        return [*first, *(range(max(len(first), self.total - tail), self.total) if not self.looked else ())]

    def gap(self, first: int, last: int) -> str:
        if self.looked and last == self.total:
            return (
                f"… {self.unit}s from {first:,} on not shown (the first {self.total:,} were counted, there are more) …"
            )
        return hidden(first, last, self.total, self.unit)


def short_key(key: str) -> str:
    """A key, or its length when it is too long to stand in a list."""
    return key if len(key) <= LONG_KEY else f"a key of {len(key):,} characters"


def _spelled(key: str) -> str:
    return without_controls(json.dumps(key, ensure_ascii=False)) if len(key) <= LONG_KEY else short_key(key)


def is_json(text: str) -> bool:
    """Whether a text is one JSON value, at the speed of the codec."""
    try:
        _any.decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def open_level(data: bytes) -> Level | None:
    """The children of an array or object; None for other values and for what is no JSON."""
    data = data.strip()
    try:
        if data[:1] == b"{":
            return _object(data)
        return _array(data) if data[:1] == b"[" else None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _object(data: bytes) -> Level | None:
    if _crowded(data):
        return None
    found = _objects.decode(data)
    return Level(data, list(found), list(found.values()), [], len(found))


def _array(data: bytes) -> Level | None:
    if not re.search(rb'["\[{]', data[1:]):
        return _numbers(data)
    if _crowded(data):
        return _first_items(data)
    items = _arrays.decode(data)
    return Level(data, None, items, [], len(items))


def _crowded(data: bytes) -> bool:
    """Whether a level may hold more values than memory should: as many as its separators say, unless the first
    100,000 bytes show larger ones."""
    commas = data.count(b",")
    if commas <= _RAW_ITEMS:
        return False
    head = data[:100_000]
    depth, outer, inside = 0, 0, False
    for byte in re.sub(rb"\\.", b"", head):
        if byte == 34:
            inside = not inside
        elif inside:
            continue
        elif byte in b"[{":
            depth += 1
        elif byte in b"]}":
            depth -= 1
        elif byte == 44 and depth == 1:
            outer += 1
    return commas > 8 * _RAW_ITEMS or outer * (len(data) // len(head)) > _RAW_ITEMS


def _numbers(data: bytes) -> Level | None:
    """An array of nothing but numbers and words: its commas count it; both ends are opened."""
    total = data.count(b",") + 1 if data.strip(b"[] \t\r\n") else 0
    if total <= _RAW_ITEMS:
        items = _arrays.decode(data)
        return Level(data, None, items, [], len(items))
    head, tail = data[: data.rfind(b",", 0, 2_000)] + b"]", b"[" + data[data.find(b",", len(data) - 2_000) + 1 :]
    return Level(data, None, _arrays.decode(head), _arrays.decode(tail), total)


def _first_items(data: bytes) -> Level | None:
    text, at, items = data[: _WALKED * 400].decode("utf-8", "ignore"), 1, list[msgspec.Raw]()
    space = re.compile(r"[\s,]*")
    while len(items) < _WALKED:
        start = space.match(text, at)
        at = start.end() if start else at
        try:
            _, end = _scan(text, at)
        except (ValueError, RecursionError):
            break
        items.append(msgspec.Raw(text[at:end].encode()))
        at = end
    return Level(data, None, items, [], len(items), looked=at) if items else None


def describe(level: Level) -> str:
    """`array of 300,000 objects, the first 50 with id, name`, `object with 2 keys`."""
    if level.keys is not None:
        return f"object with {plural(level.total, 'key')}"
    some = "the first " if level.looked else ""
    if not level.head or any(memoryview(item)[0] != _BRACE for item in level.head):
        return f"array of {some}{plural(level.total, 'item')}"
    said = f"array of {some}{plural(level.total, 'object')}"
    keys = without_controls(listed(_keys_of(level), 10))
    return f"{said}, the first {min(50, level.total)} with {keys}" if keys else said


def _keys_of(level: Level) -> list[str]:
    keys: dict[str, None] = {}
    for item in level.head[:50]:
        if memoryview(item).nbytes <= 100_000 and (inner := open_level(bytes(item))):
            keys.update(dict.fromkeys(inner.keys or ()))
    return [short_key(key) for key in keys]


def _characters(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.decode("utf-8", "replace"))


def _line(label: str, data: bytes, depth: int, indent: str) -> Iterator[str]:
    """A value in lines: as it stands when it is short, else what it is, and what stands inside."""
    if len(data) <= _WHOLE:
        yield f"{indent}{label}: {without_controls(data.decode('utf-8', 'replace'))}"
        return
    level = open_level(data)
    size = f"{_characters(data):,} characters"
    if level is None:
        said = "text" if data[:1] == b'"' else "value"
        yield f"{indent}{label}: {said}, {size} not shown"
        return
    yield f"{indent}{label}: {describe(level)}, {size}{_covers(level)}"
    if depth > 0:
        yield from _inside(level, depth - 1, indent + "  ")


def _covers(level: Level) -> str:
    return f" (looked at the first {level.looked:,} of {len(level.data):,} bytes)" if level.looked else ""


def _inside(level: Level, depth: int, indent: str) -> Iterator[str]:
    last = -1
    ends = (
        level.ends(30, 10) if level.keys is not None else level.ends(2, 2) if level.total <= _FEW else level.ends(1, 1)
    )
    for index in [*ends, level.total]:
        if index > last + 1:
            yield indent + level.gap(last + 2, index)
        if index < level.total and (child := level.child(index)):
            yield from _line(*child, depth, indent)
        last = index


def say(text: str) -> str:
    """`JSON array of 300,000 objects …`, or its size alone when it is no JSON."""
    level = open_level(text.encode("utf-8", "replace"))
    if level is None:
        return f"text of {len(text):,} characters that begins like JSON"
    keys = f": {without_controls(listed([_spelled(key) for key in level.keys[:9]], 8))}" if level.keys else ""
    return f"JSON {describe(level)}{keys}, {len(text):,} characters{_covers(level)}"


class Children:
    """The values of one level as pieces of a preview."""

    def __init__(self, text: str, level: Level) -> None:
        self.text = text
        self.total = level.total
        self.gap = level.gap
        self._level = level

    def line(self, number: int) -> str | None:
        child = self._level.child(number - 1)
        return "\n".join(_line(*child, 0, "")) if child else None

    def order(self) -> Iterator[tuple[int, str]]:
        known = self._level.ends(_ENDS, _ENDS)
        for pair in zip(known, reversed(known), strict=True):
            for index in pair:
                if line := self.line(index + 1):
                    yield index + 1, line


def preview(text: str, budget_tokens: int, count: Count) -> str | None:
    """An outline within the budget, as deep as it allows; None when the text is no JSON."""
    level = open_level(text.encode("utf-8", "replace"))
    if level is None:
        return None
    top = f"JSON {describe(level)}, {len(text):,} characters{_covers(level)}:"
    if count(top) > budget_tokens // 2:
        top = f"JSON, {plural(level.total, level.unit)}, {len(text):,} characters{_covers(level)}:"
    # Of an array with many items, as many as fit tell more than the insides of two.
    for depth in (3, 2, 1, 0) if level.keys or level.total <= _FEW else ():
        shown = "\n".join([top, *_inside(level, depth, "")])
        if len(shown) <= budget_tokens * 12 and count(shown) <= budget_tokens:
            return shown
    pieces = Children(text, level)
    return compose(pieces, pieces.order(), budget_tokens, count, top, cut=without_controls)
