"""What all parts of a SQLite store share: its connections, one lock, and the sessions this process knows. Knows nothing
of what is asked.

Decoded events of recent sessions stay in the process; a read fetches only the rows that came since.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from foldmark.artifacts import Artifacts, FileArtifacts
from foldmark.errors import HeadMoved, StoreError
from foldmark.sqlite import sessions
from foldmark.sqlite.connections import Connections
from foldmark.sqlite.schema import migrate
from foldmark.sqlite.session_rows import Row, find_row
from foldmark.sqlite.sessions import Known, refresh
from foldmark.store import Key, SessionInfo
from foldmark.store.refusing import no_session

KEPT_SESSIONS = 32
"""Sessions whose decoded events stay in the process, the last used ones."""


class Held:
    """Everything of one store."""

    def __init__(self, path: str | Path, durability: Literal["normal", "full"]) -> None:
        if str(path) in ("", ":memory:"):
            raise StoreError("SQLiteStore needs a file; MemoryStore keeps everything in memory.")
        self.path = Path(path)
        self._lock = threading.RLock()
        self._places = Connections(str(path), self._lock, full=durability == "full")
        self._reading, self._writing = self._places.reading, self._places.writing
        self.artifacts: Artifacts = FileArtifacts(f"{path}.artifacts")
        self._known: OrderedDict[tuple[str, str, str], Known] = OrderedDict()
        self._secret = migrate(self._db, str(path))

    @property
    def _db(self) -> sqlite3.Connection:
        return self._places.mine

    def _get(self, key: Key) -> Known:
        """The session, folded up to its head. Raises NotFound."""
        known = self._find(key)
        if known is None:
            raise no_session(key.session)
        return known

    def _glance(self, db: sqlite3.Connection, key: Key) -> Known:
        """The session, folded only where this process has folded it already: to look into a long log nobody reads it.
        Raises NotFound."""
        if (key.tenant, key.user, key.session) in self._known:
            return self._get(key)
        if (found := find_row(db, key)) is None:
            raise no_session(key.session)
        return Known(*found, sessions.lineage(db, found[0]))

    @contextmanager
    def _folding(self, key: Key) -> Iterator[sqlite3.Connection]:
        """A transaction that writes, of which the fold takes something in before it is committed: what is rolled back
        is forgotten with it."""
        with self._lock:
            try:
                with self._writing() as db:
                    yield db
            except HeadMoved:  # raised before anything is written
                raise
            except BaseException:
                self._known.pop((key.tenant, key.user, key.session), None)
                raise

    def _create(self, db: sqlite3.Connection, key: Key, info: SessionInfo | None = None) -> Row:
        """The session's row, made where there is none, inside a transaction that writes."""
        if found := find_row(db, key):
            return found[0]
        return sessions.create(db, key, info or SessionInfo(session=key.session))[0]

    def _find(self, key: Key) -> Known | None:
        """The session, folded up to its head. Like `_get` and `_glance` it runs inside its caller's transaction: what
        is read of a session in several steps is of one moment."""
        name, db = (key.tenant, key.user, key.session), self._db
        known = self._known.get(name)
        if known is None or not refresh(db, known):
            self._known.pop(name, None)
            found = find_row(db, key)
            if found is None:
                return None
            known = Known(found[0], found[1], sessions.lineage(db, found[0]))
            refresh(db, known)
            self._known[name] = known
            while len(self._known) > KEPT_SESSIONS:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return known
