"""Erasing sessions of a SQLite store with all that hangs on them. Knows nothing of transactions: it runs inside its
caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from foldmark.sqlite import matching
from foldmark.sqlite.rows import erase_pieces, put
from foldmark.sqlite.schema import SESSION_TABLES
from foldmark.sqlite.sessions import Known, Row


def erase(db: sqlite3.Connection, known: Known, doomed: Sequence[Row], tenant: str) -> set[str]:
    """Erase these sessions of the tenant that `known` belongs to, parents first in the list; returns the artifact
    hashes that nobody refers to any more."""
    before = matching.artifact_hashes(db, put(tenant))
    for row in reversed(doomed):
        erase_pieces(db, row.id, f"{known.scope.rsplit(' ', 1)[0]} s{row.id}")
        for table in SESSION_TABLES:
            db.execute(f"DELETE FROM {table} WHERE session = ?", (row.id,))
        db.execute("DELETE FROM session WHERE id = ?", (row.id,))
    # merging the index drops the erased words from its pages too
    db.execute("INSERT INTO search (search) VALUES ('optimize')")
    return before - matching.artifact_hashes(db, put(tenant))
