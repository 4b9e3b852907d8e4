"""Which of the scored candidates are shown, in which order: no event twice, no passage twice, no session alone.

Knows nothing of how scores come about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

from foldmark.seeking import Found
from foldmark.words import words

OFTEN = 0.96
"""What a session's next hit is worth after each that it has already: one that matches nearly as well comes before its
third or fourth."""
AS_GOOD = 5
"""After so many the falling off ends."""
ALIKE = 0.9
"""Passages that share this part of their words and all their numbers are one."""
_COMPARED = 20
_LEADING = re.compile(
    r"^\s*(?:\d+[\t→|:]\s?|\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]?\s*|\[?\d\d:\d\d:\d\d[.,\d]*\]?\s*)"
)


class Scored(Protocol):
    @property
    def found(self) -> Found: ...
    @property
    def score(self) -> float: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


S = TypeVar("S", bound=Scored)


def in_turn(scored: Sequence[S]) -> list[S]:
    """Candidates, best first, the newer first among equals; whatever order they come in."""
    return _spread(_distinct(sorted(scored, key=_order)))


def _order(one: Scored) -> tuple[float, float, int, str, int]:
    time = one.found.time
    return -one.score, -time if time is not None else float("inf"), -one.found.event.seq, *_rest(one)


def _rest(one: Scored) -> tuple[str, int]:
    return one.found.session, one.found.piece.order


def _distinct(ordered: Sequence[S]) -> list[S]:
    """One per event, and passages that say the same once: the first of them."""
    out: list[S] = []
    events: set[tuple[str, int]] = set()
    passages: set[tuple[str, ...]] = set()
    near: list[frozenset[str]] = []
    for one in ordered:
        event, passage = (one.found.session, one.found.event.seq), _passage(one)
        if event in events or passage in passages:
            continue
        told = frozenset(passage)
        if len(out) < _COMPARED and any(_alike(told, other) for other in near):
            continue
        events.add(event)
        passages.add(passage)
        if len(near) < _COMPARED:
            near.append(told)
        out.append(one)
    return out


def _passage(one: Scored) -> tuple[str, ...]:
    """The words of the lines that earned the score, without the numbers or times that lines begin with."""
    lines = one.found.piece.text.split("\n")[one.first : one.last + 1]
    return tuple(words("\n".join(_LEADING.sub("", line) for line in lines)))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """The same words but for a few, and the same figures: one port is not another."""
    if not min(len(one), len(other)) >= ALIKE * max(len(one), len(other), 1):
        return False
    if len(one & other) < ALIKE * len(one | other):
        return False
    return not any(any(map(str.isdigit, word)) for word in one ^ other)


def _spread(ordered: Sequence[S]) -> list[S]:
    """Of several sessions none fills the first places alone where another matches nearly as well."""
    queues: dict[str, list[S]] = {}
    for one in ordered:
        queues.setdefault(one.found.session, []).append(one)
    if len(queues) < 2:
        return list(ordered)
    place = {id(one): at for at, one in enumerate(ordered)}
    taken = dict.fromkeys(queues, 0)
    out: list[S] = []
    while queues:
        session = min(queues, key=lambda name: (-_worth(queues[name][0], taken[name]), place[id(queues[name][0])]))
        out.append(queues[session].pop(0))
        taken[session] += 1
        if not queues[session]:
            del queues[session]
    return out


def _worth(one: Scored, taken: int) -> float:
    return one.score * OFTEN ** min(taken, AS_GOOD)
