"""Whether a statement gives to one thing what its evidence says of another. Knows nothing of events, facts or items.

A model that exchanges two names or two values keeps every word, so words alone would prove it. Compared are pieces
between commas and lines: what a statement says of a thing in one piece must not stand half in one piece of the evidence
and half in the next one, made alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from foldmark.story.figures import NUMBER_WORDS, folded, value_of
from foldmark.words import STOP, telling, words

_PIECE = re.compile(r"\n|[.;!?](?=\s|$)|,\s|\s[–—-]\s|\s(?:and|but|while|whereas|or)\s")
_GIVES = re.compile(
    r"(?P<subject>[\w./:@-]+(?:\s[\w./:@-]+){0,3}?)\s(?:is|are|was|uses?|used|stays?|remains?|equals?|takes?|has"
    r"|listens on|runs on"
    r"|set to|to|on)\s(?:now |only |set to |the |on )?(?:port |limit |value )?(?P<number>\d[\d,._]*\d|\d)(?![\w.-])"
)
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,._]*(?![\w-])")
_LONGEST = 12  # words of a piece that are compared: a longer one says more than one thing
_REACH = 90  # characters between a subject and its number
_MOST_TEXT = 60_000


def is_exchanged(statement: str, evidence: Iterable[str]) -> bool:
    """Whether a statement crosses what these texts say: the words of two pieces, or a subject and another's number."""
    texts = [_digits(text[:_MOST_TEXT]) for text in evidence]
    told = _digits(statement)
    return _is_crossed(told, texts) or any(not _is_given(match, texts) for match in _GIVES.finditer(told))


@lru_cache(maxsize=128)  # the same event bears out one statement after the other
def _digits(text: str) -> str:
    return NUMBER_WORDS.sub(lambda match: str(value_of(match)), folded(text))


@lru_cache(maxsize=128)
def _pieces(text: str) -> tuple[frozenset[str], ...]:
    return tuple(said for piece in _PIECE.split(text) if (said := frozenset(telling(words(piece), 40))))


def _is_crossed(statement: str, texts: Sequence[str]) -> bool:
    told = [piece for piece in _pieces(statement) if 3 <= len(piece) <= _LONGEST]
    if not told:
        return False
    for text in texts:
        pieces = _pieces(text)
        for piece in told:
            if not any(piece <= one for one in pieces) and any(
                _crosses(piece, one, other) for one, other in pairwise(pieces)
            ):
                return True
    return False


def _crosses(piece: frozenset[str], one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether a piece takes a part of each of two that are made alike (they share a word of it), and leaves a part of
    each."""
    takes = piece & one & other and piece & one - other and piece & other - one
    return bool(takes) and piece <= one | other and bool(one - piece) and bool(other - piece)


def _is_given(match: re.Match[str], texts: Sequence[str]) -> bool:
    """Whether a text says the number close to its subject, with no other number between them. True where no text has
    both: that is not a matter of exchange."""
    subject = [set(words(token)) for token in match["subject"].split() if not set(words(token)) <= STOP]
    if re.search(r"(?:^|\s)\d[\d,._]*$", match["subject"]):  # 5 to 7, from 43 to 44
        return True
    number = match["number"]
    has_both = False
    for text in texts:
        for found in re.finditer(rf"(?<![\w.-]){re.escape(number)}(?![\w-]|\.\d)", text):
            before = _line_before(text, found.start())
            after = text[found.end() : found.end() + _REACH].split("\n")[0]
            near = frozenset(words(_NUMBER.split(before)[-1])) | frozenset(words(_NUMBER.split(after)[0]))
            if any(one <= near for one in subject):
                return True
            has_both = True
    return not has_both or not subject


def _line_before(text: str, place: int) -> str:
    """The text before a place within its line, or with the line above where that is short."""
    start = text.rfind("\n", 0, place) + 1
    if place - start < 20 and start:
        start = text.rfind("\n", 0, start - 1) + 1
    return text[max(start, place - _REACH) : place]
