"""A long text seen as numbered lines without splitting it, and the making of a preview from chosen lines.

Knows nothing of what sort of result the text is. A preview shows whole lines (or rows, items, cells: any
`Units`), and says in place which of how many it leaves out; a line too long to show is cut where a word ends,
with the number of characters left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from foldmark.kinds.cuts import shorten, without_controls
from foldmark.kinds.runs import is_encoded_line

Count = Callable[[str], int]

EDGE = 64_000
"""Characters of head and of tail that are looked at line by line; between them only trouble words are
sought."""

TROUBLE = (
    "Traceback (most recent", "Error:", "error:", "ERROR", "Exception:", "FAILED", "FAIL", "FATAL", "fatal:",
    "Fatal", "panic:", "panicked at", "CRITICAL", "SEVERE", "Segmentation fault", "assert", "not ok ",
    "npm ERR!", "denied", "✗", "✕", "Caused by", "undefined reference", "failed", "Error ", "error[",
    "[error]",
)  # fmt: skip
_TROUBLE = re.compile("|".join(map(re.escape, TROUBLE)))
_HARMLESS = re.compile(r"\b(?:0|no) (?:errors?|failed|failures?)\b|\bfailed[:=] ?0\b", re.IGNORECASE)


def count_lines(text: str) -> int:
    """Lines of a text, as a reader of line ranges counts them: ended by a line feed, the last one with or
    without."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


class Units(Protocol):
    """What a preview is made of: numbered pieces of a text, 1-based. `line` is None for a piece that cannot be had;
    `gap` are the words for pieces left out."""

    text: str
    total: int

    def line(self, number: int) -> str | None: ...

    def gap(self, first: int, last: int) -> str: ...


class Body:
    """A text with its lines reachable by number or place. Lines are 1-based and shown without their line
    end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.total = count_lines(text)
        self._is_small = len(text) <= 2 * EDGE
        head = text if self._is_small else text[: text.rfind("\n", 0, EDGE) + 1]
        self.head = head.split("\n")[: self.total if self._is_small else -1]
        start = len(text) if self._is_small else text.find("\n", len(text) - EDGE) + 1 or len(text)
        tail = text[start:]
        self.tail = tail.split("\n") if tail else []
        if self.tail and self.tail[-1] == "":
            self.tail.pop()
        if not self.head and text:  # the first line alone is longer than the edge
            self.head = [text[: text.find("\n") if "\n" in text else len(text)]]

    def line(self, number: int) -> str | None:
        """A line of head or tail by number, None for one between them."""
        if not 1 <= number <= self.total:
            return None
        if number <= len(self.head):
            found = self.head[number - 1]
        elif number > self.total - len(self.tail):
            found = self.tail[number - self.total - 1]
        else:
            return None
        return found.rstrip("\r")

    def gap(self, first: int, last: int) -> str:
        return hidden(first, last, self.total)

    def numbers(self) -> Iterable[int]:
        """Numbers of the lines that can be looked at."""
        yield from range(1, len(self.head) + 1)
        yield from range(max(len(self.head), self.total - len(self.tail)) + 1, self.total + 1)

    def at(self, place: int) -> tuple[int, str]:
        """(number, line) around a character position."""
        start = self.text.rfind("\n", 0, place) + 1
        end = self.text.find("\n", place)
        line = self.text[start : end if end >= 0 else len(self.text)]
        return self.text.count("\n", 0, start) + 1, line.rstrip("\r")

    def trouble(self, limit: int = 12) -> dict[int, str]:
        """Lines that tell of trouble, at most `limit`: the first ones and the last few.

        Substring search, one pass per word: a hundred times a regular expression's speed on 20 MB.
        """
        places: set[int] = set()
        for word in TROUBLE:
            at = -1
            for _ in range(limit):
                at = self.text.find(word, at + 1)
                if at < 0:
                    break
                places.add(self.text.rfind("\n", 0, at) + 1)
            if at >= 0:
                places.add(self.text.rfind("\n", 0, self.text.rfind(word)) + 1)
        found: list[tuple[int, str]] = []
        number, last = 1, 0
        for place in sorted(places):
            number += self.text.count("\n", last, place)
            last = place
            end = self.text.find("\n", place)
            line = self.text[place : end if end >= 0 else len(self.text)].rstrip("\r")
            if is_trouble(line[:2_000]):
                found.append((number, line))
        return dict(found if len(found) <= limit else found[: limit - 4] + found[-4:])


def is_trouble(line: str) -> bool:
    """Whether a line tells of an error or a failure (`0 failed` does not)."""
    if not _TROUBLE.search(line):
        return False
    return not _HARMLESS.search(line) or bool(_TROUBLE.search(_HARMLESS.sub("", line)))


def hidden(first: int, last: int, total: int, unit: str = "line") -> str:
    """The words for lines (rows, items …) left out, in place."""
    if first == last:
        return f"… {unit} {first:,} of {total:,} not shown …"
    return f"… {unit}s {first:,}-{last:,} of {total:,} not shown …"


def whole(text: str, budget_tokens: int, count: Count) -> str:
    """The text itself, clean, when it fits the budget, else "". What has twelve characters for each token of it never
    does, and is not counted."""
    clean = without_controls(text) if len(text) <= budget_tokens * 12 else ""
    return clean if clean and count(clean) <= budget_tokens else ""


def compose(
    body: Units,
    order: Iterable[tuple[int, str]],
    budget_tokens: int,
    count: Count,
    top: str = "",
    cut: Callable[[str], str] = shorten,
) -> str:
    """A preview of chosen lines. `order` gives (number, line), most wanted first; `top` is a first line of
    ours; `cut` makes a piece fit to be shown.

    Takes lines while they fit `budget_tokens`; a body that fits whole is returned whole, and no preview is
    longer than its body.
    """
    if fits := whole(body.text, budget_tokens, count):
        return fits
    if count(top) + _MARK > budget_tokens:  # names in it may be long: then its first line alone, or none
        top = top.partition("\n")[0] if count(top.partition("\n")[0]) + _MARK <= budget_tokens else ""
    chosen = _chosen(body, order, budget_tokens - count(top) - _MARK, count, cut)
    text = _render(chosen, body, top)
    while count(text) > budget_tokens and chosen:
        chosen.popitem()
        text = _render(chosen, body, top)
    return text if len(text) < len(body.text) else without_controls(body.text)


_MARK = 18
"""Tokens kept for one marker of what is left out."""


def _chosen(
    body: Units, order: Iterable[tuple[int, str]], room: int, count: Count, cut: Callable[[str], str]
) -> dict[int, str]:
    """Lines by number as they are shown, in the order of the wish, while they fit the room."""
    chosen: dict[int, str] = {}
    misses = 0
    for number, line in order:
        if number in chosen:
            continue
        shown = cut(line)
        cost = count(shown) + 1
        # A line away from all others brings a new gap, which costs a marker.
        gap = 0 if number in (1, body.total) or number - 1 in chosen or number + 1 in chosen else 16
        if cost + gap > room:
            misses += 1
            if misses > 8:
                break
            continue
        chosen[number] = shown
        room -= cost + gap
    for number in [number + 1 for number in chosen if number + 2 in chosen and number + 1 not in chosen]:
        alone = body.line(number)
        if alone is not None and len(alone) <= 40:  # the marker for one line costs more than most lines
            chosen[number] = cut(alone)
    return chosen


def _render(chosen: dict[int, str], body: Units, top: str) -> str:
    out, last = [top] if top else [], 0
    for number in sorted(chosen):
        if number > last + 1:
            out.append(body.gap(last + 1, number - 1))
        out.append(chosen[number])
        last = number
    if last < body.total:
        out.append(body.gap(last + 1, body.total))
    return "\n".join(out)


def edges(body: Units, head: int = 40, tail: int = 40) -> Iterable[tuple[int, str]]:
    """Lines from both ends inwards, two of the head for each of the tail's first, so that both are shown."""
    for step in range(max(head, tail)):
        if step < head and (line := body.line(step + 1)) is not None:
            yield step + 1, line
        number = body.total - step
        if step < tail and number > step + 1 and (line := body.line(number)) is not None:
            yield number, line


def usual(body: Body) -> Iterable[tuple[int, str]]:
    """The plain order: three lines of each end, lines of trouble, then more of the ends that can be read."""
    yield from edges(body, 3, 3)
    yield from body.trouble().items()
    yield from ((number, line) for number, line in edges(body, 400, 400) if not is_encoded_line(line))
