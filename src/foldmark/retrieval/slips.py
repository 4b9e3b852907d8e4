"""Words of a query that nothing holds: they are looked for as the known words one slip of the pen away, as the two that
they join, and in those that join them with another word of the query.

Knows nothing of stores and scores. A slip is a letter too many, too few, wrong, or two in the wrong order, never the
first letter. Words that stand anywhere in what is searched are none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain

import msgspec

from foldmark.retrieval.asking import Question
from foldmark.retrieval.compounds import compounds
from foldmark.seeking import Finding
from foldmark.words import fold, words

LEAST_LETTERS = 6
"""A shorter word has too many neighbours that are other words."""
MOST_MEANT = 2
"""So many known words stand for one that nothing holds, those that came most often."""
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяіґ", "αβγδεζηθικλμνξοπρστυφχψω")


def mended(asked: Question, finding: Finding, known: Callable[[], Mapping[str, int]]) -> Question:
    """The query with the words that were meant beside those that nothing holds; the very same where there are none.
    `known` gives the words of a session with how often they came; it is asked only when a word is missing."""
    missing = {
        term: word
        for term, word in asked.spoken.items()
        if not finding.frequencies.get(term) and len(term) >= LEAST_LETTERS - 1 and _is_plain(fold(word))
    }
    if not missing:
        return asked
    counts = known()
    accented = {fold(word): word for word in counts if not word.isascii()}
    said, lost = (dict.fromkeys(map(fold, one.values())) for one in (asked.spoken, missing))
    slips = (_meant(dict.fromkeys((fold(word), term)), counts, accented) for term, word in missing.items())
    spoken = dict(asked.spoken)
    for meant in (*chain.from_iterable(slips), *compounds(said, lost, counts)):
        spoken |= {token: meant for token in words(meant) if token not in spoken}
    if len(spoken) == len(asked.spoken):
        return asked
    more = tuple(token for token in spoken if token not in asked.terms)
    return msgspec.structs.replace(asked, terms=(*asked.terms, *more), spoken=spoken)


def _is_plain(word: str) -> bool:
    return len(word) >= LEAST_LETTERS and any(set(word) <= set(letters) for letters in _ALPHABETS)


def _meant(spellings: Collection[str], counts: Mapping[str, int], accented: Mapping[str, str]) -> list[str]:
    """`accented` gives the words that are written with accents by what they are without."""
    slips = {other for word in spellings for other in _one_slip_away(word)} - set(spellings)
    found = {one for other in slips for one in (other, accented.get(other, "")) if one in counts}
    return sorted(found, key=lambda word: (-counts[word], word))[:MOST_MEANT]


def _one_slip_away(word: str) -> Iterator[str]:
    letters = next((letters for letters in _ALPHABETS if word[0] in letters), "")
    for at in range(1, len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (before + letter + after for letter in letters)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
