"""Where a claim stands in one text: to the letter, in another case, as a number in any of its forms, close to its
words. Knows nothing of events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from foldmark.story.polarity import Clause, clauses
from foldmark.story.spellings import SCALES, Claim, Way, canonical
from foldmark.words import distinct

_CLOSE = 120
"""Characters before and after a number in which its words are looked for, inside its line."""
_PAIR_CLOSE = 60  # the same for `ttl=60`, with no other number between name and value
_SHORT_LINE = 40  # a line of so few characters is read with the one above: a label stands over its number
_MOST_PLACES = 200  # of one spelling in one text that are looked at


class Text:
    """A text with its forms for searching, each made when it is first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(distinct(self.text))

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        return clauses(self.text)

    @cached_property
    def low(self) -> str:
        """Lower case, letter for letter, so that places stay (a few capitals grow when they are lowered)."""
        low = self.text.lower()
        if len(low) == len(self.text):
            return low
        return "".join(one.lower() if len(one.lower()) == 1 else one for one in self.text)

    @cached_property
    def numbers(self) -> dict[str, list[tuple[int, int]]]:
        return _numbers(self.text)


def holds(text: Text, claim: Claim) -> bool:
    """Whether a text holds a claim in one of its ways and close to its words, or all its parts."""
    if any(_is_close(text.text, start, end, claim) for way in claim.ways for start, end in _places(text, way)):
        return True
    if not claim.parts or not all(_stands(text, part) for part in claim.parts):
        return False
    lines = text.text.split("\n") if claim.in_line else ()
    return not claim.in_line or any(all(_stands(Text(line), part) for part in claim.parts) for line in lines)


def _stands(text: Text, part: str) -> bool:
    """Whether a part of a claim stands as a word of its own, in any case when it is a plain word."""
    return next(_places(text, Way(part, folds=part.isalpha())), None) is not None


def _places(text: Text, way: Way) -> Iterator[tuple[int, int]]:
    """Where a spelling stands with nothing beside it that makes another thing of it."""
    if way.is_number:
        yield from text.numbers.get(way.text, ())
        return
    found = 0
    for start, end in _pattern_places(text, way) if way.hint else _literal_places(text, way):
        if found < _MOST_PLACES and _has_edges(text.text, start, end, way):
            found += 1
            yield start, end


def _pattern_places(text: Text, way: Way) -> Iterator[tuple[int, int]]:
    if way.hint in text.low:
        yield from (match.span() for match in _pattern(way.text, way.folds).finditer(text.text))


def _literal_places(text: Text, way: Way) -> Iterator[tuple[int, int]]:
    pieces = (way.text.lower() if way.folds else way.text).split()
    where = text.low if way.folds else text.text
    if len(pieces) > 1 and all(piece in where for piece in pieces):
        spaced = _pattern(r"\s+".join(map(re.escape, way.text.split())), way.folds)
        yield from (match.span() for match in spaced.finditer(text.text))
    elif len(pieces) == 1:
        start = where.find(pieces[0])
        while start >= 0:
            yield start, start + len(pieces[0])
            start = where.find(pieces[0], start + 1)


@lru_cache(maxsize=512)
def _pattern(pattern: str, folds: bool) -> re.Pattern[str]:
    return re.compile(f"(?:{pattern})", re.IGNORECASE if folds else 0)


_NUMBER = re.compile(
    r"(?<![\d.])(\d{1,3}(?:[,_'\u00a0\u202f]\d{3})+(?!\d)|\d{1,18}(?!\d))(\.\d{1,18}(?!\d))?"
    r"\s?(?:(k|K|M|bn)\b|(%|percent\b))?",
    re.ASCII,
)
_SEPARATORS = re.compile(r"\D", re.ASCII)


def _numbers(text: str) -> dict[str, list[tuple[int, int]]]:
    """The numbers of a text by every form in which they may rightly be told: canonical, rounded, in thousands."""
    found: dict[str, list[tuple[int, int]]] = {}
    for match in _NUMBER.finditer(text):
        whole, fraction, scale, share = match.groups()
        is_plain = len(whole) < 4 and not (fraction or scale or share)
        for form in (
            (whole.lstrip("0") or "0",)
            if is_plain
            else _forms(_SEPARATORS.sub("", whole), fraction or "", SCALES.get(scale or "", 0), bool(share))
        ):
            places = found.setdefault(form, [])
            if len(places) < _MOST_PLACES:
                places.append(match.span())
    return found


@lru_cache(maxsize=32_768)
def _forms(digits: str, fraction: str, scale: int, is_share: bool) -> tuple[str, ...]:
    """How a number may rightly be told; a share only as a share."""
    if is_share:
        return tuple(f"{form}%" for form in _forms(digits, fraction, scale, False))
    if len(digits) < 4 and not fraction and not scale:
        return (digits.lstrip("0") or "0",)
    forms = {canonical(digits, fraction, scale), canonical(digits, fraction)}
    if fraction and len(digits) < 10:
        value = float(f"{digits}{fraction}")
        forms |= {canonical(*_halves(f"{value:.{places}f}")) for places in (0, 1, 2)}
        forms |= {canonical(digits, fraction[: places + 1]) for places in (1, 2)} | {canonical(digits)}
    elif 4 <= len(digits) <= 12 and not scale:
        for power in (3, 6):
            value = int(digits) / 10**power
            forms |= {f"{canonical(*_halves(f'{value:.{places}f}'))}k{power}" for places in (0, 1)}
    return tuple(forms)


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
    return any(_stands(Text(side), name) or wanted <= distinct(side) for side in (before, after))
