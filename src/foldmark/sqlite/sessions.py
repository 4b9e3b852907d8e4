"""Sessions of a SQLite store: how one is made, lineage, family, and the folded log that is kept in the process.

Knows nothing of requests, checkpoints or search.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from foldmark.checkpoint import Checkpoint, Fact
from foldmark.log import Log, Scope, Viewpoint, inherit
from foldmark.salience import Tally
from foldmark.sqlite.damaged import Damaged
from foldmark.sqlite.rows import get, insert_facts, known_time, pack, put, unpack, unpack_event
from foldmark.sqlite.session_rows import COLUMNS, Row, fetched, find_row, is_sound, row_of, sound
from foldmark.store import ENDLESS, Key, ScopeState, SessionInfo
from foldmark.store.refusing import may_hang, no_session


class Segment(NamedTuple):
    """A stretch of a lineage: a session's own rows up to `last`, and how many of its facts and
    checkpoints."""

    session: int
    last: int
    facts: int
    checkpoints: int


class Known:
    """A session as this process knows it: fixed columns, lineage, folded log, counts."""

    def __init__(self, row: Row, tenant: int, segments: tuple[Segment, ...]) -> None:
        self.row, self.segments = row, segments
        self.id, self.name = row.id, get(row.name)
        self.scope = f"t{tenant} u{row.user} s{row.id}"
        self.log = Log(self.name)
        self.facts = 0
        self.tally = Tally()
        self.counted = 0
        self.written_at = 0
        self.pending: dict[int, list[str]] = {}
        self.checkpoints: dict[Viewpoint, tuple[int, int, Checkpoint]] = {}


def lineage(db: sqlite3.Connection, row: Row) -> tuple[Segment, ...]:
    """The segments of a session, oldest first, its own last. Raises Damaged for rows by which no log can be read."""
    out = [Segment(row.id, ENDLESS, ENDLESS, ENDLESS)]
    last = ENDLESS
    while sound(db, row).kind == "fork" and (parent := row_of(db, row.parent)):
        last = min(last, row.parent_seq)
        out.append(Segment(parent.id, last, row.parent_facts, row.parent_checkpoints))
        row = parent
    return tuple(reversed(out))


def times_of(db: sqlite3.Connection, known: Known, first: int, last: int | None) -> dict[int, float]:
    """When events of the lineage happened, by seq, of those that have a time."""
    out: dict[int, float] = {}
    for part in known.segments:
        stop = min(part.last, ENDLESS if last is None else last)
        rows = db.execute(
            "SELECT seq, time FROM event WHERE session = ? AND seq BETWEEN ? AND ? AND time IS NOT NULL",
            (part.session, first, stop),
        )
        out.update((seq, moment) for seq, time in rows if (moment := known_time(time)) is not None)
    return out


def below(db: sqlite3.Connection, session: int) -> list[Row]:
    """All that hangs on a session, the newest first, each before what hangs on it; damaged or not."""
    return _downwards(session, lambda above: _hanging(db, above, "ORDER BY id DESC"))


def forks(db: sqlite3.Connection, session: int) -> list[Row]:
    """Forks of a session and theirs, in the same order: those that can be read."""

    def made(above: int) -> list[Row]:
        found = _hanging(db, above, "AND kind = 'fork' ORDER BY id DESC")
        return [row for row in found if is_sound(db, row)]

    return _downwards(session, made)


def _downwards(session: int, hanging: Callable[[int], list[Row]]) -> list[Row]:
    """Without recursion, since a line of forks may be long."""
    out, waiting = list[Row](), hanging(session)[::-1]
    while waiting:
        out.append(row := waiting.pop())
        waiting += hanging(row.id)[::-1]
    return out


def children(db: sqlite3.Connection, session: int, call: str | None = None) -> list[Row]:
    """The sessions that calls of a session started, or calls with that id alone, as they were made: those that can be
    read."""
    one, values = ("", ()) if call is None else ("AND parent_call = ? ", (put(call),))
    made = _hanging(db, session, f"AND kind = 'child' {one}ORDER BY id", *values)
    return [row for row in made if is_sound(db, row)]


def _hanging(db: sqlite3.Connection, session: int, which: str, *values: object) -> list[Row]:
    """What hangs on a session itself: sessions of the same user, made later (else a damaged row could lead in a
    circle)."""
    sql = (
        f"SELECT {COLUMNS} FROM session WHERE parent = ? AND id > ? "
        f"AND user = (SELECT user FROM session WHERE id = ?) {which}"
    )
    return [Row(*found) for found in fetched(db, sql, (session, session, session, *values))]


def create(db: sqlite3.Connection, key: Key, info: SessionInfo) -> tuple[Row, int]:
    """Write a session's row, inside a transaction. Raises NotFound for a parent or parent event that is not there,
    Damaged for a parent that cannot be read."""
    tenant = _named(db, "INSERT OR IGNORE INTO tenant (name) VALUES (?)", "tenant WHERE name = ?", put(key.tenant))
    user = _named(
        db, "INSERT OR IGNORE INTO user (tenant, name) VALUES (?, ?)", "user WHERE tenant = ? AND name = ?",
        tenant, put(key.user),
    )  # fmt: skip
    parent = None
    if info.parent:
        found = find_row(db, msgspec.structs.replace(key, session=info.parent))
        if not found:
            raise no_session(info.parent)
        parent = sound(db, found[0])
        may_hang(info.parent, info.parent_seq, parent.head)
    fork = parent if parent and info.kind == "fork" else None
    counts = (fork.facts, fork.checkpoints) if fork else (0, 0)
    number = db.execute(
        "INSERT INTO session (user, name, kind, parent, parent_seq, parent_call, parent_facts, "
        "parent_checkpoints, root, created, updated, head, title, meta) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user, put(key.session), info.kind, parent.id if parent else None, info.parent_seq,
            put(info.parent_call), *counts, fork.root if fork else None, info.created, info.updated,
            info.parent_seq if fork else 0, put(info.title), pack(info.meta),
        ),
    ).lastrowid  # fmt: skip
    assert number is not None
    db.execute("UPDATE session SET root = id WHERE id = ? AND root IS NULL", (number,))
    if fork:
        _inherit_states(db, fork, number, info.parent_seq)
    made = row_of(db, number)
    assert made is not None
    return made, tenant


def _named(db: sqlite3.Connection, insert: str, where: str, *names: object) -> int:
    db.execute(insert, names)
    return int(db.execute(f"SELECT id FROM {where}", names).fetchone()[0])


def _inherit_states(db: sqlite3.Connection, parent: Row, session: int, seq: int) -> None:
    segments = lineage(db, parent)
    for scope, sees, body in db.execute(
        "SELECT scope, sees, body FROM scope_state WHERE session = ?", (parent.id,)
    ).fetchall():
        made = [unpack(each, Checkpoint) for _, _, each in checkpoint_rows(db, segments, (scope, sees))]
        state = inherit(unpack(body, ScopeState), made, seq)
        db.execute("INSERT INTO scope_state VALUES (?, ?, ?, ?)", (session, scope, sees, pack(state)))


def checkpoint_rows(
    db: sqlite3.Connection, segments: tuple[Segment, ...], at: tuple[str | bytes, str]
) -> list[tuple[int, int, bytes]]:
    """(session, number, body) of all versions that a lineage sees, oldest first."""
    out: list[tuple[int, int, bytes]] = []
    for segment in segments:
        out += db.execute(
            "SELECT session, number, body FROM checkpoint WHERE session = ? AND scope = ? AND sees = ? "
            "AND number <= ? AND boundary <= ? ORDER BY number",
            (segment.session, *at, segment.checkpoints, segment.last),
        ).fetchall()
    return out


# The folded log


def refresh(db: sqlite3.Connection, known: Known) -> bool:
    """Fold in what other processes appended. False when the session was erased meanwhile. Raises Damaged."""
    found = db.execute("SELECT head, facts FROM session WHERE id = ?", (known.id,)).fetchone()
    if not found:
        return False
    if not all(isinstance(count, int) and count >= 0 for count in found):
        raise Damaged(found, ValueError("no counts"), f"what is counted of session {known.name!r}")
    if found[0] > known.log.head:
        for segment in known.segments:
            rows = db.execute(
                "SELECT body, seq FROM event WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq",
                (segment.session, known.log.head, segment.last),
            )
            try:
                known.log.extend(unpack_event(body, seq) for body, seq in rows)
            except ValueError as error:
                raise _out_of_order(known, error) from error
        if known.log.head != found[0]:
            raise _out_of_order(known, ValueError(f"it ends at {known.log.head}, not at {found[0]}"))
    if found[1] > known.facts:
        if known.log.scopes:
            rows = db.execute(
                "SELECT body FROM fact WHERE session = ? AND number > ? ORDER BY number",
                (known.id, known.facts),
            )
            known.log.learn(unpack(body, Fact) for (body,) in rows)
        known.facts = found[1]
    return True


def _out_of_order(known: Known, why: ValueError) -> Damaged:
    return Damaged(None, why, f"the order of events of session {known.name!r}")


def all_facts(db: sqlite3.Connection, known: Known, upto: int = ENDLESS) -> Iterator[Fact]:
    """Facts of the lineage up to a seq, in the order in which they came."""
    for segment in known.segments:
        rows = db.execute(
            "SELECT body FROM fact WHERE session = ? AND number <= ? AND seq <= ? ORDER BY number",
            (segment.session, segment.facts, min(segment.last, upto)),
        ).fetchall()
        for (body,) in rows:
            yield unpack(body, Fact)


def scope_of(db: sqlite3.Connection, known: Known, key: Key) -> Scope:
    return known.log.scope(key, lambda: all_facts(db, known))


def add_facts(db: sqlite3.Connection, known: Known, facts: Sequence[Fact]) -> None:
    """Append facts inside a transaction; the fold follows at the next refresh."""
    after = db.execute("SELECT facts FROM session WHERE id = ?", (known.id,)).fetchone()[0]
    insert_facts(db, known.id, after, facts)
    db.execute("UPDATE session SET facts = ? WHERE id = ?", (after + len(facts), known.id))
