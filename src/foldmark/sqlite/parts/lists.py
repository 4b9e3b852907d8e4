"""Message lists that come again, in a SQLite store. Knows nothing of roles and wires."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from foldmark.sqlite import matching
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.rows import in_chunks, marks
from foldmark.sqlite.sessions import forks
from foldmark.store import Key, Match


class Lists(Held):
    """What a store knows of a message list, by fingerprints."""

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        with self._lock:
            with self._reading() as db:
                if hashes.items() <= _written(db, "session.id", self._glance(db, key).id, hashes).items():
                    return  # most requests show the same previews again
            with self._writing() as db:
                session = self._glance(db, key).id
                db.executemany(
                    "INSERT INTO written VALUES (?, ?, ?) ON CONFLICT (session, hash) DO UPDATE "
                    "SET stands_for = excluded.stands_for WHERE stands_for <> excluded.stands_for",
                    [(session, each, plain) for each, plain in hashes.items()],
                )

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        with self._reading() as db:
            with self._lock:
                known = self._glance(db, key)
            return _written(db, "session.root", known.row.root, hashes)

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._reading() as db:
            with self._lock:
                known = self._glance(db, key)
            return matching.match(db, known, forks(db, known.id), chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._reading() as db:
            with self._lock:
                known = self._glance(db, key)
            return matching.ends(db, known, forks(db, known.id), plains)


def _written(db: sqlite3.Connection, whose: str, number: int, hashes: Iterable[str]) -> dict[str, str]:
    """What these fingerprints stand for in the sessions whose column is that number; the word of the newest holds."""
    found: dict[str, str] = {}
    for chunk in in_chunks(list(hashes), 500):
        rows = db.execute(
            "SELECT hash, stands_for FROM written JOIN session ON session.id = written.session "
            f"WHERE {whose} = ? AND hash IN ({marks(chunk)}) ORDER BY session.id",
            (number, *chunk),
        )
        found.update(rows.fetchall())
    return found
