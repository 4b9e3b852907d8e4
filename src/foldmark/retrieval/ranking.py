"""Ranks what a store found. Needs the matches and their statistics alone, so every store ranks alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from foldmark.retrieval.asking import Question
from foldmark.retrieval.choosing import in_turn, listed
from foldmark.retrieval.counting import Counted, Counter
from foldmark.retrieval.scoring import PHRASE, Near, beside, best_pair, factor, times_of, told, value, weights_of
from foldmark.seeking import Finding, Found
from foldmark.words import words

RERANKED, LEAST_SCORE = 150, 0.0001
BESIDE = 2
"""What holds no word of the query is an answer only where so many of its words were said beside it."""

LEAST_WORDS = 3
"""And where it says something: "Noted." answers nothing (measured on dialogue: no evidence is lost by it)."""
_QUESTION = re.compile(
    r"[?？؟]\W*$|^\W*(?:who|whom|whose|what|which|when|where|why|how|did|do|does|is|are|was|were|has|have|had|can|could)\b",
    re.I,
)
SAYS_DAY, ON_DAY, SAYS_LATER, PART = 3.0, 2.0, 1.0, 0.5
"""Scores of what a query for a day alone brings."""


class Ranked(msgspec.Struct, frozen=True):
    """A match with its score; `first` to `last` are the piece's lines (0-based) that earned it; `near` are terms that
    were said only beside it, each with the seq of the event that says it; `is_beside` says that it holds none itself,
    nor a day that is asked for; `is_listed` that all that matches is asked for, alike or not."""

    found: Found
    score: float
    first: int = 0
    last: int = 0
    near: dict[str, int] = {}
    is_beside: bool = False
    is_listed: bool = False


def rank(finding: Finding, asked: Question, limit: int | None = None) -> list[Ranked]:
    """Matches, best first; one per event, near-equal ones once, newer first among equals. At most `limit`."""
    return chosen(judged(finding, asked), limit)


def judged(finding: Finding, asked: Question) -> list[Ranked]:
    """Every candidate with its score, in no order: what matched and what stands beside it; 0 where no word says
    anything for it."""
    if not asked.terms:
        return [Ranked(found, 1.0) for found in finding.found if found.piece.order == 0]
    counter, weights = Counter(asked), weights_of(finding, asked)
    if asked.ways:
        return _of_day(finding, asked, counter, weights)
    pieces = [counter.count(found) for found in (*finding.found[:RERANKED], *finding.near)]
    events = told(pieces)
    near = [beside(piece, events) for piece in pieces]
    usual = _usual(pieces, near)
    held = sum(finding.frequencies.get(term, 0) > 0 for term in asked.terms)
    judge = _Judge(asked, weights, is_sparse=held < BESIDE <= len(asked.terms) and _asks(asked.text))
    return [judge.ranked(piece, beside, usual) for piece, beside in zip(pieces, near, strict=True)]


def _of_day(finding: Finding, asked: Question, counter: Counter, weights: Mapping[str, float]) -> list[Ranked]:
    """What a query for a day alone brings: what says the day itself, then what was said on it. What says a day that
    counts from now ("today") speaks of another one, and comes behind; what holds only parts of a date comes where
    nothing else does."""
    says = SAYS_LATER if any(span.is_relative for span in asked.spans) else SAYS_DAY
    out: list[Ranked] = []
    for piece in map(counter.count, finding.found):
        best, line = best_pair(piece, weights), _saying(piece, asked)
        lines = (best.first, best.last) if line is None else (line, line)
        is_on = any(span.holds(piece.found.time) for span in asked.spans) or (not asked.spans and bool(piece.day))
        score = max(PART, ON_DAY if is_on else PART, PART if line is None else says)
        out.append(Ranked(piece.found, score, *lines, is_listed=True))
    whole = [one for one in out if one.score > PART]
    return whole or out


def _saying(piece: Counted, asked: Question) -> int | None:
    """The line of a piece that says the day that is asked for, in one of the ways to say it."""
    for unit in (piece.units[number] for number in piece.hits):
        if any(unit.counts.keys() >= way for way in asked.ways) and _is_said(unit.text, asked):
            return unit.line
    return None


def _is_said(text: str, asked: Question) -> bool:
    """Whether a text that holds the words of a day says one that the query names."""
    return not asked.spans or any(span.is_in(text) for span in asked.spans)


def _usual(pieces: Sequence[Counted], near: Sequence[Near]) -> float:
    """How long what was said is with what stands beside it, on average of the candidates."""
    sizes = [len(one.found.piece.text) + by.size for one, by in zip(pieces, near, strict=True) if one.is_said]
    return max(1.0, sum(sizes) / len(sizes)) if sizes else 1.0


class _Judge:
    """Scores pieces for one query. `is_sparse`: it is a question, and too few of its words stand anywhere to ask for
    BESIDE of them."""

    def __init__(self, asked: Question, weights: Mapping[str, float], *, is_sparse: bool) -> None:
        self.asked, self.weights, self.is_sparse = asked, weights, is_sparse
        self.phrase = PHRASE * max(weights.values(), default=0.0)
        self.names = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in asked.names]
        self.days = [
            (span, max((weights[token] for token in span.tokens), default=0.0)) for span in asked.spans if span.tokens
        ]

    def ranked(self, piece: Counted, near: Near, usual: float) -> Ranked:
        best, days = best_pair(piece, self.weights), self._days_of(piece)
        own = piece.whole.keys() | piece.head.keys() if piece.head else piece.whole.keys()
        score = 0.0
        if own or days or (self._is_answer(piece.found, near) and _says_enough(piece.found.piece.text)):
            length = (len(piece.found.piece.text) + near.size) / usual if piece.is_said else 1.0
            score = value(times_of(piece, best, near), self.weights, length) + self._phrases(piece) + days
            score *= factor(piece, best, near, self.asked)
        only_near = {term: near.close[term] for term in sorted(near.close.keys() - own)}
        score = max(round(score, 4), LEAST_SCORE) if score > 0 else 0.0  # what every event says is found all the same
        return Ranked(piece.found, score, best.first, best.last, only_near, not own and not days)

    def _is_answer(self, found: Found, near: Near) -> bool:
        """Whether what was said beside a piece that holds no word itself may make it an answer. Of a query's only word
        that stands anywhere it is the agent's words right behind it."""
        if self.is_sparse:
            return found.event.role == "assistant" and found.event.seq - 1 in near.close.values()
        return len(near.close) >= BESIDE

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


def _asks(text: str) -> bool:
    """Whether a query is a question and no list of words."""
    return _QUESTION.search(text) is not None


def _says_enough(text: str) -> bool:
    """Whether it holds LEAST_WORDS; nearly always its beginning tells."""
    beginning = text[:40].rpartition(" ")[0]  # no word reaches over a space
    return len(words(beginning)) >= LEAST_WORDS or len(words(text)) >= LEAST_WORDS


def chosen(judged: Sequence[Ranked], limit: int | None = None) -> list[Ranked]:
    """What is worth showing of scored candidates, at most `limit`, best first: nothing without a score, one per event,
    near-equal ones once, newer first among equals, and of several sessions each in turn where they match nearly as
    well."""
    if any(one.is_listed for one in judged):
        return listed(judged, limit)
    return in_turn([one for one in judged if one.score > 0], limit, is_beside=lambda one: one.is_beside)
