"""Where a query's words stand in a piece: line by line, in the call beside it, in its day. Knows nothing of weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from foldmark.dates import stamp
from foldmark.retrieval.asking import Question
from foldmark.seeking import Found, is_said
from foldmark.words import FORMS, LONGEST, words
from foldmark.words.figures import FIGURE, spellings
from foldmark.words.folding import MARKS

Counts = dict[str, float]
"""term -> how often, weak places for less than one."""

_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2})\s?[:：]\s")
_ASKS = re.compile(r"[?？؟]\W*$")
LONG_LINE = 400
"""A longer line is judged by its sentences, or by stretches of about half as much."""

_NOTHING: Counts = {}
_NOBODY: frozenset[str] = frozenset()
_IN_NAME = rf"[\w{MARKS}./\\:@-]"
_STRETCH, _LETTER = re.compile(rf"{FIGURE}|[\w{MARKS}]{_IN_NAME}*"), re.compile(_IN_NAME)
_WIDE = re.compile(r"[^\x00-\x7f]")


class Unit(NamedTuple):
    """A line, or a sentence of a long one: its line (0-based), its text, the terms in it."""

    line: int
    text: str
    counts: Counts


class Counted(msgspec.Struct, frozen=True):
    """A piece with the places of a query's terms. `units` are all its units (of a piece without any term the first
    two), `hits` the numbers of those that hold any; `head`, `day` and `speaker` the terms of the call it answers, of
    its day and of who speaks ("Ann: ...")."""

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
        starts = {_start(word) for term in self.terms for word in (term, *FORMS.get(term, ()))}
        # Of a figure one letter: what begins inside it, behind a comma or space, is another place.
        starts |= {f"(?={_start(spelled)})." for term in self.terms for spelled in spellings(term)}
        self._starts = re.compile("|".join(sorted(starts)) if starts else "(?!)")
        self._days: dict[float | None, frozenset[str]] = {}
        self._names: dict[str, list[str]] = {}

    def count(self, found: Found) -> Counted:
        """The places of the terms in one piece."""
        piece, said = found.piece, is_said(found.event)
        by_line = self._by_line(piece.text)
        units = self._units(piece.text, by_line)
        hits = tuple([number for number, unit in enumerate(units) if unit.counts]) if by_line else ()
        speaker = self.terms.intersection(words(speaker_of(found))) if said and hits else _NOBODY
        return Counted(
            found, units, hits, summed([units[number].counts for number in hits]) if hits else _NOTHING,
            self.counts(piece.head), self._day(found.time), speaker, said, said and _asks(piece.text),
        )  # fmt: skip

    def _units(self, text: str, by_line: Mapping[int, Counts]) -> tuple[Unit, ...]:
        """All of them, or the first two where no line may hold a term: such a piece is judged by what is beside it."""
        lines = text.split("\n") if by_line else text.split("\n", 2)[:2]
        out: list[Unit] = []
        for number, line in enumerate(lines):
            counts = by_line.get(number)
            if len(line) <= LONG_LINE:
                out.append(Unit(number, line, counts or _NOTHING))
            else:
                out += [Unit(number, part, _NOTHING if counts is None else self.counts(part)) for part in _cut(line)]
        return tuple(out if by_line else out[:2])

    def _by_line(self, text: str) -> dict[int, Counts]:
        """The terms of lines, of those alone that may hold any."""
        out: dict[int, Counts] = {}
        number, at = 0, 0
        for start, end in self._stretches(text):
            number, at = number + text.count("\n", at, start), start
            counts = out.setdefault(number, {})
            for word in self._terms_of(text[start:end]):
                counts[word] = counts.get(word, 0.0) + 1.0
        return out

    def _terms_of(self, name: str) -> list[str]:
        """The terms that a name or word gives; the same few come in piece after piece."""
        told = self._names.get(name)
        if told is None:
            told = [word for word in words(name) if word in self.terms]
            if len(name) <= LONGEST:
                self._names[name] = told
        return told

    def _stretches(self, text: str) -> Iterator[tuple[int, int]]:
        """The names and words of a text that may give a term, whole. Few do, which their letters tell at once; what is
        not ASCII has other spellings and always may."""
        lowered = text.lower()
        if len(lowered) != len(text):  # the letters do not stand where they stood
            yield from (found.span() for found in _STRETCH.finditer(text))
            return
        places = [found.start() for found in self._starts.finditer(lowered)]
        if not text.isascii():
            places = sorted((*places, *(found.start() for found in _WIDE.finditer(text))))
        end = 0
        for place in places:
            if place >= end and (found := _STRETCH.match(text, place)):
                start, end = _begin(text, place, end), found.end()
                yield start, end

    def counts(self, text: str) -> Counts:
        """The terms of a text."""
        return summed(list(self._by_line(text).values())) if text else _NOTHING

    def _day(self, time: float | None) -> frozenset[str]:
        day = time // 86_400 if time is not None else None
        if day not in self._days:
            self._days[day] = self.terms.intersection(words(stamp(time)))
        return self._days[day]


def _begin(text: str, place: int, least: int) -> int:
    """Where the name begins that a place is in."""
    while place > least and _LETTER.match(text, place - 1):
        place -= 1
    return place


def _asks(text: str) -> bool:
    """Whether it ends with a question; most texts hold no sign of one at all."""
    return ("?" in text or "？" in text or "؟" in text) and _ASKS.search(text) is not None


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
