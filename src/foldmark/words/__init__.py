"""The analyser of search, one for index and query: text to folded, split and stemmed tokens.

Knows nothing of ranking. Every token is made of [a-z0-9_] and folded letters and vowel signs of other scripts, so no
tokenizer behind it can split or change it. Names in snake_case, camelCase and paths give their parts and the whole,
figures (1,234, 10k, 2:30 pm) their pieces and their value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import chain

from foldmark.words.figures import FIGURE, MAY_BE_FIGURE
from foldmark.words.folding import MARKS, fold
from foldmark.words.naming import LONGEST, MOST_KNOWN, analyse
from foldmark.words.stemming import FORMS, stem

__all__ = ["FORMS", "LONGEST", "STOP", "VERSION", "distinct", "fold", "places", "stem", "telling", "words"]

VERSION = 4
"""Raised when the same text gives other tokens: an index of another version must be built again."""

_NAME = re.compile(r"\w+(?:[./\\:@-]+\w+)*")
_WIDE_NAME = re.compile(rf"[\w{MARKS}]+(?:[./\\:@-]+[\w{MARKS}]+)*")
_FIGURE_OR_NAME = re.compile(f"{FIGURE}|{_NAME.pattern}")
_WIDE_FIGURE_OR_NAME = re.compile(f"{FIGURE}|{_WIDE_NAME.pattern}")
_STRETCH = 16
_TOKEN = re.compile(rf"[a-z0-9_\x80-\ud7ff\ue000-\U0010ffff]{{1,{LONGEST}}}")


def words(text: str) -> list[str]:
    """The tokens of a text, in order, wholes beside their parts."""
    names = _names(text).findall(text)
    return list(chain.from_iterable(map(_known.__getitem__, names)))


def _names(text: str) -> re.Pattern[str]:
    """The pattern of names; with figures where there may be any: looked for everywhere they cost half as much again."""
    if MAY_BE_FIGURE.search(text):
        return _FIGURE_OR_NAME if text.isascii() else _WIDE_FIGURE_OR_NAME
    return _NAME if text.isascii() else _WIDE_NAME


def distinct(text: str) -> set[str]:
    """The tokens of a text without order or repetition: what an index needs, at half the cost."""
    names = _names(text).findall(text)
    return set(chain.from_iterable(map(_known.__getitem__, set(names))))


def places(text: str, tokens: Collection[str]) -> list[tuple[int, set[str]]]:
    """Where in a text which of these tokens stand: (start of the word or name that gives them, those it gives), in
    order. In a long run, as in a sentence without spaces, the start is known to a few characters."""
    wanted = set(tokens)
    out: list[tuple[int, set[str]]] = []
    for found in _names(text).finditer(text):
        if there := wanted.intersection(_known[found[0]]):
            out += _places_inside(found[0], found.start(), there)
    return out


def _places_inside(name: str, start: int, there: set[str]) -> list[tuple[int, set[str]]]:
    """The start of a name, or of its stretches that hold a token, where it is long. Stretches overlap, so that no pair
    is cut through."""
    if len(name) <= 2 * _STRETCH:
        return [(start, there)]
    stretches = ((at, name[at : at + _STRETCH + 8]) for at in range(0, len(name), _STRETCH))
    inside = [(start + at, held) for at, stretch in stretches if (held := there.intersection(_known[stretch]))]
    return inside or [(start, there)]


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


class _Known(dict[str, tuple[str, ...]]):
    """name -> its tokens. Emptied when full: cheaper than an order of use, and words come back fast."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if len(self) >= MOST_KNOWN:
            self.clear()
        tokens = analyse(name)
        if len(name) <= LONGEST:  # longer ones hardly ever come twice
            self[name] = tokens
        return tokens


_known = _Known()

STOP = frozenset(
    words(
        "a an and are as at be been but by can could did do does for from had has have how i if in into is "
        "it its me my of on or our out she he so than that the their them then there these they this those "
        "to up us was we were what when where which who whom why will with would you your about any just "
        "please tell his her him hers himself herself itself myself ourselves themselves yourself"
    )
)
"""Words that say nothing of what is looked for, stemmed as the query is."""
