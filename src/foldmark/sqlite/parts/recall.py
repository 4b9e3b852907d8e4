"""Search in a SQLite store. Knows nothing of ranking."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from foldmark.seeking import Finding, Sought
from foldmark.sqlite.areas import area
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.searching import Search
from foldmark.sqlite.sessions import Known, scope_of
from foldmark.store import Key


class Recall(Held):
    """Pieces of events are found by their words."""

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        with self._reading() as db:
            with self._lock:
                known = self._searched(db, key, sought)
                seqs = scope_of(db, known, key).seqs if key.sees != "all" else None
                visible = None if seqs is None else set(seqs).__contains__
            return Search(db, area(db, known, key, sought, visible), known.log, sought).find(terms, limit)

    def _searched(self, db: sqlite3.Connection, key: Key, sought: Sought) -> Known:
        """The session that is asked, folded only where what its events say decides."""
        known = self._glance(db, key)
        decides = key.sees != "all" or (sought.where == "children" and len(known.segments) > 1)
        return self._get(key) if decides else known
