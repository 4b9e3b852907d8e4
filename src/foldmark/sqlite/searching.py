"""Full text in a SQLite store: which pieces hold a term, and those pieces with their events. Knows nothing of ranking.

What the index gives for an area is checked again: the joined rows must be of a session and an event that it shows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from foldmark.log import Log
from foldmark.seeking import Finding, Found, Piece, Sought, is_said, near_of
from foldmark.sqlite.areas import Area
from foldmark.sqlite.postings import Postings, best, listed
from foldmark.sqlite.rows import get, in_chunks, marks, put, unpack_event
from foldmark.sqlite.session_rows import told_name
from foldmark.words import telling

CHUNK = 500
_PIECES = (
    "FROM piece {join} session ON session.id = piece.session "
    "{join} event ON event.session = piece.session AND event.seq = piece.seq WHERE session.user = ? AND "
)
_CHOSEN = _PIECES.format(join="CROSS JOIN")  # as it is written: else all pieces of the user may be looked through
_ALL = _PIECES.format(join="JOIN")
_COLUMNS = (
    "SELECT piece.id, piece.session, piece.seq, piece.place, piece.line, piece.end_line, piece.number, "
    "piece.head, piece.text, event.time, event.body "
)
_BESIDE = (
    "piece.session = ? AND piece.seq IN (SELECT value FROM json_each(?)) AND piece.place = 0 "
    "AND event.role IN ('user', 'assistant')"
)
Address = tuple[str, int]  # (session, seq) as a search names it


class Search:
    """One search: where it looks and what it may bring. `log` is what is folded of the session that asks; what is not
    is read from its rows."""

    def __init__(self, db: sqlite3.Connection, area: Area, log: Log, sought: Sought) -> None:
        self.db, self.area, self.log, self.sought = db, area, log, sought
        self.limits, self.values = _conditions(sought)
        self._names: dict[int, str | None] = {}

    def find(self, terms: Sequence[str], limit: int) -> Finding:
        """Matches of any term, the rarest terms first, and what was said beside them."""
        index = Postings(self.db, self.area)
        postings = {term: index.matches(term) for term in telling(terms)}
        if postings:
            places: Iterable[int] = best(postings, index.total, max(0, limit))
        else:
            places = self._newest() if self.sought.filters and not terms else ()
        found = list(self._taken(places, max(0, limit)))
        frequencies = {term: len(numbers) for term, numbers in postings.items()}
        return Finding(tuple(found), index.total, frequencies, tuple(self._near(found)))

    def _newest(self) -> Iterator[int]:
        """Pieces that the filters may allow, the newest first."""
        sql = f"SELECT piece.id {_ALL}{self.area.rows}{self.limits} ORDER BY piece.id DESC"
        return (number for (number,) in self.db.execute(sql, (self.area.user, *self.values)))

    def _taken(self, places: Iterable[int], limit: int) -> Iterator[Found]:
        """The first `limit` pieces that may be brought."""
        waiting, left = iter(places), limit
        while left > 0 and (chunk := list(islice(waiting, CHUNK if self.sought.filters else min(CHUNK, left)))):
            found = self._load("piece.id IN (SELECT value FROM json_each(?))", (listed(chunk),))
            allowed = [found[number] for number in chunk if number in found]
            if self.sought.filters:
                allowed = list(filter(self.sought.allows, allowed))
            yield from allowed[:left]
            left -= len(allowed)

    def _near(self, found: Sequence[Found]) -> Iterator[Found]:
        """The first pieces of what was said beside what was found, in the order of what was found."""
        wanted = near_of(found)
        have: dict[Address, Found] = {}
        for session, seqs in self._by_session(wanted).items():
            for chunk in in_chunks(seqs, CHUNK):
                for one in self._load(_BESIDE, (session, listed(chunk))).values():
                    have[one.session, one.piece.seq] = one
        for address in wanted:
            one_near = have.get(address)
            if one_near and is_said(one_near.event) and self.sought.allows(one_near):
                yield one_near

    def _by_session(self, wanted: Iterable[Address]) -> dict[int, list[int]]:
        """Seqs by the session that holds their rows."""
        names: dict[str, int] = {}
        out: dict[int, list[int]] = {}
        for name, seq in wanted:
            session = names.get(name) if name else self.area.holder(seq)
            if session is None and name:
                sql = "SELECT id FROM session WHERE user = ? AND name = ?"
                session = names[name] = self.db.execute(sql, (self.area.user, put(name))).fetchone()[0]
            if session is not None:
                out.setdefault(session, []).append(seq)
        return out

    def _load(self, where: str, values: Sequence[object]) -> dict[int, Found]:
        """Pieces with their events, by number; whose they are is checked again by the joined rows."""
        found: dict[int, Found] = {}
        area, folded, head = self.area, self.log.events, self.log.head
        rows = self.db.execute(f"{_COLUMNS}{_CHOSEN}{where}{self.limits}", (self.area.user, *values, *self.values))
        for number, session, seq, place, line, end_line, artifact, beside, text, time, body in rows.fetchall():
            inside = area.inherits(session, seq)
            name = "" if inside else self._name(session)
            if name is None or not area.shows(session, seq):
                continue
            piece = Piece(seq, place, get(text), line, end_line, artifact, get(beside))
            event = folded[seq - 1] if inside and seq <= head else unpack_event(body, seq)
            found[number] = Found(piece, event, name, time)
        return found

    def _name(self, session: int) -> str | None:
        """The name of another session; None for one that cannot be opened."""
        if session not in self._names:
            self._names[session] = told_name(self.db, session)
        return self._names[session]


def _conditions(sought: Sought) -> tuple[str, list[object]]:
    """What of the filters stands in columns, so that what they leave out is not even read."""
    out, values = "", list[object]()
    for limit, sign in ((sought.since, ">="), (sought.until, "<=")):
        if limit is not None:
            out += f" AND event.time {sign} ?"
            values.append(float(limit))
    if sought.roles:
        speaker = "CASE WHEN event.role = 'user' AND event.origin <> 'user' THEN 'injected' ELSE event.role END"
        out += f" AND {speaker} IN ({marks(sought.roles)})"
        values += map(put, sought.roles)
    return out, values
