"""Lines of a long text sorted by what they mean, the same thing said twice only once. Knows nothing of what the
meanings are.

Whole texts up to `BOUND` are read line by line; of a longer one only both ends, and then nothing is counted: a number
in a preview must be true of the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from foldmark.kinds.base import clip, plural, remembered, sample
from foldmark.kinds.body import Body
from foldmark.kinds.terminal import clean_text

BOUND = 4_000_000
"""Characters: about 50,000 lines, read in a few hundredths of a second."""
_LONG = 600  # characters of a line that are read for its meaning

Line = tuple[int, str]


@dataclass(frozen=True)
class Signs:
    """How lines of one meaning are known: by their beginning, or by words anywhere inside. Two patterns, because one
    that looks for beginnings everywhere is many times slower."""

    start: re.Pattern[str]
    inside: re.Pattern[str]

    def fit(self, line: str) -> bool:
        return bool(self.start.match(line) or self.inside.search(line))


def is_whole(body: Body) -> bool:
    """Whether `lines` gives every line, so that counting them is true."""
    return len(body.text) <= BOUND


def lines(body: Body) -> Iterator[Line]:
    """(number, line) of every line, or of both ends of a giant text."""
    if not is_whole(body):
        yield from ((number, body.line(number) or "") for number in body.numbers())
        return
    found = body.text.split("\n")
    if len(found) > body.total:
        found.pop()
    yield from enumerate((line.rstrip("\r") for line in found) if "\r" in body.text else found, 1)


def sort_lines(body: Body, meanings: Callable[[str], Iterable[str]], words: tuple[str, ...]) -> dict[str, list[Line]]:
    """Lines by what `meanings(line)` says of them. A line that holds none of `words` has no meaning."""
    found: dict[str, list[Line]] = {}
    known: dict[str, list[str]] = {}  # a long output says the same again and again
    for number, line in _with_words(body, words) if is_whole(body) else lines(body):
        if line not in known:
            known[line] = list(meanings(line[:_LONG]))
        for said in known[line]:
            found.setdefault(said, []).append((number, line))
    return found


_TAIL = 3_000  # characters


class Ends(NamedTuple):
    """What a kind is recognised by: the first forty lines with words in them and the last 3,000 characters. The lines
    of a short text are in both."""

    text: str
    lines: list[str]


@remembered
def ends_of(text: str) -> Ends:
    found = [*sample(text, 40), *text[-_TAIL:].split("\n")]
    return Ends(text if len(text) <= _TAIL else "\n".join(found), found)


def said_in(ends: Ends, meanings: Callable[[str], Iterable[str]], words: tuple[str, ...]) -> list[str]:
    """What the lines mean, in order. As in `sort_lines`, a line that holds none of `words` has no meaning."""
    present = [word for word in words if word in ends.text]  # few in most results: the lines are asked for these alone
    known: dict[str, list[str]] = {}
    for line in ends.lines if present else ():
        if line not in known:
            known[line] = list(meanings(line[:400])) if any(map(line.__contains__, present)) else []
    return [said for line in ends.lines for said in known[line]] if known else []


def _with_words(body: Body, words: tuple[str, ...]) -> Iterator[Line]:
    """Lines that hold one of some words. Each word is sought through the whole text: many times faster than asking
    every line for every word."""
    text, starts = body.text, set[int]()
    for word in words:
        at = text.find(word)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(word, end) if end >= 0 else -1
    number, last = 1, 0
    for start in sorted(starts):
        number += text.count("\n", last, start)
        last = start
        end = text.find("\n", start)
        yield number, text[start : end if end >= 0 else len(text)].rstrip("\r")


_VARIES = re.compile(r"\d+|0x[0-9a-fA-F]+")


def shape(line: str) -> str:
    """A line without its numbers: what makes two lines say the same."""
    return _VARIES.sub("0", line[:_LONG]).strip()


def unlike(found: Iterable[Line]) -> list[Line]:
    """The first line of every shape, then the others; the same line never twice."""
    first: dict[str, Line] = {}
    rest: list[Line] = []
    seen: set[str] = set()
    for number, line in found:
        if line in seen:
            continue
        seen.add(line)
        if first.setdefault(shape(line), (number, line)) != (number, line):
            rest.append((number, line))
    return [*first.values(), *rest]


def not_yet(found: Iterable[Line]) -> Iterator[Line]:
    """The same lines without those that say word for word what an earlier one said: room is for what is new."""
    seen: set[str] = set()
    for number, line in found:
        words = line.strip()
        if not words or words not in seen:
            seen.add(words)
            yield number, line


def clipped(found: Iterable[Line], limit: int = 160) -> list[str]:
    """The words of lines, clean and without indentation, cut at a word's end."""
    return [clip(clean_text(line.strip()), limit) for _, line in found]


def say_trouble(found: dict[str, list[Line]]) -> str:
    """`3 error lines (2 different), 1 warning line`, "" for none."""
    return ", ".join(filter(None, (counted(found.get(word, []), f"{word} line") for word in ("error", "warning"))))


def counted(found: list[Line], word: str) -> str:
    """`12 error lines (3 different)`, "" for none."""
    if not found:
        return ""
    different = len({line for _, line in found})
    return plural(len(found), word) + (f" ({different:,} different)" if different < len(found) else "")
