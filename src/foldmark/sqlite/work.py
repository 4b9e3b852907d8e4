"""Work of a SQLite store: which scopes exist, which are dirty, and who holds the lease of one.

Knows nothing of transactions: every function runs inside its caller's. A row is dirty while `wanted` > `done`; the
partial index `work_dirty` holds those alone, so nothing here grows with the number of sessions. Tokens rise over the
whole store: a session that is deleted and made again under its name never meets one of its former life.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import get_args

from foldmark.dirtying import BY_HAND, ends, enlists, makes_whole_session, touched
from foldmark.events import Event
from foldmark.log import viewpoint_of
from foldmark.sqlite.rows import get, pack, put
from foldmark.sqlite.session_rows import fetched, find_row, is_text
from foldmark.sqlite.sessions import Known
from foldmark.store import CLOCK_SKEW_SECONDS, Backlog, Key, Raising, ScopeState, Sees, Work
from foldmark.store.refusing import no_session

_SEES = get_args(Sees)
_SAME = "session = ? AND scope = ? AND sees = ?"
_HELD = (
    "session = (SELECT session.id FROM session JOIN user ON user.id = session.user "
    "JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ? AND user.name = ? AND session.name = ?) "
    "AND scope = ? AND sees = ? AND token = ?"
)
"""The row of a claimed work, found by names and token; none when the session is gone."""

_COUNTS = f"since <= :now + {CLOCK_SKEW_SECONDS}"
"""Whether a row's times mean anything: one that is dirty since a time to come was written before the clock was set
back."""

_FREE = (
    f"(not_before <= :now OR NOT {_COUNTS}) AND NOT EXISTS (SELECT 1 FROM work AS other "
    f"WHERE other.session = work.session AND other.lease_until > :now AND other.{_COUNTS})"
)
"""What makes a dirty row one to be claimed: no lease on it, nor on another scope of its session."""

_OLDEST = f"SELECT id, since FROM work INDEXED BY work_dirty WHERE wanted > done AND {_FREE} ORDER BY since, id"

_NEW_STATE = pack(ScopeState())

# Scopes that exist


def enlist(db: sqlite3.Connection, session: int, key: Key) -> None:
    """Make a scope exist; one that does stays as it is."""
    scope, sees = viewpoint_of(key)
    db.execute("INSERT OR IGNORE INTO scope_state VALUES (?, ?, ?, ?)", (session, put(scope), sees, _NEW_STATE))


def scopes(db: sqlite3.Connection, key: Key) -> list[Key]:
    """The scopes that exist, ordered by key and by what they see; a fork began with those of its parent, but with no
    work. Raises NotFound."""
    found = find_row(db, key)
    if found is None:
        raise no_session(key.session)
    return sorted(_existing(db, found[0].id, key), key=viewpoint_of)


def _existing(db: sqlite3.Connection, session: int, key: Key) -> list[Key]:
    rows = db.execute("SELECT scope, sees FROM scope_state WHERE session = ?", (session,)).fetchall()
    return [
        Key(session=key.session, tenant=key.tenant, user=key.user, scope=get(scope), sees=sees) for scope, sees in rows
    ]


# Raising


def raise_work(
    db: sqlite3.Connection, known: Known, key: Key, events: Sequence[Event], now: float, raising: Raising
) -> tuple[Work, ...]:
    """Mark the scopes dirty for which the new events are an end, and let the work of those that see any of them rest
    on. Returns the former."""
    dirty: list[Work] = []
    if enlists(known.log, key, raising):
        enlist(db, known.id, key)
    if makes_whole_session(events, raising):
        enlist(db, known.id, Key(session=key.session))
    due = ends(known.log, events, raising)
    if not due and not raising.not_before:
        return ()
    for each, wanted in touched(_existing(db, known.id, key), events, due, raising):
        scope, sees = viewpoint_of(each)
        if wanted:
            _mark_dirty(db, (known.id, put(scope), sees), wanted, now, raising.not_before)
            dirty.append(Work(key=each, wanted=wanted, done=0))
        else:
            db.execute(
                f"UPDATE work SET not_before = max(not_before, ?) WHERE {_SAME} AND wanted > done AND not_before >= 0",
                (raising.not_before, known.id, put(scope), sees),
            )
    return tuple(dirty)


def _mark_dirty(
    db: sqlite3.Connection, at: tuple[int, str | bytes, str], wanted: int, now: float, not_before: float
) -> None:
    """A row that is dirty stays so since the same time and rests no shorter; `later` is when work came that the holder
    of the lease does not answer for."""
    db.execute(
        "INSERT INTO work (session, scope, sees, wanted, since, later, not_before) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (session, scope, sees) DO UPDATE SET wanted = max(wanted, excluded.wanted), "
        "since = CASE WHEN wanted > done THEN since ELSE excluded.since END, "
        "later = CASE WHEN wanted > taken THEN later ELSE excluded.later END, "
        "not_before = CASE WHEN wanted <= done THEN excluded.not_before WHEN not_before < 0 THEN not_before "
        "ELSE max(not_before, excluded.not_before) END",
        (*at, wanted, now, now, not_before),
    )


def want(db: sqlite3.Connection, key: Key, now: float) -> None:
    """Mark a scope dirty up to the head, also when it is done up to it. Raises NotFound."""
    found = find_row(db, key)
    if found is None:
        raise no_session(key.session)
    row, (scope, sees) = found[0], viewpoint_of(key)
    enlist(db, row.id, key)
    if row.head:
        at = row.id, put(scope), sees
        _mark_dirty(db, at, row.head, now, BY_HAND)
        db.execute(f"UPDATE work SET done = min(done, wanted - 1), not_before = ? WHERE {_SAME}", (BY_HAND, *at))


# The lease


def is_waiting(db: sqlite3.Connection, now: float) -> bool:
    """Whether there is anything to claim; only reads, so that workers who find nothing block no writer."""
    return _oldest(db, now) is not None


def claim(db: sqlite3.Connection, now: float, lease_seconds: float) -> Work | None:
    """Take the lease of the oldest work that is free."""
    oldest = _oldest(db, now)
    if oldest is None:
        return None
    number, key = oldest
    (token,) = db.execute("UPDATE meta SET value = value + 1 WHERE key = 'work_token' RETURNING value").fetchone()
    wanted, done, lease_until, since, attempts = db.execute(
        "UPDATE work SET taken = wanted, token = ?, lease_until = ?, attempts = attempts + 1, not_before = 0, "
        "since = min(since, ?) WHERE id = ? RETURNING wanted, done, lease_until, since, attempts",
        (token, now + lease_seconds, now, number),
    ).fetchone()
    return Work(key=key, wanted=wanted, done=done, token=token, lease_until=lease_until, since=since, attempts=attempts)


def _oldest(db: sqlite3.Connection, now: float) -> tuple[int, Key] | None:
    """(number, key) of the work that is claimed next. That of a session which nobody can name any more is passed over:
    it would stop all workers."""
    for number, _ in db.execute(_OLDEST, {"now": now}):
        if key := _key_of(db, number):
            return number, key
    return None


def _key_of(db: sqlite3.Connection, number: int) -> Key | None:
    """Whose work a row is; None where that is damaged."""
    found = fetched(
        db,
        "SELECT session.name, tenant.name, user.name, scope, sees FROM work JOIN session ON session.id = work.session "
        "JOIN user ON user.id = session.user JOIN tenant ON tenant.id = user.tenant WHERE work.id = ?",
        (number,),
    )
    if not found or not all(map(is_text, found[0])) or found[0][4] not in _SEES:
        return None
    session, tenant, user, scope, sees = map(get, found[0])
    return Key(session=session, tenant=tenant, user=user, scope=scope, sees=sees)  # type: ignore[arg-type]


def extend(db: sqlite3.Connection, work: Work, until: float) -> bool:
    """Lengthen the lease. False once it was freed, or ran out and another worker took this scope or (a younger token)
    another one of the session."""
    changed = db.execute(
        f"UPDATE work SET lease_until = max(lease_until, ?) WHERE {_HELD} AND lease_until > 0 AND NOT EXISTS ("
        "SELECT 1 FROM work AS other WHERE other.session = work.session AND other.lease_until > 0 "
        "AND other.token > work.token)",
        (until, *_names(work)),
    )
    return changed.rowcount == 1


def settle(db: sqlite3.Connection, work: Work, again: float | None, counts: bool) -> bool:
    """Free the lease: the work is done, or rests until `again`. False when it is not this worker's any more."""
    if again is None:
        found = db.execute(f"SELECT id FROM work WHERE {_HELD}", _names(work)).fetchone()
        return found is not None and _finish(db, found[0], work.wanted)
    changed = db.execute(
        "UPDATE work SET not_before = CASE WHEN not_before < 0 THEN not_before ELSE max(not_before, ?) END, "
        f"attempts = attempts - (lease_until > 0 AND NOT ?), lease_until = 0 WHERE {_HELD}",
        (again, counts, *_names(work)),
    )
    return changed.rowcount == 1


def fences(db: sqlite3.Connection, known: Known, key: Key, token: int | None) -> bool:
    """Whether a commit under this token must be refused: another worker took the lease since, or nobody holds it."""
    if token is None:
        return False
    at = known.id, put(key.scope), viewpoint_of(key)[1]
    held = db.execute(f"SELECT token FROM work WHERE {_SAME} AND lease_until > 0", at).fetchone()
    return held is None or bool(held[0] != token)


def commit(db: sqlite3.Connection, known: Known, key: Key) -> None:
    """The work is done up to what was taken, with the checkpoint that is written in the same transaction."""
    at = known.id, put(key.scope), viewpoint_of(key)[1]
    _finish(db, db.execute(f"SELECT id FROM work WHERE {_SAME}", at).fetchone()[0], None)


def _finish(db: sqlite3.Connection, number: int, upto: int | None) -> bool:
    """Free the lease and call the work done up to there (None: what was taken). What came later is dirty since then."""
    changed = db.execute(
        "UPDATE work SET done = max(done, coalesce(:upto, taken)), lease_until = 0, attempts = 0, "
        "since = CASE WHEN wanted > max(done, coalesce(:upto, taken)) THEN later ELSE since END WHERE id = :number",
        {"number": number, "upto": upto},
    )
    return changed.rowcount == 1


def _names(work: Work) -> tuple[object, ...]:
    key = work.key
    scope, sees = viewpoint_of(key)
    return put(key.tenant), put(key.user), put(key.session), put(scope), sees, work.token


def of_session(db: sqlite3.Connection, key: Key) -> list[Work]:
    """What is dirty or leased in a session. Raises NotFound."""
    found = find_row(db, key)
    if found is None:
        raise no_session(key.session)
    rows = db.execute(
        "SELECT scope, sees, wanted, done, token, lease_until, since, attempts FROM work "
        "WHERE session = ? AND (wanted > done OR lease_until > 0)",
        (found[0].id,),
    ).fetchall()
    works = [
        Work(
            key=Key(session=key.session, tenant=key.tenant, user=key.user, scope=get(scope), sees=sees),
            wanted=wanted, done=done, token=token, lease_until=lease_until, since=since, attempts=attempts,
        )
        for scope, sees, wanted, done, token, lease_until, since, attempts in rows
    ]  # fmt: skip
    return sorted(works, key=lambda work: viewpoint_of(work.key))


def backlog(db: sqlite3.Connection, now: float) -> Backlog:
    """What waits. Work that is leased does not rest, whatever its row says."""
    dirty, leased, resting = db.execute(
        f"SELECT count(*), coalesce(sum(lease_until > :now AND {_COUNTS}), 0), "
        f"coalesce(sum(lease_until <= :now AND not_before > :now AND {_COUNTS}), 0) "
        "FROM work INDEXED BY work_dirty WHERE wanted > done",
        {"now": now},
    ).fetchone()
    oldest = db.execute(_OLDEST, {"now": now}).fetchone()
    return Backlog(
        dirty=dirty, leased=leased, resting=resting, oldest_seconds=max(0.0, now - oldest[1]) if oldest else 0.0
    )
