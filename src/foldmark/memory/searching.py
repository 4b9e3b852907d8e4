"""Matching in memory: pieces by token, events by fingerprint, in the rows it is given. Knows nothing of locks and
ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from foldmark.log import holds_call, ordered, overlap
from foldmark.memory.rows import Row, index, time_of
from foldmark.seeking import Finding, Found, Piece, Sought, is_said, near_of
from foldmark.store import Key, Match
from foldmark.words import telling


class Stretch(NamedTuple):
    """A row's own pieces behind the seq `first` up to `last`."""

    row: Row
    first: int
    last: int


def find(
    row: Row, searched: Sequence[Stretch], key: Key, terms: Sequence[str], *, limit: int, sought: Sought
) -> Finding:
    """Pieces of these stretches that hold any of the terms. `row` is the session that was asked: its lineage is seen as
    the key's scope sees it."""
    lineage = {id(other): last for other, last, _ in row.lineage()}
    numbered: list[tuple[Row, Piece]] = []
    postings: dict[str, list[int]] = {term: [] for term in telling(terms)}
    visible: list[bool] = []
    for other, first, last in searched:
        index(other)
        inherited = lineage.get(id(other), 0)
        events = other.log.events
        shown = [
            first < piece.seq <= last
            and (piece.seq > inherited or key.sees == "all" or key.shows(events[piece.seq - 1]))
            for piece in other.pieces
        ]
        start = len(numbered)
        numbered += [(other, piece) for piece in other.pieces]
        visible += shown
        for term, numbers in postings.items():
            numbers += [start + number for number in other.postings.get(term, ()) if shown[number]]
    total = sum(visible)

    def found_at(number: int) -> Found:
        other, piece = numbered[number]
        name = "" if piece.seq <= lineage.get(id(other), 0) else other.name[2]
        return Found(piece, other.log.events[piece.seq - 1], name, time_of(other, piece.seq))

    newest = [at for at in range(len(numbered) - 1, -1, -1) if visible[at]] if sought.filters and not terms else []
    places = ordered(postings, total) if postings else newest
    found = _taken(places, found_at, limit, sought)
    frequencies = {term: len(hits) for term, hits in postings.items()}
    return Finding(tuple(found), total, frequencies, _near(found, numbered, visible, found_at, sought))


def _taken(places: Sequence[int], found_at: Callable[[int], Found], limit: int, sought: Sought) -> list[Found]:
    if not sought.filters:
        return [found_at(number) for number in places[: max(0, limit)]]
    allowed = (found for number in places if sought.allows(found := found_at(number)))
    return list(islice(allowed, max(0, limit)))


def _near(
    found: Sequence[Found], numbered: Sequence[tuple[Row, Piece]], visible: Sequence[bool],
    found_at: Callable[[int], Found], sought: Sought,
) -> tuple[Found, ...]:  # fmt: skip
    """The first piece of what was said beside what was found."""
    wanted = set(near_of(found))
    if not wanted:
        return ()
    seqs = {seq for _, seq in wanted}
    out: dict[tuple[str, int], Found] = {}
    for number, (_, piece) in enumerate(numbered):
        if piece.seq in seqs and piece.order == 0 and visible[number]:
            one = found_at(number)
            if (one.session, piece.seq) in wanted and is_said(one.event) and sought.allows(one):
                out[one.session, piece.seq] = one
    return tuple(out.values())


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
