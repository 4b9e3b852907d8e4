"""Takes one JSON document apart into the rows of its list and the text around them, byte for byte, also when its end
is missing. Knows nothing of what the rows mean."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
LISTS = ("messages", "contents", "input", "items")
"""Names under which documents keep their conversation."""


class Element(NamedTuple):
    """A row of the list: the space before it, its text, its value."""

    lead: str
    raw: str
    value: Any


class Opened(NamedTuple):
    """A document as `head`, elements and `tail`. `fields` are the other members with the place of each value (in the
    head or the tail, from, to). `rest` is what could not be read, empty when the document is whole."""

    key: str
    head: str
    elements: list[Element]
    tail: str
    fields: dict[str, Any]
    places: dict[str, tuple[str, int, int]]
    rest: str


def open_list(text: str) -> Opened | None:
    """The document with its list, or None when there is no list of rows in it."""
    start = _skip(text, 0)
    if text[start : start + 1] == "[":
        elements, end, broken = _elements(text, start + 1)
        if broken:
            return Opened("", text[: start + 1], elements, "]\n", {}, {}, text[end:])
        return Opened("", text[: start + 1], elements, text[end:], {}, {}, "")
    if text[start : start + 1] == "{":
        return _object(text, start)
    return None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _decode(text: str, at: int) -> tuple[Any, int]:
    """Raises ValueError, also for what is nested too deeply."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _elements(text: str, at: int) -> tuple[list[Element], int, bool]:
    """Elements from behind the bracket on, where they end, and whether the list breaks off there. The space behind the
    last element belongs to what follows."""
    found: list[Element] = []
    end = at
    while True:
        begin = _skip(text, at)
        if text[begin : begin + 1] == "]" and (not found or at == end):
            return found, end, False
        try:
            value, stop = _decode(text, begin)
        except ValueError:
            return found, end, True
        found.append(Element(text[at:begin], text[begin:stop], value))
        end = stop
        behind = _skip(text, stop)
        if text[behind : behind + 1] == ",":
            at = behind + 1
        elif text[behind : behind + 1] == "]":
            at = end
        else:
            return found, end, True


def _object(text: str, start: int) -> Opened | None:
    fields: dict[str, Any] = {}
    spans: list[tuple[str, int, int]] = []
    held: tuple[str, int, list[Element], int] | None = None
    at, broken = start + 1, False
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            at += 1
            break
        try:
            key, at = _decode(text, at)
            at = _skip(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                raise ValueError("no member")
            at = _skip(text, at + 1)
            if held is None and key in LISTS and text[at : at + 1] == "[":
                elements, end, broken = _elements(text, at + 1)
                held = (key, at + 1, elements, end)
                if broken:
                    break
                at = _skip(text, end) + 1
            else:
                fields[key], stop = _decode(text, at)
                spans.append((key, at, stop))
                at = stop
        except ValueError:
            broken = True
            break
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "}":
            broken = True
            break
    if held is None:
        return None
    key, begin, elements, end = held
    tail, rest = ("]}\n", text[end:]) if broken else (text[end:], "")
    places = {
        name: ("head", low, high) if high <= begin else ("tail", low - end, high - end)
        for name, low, high in spans
        if high <= begin or not broken
    }
    fields = {name: value for name, value in fields.items() if name in places}
    return Opened(key, text[:begin], elements, tail, fields, places, rest)
