"""Compounds, as German, Dutch, Swedish and Finnish make them: "Rechnungsnummer" for the "Nummer der Rechnung", and the
other way round, between the words of a query and those that a session knows. Knows nothing of stores and scores.

A compound is a word, perhaps without its last letters, a letter or two that link, and another word, perhaps with other
last letters. Both must stand there: a part alone is too little to go by unless there is nothing else. Words are
compared as they are given: who asks brings them to one spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from math import inf

LEAST_LETTERS = 9
"""A shorter word is no compound that could be told from a word that only begins and ends so."""
LEAST_PART = 4
LEAST_BEGINNING = 6
"""With fewer letters too many other words begin."""
_LINKS = ("", "s", "n", "e", "en", "er", "es", "ns")
_DROPPED, _OTHER, _ENDING = 3, 2, 3
"""Letters that the first word may drop, that the second may drop, that the compound may have behind."""
_LETTERS_TO_ONE = 4
"""Of so many letters of a compound one may not fit."""
MOST_COMPOUNDS = 4
_MOST_TRIED = 200
"""So many pairs and words are looked at: texts that hold more of them were written to hold them."""

_Beginnings = dict[str, list[str]]
"""The first letters of words -> those words."""


def compounds(asked: Collection[str], missing: Collection[str], known: Iterable[str]) -> list[str]:
    """Known words that a query means: those that join two words that are `asked`, one of them `missing` in what is
    searched, and the two that a missing word joins. Of several those that fit best."""
    inside = (whole[at : at + LEAST_PART] for whole in missing for at in range(LEAST_PART, len(whole)))
    beginnings: _Beginnings = {word[:LEAST_PART]: [] for word in (*asked, *inside) if len(word) >= LEAST_PART}
    for word in known:
        if (beginning := word[:LEAST_PART]) in beginnings:
            beginnings[beginning].append(word)
    joined = sorted(islice(_joined(asked, missing, beginnings), _MOST_TRIED))
    wholes = dict.fromkeys(whole for slack, whole in joined if slack < inf)
    return [*list(wholes)[:MOST_COMPOUNDS], *(part for whole in missing for part in _parts(whole, beginnings))]


def begun_with(missing: Collection[str], known: Iterable[str]) -> list[str]:
    """Known words that begin with a missing one and go on for another part, those that go on least."""
    begun: _Beginnings = {}
    for word in missing:
        if len(word) >= LEAST_BEGINNING:
            begun.setdefault(word[:LEAST_BEGINNING], []).append(word)
    found = {
        whole
        for whole in known
        for word in begun.get(whole[:LEAST_BEGINNING], ())
        if whole.startswith(word) and len(whole) >= len(word) + LEAST_PART
    }
    return sorted(found, key=lambda whole: (len(whole), whole))[:MOST_COMPOUNDS]


def _joined(asked: Collection[str], missing: Collection[str], known: _Beginnings) -> Iterator[tuple[float, str]]:
    """Known words as compounds of two that are asked: (what does not fit, the word)."""
    for one in asked:
        for whole in known.get(one[:LEAST_PART], [])[:_MOST_TRIED]:
            for two in asked:
                if one != two and (one in missing or two in missing) and two[:LEAST_PART] in whole[LEAST_PART:]:
                    yield slack_of(whole, one, two), whole


def _parts(whole: str, known: _Beginnings) -> tuple[str, ...]:
    """The two known words that a word joins; none where it joins none."""
    firsts = [one for one in known.get(whole[:LEAST_PART], ()) if _alike(whole, one) >= len(one) - _DROPPED]
    places = range(LEAST_PART, len(whole) - LEAST_PART + 1) if firsts else ()
    seconds = (word for at in places for word in known.get(whole[at : at + LEAST_PART], ()))
    pairs = ((one, two) for two in seconds for one in firsts if one != two)
    best = min(((slack_of(whole, *pair), pair) for pair in islice(pairs, _MOST_TRIED)), default=(inf, ()))
    return best[1] if best[0] < inf else ()


def slack_of(whole: str, first: str, second: str) -> float:
    """How many letters do not fit where a word is read as a compound of two; infinite where it is none."""
    if not len(whole) >= LEAST_LETTERS or not min(len(first), len(second)) >= LEAST_PART:
        return inf
    most, out = len(whole) // _LETTERS_TO_ONE, inf
    for begins in range(_alike(whole, first), max(LEAST_PART, len(first) - _DROPPED) - 1, -1):
        for link in _LINKS:
            if whole.startswith(link, begins):
                rest = whole[begins + len(link) :]
                held = _alike(rest, second)
                slack = len(first) - begins + len(link) + len(second) - held + len(rest) - held
                if held >= max(LEAST_PART, len(second) - _OTHER) and len(rest) - held <= _ENDING and slack <= most:
                    out = min(out, slack)
    return out


def _alike(one: str, other: str) -> int:
    """How many letters two words begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
