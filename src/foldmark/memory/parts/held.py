"""What all parts of a store in memory share: one lock, the rows of its sessions, its work. Knows nothing of what is
asked."""

from __future__ import annotations

import secrets
from threading import RLock

import msgspec

from foldmark.artifacts import Artifacts, MemoryArtifacts
from foldmark.log import Scope
from foldmark.memory.rows import Name, Row
from foldmark.memory.work import Works
from foldmark.store import Key, SessionInfo
from foldmark.store.refusing import may_hang, no_session


class Held:
    """Everything of one store."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._rows: dict[Name, Row] = {}
        self._works = Works()
        self._pieces = 0
        self._secret = secrets.token_bytes(32)
        self.artifacts: Artifacts = MemoryArtifacts()

    def _row(self, key: Key) -> Row:
        row = self._rows.get((key.tenant, key.user, key.session))
        if row is None:
            raise no_session(key.session)
        return row

    def _open(self, key: Key, info: SessionInfo | None = None) -> Row:
        name = (key.tenant, key.user, key.session)
        if (row := self._rows.get(name)) is None:
            info = info or SessionInfo(session=key.session)
            info = msgspec.structs.replace(info, session=key.session, meta=dict(info.meta))
            parent = None
            if info.parent:
                parent = self._row(msgspec.structs.replace(key, session=info.parent))
                may_hang(info.parent, info.parent_seq, parent.log.head)
            row = self._rows[name] = Row(name, info, parent)
        return row

    def _scope(self, row: Row, key: Key) -> Scope:
        return row.log.scope(key, row.all_facts)
