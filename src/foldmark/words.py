"""The analyser of search, one for index and query: text to folded, split and stemmed tokens.

Knows nothing of ranking. Every token is made of [a-z0-9_] and folded letters of other scripts, so no
tokenizer behind it can split or change it. Names in snake_case, camelCase and paths give their parts and the
whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

VERSION = 2
"""Raised when the same text gives other tokens: an index of another version must be built again."""

LONGEST = 128
"""Longer tokens are cut to this many characters; a sha512 in hex has just as many."""
MOST_PARTS = 8
"""A name of more parts, none of them set off by `_`, is a hash or encoded bytes: its crumbs would fill the
index and mean nothing."""

_NAME = re.compile(r"\w+(?:[./\\:@-]+\w+)*")
_PLAIN = re.compile(r"[a-z]+|[0-9]+")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(rf"(?:(?![A-Z])\w){{1,{LONGEST}}}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
# Scripts that are written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003134f]+"
)


def words(text: str) -> list[str]:
    """The tokens of a text, in order, wholes beside their parts."""
    return list(chain.from_iterable(map(_known.__getitem__, _NAME.findall(text))))


def distinct(text: str) -> set[str]:
    """The tokens of a text without order or repetition: what an index needs, at half the cost."""
    return set(chain.from_iterable(map(_known.__getitem__, set(_NAME.findall(text)))))


def telling(tokens: Iterable[str], limit: int = 64) -> list[str]:
    """The tokens of a query worth looking for: distinct, without very common words unless there are no
    others, and nothing that is no token at all.

    At most `limit`, the longest when there are more: long tokens are the rare ones.
    """
    found = [token for token in dict.fromkeys(tokens) if _TOKEN.fullmatch(token)]
    chosen = [word for word in found if word not in STOP] or found
    if len(chosen) > limit:
        longest = set(sorted(chosen, key=len, reverse=True)[:limit])
        chosen = [word for word in chosen if word in longest]
    return chosen


def _analyse(name: str) -> tuple[str, ...]:
    """The tokens of one name: of its words, and of all of it when it has several (a path, a host, a date)."""
    if _PLAIN.fullmatch(name):
        return (_stems[name[:LONGEST]],)
    pieces = _WORD.findall(name[:4_096])
    out: list[str] = []
    for piece in pieces:
        out += _split(piece)
    if len(pieces) > 1:
        out.append(fold("_".join(pieces))[:LONGEST])
    return tuple(dict.fromkeys(out))


def _split(piece: str) -> list[str]:
    """One run of word characters: the whole as one token, then its parts when it has several."""
    if piece.isascii():
        parts = _PARTS.findall(piece)
    elif _UNSPACED.search(piece):
        return _split_unspaced(piece)
    else:
        parts = _PARTS.findall(_without_accents(piece))
    whole = fold(piece)[:LONGEST]
    if len(parts) < 2:
        return [_stems[whole]]
    if len(parts) > MOST_PARTS and "_" not in piece:
        return [whole]
    return [_stems[whole], *[_stems[fold(part)[:LONGEST]] for part in parts]]


def _split_unspaced(piece: str) -> list[str]:
    """Character bigrams for scripts without spaces, words for what stands between."""
    out: list[str] = []
    place = 0
    for run in _UNSPACED.finditer(piece):
        if rest := piece[place : run.start()].strip("_"):
            out += _split(rest)
        out += _bigrams(fold(run[0]))
        place = run.end()
    if rest := piece[place:].strip("_"):
        out += _split(rest)
    return out


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) < 2 else [run[at : at + 2] for at in range(len(run) - 1)]


def fold(text: str) -> str:
    """Lower case without accents; what is no letter or digit becomes `_`."""
    if text.isascii():
        return text.lower()
    return "".join(c if c.isalnum() else "_" for c in _without_accents(text.casefold()))


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def stem(word: str) -> str:
    """A word without its common English endings.

    Light on purpose: too little is safer than too much, since the same rule runs on both sides and a false
    meeting of two words costs precision for ever.
    """
    if len(word) < 3 or not word.isascii() or not word.isalpha():
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

_MOST_KNOWN = 50_000


class _Known(dict[str, tuple[str, ...]]):
    """name -> its tokens. Emptied when full: cheaper than an order of use, and words come back fast."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        tokens = _analyse(name)
        if len(name) <= LONGEST:  # longer ones hardly ever come twice
            self[name] = tokens
        return tokens


class _Stems(dict[str, str]):
    """word -> its stem."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        found = self[word] = stem(word)
        return found


_known = _Known()
_stems = _Stems()

STOP = frozenset(
    words(
        "a an and are as at be been but by can could did do does for from had has have how i if in into is "
        "it its me my of on or our out she he so than that the their them then there these they this those "
        "to up us was we were what when where which who whom why will with would you your about any just "
        "please tell"
    )
)
"""Words that say nothing of what is looked for, stemmed as the query is."""
