"""A word without its common endings: English, Cyrillic, Greek, Arabic, Hebrew. Knows nothing of texts.

Light on purpose: too little is safer than too much, since the same rule runs on both sides and a false meeting of two
words costs precision for ever.
"""

from __future__ import annotations

import re


def stem(word: str) -> str:
    """A word in lower case without its common endings: of English, or of its own script where we know them."""
    if not word.isascii():
        return _stem_wide(word)
    if len(word) < 3 or not word.isalpha():
        return word
    if len(word) == 3:
        return _undouble(word)
    if word[-1] == "s":
        word = _singular(word)
    for ending, least in _ENDINGS.get(word[-1], ()):
        end = len(word) - len(ending)
        if end >= least and word.endswith(ending) and _VOWEL.search(word, 0, end):
            return _undouble(word[:end])
    return _undouble(word)


def _stem_wide(word: str) -> str:
    if "\u0400" <= word[0] <= "\u052f":
        return _cyrillic(word)
    if "\u0370" <= word[0] <= "\u03ff" or "\u1f00" <= word[0] <= "\u1fff":
        return _GREEK.sub("", word)
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
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
# last letter -> (ending, how many letters must stay), the longer endings first
_ENDINGS: dict[str, tuple[tuple[str, int], ...]] = {
    "n": (("ation", 3), ("ion", 4)),
    "y": (("ingly", 3), ("edly", 3), ("ly", 4)),
    "t": (("ment", 4),),
    "s": (("ness", 4),),
    "g": (("ing", 3),),
    "d": (("ed", 3),),
    "r": (("er", 4), ("or", 4)),
    "e": (("e", 4),),
}


def _cyrillic(word: str) -> str:
    """Case and gender of Russian nouns and adjectives, after Savoy's light stemmer; most hold for its relatives."""
    bare = _CYRILLIC.sub("", word)
    if bare != word and len(bare) > 3 and bare[-1] in "ьи":
        return bare[:-1]
    return bare[:-1] if len(bare) > 3 and bare.endswith("нн") else bare


_CYRILLIC = re.compile(
    "(?<=...)(?:иями|оями|иям|иях|оях|ями|оям|ами|его|ему|ери|ими|ого|ому|ыми|оев|ая|яя|ях|юю|ах|ею|их|ия|ию|ою|ую|ям"
    "|ых|ея|ам|ем|ей|ев|ий|им|ое|ой|ом|ов|ые|ый|ым|ми|[аеиоуйыяью])$"
)
_GREEK = re.compile("(?<=...)(?:εισ|ουσ|ων|οσ|ου|οι|ον|ησ|εσ|ασ|α|η|ο|ι|ε|υ)$")


def semitic_stems(word: str) -> list[str]:
    """An Arabic or Hebrew word without article, joined words and plural, after Larkey's light10; beside it what is left
    where one more letter may be a joined preposition, or the t of a feminine before "my" and "his"."""
    prefixes, endings, joined = _HEBREW if word[0] < "\u0600" else _ARABIC
    for prefix in prefixes:
        if word.startswith(prefix) and len(word) >= len(prefix) + 3 - (len(prefix) > 1):
            word = word[len(prefix) :]
            break
    out = [word]
    for ending in endings:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            word = word[: -len(ending)]
            out = [word, word[:-1]] if word[-1] == "ت" and len(word) > 2 else [word]
            break
    return [*out, word[1:]] if word[0] in joined and len(word) >= 4 else out


_ARABIC = (
    ("وال", "بال", "كال", "فال", "لل", "ال", "و"),
    ("ها", "نا", "هم", "ان", "ات", "ون", "ين", "يه", "ه", "ي"),
    "بلكفس",
)
_HEBREW = ((), ("ימ", "ות"), "הובלמשכ")
