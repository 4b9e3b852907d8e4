"""Erasing sessions of a SQLite store with all that hangs on them. Knows nothing of transactions: it runs inside its
caller's."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from foldmark.errors import StoreError
from foldmark.sqlite import matching
from foldmark.sqlite.rows import erase_pieces, put, rebuild_search
from foldmark.sqlite.schema import SESSION_TABLES
from foldmark.sqlite.session_rows import Row

logger = logging.getLogger("foldmark.sqlite")

MERGED_PAGES = 1_000
"""How much of the index one step of merging writes: some tenths of a second."""


def erase(db: sqlite3.Connection, doomed: Sequence[Row], tenant: str, owner: str) -> set[str]:
    """Erase these sessions of a tenant, parents first in the list; returns the artifact hashes that nobody refers to
    any more. `owner` is their user in the search index. What they hold is not read: a damaged session can be erased."""
    named, is_whole = set[str](), True
    for row in reversed(doomed):
        rows = db.execute("SELECT CAST(sha256 AS BLOB) FROM artifact WHERE session = ?", (row.id,))
        named.update(sha.decode("utf-8", "replace") for (sha,) in rows)
        is_whole = erase_pieces(db, row.id, f"{owner} s{row.id}") and is_whole
        for table in SESSION_TABLES:
            db.execute(f"DELETE FROM {table} WHERE session = ?", (row.id,))
        db.execute("UPDATE session SET parent = NULL WHERE parent = ?", (row.id,))  # a damaged row may name any
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
    seconds: it is done in short transactions, so that other writers come between. The sessions are gone before, and no
    search brings anything of them: where it cannot be done now (another process writes all the time, the disk is full)
    the next deletion does it."""
    pages = -MERGED_PAGES  # less than nothing begins with all segments there are, however few
    try:
        while _is_merging(writing, pages):
            pages = MERGED_PAGES
    except StoreError as error:
        logger.warning("Erased words may stand in pages of the search index until the next deletion: %s", error)


def _is_merging(writing: Callable[[], AbstractContextManager[sqlite3.Connection]], pages: int) -> bool:
    """One step; False when there was nothing left to do."""
    with writing() as db:
        before = db.total_changes
        db.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", (pages,))
        return db.total_changes - before > 1
