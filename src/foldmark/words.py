"""The analyser of search, one for index and query: text to folded, split and stemmed tokens.

Knows nothing of ranking. Every token is made of [a-z0-9_] and folded letters of other scripts, so no tokenizer
behind it can split or change it. Names in snake_case, camelCase and paths give their parts and the whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

VERSION = 1
"""Raised when the same text gives other tokens: an index of another version must be built again."""

LONGEST = 128
"""Longer tokens are cut to this many characters; a sha512 in hex has just as many."""

_NAME = re.compile(r"\w+(?:[./\\:@-]+\w+)*")
_PLAIN = re.compile(r"[a-z]+|[0-9]+")
_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
# Scripts that are written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003134f]+"
)


def words(text: str) -> list[str]:
    """The tokens of a text, in order, wholes beside their parts."""
    return list(chain.from_iterable(map(_known.__getitem__, _NAME.findall(text))))


def distinct(text: str) -> set[str]:
    """The tokens of a text without order or repetition: what an index needs, at half the cost."""
    return set(chain.from_iterable(map(_known.__getitem__, set(_NAME.findall(text)))))


def telling(tokens: Iterable[str], limit: int = 64) -> list[str]:
    """The tokens of a query worth looking for: distinct, without very common words unless there are no others.

    At most `limit`, the longest when there are more: long tokens are the rare ones.
    """
    found = list(dict.fromkeys(tokens))
    chosen = [word for word in found if word not in STOP] or found
    if len(chosen) > limit:
        longest = set(sorted(chosen, key=len, reverse=True)[:limit])
        chosen = [word for word in chosen if word in longest]
    return chosen


class _Known(dict[str, tuple[str, ...]]):
    """name -> its tokens. Emptied when full: cheaper than keeping an order of use, and words come back fast."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        tokens = self[name] = _analyse(name)
        return tokens


def _analyse(name: str) -> tuple[str, ...]:
    if _PLAIN.fullmatch(name):
        return (stem(name[:LONGEST]),)
    name = name[:4_096]
    pieces = _WORD.findall(name)
    out: list[str] = []
    for piece in pieces:
        out += _split(piece)
    if len(pieces) > 1:  # a path, a host, a date: the whole beside its parts
        out.append(_whole("_".join(pieces)))
    return tuple(dict.fromkeys(out))


def _split(piece: str) -> list[str]:
    """One run of word characters: the whole as one token, then its parts when it has several."""
    if _UNSPACED.search(piece):
        return _split_unspaced(piece)
    parts = _PARTS.findall(piece if piece.isascii() else _plain(piece))
    whole = _whole(piece)
    if len(parts) < 2:
        return [stem(whole)]
    return [whole, *(stem(fold(part)[:LONGEST]) for part in parts)]


def _split_unspaced(piece: str) -> list[str]:
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


def _whole(piece: str) -> str:
    return fold(piece)[:LONGEST]


def fold(text: str) -> str:
    """Lower case without accents; what is no letter or digit becomes `_`."""
    if text.isascii():
        return text.lower()
    return "".join(c if c.isalnum() else "_" for c in _plain(text.casefold()))


def _plain(text: str) -> str:
    """Without accents, letters as they are."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def stem(word: str) -> str:
    """A word without its common English endings. Light on purpose: too little is safer than too much, since
    the same rule runs on both sides and a false meeting of two words costs precision for ever."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    return _undouble(_strip(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _strip(word: str) -> str:
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least and _has_vowel(word[: -len(ending)]):
            return word[: -len(ending)]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


_ENDINGS = (
    ("ations", 3), ("ation", 3), ("ingly", 3), ("edly", 3), ("ment", 4), ("ness", 4), ("ion", 4),
    ("ing", 3), ("ed", 3), ("er", 4), ("or", 4), ("ly", 4),
)  # fmt: skip


def _undouble(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        return word[:-1]
    if word.endswith("y") and len(word) > 3 and word[-2] not in "aeiou":
        return word[:-1] + "i"
    return word


def _has_vowel(word: str) -> bool:
    return any(letter in "aeiouy" for letter in word)


_MOST_KNOWN = 50_000
_known = _Known()


def _stop(text: str) -> frozenset[str]:
    return frozenset(words(text))


STOP = _stop(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its "
    "me my of on or our out she he so than that the their them then there these they this those to up us was "
    "we were what when where which who whom why will with would you your about any just please tell"
)
"""Words that say nothing of what is looked for, stemmed as the query is."""
