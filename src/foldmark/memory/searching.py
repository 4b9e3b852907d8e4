"""Matching in memory: pieces by token, events by fingerprint, in the rows it is given. Knows nothing of locks and
ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from foldmark.log import holds_call, ordered, overlap
from foldmark.memory.rows import Row, index, time_of
from foldmark.seeking import Finding, Found, Piece, Sought, is_said, near_of
from foldmark.store import Key, Match
from foldmark.store.limited import LOOKED, MOST_NAMING, day_names, joined, names_days, one_each, says, stands
from foldmark.words import telling

Numbered = Mapping[int, tuple[Row, Piece]]


class Stretch(NamedTuple):
    """A row's own pieces behind the seq `first` up to `last`; `scoped`: as the scope sees them, else whole."""

    row: Row
    first: int
    last: int
    scoped: bool = True

    def pieces(self, key: Key) -> Iterator[tuple[int, Piece]]:
        """Those that a search of the key looks at, with their numbers."""
        shows_all, events = key.sees == "all" or not self.scoped, self.row.log.events
        for number, piece in zip(self.row.numbers, self.row.pieces, strict=True):
            if self.first < piece.seq <= self.last and (shows_all or key.shows(events[piece.seq - 1])):
                yield number, piece


class Search:
    """One search: which stretches it covers, what it may bring. `row` is the session that asks."""

    def __init__(self, row: Row, searched: Sequence[Stretch], key: Key, sought: Sought) -> None:
        self.searched, self.key, self.sought = searched, key, sought
        self.lineage = {id(other): last for other, last, _ in row.lineage()}

    def find(self, terms: Sequence[str], limit: int) -> Finding:
        """Pieces of the stretches that hold any of the terms, and what was said beside them."""
        numbered = {number: (one.row, piece) for one in self.searched for number, piece in one.pieces(self.key)}
        postings: dict[str, list[int]] = {term: [] for term in telling(terms)}
        for row in {id(one.row): one.row for one in self.searched}.values():
            index(row)
            for term, numbers in postings.items():
                held = (row.numbers[place] for place in row.postings.get(term, ()))
                numbers += [number for number in held if number in numbered]
        limit = max(0, limit)
        found = self._matching(postings, numbered, limit) if postings else []
        if self.sought.filters and not terms:
            found = one_each(self._allowed(numbered, sorted(numbered, reverse=True)), self.sought, limit)
        frequencies = {term: len(hits) for term, hits in postings.items()}
        return Finding(tuple(found), len(numbered), frequencies, self._near(found, numbered.values()))

    def _matching(self, postings: Mapping[str, Sequence[int]], numbered: Numbered, limit: int) -> list[Found]:
        if not names_days(postings):
            return list(islice(self._allowed(numbered, ordered(postings, len(numbered))), limit))
        naming = list(islice(self._allowed(numbered, self._naming(postings, numbered)), min(limit, MOST_NAMING)))
        places = self._standing(ordered(joined(postings), len(numbered)), postings, numbered)
        known = {one.place for one in naming}
        others = (one for one in self._allowed(numbered, places) if one.place not in known)
        return [*naming, *islice(others, limit - len(naming))]

    def _allowed(self, numbered: Numbered, places: Iterable[int]) -> Iterator[Found]:
        return filter(self.sought.allows, (self._found(*numbered[number]) for number in places))

    def _naming(self, postings: Mapping[str, Sequence[int]], numbered: Numbered) -> Iterator[int]:
        """Pieces that themselves say the day which is all that is asked for, the newest first."""
        if names := day_names(postings):
            newest = sorted(set(postings[names[0]]).intersection(*(postings[name] for name in names)), reverse=True)
            yield from (number for number in newest[:LOOKED] if says(numbered[number][1].text, names))

    def _standing(
        self, places: Iterable[int], postings: Mapping[str, Sequence[int]], numbered: Numbered
    ) -> Iterator[int]:
        """Without the pieces that match by the day of their event alone, but for its first."""
        held = {term: frozenset(numbers) for term, numbers in postings.items()}
        for number in places:
            row, piece = numbered[number]
            terms = (term for term, numbers in held.items() if number in numbers)
            if stands(piece.order, terms, time_of(row, piece.seq)):
                yield number

    def _found(self, row: Row, piece: Piece) -> Found:
        name = "" if piece.seq <= self.lineage.get(id(row), 0) else row.name[2]
        return Found(piece, row.log.events[piece.seq - 1], name, time_of(row, piece.seq))

    def _near(self, found: Sequence[Found], searched: Iterable[tuple[Row, Piece]]) -> tuple[Found, ...]:
        """The first piece of what was said beside what was found, in the order of what was found."""
        wanted = near_of(found)
        seqs = {seq for _, seq in wanted}
        beside = (self._found(row, piece) for row, piece in searched if piece.seq in seqs and piece.order == 0)
        have = {(one.session, one.piece.seq): one for one in beside}
        near = (have[address] for address in wanted if address in have)
        return tuple(one for one in near if is_said(one.event) and self.sought.allows(one))


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
