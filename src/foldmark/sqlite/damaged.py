"""What a store holds and nobody can read again: told with the place where it stands. Knows nothing of SQLite's own
checks, nor of what rows mean.

A disk or another program may change a byte of a text or a packed value without any page of the file looking wrong.
"""

from __future__ import annotations

import contextlib
import sqlite3

from foldmark.errors import StoreError

BACKUP = "A backup of the file has it as it was"
DELETE = "; `foldmark delete` erases the session"

_PLACES = (
    ("event", "body", "'event:' || seq"),
    ("fact", "body", "'a fact of event:' || seq"),
    *(("unit", column, "'an excerpt of event:' || seq") for column in ("text", "place", "score", "tokens", "line")),
    *(
        ("piece", column, "'the index of event:' || seq")
        for column in ("text", "head", "place", "line", "end_line", "number")
    ),
    ("checkpoint", "body", "'the compaction up to event:' || boundary"),
    ("attempt", "body", "'an attempt to compact'"),
    ("scope_state", "body", "'what is kept of a scope'"),
    ("tally", "body", "'the counts of words'"),
    ("vector", "body", "'a vector of event:' || seq"),
)
_OF_SESSION = ("meta", "name", "title", "parent_call")


class Damaged(StoreError):
    """A value of a row that cannot be what was written. Raised mostly where nobody knows the row: then `told` says
    where it stands. Else `where` names it, and its session, which can be erased."""

    def __init__(self, value: object, why: BaseException, where: str = "") -> None:
        super().__init__(f"A value in the database is damaged ({why}). {BACKUP}.")
        self.value, self.where = value, where


def told(db: sqlite3.Connection, path: str, error: Damaged) -> StoreError:
    """The error with the session and the event whose row holds the value. It is looked for by what it is: that reads
    the whole table, and only once something is wrong."""
    where, move = (error.where, DELETE) if error.where else ("a value", "")
    with contextlib.suppress(sqlite3.Error, StoreError):
        where, move = (where, move) if error.where else _place(db, error.value) or (where, move)
    return StoreError(f"{path}: {where} is damaged and cannot be read. {BACKUP}{move}. Nothing was written.")


def _place(db: sqlite3.Connection, value: object) -> tuple[str, str] | None:
    """Where a value stands, and what can be done but to take a backup."""
    for table, column, words in _PLACES:
        found = db.execute(
            f"SELECT {words}, CAST(session.name AS BLOB) FROM {table} JOIN session ON session.id = {table}.session "
            f"WHERE length({table}.{column}) = length(?1) AND {table}.{column} = ?1",
            (value,),
        ).fetchone()
        if found:
            return f"{found[0]} of session {_name(found[1])}", DELETE
    for column in _OF_SESSION:
        found = db.execute(f"SELECT CAST(name AS BLOB) FROM session WHERE {column} = ?", (value,)).fetchone()
        if found:
            return f"the {column} of session {_name(found[0])}", DELETE
    return None


def _name(name: bytes) -> str:
    return repr(name.decode("utf-8", "backslashreplace"))
