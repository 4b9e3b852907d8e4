"""The source of a narrative, made searchable: which events hold a claim, which share the words of a statement. Knows
nothing of items, or of what follows when nothing is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log

import msgspec

from foldmark.checkpoint import Fact
from foldmark.render import quoted
from foldmark.story.spellings import SCALES, Claim, Way, canonical
from foldmark.words import distinct, telling, words

State = Mapping[tuple[str, str], Fact]

_CLOSE = 120
"""Characters before and after a number in which its words are looked for, inside its line."""
_PAIR_CLOSE = 60  # the same for `ttl=60`, with no other number between name and value
_SHORT_LINE = 40  # a line of so few characters is read with the one above: a label stands over its number
_MOST_PLACES = 200  # of one spelling in one event that are looked at
_NO_WITNESS = ("task", "pin", "skill")  # facts whose seq is not where their words stand


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What may prove a statement.

    `shown` is the redacted text of every covered event, `earlier` the redacted text of an older one ("" when there is
    none), `state` the newest facts, `known` the checkpoint that code wrote (what it quotes of an event proves as that
    event does), `boundary` the last event that may be named. `redact` hides secrets.
    """

    shown: Mapping[int, str]
    boundary: int
    earlier: Callable[[int], str] = lambda seq: ""
    state: State = {}
    known: str = ""
    redact: Callable[[str], str] = lambda text: text


class Evidence:
    """Texts by event. An older event is added when a ref names it; 0 is what is known without one."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.texts = {seq: text for seq, text in sources.shown.items() if 1 <= seq <= sources.boundary and text}
        for fact in sources.state.values():
            if fact.kind not in _NO_WITNESS:
                self._add(fact.seq, f"{fact.value}\n{fact.key}" if fact.kind in ("file", "command") else fact.value)
        for seq, text in quoted(sources.known).items():
            self._add(seq, text)
        self.texts[0] = sources.known
        self._held: dict[Claim, frozenset[int]] = {}
        self._missing: set[int] = set()

    def _add(self, seq: int, text: str) -> None:
        if 1 <= seq <= self.sources.boundary and text:
            known = self.texts.get(seq, "")
            self.texts[seq] = f"{known}\n{text}" if known and text not in known else known or text

    def knows(self, seq: int) -> bool:
        """Whether an event can be a witness: it lies at or before the boundary and has words."""
        if seq in self.texts:
            return seq > 0
        if seq in self._missing or not 1 <= seq <= self.sources.boundary:
            return False
        if text := self.sources.earlier(seq):
            self.texts[seq] = text
            self._held.clear()
        else:
            self._missing.add(seq)
        return bool(text)

    def holders(self, claim: Claim) -> frozenset[int]:
        """The events that hold a claim; 0 among them when it is known without an event."""
        if claim not in self._held:
            self._held[claim] = frozenset(seq for seq, text in self.texts.items() if holds(text, claim))
        return self._held[claim]

    def vocabulary(self, seq: int) -> frozenset[str]:
        return _vocabulary(self.texts[seq])

    def has_word(self, word: str) -> bool:
        return any(word in self.vocabulary(seq) for seq in self.texts)

    def ranked(self, content: Sequence[str], claims: Sequence[Claim]) -> list[int]:
        """Events by the rare words and claims they share with a statement, best first; the newest on a tie."""
        seqs = [seq for seq in self.texts if seq]
        holding = [[seq for seq in seqs if word in self.vocabulary(seq)] for word in content]
        holding += [[seq for seq in self.holders(claim) if seq] for claim in claims]
        scores: dict[int, float] = {}
        for number, found in enumerate(holding):
            rarity = log(1 + len(seqs) / max(1, len(found))) * (1 if number < len(content) else 2)
            for seq in found:
                scores[seq] = scores.get(seq, 0.0) + rarity
        return sorted(scores, key=lambda seq: (-round(scores[seq], 6), -seq))


def content_of(text: str) -> list[str]:
    """The words of a text that say something: no numbers, none of the very common ones."""
    return [word for word in telling(words(text), 200) if not word.isdigit()]


def holds(text: str, claim: Claim) -> bool:
    """Whether a text holds a claim in one of its ways and close to its words, or all its parts."""
    if any(_is_close(text, start, end, claim) for way in claim.ways for start, end in _places(text, way)):
        return True
    if not claim.parts or not all(_stands(text, part) for part in claim.parts):
        return False
    return not claim.in_line or any(all(_stands(line, part) for part in claim.parts) for line in text.split("\n"))


def _stands(text: str, part: str) -> bool:
    """Whether a part of a claim stands as a word of its own, in any case when it is a plain word."""
    return next(_places(text, Way(part, folds=part.isalpha())), None) is not None


def _places(text: str, way: Way) -> Iterator[tuple[int, int]]:
    """Where a spelling stands with nothing beside it that makes another thing of it."""
    if way.is_number:
        yield from _numbers(text).get(way.text, ())
        return
    found = 0
    for start, end in _pattern_places(text, way) if way.hint else _literal_places(text, way):
        if found < _MOST_PLACES and _has_edges(text, start, end, way):
            found += 1
            yield start, end


def _pattern_places(text: str, way: Way) -> Iterator[tuple[int, int]]:
    if way.hint in _low(text):
        yield from (match.span() for match in _pattern(way.text, way.folds).finditer(text))


def _literal_places(text: str, way: Way) -> Iterator[tuple[int, int]]:
    pieces = (way.text.lower() if way.folds else way.text).split()
    where = _low(text) if way.folds else text
    if len(pieces) > 1 and all(piece in where for piece in pieces):
        spaced = _pattern(r"\s+".join(map(re.escape, way.text.split())), way.folds)
        yield from (match.span() for match in spaced.finditer(text))
    elif len(pieces) == 1:
        start = where.find(pieces[0])
        while start >= 0:
            yield start, start + len(pieces[0])
            start = where.find(pieces[0], start + 1)


@lru_cache(maxsize=4_096)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(distinct(text))


@lru_cache(maxsize=4_096)
def _low(text: str) -> str:
    """Lower case, letter for letter, so that places stay (a few capitals grow when they are lowered)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one if len(one.lower()) != 1 else one.lower() for one in text)


@lru_cache(maxsize=512)
def _pattern(pattern: str, folds: bool) -> re.Pattern[str]:
    return re.compile(f"(?:{pattern})", re.IGNORECASE if folds else 0)


_NUMBER = re.compile(
    r"(?<![\d.])(\d{1,3}(?:[,_'\u00a0\u202f]\d{3})+(?!\d)|\d{1,18}(?!\d))(\.\d{1,18}(?!\d))?"
    r"\s?(?:(k|K|M|bn)\b|(%|percent\b))?",
    re.ASCII,
)
_SEPARATORS = re.compile(r"\D", re.ASCII)


@lru_cache(maxsize=4_096)
def _numbers(text: str) -> dict[str, list[tuple[int, int]]]:
    """The numbers of a text by every form in which they may rightly be told: canonical, rounded, in thousands."""
    found: dict[str, list[tuple[int, int]]] = {}
    for match in _NUMBER.finditer(text):
        digits, fraction, scale = _SEPARATORS.sub("", match[1]), match[2] or "", SCALES.get(match[3] or "", 0)
        forms = _forms(digits, fraction, scale)
        for form in {f"{form}%" for form in forms} if match[4] else forms:
            places = found.setdefault(form, [])
            if len(places) < _MOST_PLACES:
                places.append(match.span())
    return found


def _forms(digits: str, fraction: str, scale: int) -> set[str]:
    if len(digits) < 4 and not fraction and not scale:
        return {digits.lstrip("0") or "0"}
    forms = {canonical(digits, fraction, scale), canonical(digits, fraction)}
    if fraction and len(digits) < 10:
        value = float(f"{digits}{fraction}")
        forms |= {canonical(*_halves(f"{value:.{places}f}")) for places in (0, 1, 2)}
        forms |= {canonical(digits, fraction[: places + 1]) for places in (1, 2)} | {canonical(digits)}
    elif 4 <= len(digits) <= 12 and not scale:
        for power in (3, 6):
            value = int(digits) / 10**power
            forms |= {f"{canonical(*_halves(f'{value:.{places}f}'))}k{power}" for places in (0, 1)}
    return forms


def _halves(number: str) -> tuple[str, str]:
    whole, point, rest = number.partition(".")
    return whole, point + rest


_THOUSANDS = re.compile(r",\d{3}(?!\d)")


def _has_edges(text: str, start: int, end: int, way: Way) -> bool:
    before, after, first, last = text[start - 1 : start], text[end : end + 1], text[start], text[end - 1]
    if way.edge == "none":
        return True
    if way.edge == "digit":
        front = text[max(0, start - 2) : start]
        is_joined = before.isdigit() or (len(front) == 2 and front[1] in ".," and front[0].isdigit())
        goes_on = after.isdigit() or bool(_THOUSANDS.match(text, end))
        return not (first.isdigit() and is_joined) and not (last.isdigit() and goes_on)
    if _is_word(before) and _is_word(first):
        return False
    return way.edge == "start" or not (_is_word(after) and _is_word(last))


def _is_word(character: str) -> bool:
    """ASCII only: scripts without spaces stand right beside a name."""
    return character.isascii() and (character.isalnum() or character == "_")


def _is_close(text: str, start: int, end: int, claim: Claim) -> bool:
    if claim.name:
        return _is_paired(text, start, end, claim.name)
    return not claim.near or not distinct(_around(text, start, end)).isdisjoint(claim.near)


def _around(text: str, start: int, end: int) -> str:
    """The line of a place, as far as it is close; with the line above when it is short."""
    low = text.rfind("\n", max(0, start - _CLOSE), start) + 1 or max(0, start - _CLOSE)
    high = text.find("\n", end, end + _CLOSE)
    high = high if high >= 0 else end + _CLOSE
    if high - low < _SHORT_LINE and low:
        low = text.rfind("\n", max(0, low - _CLOSE), low - 1) + 1 or max(0, low - _CLOSE)
    return text[low:high]


def _is_paired(text: str, start: int, end: int, name: str) -> bool:
    """Whether a value stands behind its name, or just before it, with no other number between them."""
    before = re.split(r"\d|\n\s*\n", text[max(0, start - _PAIR_CLOSE) : start])[-1]
    after = re.split(r"\d|\n", text[end : end + _PAIR_CLOSE])[0]
    wanted = distinct(name)
    return any(_stands(side, name) or wanted <= distinct(side) for side in (before, after))
