"""Vectors beside the pieces of a SQLite store: rows of the session that holds the piece, erased with it.

Knows nothing of models. A search reads every vector of what it covers and compares it: inside a session that is fast
enough, and nothing is missed.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from foldmark.embedding import Embedder, Vector, cosines
from foldmark.errors import NotFound
from foldmark.seeking import Found, Sought, Where, is_said
from foldmark.sqlite.areas import Area, Stretch, area, stretches
from foldmark.sqlite.connections import Connections
from foldmark.sqlite.damaged import Damaged
from foldmark.sqlite.postings import Postings
from foldmark.sqlite.rows import get, known_time, piece_of, unpack_event
from foldmark.sqlite.session_rows import fetched
from foldmark.sqlite.sessions import Known, scope_of
from foldmark.store import Key
from foldmark.vectors import READ_BEFORE, Nearest, Place, Unembedded, around, nearest_first, said_before


class Covered(NamedTuple):
    """What one search looks through, as an area and as a list."""

    known: Known
    area: Area
    among: list[Stretch]


class SQLiteVectors:
    """The vectors of one store. `find` gives a session of it as the process knows it; `look` the same for a search,
    folded only where that is needed."""

    def __init__(
        self, places: Connections, lock: threading.RLock, find: Callable[[Key], Known],
        look: Callable[[sqlite3.Connection, Key, Sought], Known],
    ) -> None:  # fmt: skip
        self._places, self._lock, self._find, self._look = places, lock, find, look

    def missing(self, key: Key, embedder: Embedder, *, limit: int, where: Where = "session") -> list[Unembedded]:
        with self._places.reading() as db:
            covered = self._covered(db, key, Sought(where=where))
            number, out = _number(db, embedder), list[Unembedded]()
            for one in covered.among:
                for waiting in _missing(db, covered, one, number):
                    if len(out) >= limit:
                        return out
                    before = _before(db, covered, one, waiting.place) if embedder.reads_before else ""
                    out.append(msgspec.structs.replace(waiting, before=before))
        return out

    def put(self, key: Key, embedder: Embedder, made: Sequence[tuple[Unembedded, Vector]]) -> int:
        with self._places.writing() as db:
            known = self._find(key)
            db.execute("INSERT OR IGNORE INTO embedder (name, dimension) VALUES (?, ?)", _named(embedder))
            number, count = _number(db, embedder), 0
            for unembedded, vector in made:
                session = self._holder(known, key, unembedded.place)
                if session is not None and _text(db, session, unembedded.place) == unembedded.text:
                    row = (session, number, *unembedded.place[1:], vector.scale, vector.body)
                    db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?)", row)
                    count += 1
            return count

    def nearest(
        self, key: Key, embedder: Embedder, asked: Sequence[float], *, limit: int = 150, sought: Sought = Sought(),
        beside: Sequence[Place] = (),
    ) -> Nearest:  # fmt: skip
        with self._places.reading() as db:
            covered = self._covered(db, key, sought)
            number = _number(db, embedder)
            total = Postings(db, covered.area).total
            held = [
                (one, place, vector)
                for one in covered.among
                for place, vector in _vectors(db, covered, one, number)
                if len(vector.body) == embedder.dimension  # else it is damaged
            ]
            near = cosines(asked, [vector for *_, vector in held])
            scores = {place: score for (_, place, _), score in zip(held, near, strict=True)}
            stretch = {place: one for one, place, _ in held}
            places = ((stretch[place], place) for place in nearest_first(scores))
            found = list(_taken(db, covered, places, limit, sought))
        beside = [*(one.place for one in found), *beside]
        return Nearest(tuple(found), around(scores, beside), total - len(held))

    def forget(self, key: Key, *, keep: Embedder | None = None) -> int:
        with self._places.writing() as db:
            number = _number(db, keep) if keep else 0
            values = (self._find(key).id, number)
            return db.execute("DELETE FROM vector WHERE session = ? AND embedder <> ?", values).rowcount

    def _covered(self, db: sqlite3.Connection, key: Key, sought: Sought) -> Covered:
        with self._lock:
            known = self._look(db, key, sought)
            seen = frozenset(scope_of(db, known, key).seqs or ()).__contains__ if key.sees != "all" else None
            return Covered(known, area(db, known, key, sought, seen), stretches(db, known, key, sought))

    def _holder(self, known: Known, key: Key, place: Place) -> int | None:
        """The session that holds a piece."""
        if not place[0]:
            return next((one.session for one in known.segments if place[1] <= one.last), None)
        with suppress(NotFound):
            return self._find(msgspec.structs.replace(key, session=place[0])).id
        return None


def _named(embedder: Embedder) -> tuple[str, int]:
    return embedder.id, embedder.dimension


def _number(db: sqlite3.Connection, embedder: Embedder) -> int:
    """The embedder's number, 0 while nothing was kept of it."""
    found = db.execute("SELECT id FROM embedder WHERE name = ? AND dimension = ?", _named(embedder)).fetchone()
    return int(found[0]) if found else 0


def _missing(db: sqlite3.Connection, covered: Covered, one: Stretch, number: int) -> Iterator[Unembedded]:
    rows = db.execute(
        "SELECT seq, place, CAST(text AS BLOB), CAST(head AS BLOB) FROM piece "
        "WHERE session = :session AND seq > :first AND seq <= :last AND NOT EXISTS "
        "(SELECT 1 FROM vector WHERE vector.session = :session AND embedder = :embedder "
        "AND vector.seq = piece.seq AND vector.place = piece.place) ORDER BY seq, place",
        {"session": one.session, "first": one.first, "last": one.last, "embedder": number},
    )
    for seq, place, text, head in rows:
        if covered.area.shows(one.session, seq):
            with suppress(Damaged):  # who opens it is told; it is found by no vector
                yield Unembedded((one.name, seq, place), get(text), get(head))


def _before(db: sqlite3.Connection, covered: Covered, one: Stretch, place: Place) -> str:
    """What was said right before a piece, of what is searched."""
    if place[2] or not (found := _found(db, covered, one, place)) or not is_said(found.event):
        return ""
    seqs = [place[1] - step for step in range(1, READ_BEFORE + 1)]
    beside = (_found(db, covered, one, (one.name, seq, 0)) for seq in seqs if covered.area.shows(one.session, seq))
    return said_before(found, [other for other in beside if other])


def _text(db: sqlite3.Connection, session: int, place: Place) -> str | None:
    sql = "SELECT CAST(text AS BLOB) FROM piece WHERE session = ? AND seq = ? AND place = ?"
    found = db.execute(sql, (session, *place[1:])).fetchone()
    return get(found[0]) if found else None


def _vectors(db: sqlite3.Connection, covered: Covered, one: Stretch, number: int) -> Iterator[tuple[Place, Vector]]:
    rows = db.execute(
        "SELECT seq, place, scale, CAST(body AS BLOB) FROM vector "
        "WHERE session = ? AND embedder = ? AND seq > ? AND seq <= ?",
        (one.session, number, one.first, one.last),
    )
    all_seen = covered.area.visible is None
    for seq, place, scale, body in rows:
        if isinstance(scale, float) and body and (all_seen or covered.area.shows(one.session, seq)):
            yield (one.name, seq, place), Vector(scale, body)


def _taken(
    db: sqlite3.Connection, covered: Covered, places: Iterator[tuple[Stretch, Place]], limit: int, sought: Sought
) -> Iterator[Found]:
    """The first `limit` pieces that may be brought."""
    left = limit
    for one, place in places:
        if left <= 0:
            return
        if (found := _found(db, covered, one, place)) and sought.allows(found):
            left -= 1
            yield found


def _found(db: sqlite3.Connection, covered: Covered, one: Stretch, place: Place) -> Found | None:
    """The piece at a place; None where there is none, and for what is damaged in another session."""
    rows = fetched(
        db,
        "SELECT piece.place, text, line, end_line, number, head, event.time, body FROM piece "
        "JOIN event USING (session, seq) WHERE piece.session = ? AND piece.seq = ? AND piece.place = ?",
        (one.session, *place[1:]),
    )
    try:
        return _made(covered, one, place, rows[0]) if rows else None
    except Damaged:
        if one.name:
            return None
        raise


def _made(covered: Covered, one: Stretch, place: Place, row: Sequence[Any]) -> Found:
    order, text, line, end_line, artifact, head, time, body = row
    piece = piece_of(place[1], order, text, line, end_line, artifact, head)
    is_own = not one.name and place[1] <= covered.known.log.head
    event = covered.known.log.events[place[1] - 1] if is_own else unpack_event(body, place[1])
    return Found(piece, event, one.name, known_time(time))
