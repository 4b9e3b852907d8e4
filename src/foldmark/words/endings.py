"""Words of Cyrillic, Greek, Hindi, Arabic, Persian and Hebrew without their common endings. Knows nothing of texts.

Light on purpose, as the English rules are: a false meeting of two words costs precision for ever.
"""

from __future__ import annotations

import re


def bare(word: str) -> str:
    """A word in lower case without its common endings, in scripts where we know them."""
    if "\u0400" <= word[0] <= "\u052f":
        return _cyrillic(word)
    if "\u0370" <= word[0] <= "\u03ff" or "\u1f00" <= word[0] <= "\u1fff":
        return _LAST_IOTA.sub("", _GREEK.sub("", word))
    if "\u0900" <= word[0] <= "\u097f":
        return _HINDI.sub("", _HINDI_FEMININE.sub("ी", word))
    return word


def _cyrillic(word: str) -> str:
    """Case and gender of Russian nouns and adjectives, after Savoy's light stemmer, with the forms of verbs in -ать and
    -ять, the Bulgarian article -ът and the Ukrainian і; most hold for their relatives."""
    word = _REFLEXIVE.sub(r"\1", word)
    if word not in _NOUNS and (verb := _VERB.search(word)):
        return word[: verb.start()]
    bare = _CYRILLIC.sub("", word)
    if bare != word and len(bare) > 3 and bare[-1] in "ьи":
        return bare[:-1]
    return bare[:-1] if len(bare) > 3 and bare.endswith("нн") else bare


_CYRILLIC = re.compile(
    "(?<=...)(?:иями|оями|иям|иях|оях|ями|оям|ами|его|ему|ери|ими|ого|ому|ыми|оев|ая|яя|ях|юю|ах|ею|их|ия|ию|ою|ую|ям"
    "|ых|ея|ам|ем|ей|ев|ий|им|ое|ой|ом|ов|ые|ый|ым|ми|ът|ів|іх|[аеиоуйыяьюіє])$"
)
_REFLEXIVE = re.compile("(.{2}(?:ть|ет|ит|ют|ут|ят|ат|ем|им|[аиеяы]л|ла|ло|ли))с[яь]$")
_VERB = re.compile("(?<=..[ая])(?:ть|ет|ют|ем|ете|ешь)$")
_NOUNS = frozenset(("память", "печать", "кровать", "рукоять", "десять", "девять"))
"""They end like verbs."""
_GREEK = re.compile(
    "(?<=..μ)(?:ατα|ατοσ|ατων)$|(?<=...)(?:ουμε|εωσ|εων|ετε|ουν|εισ|ουσ|ων|οσ|ου|οι|ον|ησ|εσ|ασ|ει|α|η|ο|ι|ε|υ|ω)$"
)
_LAST_IOTA = re.compile("(?<=...)ι$")
_HINDI_FEMININE = re.compile("(?<=..)िय(?:ों|ाँ|ां)$")
_HINDI = re.compile("(?<=..)(?:ाओं|ाएँ|ाएं|ों|ें|े|ा|ो)$")


def semitic_stems(word: str) -> list[str]:
    """An Arabic, Persian or Hebrew word without article, joined words and plural, after Larkey's light10; beside it
    what is left where one more letter may be a joined preposition, or the t of a feminine before "my" and "his"."""
    prefixes, endings, joined = _HEBREW if word[0] < "\u0600" else _ARABIC
    for prefix in prefixes:
        if word.startswith(prefix) and len(word) >= len(prefix) + 3 - (len(prefix) > 1):
            word = word[len(prefix) :]
            break
    out = [word]
    for ending in endings:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            word = word[: -len(ending)]
            if ending in _PERSIAN and len(word) > 3 and word[-1] == "ه":
                word = word[:-1]
            out = [word, word[:-1]] if word[-1] == "ت" and len(word) > 2 else [word]
            break
    return [*out, *(one[1:] for one in out if one[0] in joined and len(one) >= 4)]


_PERSIAN = ("هايي", "هاي", "ها")
_ARABIC = (
    ("وال", "بال", "كال", "فال", "لل", "ال", "و"),
    (*_PERSIAN, "نا", "هم", "ان", "ات", "ون", "ين", "يه", "ه", "ي"),
    "بلكفس",
)
_HEBREW = ((), ("ימ", "ות"), "הובלמשכ")
