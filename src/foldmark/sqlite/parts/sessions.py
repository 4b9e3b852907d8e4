"""Sessions of a SQLite store. Knows nothing of their events."""

from __future__ import annotations

from collections.abc import Mapping

from foldmark.log import described
from foldmark.sqlite import matching, sessions
from foldmark.sqlite.erasing import erase, merges
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.rows import get, pack, put, unpack
from foldmark.sqlite.sessions import Known, below
from foldmark.store import Key, SessionInfo
from foldmark.store.refusing import may_go, no_session, still_there


class Sessions(Held):
    """Sessions come, are described, and go."""

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._reading() as db:
            if found := sessions.find_row(db, key):  # one that is there is opened without writing or reading its log
                return sessions.info_of(db, found[0])
        with self._writing() as db:
            return sessions.info_of(db, self._create(db, key, info))

    def info(self, key: Key) -> SessionInfo:
        with self._reading() as db:
            found = sessions.find_row(db, key)
            if found is None:
                raise no_session(key.session)
            return sessions.info_of(db, found[0])

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        with self._writing() as db:
            row = self._create(db, key)
            changed = pack(described(unpack(row.meta, dict[str, str]), meta))
            db.execute("UPDATE session SET meta = ? WHERE id = ?", (changed, row.id))
            return sessions.info_of(db, row._replace(meta=changed))

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        with self._reading() as db:
            return [sessions.info_of(db, row) for row in sessions.rows_of_user(db, tenant, user)]

    def children(self, key: Key, *, call: str | None = None) -> list[SessionInfo]:
        with self._reading() as db:
            found = sessions.find_row(db, key)
            made = sessions.children(db, found[0].id, call) if found else []
            return [sessions.info_of(db, row) for row in made]

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        with self._writing() as db:
            if (found := sessions.find_row(db, key)) is None:
                raise no_session(key.session)
            known = Known(*found, ())  # its log is not read: a damaged session can be erased
            hanging = below(db, known.id, children=True)
            may_go(key.session, {get(row.name): row.kind for row in hanging}, descendants=descendants)
            doomed = [known.row, *hanging]
            ends = {get(row.name): sessions.row_of(db, row.id).head for row in doomed} if heads is not None else {}
            still_there(key.session, ends, heads)
            gone = erase(db, known, doomed, key.tenant)
            for row in doomed:
                self._known.pop((key.tenant, key.user, get(row.name)), None)
        merges(self._writing)
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return tuple(sorted(gone))

    def hashes(self, tenant: str) -> set[str]:
        with self._reading() as db:
            return matching.artifact_hashes(db, put(tenant))

    def close(self) -> None:
        with self._lock:
            self._places.close()
            self._known.clear()
