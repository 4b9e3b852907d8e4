"""One score for a piece: BM25F over the pair of lines that holds most of the query, the rest of the piece, the call it
answers, and what was said beside it. Knows nothing of order.

A piece that holds two of the query's words far apart is a poorer answer than one that holds them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf, log
from typing import NamedTuple

from foldmark.dates import tells_time
from foldmark.retrieval.asking import Question
from foldmark.retrieval.counting import Counted, Counts, Unit, summed
from foldmark.seeking import Finding, is_one_sitting

K1, B = 0.9, 0.4
"""BM25 for short pieces (measured on dialogue: +.03 MRR over 1.2 / .75)."""
REST, HEAD = 0.15, 0.5
"""What a word counts in the rest of the piece, and in the call beside it."""
NEIGHBOURS = {-2: 0.4, -1: 0.4, 1: 0.4, 2: 0.2} | dict.fromkeys((-3, 3, -4, 4, -5, 5, -6, 6), 0.1)
"""What a word counts that was said so many events before or after (measured on dialogue): right beside much, further
away a little, since what they talk about lasts. Only among what was said: among tool results, whose neighbours are
other things, neighbours did harm."""
CLOSE = 2
"""What stands so far away or nearer may make an event an answer that holds no word of the query itself."""
QUESTION = 2.5
"""So many times more when the event right before asks: an answer seldom repeats its question's words."""
SHORT = 300
"""A longer neighbour counts less by as much: it holds many words by chance."""
SPEAKER = 1.0
"""What it adds when the query names who speaks."""
ASKS, ANSWERS, TELLS_TIME, ROLE, SELF = 0.9, 1.1, 1.25, 1.2, 1.2
"""Factors: for a question (facts stand in answers), for what follows one, for a line with a time when a time is asked
for, for the speaker that the query asks about, for who is named in the query and speaks of themselves (English)."""
_SELF = re.compile(r"\b(?:i|my|me|mine|myself|we|our|ours|us|ourselves)\b", re.I)
PHRASE = 0.5
"""What a name or quote that stands there as asked adds, in parts of the rarest term's weight."""


class Near(NamedTuple):
    """What was said beside a piece: its counts, its characters, whether the event right before asks, and the terms
    that stand close by, each with the seq of the nearest event that says it."""

    counts: Counts
    size: float = 0.0
    is_answer: bool = False
    close: Mapping[str, int] = {}


class Told(NamedTuple):
    """What an event lends to its neighbours: its terms without those of who speaks, its characters, whether it asks,
    its time."""

    terms: tuple[str, ...]
    size: int
    asks: bool
    time: float | None


class Best(NamedTuple):
    """The pair of units that holds most of the query: their lines, their counts, they themselves."""

    first: int
    last: int
    counts: Counts
    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        return "\n".join([unit.text for unit in self.units])


def weights_of(finding: Finding, asked: Question) -> dict[str, float]:
    """term -> what it is worth: the rarer in what is searched, the more."""
    return {term: rarity(finding.frequencies.get(term, 0), finding.pieces) for term in asked.terms}


def rarity(frequency: int, total: int) -> float:
    return log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def best_pair(piece: Counted, weights: Mapping[str, float]) -> Best:
    """The best of all pairs of neighbouring units, the first among equals; the first two where none holds a term."""
    if len(piece.units) == 1:
        only = piece.units[0]
        return Best(only.line, only.line, only.counts, piece.units)
    best, first = -1.0, 0
    for number in sorted({max(0, number - back) for number in piece.hits for back in (0, 1)}):
        pair = piece.units[number].counts.keys() | _next(piece, number).keys()
        value = sum(weights[term] for term in pair) + 0.1 * sum(weights[term] for term in piece.units[number].counts)
        value += HEAD * sum(weights[term] for term in piece.head if term not in pair)
        if value > best + 1e-9:
            best, first = value, number
    units = piece.units[first : first + 2]
    return Best(units[0].line, units[-1].line, summed([unit.counts for unit in units]), units)


def _next(piece: Counted, number: int) -> Counts:
    return piece.units[number + 1].counts if number + 1 < len(piece.units) else {}


def told(pieces: Iterable[Counted]) -> dict[str, dict[int, Told]]:
    """What each event says, by session and by seq."""
    events: dict[tuple[str, int], list[Counted]] = {}
    for piece in pieces:
        events.setdefault((piece.found.session, piece.found.piece.seq), []).append(piece)
    out: dict[str, dict[int, Told]] = {}
    for (session, seq), held in events.items():
        out.setdefault(session, {})[seq] = _told(held)
    return out


def _told(pieces: Sequence[Counted]) -> Told:
    first = pieces[0]
    if len(pieces) == 1 and not first.speaker:
        return Told(tuple(first.whole), len(first.found.piece.text), first.asks, first.found.time)
    pieces = sorted(pieces, key=lambda piece: piece.found.place)
    terms = dict.fromkeys([term for one in pieces for term in one.whole if term not in one.speaker])
    size = sum([len(one.found.piece.text) for one in pieces])
    return Told(tuple(terms), size, any(one.asks for one in pieces), pieces[0].found.time)


def beside(piece: Counted, events: Mapping[str, Mapping[int, Told]]) -> Near:
    """What was said in the same sitting around a piece; nothing beside what is not said."""
    if not piece.is_said:
        return Near({})
    counts: Counts = {}
    close: dict[str, int] = {}
    size, is_answer = 0.0, False
    line, seq = events[piece.found.session], piece.found.piece.seq
    for step, weight in NEIGHBOURS.items():
        other = line.get(seq + step)
        if other is None or not is_one_sitting(piece.found.time, other.time):
            continue
        asks = other.asks and step == -1
        is_answer = is_answer or asks
        size += weight * other.size
        if not other.terms:
            continue
        share = weight * (QUESTION if asks else 1.0) / max(1.0, other.size / SHORT)
        for term in other.terms:
            counts[term] = counts.get(term, 0.0) + share
        if -CLOSE <= step <= CLOSE:
            close |= {term: seq + step for term in other.terms if abs(close.get(term, inf) - seq) > abs(step)}
    return Near(counts, size, is_answer, close)


def times_of(piece: Counted, best: Best, near: Near) -> Counts:
    """How often each term counts for a piece; among its lines once, and the rest of the piece and the call beside it
    only where the lines lack it: lists that repeat a word say no more of it."""
    if not piece.hits and not piece.head:
        return near.counts
    out = dict.fromkeys(piece.whole, REST) | dict.fromkeys(best.counts, 1.0)
    for term in piece.head:
        out[term] = max(out.get(term, 0.0), HEAD)
    return summed([out, near.counts, dict.fromkeys(piece.speaker, SPEAKER)])


def value(times: Mapping[str, float], weights: Mapping[str, float], length: float) -> float:
    """BM25; `length` is in parts of what is usual."""
    room = K1 * (1 - B + B * length)
    return sum(weights[term] * count * (K1 + 1) / (count + room) for term, count in sorted(times.items()))


def factor(piece: Counted, best: Best, near: Near, asked: Question) -> float:
    """What speaks for or against a piece, whatever words it holds."""
    event = piece.found.event
    out = TELLS_TIME if asked.is_when and tells_time(best.text) else 1.0
    if piece.is_said:
        mine = asked.role == event.role and event.origin in ("user", "agent")
        out *= (ROLE if mine else 1.0) * (ANSWERS if near.is_answer else 1.0)
        out *= ASKS if piece.asks and not mine else 1.0
        out *= SELF if piece.speaker and _SELF.search(piece.found.piece.text) else 1.0
    return out
