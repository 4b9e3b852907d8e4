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
    head or the tail, from, to). `rest` is what could not be read;
    `is_broken` says whether the end of the document is missing, which may leave nothing that could not be read."""

    key: str
    head: str
    elements: list[Element]
    tail: str
    fields: dict[str, Any]
    places: dict[str, tuple[str, int, int]]
    rest: str
    is_broken: bool = False


def open_list(text: str) -> Opened | None:
    """The document with its list, or None when there is no list of rows in it."""
    start = _skip(text, 0)
    if text[start : start + 1] == "[":
        elements, end, broken = _elements(text, start + 1)
        if broken:
            return Opened("", text[: start + 1], elements, "]\n", {}, {}, text[end:], is_broken=True)
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


class _Held(NamedTuple):
    """The list of an object: its name, where its elements begin and end."""

    key: str
    begin: int
    elements: list[Element]
    end: int


class _Members:
    """Reads the members of an object one by one, until it ends or breaks off."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at
        self.fields: dict[str, Any] = {}
        self.spans: list[tuple[str, int, int]] = []
        self.held: _Held | None = None

    def read(self) -> bool:
        """Read all members; whether the object breaks off."""
        try:
            while self._begins() != "}":
                if self._member():
                    return True
                behind = self._begins()
                self.at += behind == ","
                if behind not in (",", "}"):
                    return True
        except ValueError:
            return True
        return False

    def _begins(self) -> str:
        self.at = _skip(self.text, self.at)
        return self.text[self.at : self.at + 1]

    def _member(self) -> bool:
        """Read one member; whether it is a list that breaks off. Raises ValueError when it is no member."""
        key, self.at = _decode(self.text, self.at)
        if not isinstance(key, str) or self._begins() != ":":
            raise ValueError("no member")
        self.at += 1
        if self._begins() == "[" and self.held is None and key in LISTS:
            elements, end, is_broken = _elements(self.text, self.at + 1)
            self.held = _Held(key, self.at + 1, elements, end)
            self.at = _skip(self.text, end) + 1
            return is_broken
        self.fields[key], stop = _decode(self.text, self.at)
        self.spans.append((key, self.at, stop))
        self.at = stop
        return False


def _object(text: str, start: int) -> Opened | None:
    members = _Members(text, start + 1)
    is_broken = members.read()
    if members.held is None:
        return None
    key, begin, elements, end = members.held
    tail, rest = ("]}\n", text[end:]) if is_broken else (text[end:], "")
    places = {
        name: ("head", low, high) if high <= begin else ("tail", low - end, high - end)
        for name, low, high in members.spans
        if high <= begin or not is_broken
    }
    fields = {name: value for name, value in members.fields.items() if name in places}
    return Opened(key, text[:begin], elements, tail, fields, places, rest, is_broken)
