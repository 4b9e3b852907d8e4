"""Message lists that come again, in a SQLite store. Knows nothing of roles and wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.sqlite import matching
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.rows import in_chunks, marks
from foldmark.sqlite.sessions import below
from foldmark.store import Key, Match


class Lists(Held):
    """What a store knows of a message list, by fingerprints."""

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        with self._lock:
            known = self._get(key)
            new = {each: plain for each, plain in hashes.items() if known.wrote.get(each) != plain}
            if not new:
                return  # most requests show the same previews again
            with self._writing() as db:
                db.executemany(
                    "INSERT OR REPLACE INTO written VALUES (?, ?, ?)",
                    [(known.id, each, plain) for each, plain in new.items()],
                )
            known.wrote.update(new)

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        with self._lock:
            known = self._get(key)
        found: dict[str, str] = {}
        for chunk in in_chunks(list(hashes), 500):
            rows = self._db.execute(
                "SELECT hash, stands_for FROM written JOIN session ON session.id = written.session "
                f"WHERE session.root = ? AND hash IN ({marks(chunk)}) ORDER BY session.id",
                (known.row.root, *chunk),
            )
            found.update(rows.fetchall())
        return found

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._lock:
            known = self._get(key)
        return matching.match(self._db, known, below(self._db, known.id, children=False), chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._lock:
            known = self._get(key)
        return matching.ends(self._db, known, below(self._db, known.id, children=False), plains)
