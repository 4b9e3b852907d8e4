"""Full text in a SQLite store: which pieces hold a term, and those pieces with their events. Knows nothing of ranking.

What the index gives for an area is checked again: the joined rows must be of a session and an event that it shows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any

from foldmark.log import Log
from foldmark.seeking import Finding, Found, Sought, is_said, near_of
from foldmark.sqlite.areas import Area
from foldmark.sqlite.damaged import Damaged
from foldmark.sqlite.postings import SESSIONS_AT_ONCE, Postings, best, listed
from foldmark.sqlite.rows import in_chunks, known_time, marks, piece_of, put, unpack_event
from foldmark.sqlite.session_rows import fetched, told_name
from foldmark.store import ENDLESS
from foldmark.store.limited import LOOKED, MOST_NAMING, day_names, joined, names_days, one_each, says, spelled, stands
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
        self._told: dict[int, bool] = {}

    def find(self, terms: Sequence[str], limit: int) -> Finding:
        """Matches of any term, the rarest terms first, and what was said beside them."""
        index, limit = Postings(self.db, self.area), max(0, limit)
        postings = {term: index.matches(term) for term in telling(terms)}
        found = self._matching(postings, index.total, limit) if postings else []
        if self.sought.filters and not terms:
            found = one_each(self._taken(self._newest(), ENDLESS), self.sought, limit)
        frequencies = {term: len(numbers) for term, numbers in postings.items()}
        return Finding(tuple(found), index.total, frequencies, tuple(self._near(found)))

    def _matching(self, postings: Mapping[str, Sequence[int]], total: int, limit: int) -> list[Found]:
        if not names_days(postings):
            return list(self._taken(best(postings, total, limit), limit))
        naming = list(self._taken(self._naming(postings), min(limit, MOST_NAMING)))
        places = self._standing(best(joined(postings), total, limit), postings)
        known = {one.place for one in naming}
        others = (one for one in self._taken(places, limit) if one.place not in known)
        return [*naming, *islice(others, limit - len(naming))]

    def _naming(self, postings: Mapping[str, Sequence[int]]) -> Iterator[int]:
        """Pieces that themselves say the day which is all that is asked for, the newest first."""
        names = day_names(postings)
        if not names:
            return
        newest = sorted(set(postings[names[0]]).intersection(*(postings[name] for name in names)), reverse=True)
        sql = "SELECT id, CAST(text AS BLOB) FROM piece WHERE id IN (SELECT value FROM json_each(?))"
        sql += " AND instr(lower(text), ?)" * len(names)
        for chunk in in_chunks(newest[:LOOKED], CHUNK):
            rows = self.db.execute(sql, (listed(chunk), *map(spelled, names))).fetchall()
            yield from sorted(
                (number for number, text in rows if says(text.decode("utf-8", "replace"), names)), reverse=True
            )

    def _standing(self, places: Iterable[int], postings: Mapping[str, Sequence[int]]) -> Iterator[int]:
        """Without the pieces that match by the day of their event alone, but for its first."""
        waiting, held = iter(places), dict[str, frozenset[int]]()
        sql = (
            "SELECT piece.id, piece.place, event.time FROM piece "
            "CROSS JOIN event ON event.session = piece.session AND event.seq = piece.seq "
            "WHERE piece.id IN (SELECT value FROM json_each(?))"
        )
        while chunk := list(islice(waiting, CHUNK)):
            stored = fetched(self.db, sql, (listed(chunk),))
            rows = {number: (place, known_time(time)) for number, place, time in stored}
            if not held and any(place for place, _ in rows.values()):
                held = {term: frozenset(numbers) for term, numbers in postings.items()}
            for number in chunk:
                place, time = rows.get(number, (0, None))
                if stands(place, (term for term, numbers in held.items() if number in numbers), time):
                    yield number

    def _newest(self) -> Iterator[int]:
        """Pieces that the filters may allow, the newest first: of each event the first, and others where they may name
        what is sought."""
        some = "" if self.sought.files else " AND piece.place = 0"
        if self.sought.tools and some:
            some = " AND (piece.place = 0 OR event.role = 'assistant')"
        if self.area.others or len(self.area.spans) > SESSIONS_AT_ONCE:
            sql = f"SELECT piece.id {_ALL}{self.area.rows}{some}{self.limits} ORDER BY piece.id DESC"
            return (number for (number,) in self.db.execute(sql, (self.area.user, *self.values)))
        # Each session along its index, so that no more is read than is taken.
        where = f"piece.session = ? AND piece.seq > ? AND piece.seq <= ?{some}{self.limits}"
        sql = f"SELECT piece.id {_CHOSEN}{where} ORDER BY piece.seq DESC, piece.id DESC"
        rows = (
            self.db.execute(sql, (self.area.user, session, *span, *self.values))
            for session, span in self.area.spans.items()
        )
        return (number for (number,) in merge(*rows, reverse=True))

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
        """Pieces with their events, by number; whose they are is checked again by the joined rows. What is damaged in
        another session is left out: it costs that one alone. Raises Damaged for one of this session's own."""
        found: dict[int, Found] = {}
        area, sql = self.area, f"{_COLUMNS}{_CHOSEN}{where}{self.limits}"
        for number, session, *row in fetched(self.db, sql, (area.user, *values, *self.values)):
            inside = area.inherits(session, row[0])
            name = "" if inside else self._name(session)
            if name is None or not area.shows(session, row[0]):
                continue
            try:
                found[number] = self._found(name, inside, *row)
            except Damaged:
                if not name:
                    raise
        return found

    def _found(
        self, name: str, inside: bool, seq: int, place: Any, line: Any, end_line: Any, artifact: Any, head: Any,
        text: Any, time: Any, body: Any,
    ) -> Found:  # fmt: skip
        piece = piece_of(seq, place, text, line, end_line, artifact, head)
        event = self.log.events[seq - 1] if inside and seq <= self.log.head else unpack_event(body, seq)
        return Found(piece, event, name, known_time(time))

    def _name(self, session: int) -> str | None:
        """The name of another session; None for one that cannot be opened."""
        if session not in self._names:
            self._names[session] = told_name(self.db, session, self._told)
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
