"""Words of a query that nothing holds: they are looked for as the known words one slip of the pen away, as the two that
they join, in those that join them with another word of the query, and, where the query has nothing else to go by, in
those that begin with them.

Knows nothing of stores and scores. A slip is a letter too many, too few, wrong, or two in the wrong order, never the
first letter. Words that stand anywhere in what is searched are none. Words with accents are known by both of their
plain spellings, "prufung" and "pruefung".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

import msgspec

from foldmark.retrieval.asking import Question
from foldmark.retrieval.compounds import LEAST_PART, begun_with, compounds
from foldmark.seeking import Finding
from foldmark.words import fold, words
from foldmark.words.folding import other_spelling

LEAST_LETTERS = 6
"""A shorter word has too many neighbours that are other words."""
MOST_LETTERS = 40
"""A longer run of letters is data, and has more neighbours than can be looked for."""
MOST_MEANT = 2
"""So many known words stand for one that nothing holds, those that came most often."""
MOST_WHOLES = 8
"""So many wholes of names stand for one that nothing holds: words join to many, and the index knows the real ones."""
_MOST_JOINED, _LEAST_JOINED, _LONGEST_JOINED = 3, 2, 24
"""A name joins so many words at most, of so many letters at least, to so many at most."""
_MOST_NAMED = 4
"""So many words of a query may be names: to look for wholes costs ten times what other slips cost."""
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяіґ", "αβγδεζηθικλμνξοπρστυφχψω")
_LATIN = [chr(code) for code in range(0xC0, 0x180)]
_USUAL = str.maketrans({letter: fold(letter) for letter in _LATIN})
_OTHER = str.maketrans({letter: other_spelling(letter, fold(letter)) or fold(letter) for letter in _LATIN})
"""Most words with accents are brought to their spellings by these, in a tenth of the time: a session may know many."""


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
    accented = _accented(counts, either=all(map(str.isascii, asked.spoken.values())))
    said, lost = (dict.fromkeys(chain(*map(_spellings, one.values()))) for one in (asked.spoken, missing))
    slips = [_slips((*_spellings(word), term)) for term, word in missing.items()]
    meant = [*chain(*(_meant(one, counts, accented) for one in slips)), *compounds(said, lost, chain(counts, accented))]
    if not meant and not _holds_other(asked, finding):
        meant = begun_with(lost, chain(counts, accented))
    wholes = chain(*(_wholes(one, counts) for one in slips[:_MOST_NAMED]))
    spoken = dict(asked.spoken)
    for one in (*(accented.get(one, one) for one in meant), *wholes):
        spoken |= {token: one for token in words(one) if token not in spoken}
    if len(spoken) == len(asked.spoken):
        return asked
    more = tuple(token for token in spoken if token not in asked.terms)
    return msgspec.structs.replace(asked, terms=(*asked.terms, *more), spoken=spoken)


def _is_plain(word: str) -> bool:
    return LEAST_LETTERS <= len(word) <= MOST_LETTERS and any(set(word) <= set(letters) for letters in _ALPHABETS)


def _holds_other(asked: Question, finding: Finding) -> bool:
    """Whether anything holds a word of the query that may say what is looked for."""
    return any(finding.frequencies.get(term) for term, word in asked.spoken.items() if len(word) >= LEAST_PART)


def _accented(counts: Iterable[str], *, either: bool) -> dict[str, str]:
    """The words that are written with accents, by what they are without. A query without any may have `either` plain
    spelling; one with accents has both itself, and would meet every word twice."""
    written = (word for word in counts if not word.isascii() and len(word) >= LEAST_PART)
    return {spelling: word for word in written for spelling in _spellings(word)[: 2 if either else 1]}


def _spellings(word: str) -> tuple[str, ...]:
    """The usual plain spelling of a word, and the other where there is one."""
    if (usual := word.lower().translate(_USUAL)).isascii():
        other = usual if word.isascii() else word.lower().translate(_OTHER)
    else:
        usual = fold(word)
        other = other_spelling(word, usual)
    return (usual, other) if other and other != usual else (usual,)


def _slips(spellings: Collection[str]) -> set[str]:
    return {other for word in dict.fromkeys(spellings) for other in _one_slip_away(word)}.difference(spellings)


def _meant(slips: Collection[str], counts: Mapping[str, int], accented: Mapping[str, str]) -> list[str]:
    found = {one for other in slips for one in (other, accented.get(other, "")) if one in counts}
    return sorted(found, key=lambda word: (-counts[word], word))[:MOST_MEANT]


def _wholes(slips: Collection[str], counts: Mapping[str, int]) -> list[str]:
    """What is no known word and joins some, as JetStream does in small letters: of few and of frequent words first."""
    short = (whole for whole in slips if len(whole) <= _LONGEST_JOINED)
    joined = ((whole, parts) for whole in short if len(parts := _joined(whole, counts, _MOST_JOINED)) > 1)
    rated = sorted((len(parts), -min(map(counts.__getitem__, parts)), whole) for whole, parts in joined)
    return [whole for *_, whole in rated[:MOST_WHOLES]]


def _joined(whole: str, counts: Mapping[str, int], most: int) -> tuple[str, ...]:
    """The known words, at most so many, that a word joins; none where it joins none."""
    if whole in counts:
        return (whole,)
    for at in range(len(whole) - _LEAST_JOINED, _LEAST_JOINED - 1, -1) if most > 1 else ():
        if whole[:at] in counts and (rest := _joined(whole[at:], counts, most - 1)):
            return (whole[:at], *rest)
    return ()


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
