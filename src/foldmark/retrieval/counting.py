"""Where a query's words stand in a piece: line by line, in the call beside it, in its day. Knows nothing of weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from foldmark.dates import stamp
from foldmark.retrieval.asking import Question
from foldmark.seeking import Found, is_said
from foldmark.words import words

Counts = dict[str, float]
"""term -> how often, weak places for less than one."""

_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2})\s?[:：]\s")
_ASKS = re.compile(r"[?？؟]\W*$")
LONG_LINE = 400
"""A longer line is judged by its sentences, or by stretches of about half as much."""


_NOTHING: Counts = {}


class Unit(NamedTuple):
    """A line, or a sentence of a long one: its line (0-based), its text, the terms in it."""

    line: int
    text: str
    counts: Counts


class Counted(msgspec.Struct, frozen=True):
    """A piece with the places of a query's terms. `units` are all its units, `hits` the numbers of those that hold any;
    `head`, `day` and `speaker` the terms of the call it answers, of its day and of who speaks ("Ann: ...")."""

    found: Found
    units: tuple[Unit, ...]
    hits: tuple[int, ...]
    whole: Counts
    head: Counts
    day: frozenset[str]
    speaker: frozenset[str]
    is_said: bool
    asks: bool


class Counter:
    """Counts the terms of one query; what it learns of days and words serves every piece."""

    def __init__(self, asked: Question) -> None:
        self.terms = frozenset(asked.terms) - asked.day_tokens
        starts = sorted({_start(term) for term in self.terms})
        self._starts = re.compile("|".join(starts) if starts else "(?!)")
        self._days: dict[str, frozenset[str]] = {}

    def count(self, found: Found) -> Counted:
        """The places of the terms in one piece."""
        piece, said = found.piece, is_said(found.event)
        units = tuple(self._units(piece.text))
        return Counted(
            found, units, tuple(number for number, unit in enumerate(units) if unit.counts),
            summed([unit.counts for unit in units]), self.counts(piece.head), self._day(found.time),
            self.terms.intersection(words(speaker_of(found))), said,
            said and _ASKS.search(piece.text) is not None,
        )  # fmt: skip

    def _units(self, text: str) -> list[Unit]:
        out: list[Unit] = []
        worth = self._worth(text)
        for number, line in enumerate(text.split("\n")):
            if len(line) <= LONG_LINE:
                held = worth is None or number in worth
                out.append(Unit(number, line, self.counts(line) if held else _NOTHING))
            else:
                out += [Unit(number, part, self.counts(part)) for part in _cut(line)]
        return out

    def _worth(self, text: str) -> set[int] | None:
        """The lines worth cutting into words, None for all: most hold no term, which their letters tell at once."""
        if not text.isascii():
            return None
        lowered, out, number, at = text.lower(), set[int](), 0, 0
        for match in self._starts.finditer(lowered):
            number += lowered.count("\n", at, match.start())
            at = match.start()
            out.add(number)
        return out

    def counts(self, text: str) -> Counts:
        """The terms of a text."""
        if not text or (text.isascii() and not self._starts.search(text.lower())):
            return _NOTHING
        out: Counts = {}
        for word in words(text):
            if word in self.terms:
                out[word] = out.get(word, 0.0) + 1.0
        return out

    def _day(self, time: float | None) -> frozenset[str]:
        said = stamp(time)
        if said not in self._days:
            self._days[said] = self.terms.intersection(words(said))
        return self._days[said]


def speaker_of(found: Found) -> str:
    """The name that what was said begins with ("Ann: ..."); empty where there is none."""
    if found.piece.order or not is_said(found.event):
        return ""
    named = _SPEAKER.match(found.piece.text)
    return named[1] if named else ""


def _start(term: str) -> str:
    """A pattern for what every ASCII text that gives this term holds in lower case: its first letters, but not the last
    one, which stemming may have changed; between them may stand what joins the parts of a name."""
    letters = term.replace("_", "") or "_"
    count = len(letters) if len(letters) < 3 else min(5, len(letters) - 1)
    return r"[-_./:@\\]*".join(map(re.escape, letters[:count]))


def _cut(line: str) -> list[str]:
    """A long line in sentences or clauses, short ones joined up to half of LONG_LINE."""
    out = [""]
    for part in re.findall(r".{1,200}?(?:[.!?;,](?=\s)|[。！？]|$)\s*|.{1,200}", line):
        if out[-1] and len(out[-1]) + len(part) > LONG_LINE // 2:
            out.append("")
        out[-1] += part
    return out


def summed(counts: Sequence[Mapping[str, float]]) -> Counts:
    """Counts added up."""
    out: Counts = {}
    for each in counts:
        for term, times in each.items():
            out[term] = out.get(term, 0.0) + times
    return out
