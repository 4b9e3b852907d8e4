"""Ranks what a store found. Needs the matches and their statistics alone, so every store ranks alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log

import msgspec

from foldmark.retrieval.asking import Question
from foldmark.retrieval.indexing import PIECE_CHARACTERS
from foldmark.seeking import Finding, Found, Piece
from foldmark.words import words

_K1, _B = 0.9, 0.4  # BM25 for short pieces (measured on dialogue: +.03 MRR over 1.2 / .75)
_RERANKED = 150
_NEIGHBOUR = 0.3
_LINE_NUMBER = re.compile(r"^\s*\d+[\t→|:]\s?")


class Ranked(msgspec.Struct, frozen=True):
    """A match with its score; `first` to `last` are the piece's lines (0-based) that earned it."""

    found: Found
    score: float
    first: int = 0
    last: int = 0


def rank(finding: Finding, asked: Question) -> list[Ranked]:
    """Matches, best first; one per event, near-equal ones once, newer first among equals.

    First BM25 over pieces, then the best are judged by the pair of neighbouring lines that holds most of the
    query: a piece that holds two of its words far apart is a poorer answer than one that holds them together.
    """
    weights = {term: _rarity(finding.frequencies.get(term, 0), finding.pieces) for term in asked.terms}
    if not asked.terms:
        return [Ranked(found, 0.0) for found in finding.found if found.piece.order == 0]
    judged = _with_neighbours([_judge(found, weights, asked.names) for found in finding.found[:_RERANKED]])
    judged.sort(key=lambda ranked: (ranked.score, ranked.found.event.seq), reverse=True)
    out: list[Ranked] = []
    seen: set[object] = set()
    for ranked in judged:
        where = (ranked.found.event.session, ranked.found.event.seq)
        lines = _lines(ranked.found.piece)[ranked.first : ranked.last + 1]
        shown = frozenset(" ".join(_LINE_NUMBER.sub("", line).split()) for line in lines)
        if ranked.score <= 0 or where in seen or shown in seen:
            continue
        seen.update((where, shown))
        out.append(ranked)
    return out


def _with_neighbours(judged: list[Ranked]) -> list[Ranked]:
    """What was said raises what was said just before and after it: an answer seldom repeats its question's words.

    Only among words of users and agents. On dialogue it lifts the top ten from 64 to 72%; among tool results,
    whose neighbours are other things, it did harm.
    """
    said: dict[tuple[str, int], float] = {}
    for ranked in judged:
        event = ranked.found.event
        if event.role in ("user", "assistant") and not event.calls:
            where = (event.session, event.seq)
            said[where] = max(said.get(where, 0.0), ranked.score)
    out: list[Ranked] = []
    for ranked in judged:
        session, seq = ranked.found.event.session, ranked.found.event.seq
        near = sum(said.get((session, seq + step), 0.0) for step in (-2, -1, 1, 2))
        raised = round(ranked.score + _NEIGHBOUR * near, 4)
        out.append(msgspec.structs.replace(ranked, score=raised) if near and (session, seq) in said else ranked)
    return out


def _rarity(frequency: int, total: int) -> float:
    return log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def _judge(found: Found, weights: dict[str, float], names: Sequence[str]) -> Ranked:
    lines = [_hits(line, weights) for line in _lines(found.piece)]
    head = _hits(found.piece.head, weights)
    counts: dict[str, int] = {}
    for line in (*lines, head):
        for term, times in line.items():
            counts[term] = counts.get(term, 0) + times
    length = _K1 * (1 - _B + _B * len(found.piece.text) / PIECE_CHARACTERS)
    score = sum(weights[term] * times * (_K1 + 1) / (times + length) for term, times in counts.items())
    best, first = -1.0, 0
    for place in range(len(lines)):
        pair = {**lines[place], **(lines[place + 1] if place + 1 < len(lines) else {})}
        alone = sum(weights[term] for term in lines[place])
        both = sum(weights[term] for term in pair) + 0.5 * sum(weights[t] for t in head if t not in pair)
        if both + 0.1 * alone > best + 1e-9:
            best, first = both + 0.1 * alone, place
    text = found.piece.text.casefold()
    phrases = sum(1.0 for name in names if name in text) * max(weights.values(), default=0.0)
    last = min(first + 1, len(lines) - 1)
    return Ranked(found, round(best + 0.3 * score + 0.5 * phrases, 4), first, max(first, last))


def _hits(text: str, weights: dict[str, float]) -> dict[str, int]:
    out: dict[str, int] = {}
    tokens = words(text)
    if weights.keys().isdisjoint(tokens):  # most lines: answered without a loop
        return out
    for word in tokens:
        if word in weights:
            out[word] = out.get(word, 0) + 1
    return out


def _lines(piece: Piece) -> list[str]:
    return piece.text.split("\n")
