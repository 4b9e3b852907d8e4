"""Sessions of a store in memory. Knows nothing of their events."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from foldmark.log import described
from foldmark.memory.parts.held import Held
from foldmark.memory.rows import Row, hashes
from foldmark.store import Key, SessionInfo
from foldmark.store.refusing import may_go, still_there


class Sessions(Held):
    """Sessions come, are described, and go."""

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._lock:
            return _info(self._open(key, info))

    def info(self, key: Key) -> SessionInfo:
        with self._lock:
            return _info(self._row(key))

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        with self._lock:
            row = self._open(key)
            row.info = msgspec.structs.replace(row.info, meta=described(row.info.meta, meta))
            return _info(row)

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        with self._lock:
            mine = [_info(row) for name, row in reversed(self._rows.items()) if name[:2] == (tenant, user)]
        return sorted(mine, key=lambda info: info.updated, reverse=True)

    def children(self, key: Key, *, call: str | None = None) -> list[SessionInfo]:
        with self._lock:
            row = self._rows.get((key.tenant, key.user, key.session))
            made = row.children if row else []
            return [_info(child) for child in made if call is None or child.info.parent_call == call]

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        with self._lock:
            row = self._row(key)
            below = row.below(children=True)
            may_go(key.session, {other.name[2]: other.info.kind for other in below}, descendants=descendants)
            doomed = [row, *below]
            still_there(key.session, {other.name[2]: other.log.head for other in doomed}, heads)
            gone: set[str] = set()
            for other in doomed:
                gone |= hashes(other)
                del self._rows[other.name]
                self._works.erase(other.name)
            row.leave()
            return tuple(sorted(gone - self._hashes(key.tenant)))

    def hashes(self, tenant: str) -> set[str]:
        with self._lock:
            return self._hashes(tenant)

    def _hashes(self, tenant: str) -> set[str]:
        return {sha for name, row in self._rows.items() if name[0] == tenant for sha in hashes(row)}

    def close(self) -> None:
        """Nothing to release."""


def _info(row: Row) -> SessionInfo:
    """The row as it is now. A copy, its settings too: whoever gets it may change them."""
    return msgspec.structs.replace(row.info, head=row.log.head, meta=dict(row.info.meta))
