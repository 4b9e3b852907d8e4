"""Comparing lists with a log, and pieces with terms. Pure: knows nothing of how either is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log as logarithm

from foldmark.events import Event

UNCHAINED = ("control", "system")
"""Roles that take no part in the chain and in no comparison of lists: they may come and go without breaking a match."""


def holds_call(event: Event) -> bool:
    """Whether the event carries a call's id, which makes one event alone recognisable."""
    return bool(event.calls or event.result)


def overlap(offered: Sequence[str], tail: Sequence[str]) -> int:
    """How long a head of `offered` is the end of `tail`; linear (a failure table, as in string matching)."""
    if not offered:
        return 0
    table, length = [0] * len(offered), 0
    for place in range(1, len(offered)):
        while length and offered[place] != offered[length]:
            length = table[length - 1]
        length += offered[place] == offered[length]
        table[place] = length
    length = 0
    for plain in tail:
        if length == len(offered):
            length = table[length - 1]
        while length and plain != offered[length]:
            length = table[length - 1]
        length += plain == offered[length]
    return length


def ordered(postings: Mapping[str, Sequence[int]], total: int) -> list[int]:
    """The pieces that hold the rarest and most terms, best first, newer first among equals.

    Rarity is counted in the searched sessions alone: counts over everybody would tell what others write
    about.
    """
    scores: dict[int, float] = {}
    for numbers in postings.values():
        weight = logarithm(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
        for number in numbers:
            scores[number] = scores.get(number, 0.0) + weight
    return sorted(scores, key=lambda number: (scores[number], number), reverse=True)
