"""Rows of a scope in a SQLite store: its state, its checkpoints, its attempts, its work.

Knows nothing of transactions: every function runs inside its caller's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from foldmark.checkpoint import Checkpoint
from foldmark.events import Event
from foldmark.log import ATTEMPTS_SHOWN, viewpoint_of
from foldmark.reports import Attempt
from foldmark.sqlite.rows import get, pack, put, unpack
from foldmark.sqlite.sessions import Known
from foldmark.store import Key, ScopeState, Work

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


# Work


def raise_work(db: sqlite3.Connection, known: Known, events: Sequence[Event], now: float) -> None:
    """Mark every existing scope dirty that sees the end of a step among the new events."""
    due = [event for event in events if known.log.ends_step(event)]
    if not due:
        return
    rows = db.execute("SELECT scope, sees FROM scope_state WHERE session = ?", (known.id,)).fetchall()
    for scope, sees in rows:
        key = Key(session=known.name, scope=get(scope), sees=sees)
        if seen := [event.seq for event in due if key.shows(event)]:
            db.execute(
                "INSERT INTO work (session, scope, sees, wanted, since) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (session, scope, sees) DO UPDATE SET wanted = excluded.wanted, "
                "since = CASE WHEN wanted > done THEN since ELSE excluded.since END",
                (known.id, scope, sees, seen[-1], now),
            )


def claim(db: sqlite3.Connection, now: float, lease_seconds: float) -> Work | None:
    """Take the lease of the scope that is dirty for the longest time."""
    found = db.execute(
        "UPDATE work SET taken = wanted, token = token + 1, lease_until = ? WHERE id = ("
        "SELECT id FROM work WHERE wanted > done AND lease_until <= ? AND not_before <= ? "
        "ORDER BY since, id LIMIT 1) "
        "RETURNING session, scope, sees, wanted, done, token, lease_until",
        (now + lease_seconds, now, now),
    ).fetchone()
    if not found:
        return None
    session, scope, sees, wanted, done, token, lease_until = found
    tenant, user, name = db.execute(
        "SELECT tenant.name, user.name, session.name FROM session "
        "JOIN user ON user.id = session.user JOIN tenant ON tenant.id = user.tenant WHERE session.id = ?",
        (session,),
    ).fetchone()
    key = Key(session=get(name), tenant=get(tenant), user=get(user), scope=get(scope), sees=sees)
    return Work(key=key, wanted=wanted, done=done, token=token, lease_until=lease_until)


def fences(db: sqlite3.Connection, known: Known, key: Key, token: int | None) -> bool:
    """Whether a commit under this token must be refused: another worker took the lease since."""
    if token is None:
        return False
    held = db.execute(f"SELECT token FROM work WHERE {_SAME}", at(known, key)).fetchone()
    return held is None or bool(held[0] != token)


def finish(db: sqlite3.Connection, known: Known, key: Key, token: int, upto: int | None = None) -> bool:
    """Free the lease and call the work done, up to what was taken with it. False under a stale token."""
    changed = db.execute(
        f"UPDATE work SET done = max(done, coalesce(?, taken)), lease_until = 0 WHERE {_SAME} AND token = ?",
        (upto, *at(known, key), token),
    )
    return changed.rowcount == 1
