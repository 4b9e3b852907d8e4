"""Counts what a regular expression costs: a backtracking matcher that does what `re` does, one step at a time.

It is slow and exact, so that a test can say "twice the text, twice the work" without a clock. Knows the operations that
our patterns use, and says so for others.
"""

from __future__ import annotations

import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from typing import Any

Then = Callable[[int], int]
"""What must match from a place on: where it ends, or -1."""


class Stepping:
    """A compiled pattern that answers as it did before and counts the steps of every question in `steps`."""

    steps = 0

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self._nodes = list(parser.parse(pattern.pattern, pattern.flags))
        self._ignores_case = bool(pattern.flags & re.IGNORECASE)
        self._spans: dict[int, tuple[int, int]] = {}

    # -- what `re` answers

    def match(self, text: str, pos: int = 0, endpos: int | None = None) -> re.Match[str] | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        self._at(text, pos, end)
        return self.pattern.match(text, pos, end)

    def search(self, text: str, pos: int = 0, endpos: int | None = None) -> re.Match[str] | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        found = self.pattern.search(text, pos, end)
        for at in range(pos, (found.start() if found else end) + 1):
            ended = self._at(text, at, end)
            assert (ended >= 0) == (found is not None and at == found.start()), "counted otherwise than it matched"
        return found

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        at = 0
        while at <= len(text) and (found := self.search(text, at)):
            yield found
            at = found.end() + (found.end() == found.start())

    def findall(self, text: str) -> list[Any]:
        return [found[0] for found in self.finditer(text)]

    def fullmatch(self, text: str) -> re.Match[str] | None:
        self._at(text, 0, len(text))
        return self.pattern.fullmatch(text)

    # -- the matcher

    def _at(self, text: str, at: int, end: int) -> int:
        self._text, self._end, self._spans = text, end, {}
        return self._run(self._nodes, 0, at, lambda place: place)

    def _run(self, nodes: list[Any], index: int, at: int, then: Then) -> int:
        """Where the nodes from `index` on, and what comes after them, end; -1 when they do not match."""
        Stepping.steps += 1
        if index == len(nodes):
            return then(at)
        code, given = nodes[index]

        def rest(place: int) -> int:
            return self._run(nodes, index + 1, place, then)

        if code in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            return rest(at + 1) if at < self._end and self._is(code, given, self._text[at]) else -1
        if code is op.MAX_REPEAT:
            return self._repeat(*given, at, rest)
        if code is op.SUBPATTERN:
            return self._group(given[0], list(given[3]), at, rest)
        if code is op.BRANCH:
            return next((end for one in given[1] if (end := self._run(list(one), 0, at, rest)) >= 0), -1)
        if code in (op.ASSERT, op.ASSERT_NOT):
            return rest(at) if self._looks(given, at) == (code is op.ASSERT) else -1
        if code is op.GROUPREF:
            said = self._text[slice(*self._spans[given])]
            return rest(at + len(said)) if self._text.startswith(said, at, self._end) else -1
        if code is op.AT:
            return rest(at) if self._stands(given, at) else -1
        raise NotImplementedError(f"{code} of {self.pattern.pattern!r}")

    def _group(self, group: int | None, inner: list[Any], at: int, rest: Then) -> int:
        def closed(place: int) -> int:
            if group is not None:
                self._spans[group] = (at, place)
            return rest(place)

        return self._run(inner, 0, at, closed)

    def _repeat(self, least: int, most: Any, item: Any, at: int, rest: Then) -> int:
        nodes, most = list(item), 10**9 if most is op.MAXREPEAT else most
        if len(nodes) > 1 or nodes[0][0] not in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            return self._again(nodes, least, most, at, -1, rest)
        place = at
        while place < self._end and place - at < most and self._is(*nodes[0], self._text[place]):
            place += 1
        Stepping.steps += place - at + 1
        return next((end for each in range(place, at + least - 1, -1) if (end := rest(each)) >= 0), -1)

    def _again(self, nodes: list[Any], least: int, most: int, at: int, before: int, rest: Then) -> int:
        if most and at != before:
            end = self._run(nodes, 0, at, lambda each: self._again(nodes, max(0, least - 1), most - 1, each, at, rest))
            if end >= 0:
                return end
        return rest(at) if not least else -1

    def _looks(self, given: Any, at: int) -> bool:
        direction, inner = given
        start = at if direction > 0 else at - inner.getwidth()[0]
        return start >= 0 and self._run(list(inner), 0, start, lambda place: place) >= 0

    def _stands(self, place: Any, at: int) -> bool:
        if place in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0
        if place in (op.AT_END, op.AT_END_STRING):
            return at == self._end
        assert place is op.AT_BOUNDARY
        before, after = self._text[at - 1 : at] if at else "", self._text[at : min(at + 1, self._end)]
        return bool(re.match(r"\w", before)) != bool(re.match(r"\w", after))

    def _is(self, code: Any, given: Any, char: str) -> bool:
        if self._ignores_case and not (code is op.IN and any(one is op.CATEGORY for one, _ in given)):
            return self._is_plainly(code, given, char.lower()) or self._is_plainly(code, given, char.upper())
        return self._is_plainly(code, given, char)

    def _is_plainly(self, code: Any, given: Any, char: str) -> bool:
        if code is op.ANY:
            return char != "\n"
        if code is not op.IN:
            return (ord(char) == given) == (code is op.LITERAL)
        negated = given[0][0] is op.NEGATE
        return any(_holds(one, what, char) for one, what in given[negated:]) != negated


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_SPACE: r"\s", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _holds(code: Any, given: Any, char: str) -> bool:
    if code is op.LITERAL:
        return ord(char) == given
    if code is op.RANGE:
        return given[0] <= ord(char) <= given[1]
    return bool(re.match(_CATEGORIES[given], char))
