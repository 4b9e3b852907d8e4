"""Sessions of a SQLite store. Knows nothing of their events."""

from __future__ import annotations

from collections.abc import Mapping

from foldmark.log import described
from foldmark.sqlite import matching, session_rows, sessions
from foldmark.sqlite.erasing import erase, merges
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.rows import pack, put, unpack
from foldmark.sqlite.session_rows import find_row, info_of, listed
from foldmark.store import Key, SessionInfo
from foldmark.store.refusing import may_go, no_session, still_there


class Sessions(Held):
    """Sessions come, are described, and go."""

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._reading() as db:
            if found := find_row(db, key):  # one that is there is opened without writing or reading its log
                return info_of(db, found[0])
        with self._writing() as db:
            return info_of(db, self._create(db, key, info))

    def info(self, key: Key) -> SessionInfo:
        with self._reading() as db:
            found = find_row(db, key)
            if found is None:
                raise no_session(key.session)
            return info_of(db, found[0])

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        with self._writing() as db:
            row = self._create(db, key)
            changed = pack(described(unpack(row.meta, dict[str, str]), meta))
            db.execute("UPDATE session SET meta = ? WHERE id = ?", (changed, row.id))
            return info_of(db, row._replace(meta=changed))

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        with self._reading() as db:
            return listed(db, session_rows.rows_of_user(db, tenant, user))

    def children(self, key: Key, *, call: str | None = None) -> list[SessionInfo]:
        with self._reading() as db:
            found = find_row(db, key)
            made = sessions.children(db, found[0].id, call) if found else []
            return listed(db, made)

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        with self._writing() as db:
            if (found := session_rows.row_to_erase(db, key)) is None:
                raise no_session(key.session)
            row, tenant = found  # its log is not read: a damaged session can be erased
            doomed = [row, *sessions.below(db, row.id)]
            names = [session_rows.listed_name(one.id, one.name) for one in doomed]
            hanging = dict(zip(names[1:], map(session_rows.kind_of, doomed[1:]), strict=True))
            may_go(key.session, hanging, descendants=descendants)
            still_there(key.session, dict(zip(names, map(session_rows.head_of, doomed), strict=True)), heads)
            gone = erase(db, doomed, key.tenant, f"t{tenant} u{row.user}")
            for name in names:
                self._known.pop((key.tenant, key.user, name), None)
        merges(self._writing)
        self._places.empty_log()
        return tuple(sorted(gone))

    def hashes(self, tenant: str) -> set[str]:
        with self._reading() as db:
            return matching.artifact_hashes(db, put(tenant))

    def close(self) -> None:
        with self._lock:
            self._places.close()
            self._known.clear()
