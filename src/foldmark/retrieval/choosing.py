"""Which of the scored candidates are shown, in which order: no event twice, no passage twice, no session alone.

Knows nothing of how scores come about.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
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
MOST_BESIDE = 3
"""So many hits hold no word of the query themselves, one of them among those that do and the others behind (measured on
dialogue: no evidence is lost by it; all of them behind lost one question in a hundred)."""
WORTH_BESIDE = 0.4
"""And none that is worth less than this part of the best that does."""
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


def _never(one: Scored) -> bool:
    return False


def in_turn(
    scored: Sequence[S], limit: int | None = None, *, is_beside: Callable[[S], bool] = _never
) -> list[S]:  # fmt: skip
    """Candidates, best first, the newer first among equals; whatever order they come in. At most `limit`, the same ones
    as without: what comes behind is not even compared. `is_beside` tells those that hold no word of the query: a few,
    which take no more than one place of those that do."""
    ordered = sorted(scored, key=_order)
    least = WORTH_BESIDE * max((one.score for one in ordered if not is_beside(one)), default=0.0)
    ordered = [one for one in ordered if one.score >= least or not is_beside(one)]
    sessions, passages = {one.found.session for one in ordered}, _distinct(ordered)
    turns = _spread(passages, sessions) if len(sessions) > 1 else passages
    return list(islice(_few_beside(turns, is_beside), limit))


def listed(scored: Sequence[S], limit: int | None = None) -> list[S]:
    """One candidate per event, best first, the newer first among equals: all of them, alike or not."""
    events: dict[tuple[str, int], S] = {}
    for one in sorted(scored, key=_order):
        events.setdefault(one.found.place[:2], one)
    return list(events.values())[:limit]


def _few_beside(turns: Iterator[S], is_beside: Callable[[S], bool]) -> Iterator[S]:
    beside: list[S] = []
    for one in turns:
        if not is_beside(one):
            yield one
        elif len(beside) < MOST_BESIDE:
            beside.append(one)
            if len(beside) == 1:
                yield one
    yield from beside[1:]


def _order(one: Scored) -> tuple[float, float, int, str, int]:
    time = one.found.time
    return -one.score, -time if time is not None else float("inf"), -one.found.event.seq, *_rest(one)


def _rest(one: Scored) -> tuple[str, int]:
    return one.found.session, one.found.piece.order


def _distinct(ordered: Iterable[S]) -> Iterator[S]:
    """One per event, and passages that say the same once: the first of them."""
    events: set[tuple[str, int]] = set()
    passages: set[tuple[str, ...]] = set()
    near: list[frozenset[str]] = []
    for one in ordered:
        event = one.found.session, one.found.event.seq
        if event in events or (passage := _passage(one)) in passages:
            continue
        if len(near) < _COMPARED:
            told = frozenset(passage)
            if any(_alike(told, other) for other in near):
                continue
            near.append(told)
        events.add(event)
        passages.add(passage)
        yield one


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


def _spread(ordered: Iterator[S], sessions: Collection[str]) -> Iterator[S]:
    """Of several sessions none fills the first places alone where another matches nearly as well. A candidate is taken
    from `ordered` only while it may come before those that wait."""
    queues: dict[str, deque[tuple[int, S]]] = {name: deque() for name in sessions}
    taken = dict.fromkeys(sessions, 0)
    heads: list[tuple[float, int, str]] = []  # the first of each queue: worth (negative), place, session
    coming = enumerate(ordered)
    following = next(coming, None)
    while following or heads:
        if following and (not heads or -heads[0][0] < _worth(following[1], min(taken.values()))):
            session = following[1].found.session
            queues[session].append(following)
            following = next(coming, None)
            is_head = len(queues[session]) == 1
        else:
            session = heappop(heads)[2]
            taken[session] += 1
            yield queues[session].popleft()[1]
            is_head = bool(queues[session])
        if is_head:
            place, one = queues[session][0]
            heappush(heads, (-_worth(one, taken[session]), place, session))


def _worth(one: Scored, taken: int) -> float:
    return one.score * OFTEN ** min(taken, AS_GOOD)
