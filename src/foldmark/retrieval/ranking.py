"""Ranks what a store found. Needs the matches and their statistics alone, so every store ranks alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from foldmark.retrieval.asking import Question
from foldmark.retrieval.choosing import in_turn
from foldmark.retrieval.counting import Counted, Counter
from foldmark.retrieval.scoring import PHRASE, Near, beside, best_pair, factor, times_of, told, value, weights_of
from foldmark.seeking import Finding, Found
from foldmark.words import words

RERANKED = 150
BESIDE = 2
"""What holds no word of the query is an answer only where so many of its words were said beside it."""

LEAST_WORDS = 3
"""And where it says something: "Noted." answers nothing (measured on dialogue: no evidence is lost by it)."""


class Ranked(msgspec.Struct, frozen=True):
    """A match with its score; `first` to `last` are the piece's lines (0-based) that earned it; `near` are terms that
    were said only beside it, each with the seq of the event that says it; `is_beside` says that it holds none itself,
    nor a day that is asked for."""

    found: Found
    score: float
    first: int = 0
    last: int = 0
    near: dict[str, int] = {}
    is_beside: bool = False


def rank(finding: Finding, asked: Question, limit: int | None = None) -> list[Ranked]:
    """Matches, best first; one per event, near-equal ones once, newer first among equals. At most `limit`."""
    return chosen(judged(finding, asked), limit)


def judged(finding: Finding, asked: Question) -> list[Ranked]:
    """Every candidate with its score, in no order: what matched and what stands beside it; 0 where no word says
    anything for it."""
    if not asked.terms:
        return [Ranked(found, 1.0) for found in finding.found if found.piece.order == 0]
    counter, weights = Counter(asked), weights_of(finding, asked)
    pieces = [counter.count(found) for found in (*finding.found[:RERANKED], *finding.near)]
    events = told(pieces)
    near = [beside(piece, events) for piece in pieces]
    usual = _usual(pieces, near)
    judge = _Judge(asked, weights)
    return [judge.ranked(piece, beside, usual) for piece, beside in zip(pieces, near, strict=True)]


def _usual(pieces: Sequence[Counted], near: Sequence[Near]) -> float:
    """How long what was said is with what stands beside it, on average of the candidates."""
    sizes = [len(one.found.piece.text) + by.size for one, by in zip(pieces, near, strict=True) if one.is_said]
    return max(1.0, sum(sizes) / len(sizes)) if sizes else 1.0


class _Judge:
    """Scores pieces for one query."""

    def __init__(self, asked: Question, weights: Mapping[str, float]) -> None:
        self.asked, self.weights = asked, weights
        self.phrase = PHRASE * max(weights.values(), default=0.0)
        self.names = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in asked.names]
        self.days = [
            (span, max((weights[token] for token in span.tokens), default=0.0)) for span in asked.spans if span.tokens
        ]

    def ranked(self, piece: Counted, near: Near, usual: float) -> Ranked:
        best, days = best_pair(piece, self.weights), self._days_of(piece)
        own = piece.whole.keys() | piece.head.keys() if piece.head else piece.whole.keys()
        score = 0.0
        if own or days or (len(near.close) >= BESIDE and _says_enough(piece.found.piece.text)):
            length = (len(piece.found.piece.text) + near.size) / usual if piece.is_said else 1.0
            score = value(times_of(piece, best, near), self.weights, length) + self._phrases(piece) + days
            score *= factor(piece, best, near, self.asked)
        only_near = {term: near.close[term] for term in sorted(near.close.keys() - own)}
        return Ranked(piece.found, round(score, 4), best.first, best.last, only_near, not own and not days)

    def _phrases(self, piece: Counted) -> float:
        """Names and quotes of the query that stand in the piece as they were asked; inside a longer word for half."""
        if not self.names:
            return 0.0
        text = piece.found.piece.text.casefold()
        both = zip(self.asked.names, self.names, strict=True)
        return self.phrase * sum(1.0 if pattern.search(text) else 0.5 for name, pattern in both if name in text)

    def _days_of(self, piece: Counted) -> float:
        """The days that the query names, and words of days, however long the piece is."""
        if not self.days and not piece.day:
            return 0.0
        named = sum(weight for span, weight in self.days if span.holds(piece.found.time))
        return named + sum(self.weights[term] for term in sorted(piece.day))


def _says_enough(text: str) -> bool:
    """Whether it holds LEAST_WORDS; nearly always its beginning tells."""
    beginning = text[:40].rpartition(" ")[0]  # no word reaches over a space
    return len(words(beginning)) >= LEAST_WORDS or len(words(text)) >= LEAST_WORDS


def chosen(judged: Sequence[Ranked], limit: int | None = None) -> list[Ranked]:
    """What is worth showing of scored candidates, at most `limit`, best first: nothing without a score, one per event,
    near-equal ones once, newer first among equals, and of several sessions each in turn where they match nearly as
    well."""
    return in_turn([one for one in judged if one.score > 0], limit, is_beside=lambda one: one.is_beside)
