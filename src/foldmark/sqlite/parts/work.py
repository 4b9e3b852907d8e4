"""Work of a SQLite store: which scopes exist and wait, and who does it. Knows nothing of what is done."""

from __future__ import annotations

from foldmark.sqlite import work as work_rows
from foldmark.sqlite.parts.held import Held
from foldmark.store import Backlog, Key, Work


class Works(Held):
    """Scopes exist, are dirty, are leased and settled."""

    def enlist(self, key: Key) -> None:
        with self._writing() as db:
            work_rows.enlist(db, self._create(db, key).id, key)

    def scopes(self, key: Key) -> list[Key]:
        with self._reading() as db:
            return work_rows.scopes(db, key)

    def want(self, key: Key, now: float) -> None:
        with self._writing() as db:
            work_rows.want(db, key, now)

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        with self._reading() as db:
            if not work_rows.is_waiting(db, now):
                return None
        with self._writing() as db:
            return work_rows.claim(db, now, lease_seconds)

    def extend(self, work: Work, until: float) -> bool:
        with self._writing() as db:
            return work_rows.extend(db, work, until)

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        with self._writing() as db:
            return work_rows.settle(db, work, again, counts)

    def works(self, key: Key) -> list[Work]:
        with self._reading() as db:
            return work_rows.of_session(db, key)

    def backlog(self, now: float) -> Backlog:
        with self._reading() as db:
            return work_rows.backlog(db, now)
