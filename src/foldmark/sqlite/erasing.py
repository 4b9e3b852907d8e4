"""Erasing sessions of a SQLite store with all that hangs on them. Knows nothing of transactions: it runs inside its
caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from foldmark.sqlite import matching
from foldmark.sqlite.rows import erase_pieces, put, rebuild_search
from foldmark.sqlite.schema import SESSION_TABLES
from foldmark.sqlite.sessions import Known, Row

MERGED_PAGES = 1_000
"""How much of the index one step of merging writes: some tenths of a second."""


def erase(db: sqlite3.Connection, known: Known, doomed: Sequence[Row], tenant: str) -> set[str]:
    """Erase these sessions of the tenant that `known` belongs to, parents first in the list; returns the artifact
    hashes that nobody refers to any more. What they hold is not read: a damaged session can be erased."""
    named, is_whole = set[str](), True
    for row in reversed(doomed):
        rows = db.execute("SELECT CAST(sha256 AS BLOB) FROM artifact WHERE session = ?", (row.id,))
        named.update(sha.decode("utf-8", "replace") for (sha,) in rows)
        is_whole = erase_pieces(db, row.id, f"{known.scope.rsplit(' ', 1)[0]} s{row.id}") and is_whole
        for table in SESSION_TABLES:
            db.execute(f"DELETE FROM {table} WHERE session = ?", (row.id,))
        db.execute("DELETE FROM session WHERE id = ?", (row.id,))
    if not is_whole:
        rebuild_search(db)  # a search row is erased by the text it was made of, and some of that is not known any more
    return named - _still_named(db, tenant, named)


def _still_named(db: sqlite3.Connection, tenant: str, named: set[str]) -> set[str]:
    """Which of these hashes others refer to. Where one of theirs is damaged nobody knows: all bodies stay."""
    try:
        return matching.artifact_hashes(db, put(tenant))
    except sqlite3.Error:
        return named


def merges(writing: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
    """Merge the index into one segment, which drops erased words from its pages too. Of a large store that takes
    seconds: it is done in short transactions, so that other writers come between."""
    pages = -MERGED_PAGES  # less than nothing begins with all segments there are, however few
    while _is_merging(writing, pages):
        pages = MERGED_PAGES


def _is_merging(writing: Callable[[], AbstractContextManager[sqlite3.Connection]], pages: int) -> bool:
    """One step; False when there was nothing left to do."""
    with writing() as db:
        before = db.total_changes
        db.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", (pages,))
        return db.total_changes - before > 1
