"""A word without its common endings: English, and plurals of its neighbours that look like no English word. Knows
nothing of texts.

Light on purpose: too little is safer than too much, since the same rule runs on both sides and a false meeting of two
words costs precision for ever.
"""

from __future__ import annotations

import re

from foldmark.words.endings import bare
from foldmark.words.irregular import BASES

_Endings = dict[str, tuple[tuple[str, int], ...]]
"""last letter -> (ending, how many letters must stay), the longer endings first."""


def stem(word: str) -> str:
    """A word in lower case without its common endings: of English, or of its own script where we know them."""
    if not word.isascii():
        return bare(word)
    if len(word) < 3 or not word.isalpha():
        return word
    return _english(BASES.get(word) or _of_neighbours(word))


def _english(word: str) -> str:
    """Number and tense go first, then what makes nouns and adverbs, then who does it, then a last e."""
    one = _singular(word) if len(word) > 3 and word[-1] == "s" else word
    short = _without(_DERIVED, _without(_DERIVED, _without_tense(one)))
    short = _without(_DOERS if short == one else _LATE_DOERS, short)
    return _undouble(short[:-1] if len(short) > 4 and short[-1] == "e" else short)


def _of_neighbours(word: str) -> str:
    """German, Spanish, French and Portuguese plurals in their singular: Rechnungen, canciones, journaux, configurações.
    They keep five letters, by which a text is searched for them."""
    if word[-2:] not in _NEIGHBOURS or len(word) < 6:
        return word
    for pattern, singular in _NEIGHBOURS[word[-2:]]:
        if found := pattern.search(word):
            return word[: found.start()] + singular
    return word


def _without_tense(word: str) -> str:
    """Without ing and ed. An e that they drop comes back: saved meets save, updated meets update."""
    ending = _TENSES.get(word[-1], "")
    end = len(word) - len(ending)
    if not ending or end < 3 or not word.endswith(ending) or not _VOWEL.search(word, 0, end):
        return word
    bare = word[:end]
    return bare + "e" if _DROPS_E.fullmatch(bare) else bare


def _without(endings: _Endings, word: str) -> str:
    for ending, least in endings.get(word[-1], ()):
        end = len(word) - len(ending)
        if end >= least and word.endswith(ending) and _VOWEL.search(word, 0, end):
            return word if ending == "er" and word[end - 1] == "e" else word[:end]  # a volunteer is no "volunte"
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-1] if _DROPS_E.fullmatch(word[:-2]) else word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _undouble(word: str) -> str:
    """Stopped meets stop and tried meets try; fall and pass keep their double letter."""
    last = word[-1]
    if len(word) > 3 and last == word[-2] and last not in "aeiouls":
        return word[:-1]
    if last == "y" and len(word) > 2 and word[-2] not in "aeiou":
        return word[:-1] + "i"
    return word


_VOWEL = re.compile("[aeiouy]")
_NEIGHBOURS = {
    "en": ((re.compile("(?<=ung|eit)en$|(?<=schaft)en$"), ""),),
    "es": ((re.compile("(?<=ion)es$"), ""), (re.compile("(?<=....c|....s)oes$"), "ao")),
    "ux": ((re.compile("(?<=..[^e])aux$"), "al"),),
}
"""last two letters -> (what ends so, what stands in its place)."""
_DROPS_E = re.compile("[^aeiou][aeiou][^aeiouwxy]|.*[^aeiou]at")
"""What ends so before ing and ed had an e, else its last letter would be doubled: hoped, but hopped."""
_TENSES = {"g": "ing", "d": "ed"}
_DERIVED: _Endings = {
    "n": (("ation", 4), ("ion", 4)),
    "y": (("ingly", 3), ("edly", 3), ("ly", 4)),
    "t": (("ment", 4),),
    "s": (("ness", 4),),
    "e": (("ate", 4),),
    "r": (("ator", 4),),
}
_DOERS: _Endings = {"r": (("er", 4), ("or", 4))}
_LATE_DOERS: _Endings = {"r": (("er", 4), ("or", 5))}
"""After another ending: answered is of answer, but explored is of explore."""


FORMS: dict[str, tuple[str, ...]] = {
    stem(base): tuple(form for form, its in BASES.items() if its == base) for base in set(BASES.values())
}
"""stem -> forms of its word that begin with other letters, or end in ways that no rule knows."""
