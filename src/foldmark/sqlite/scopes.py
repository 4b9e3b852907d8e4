"""Rows of a scope in a SQLite store: its state, its checkpoints, its attempts.

Knows nothing of transactions: every function runs inside its caller's.
"""

from __future__ import annotations

import sqlite3

from foldmark.checkpoint import Checkpoint
from foldmark.log import ATTEMPTS_SHOWN, viewpoint_of
from foldmark.reports import Attempt
from foldmark.sqlite.rows import pack, put, unpack
from foldmark.sqlite.sessions import Known
from foldmark.store import Key, ScopeState

_SAME = "session = ? AND scope = ? AND sees = ?"


def at(known: Known, key: Key) -> tuple[int, str | bytes, str]:
    """What a scope's rows are found by."""
    scope, sees = viewpoint_of(key)
    return known.id, put(scope), sees


def state(db: sqlite3.Connection, known: Known, key: Key) -> ScopeState:
    found = db.execute(f"SELECT body FROM scope_state WHERE {_SAME}", at(known, key)).fetchone()
    return unpack(found[0], ScopeState) if found else ScopeState()


def put_state(db: sqlite3.Connection, known: Known, key: Key, new: ScopeState) -> None:
    db.execute("INSERT OR REPLACE INTO scope_state VALUES (?, ?, ?, ?)", (*at(known, key), pack(new)))


def attempts(db: sqlite3.Connection, known: Known, key: Key) -> list[Attempt]:
    """The newest attempts, oldest first, and before them the newest of the older ones that asked a model (only those
    name the field `calls`, since defaults are not written)."""
    newest = db.execute(
        f"SELECT id, body FROM attempt WHERE {_SAME} ORDER BY id DESC LIMIT ?", (*at(known, key), ATTEMPTS_SHOWN)
    ).fetchall()
    older = []
    if len(newest) == ATTEMPTS_SHOWN:
        older = db.execute(
            f"SELECT id, body FROM attempt WHERE {_SAME} AND id < ? AND instr(body, CAST('calls' AS BLOB)) "
            "ORDER BY id DESC LIMIT ?",
            (*at(known, key), newest[-1][0], ATTEMPTS_SHOWN),
        ).fetchall()
    asked = [one for _, body in reversed(older) if (one := unpack(body, Attempt)).calls]
    return [*asked, *(unpack(body, Attempt) for _, body in reversed(newest))]


def newest_attempts(db: sqlite3.Connection, known: Known, key: Key, limit: int) -> list[Attempt]:
    """So many notes, oldest first."""
    rows = db.execute(
        f"SELECT body FROM attempt WHERE {_SAME} ORDER BY id DESC LIMIT ?", (*at(known, key), max(0, limit))
    )
    return [unpack(body, Attempt) for (body,) in rows.fetchall()[::-1]]


def add_attempt(db: sqlite3.Connection, known: Known, key: Key, attempt: Attempt) -> None:
    db.execute(
        "INSERT INTO attempt (session, scope, sees, time, outcome, body) VALUES (?, ?, ?, ?, ?, ?)",
        (*at(known, key), attempt.time, attempt.outcome, pack(attempt)),
    )


def newest_checkpoint(db: sqlite3.Connection, known: Known, key: Key) -> Checkpoint | None:
    """The newest version; decoded once and kept, since it is as large as a landing."""
    _, scope, sees = at(known, key)
    for segment in reversed(known.segments):
        found = db.execute(
            f"SELECT number FROM checkpoint WHERE {_SAME} AND number <= ? AND boundary <= ? "
            "ORDER BY number DESC LIMIT 1",
            (segment.session, scope, sees, segment.checkpoints, segment.last),
        ).fetchone()
        if not found:
            continue
        cached = known.checkpoints.get(viewpoint_of(key))
        if cached and cached[:2] == (segment.session, found[0]):
            return cached[2]
        (body,) = db.execute(
            "SELECT body FROM checkpoint WHERE session = ? AND number = ?", (segment.session, found[0])
        ).fetchone()
        checkpoint = unpack(body, Checkpoint)
        known.checkpoints[viewpoint_of(key)] = (segment.session, found[0], checkpoint)
        return checkpoint
    return None


def add_checkpoint(db: sqlite3.Connection, known: Known, key: Key, checkpoint: Checkpoint) -> None:
    (number,) = db.execute(
        "UPDATE session SET checkpoints = checkpoints + 1 WHERE id = ? RETURNING checkpoints", (known.id,)
    ).fetchone()
    session, scope, sees = at(known, key)
    db.execute(
        "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (session, number, scope, sees, checkpoint.version, checkpoint.reach, checkpoint.time,
         checkpoint.author, pack(checkpoint)),
    )  # fmt: skip
