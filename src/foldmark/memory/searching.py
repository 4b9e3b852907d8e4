"""Matching in memory: pieces by token, events by fingerprint, in the rows it is given. Knows nothing of locks and
ranking."""

from __future__ import annotations

from collections.abc import Sequence

from foldmark.log import choose, holds_call, overlap
from foldmark.memory.rows import Row, index
from foldmark.store import Finding, Found, Key, Match, Piece
from foldmark.words import telling


def find(
    row: Row, searched: Sequence[tuple[Row, int]], terms: Sequence[str], *, limit: int, shown_by: Key | None
) -> Finding:
    """Pieces of these rows, each up to its seq, that hold any of the terms; of events that a scope shows, if one is
    given. `row` is the session that was asked."""
    numbered: list[tuple[Row, Piece]] = []
    postings: dict[str, list[int]] = {term: [] for term in telling(terms)}
    total = 0
    for other, last in searched:
        index(other)
        shown = [
            piece.seq <= last and (shown_by is None or shown_by.shows(other.log.events[piece.seq - 1]))
            for piece in other.pieces
        ]
        total += sum(shown)
        start = len(numbered)
        numbered += [(other, piece) for piece in other.pieces]
        for term, numbers in postings.items():
            numbers += [start + number for number in other.postings.get(term, ()) if shown[number]]
    lineage = {id(other): last for other, last, _ in row.lineage()}
    found = tuple(
        Found(piece, other.log.events[piece.seq - 1], "" if piece.seq <= lineage.get(id(other), 0) else other.name[2])
        for other, piece in (numbered[number] for number in choose(postings, total, limit))
    )
    return Finding(found, total, {term: len(hits) for term, hits in postings.items()})


def match(candidates: Sequence[Row], chains: Sequence[str]) -> Match | None:
    """The longest chained match in any of the sessions; the first of them wins a tie."""
    places = [{event.chain: event.seq for event in row.log.events} for row in candidates]
    for count in range(len(chains), 0, -1):
        for candidate, seqs in zip(candidates, places, strict=True):
            if seq := seqs.get(chains[count - 1]):
                return Match(candidate.name[2], seq, count)
    return None


def ends(candidates: Sequence[Row], plains: Sequence[str]) -> Match | None:
    """The longest head of the list that ends the log of any of the sessions; the first of them wins a tie."""
    best: Match | None = None
    for candidate in candidates:
        shown = [event for event in candidate.log.events if event.chain][-len(plains) :]
        count = overlap(plains, [event.plain for event in shown])
        if count > (best.count if best else 0) and (count > 1 or holds_call(shown[-1])):
            best = Match(candidate.name[2], shown[-1].seq, count)
    return best
