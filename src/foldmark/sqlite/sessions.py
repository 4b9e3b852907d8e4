"""Sessions of a SQLite store: their rows, lineage, family, and the folded log that is kept in the process.

Knows nothing of requests, checkpoints or search.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from foldmark.checkpoint import Checkpoint, Fact
from foldmark.log import Log, Scope, Viewpoint, inherit
from foldmark.salience import Tally
from foldmark.sqlite.rows import get, insert_facts, pack, put, unpack, unpack_event
from foldmark.store import ENDLESS, Key, ScopeState, SessionInfo
from foldmark.store.refusing import may_hang, no_session


class Segment(NamedTuple):
    """A stretch of a lineage: a session's own rows up to `last`, and how many of its facts and
    checkpoints."""

    session: int
    last: int
    facts: int
    checkpoints: int


_COLUMNS = (
    "session.id, session.name, kind, parent, parent_seq, parent_call, parent_facts, parent_checkpoints, "
    "root, created, updated, head, title, meta, user"
)


class Row(NamedTuple):
    """A session's row as it is stored."""

    id: int
    name: str | bytes
    kind: str
    parent: int | None
    parent_seq: int
    parent_call: str | bytes
    parent_facts: int
    parent_checkpoints: int
    root: int
    created: float
    updated: float
    head: int
    title: str | bytes
    meta: bytes
    user: int


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


def find_row(db: sqlite3.Connection, key: Key) -> tuple[Row, int] | None:
    """(row, tenant's number) of the key's session; tenant and user come from the key alone."""
    found = db.execute(
        f"SELECT {_COLUMNS}, user.tenant FROM session JOIN user ON user.id = session.user "
        "JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ? AND user.name = ? AND session.name = ?",
        (put(key.tenant), put(key.user), put(key.session)),
    ).fetchone()
    return (Row(*found[:-1]), found[-1]) if found else None


def row_of(db: sqlite3.Connection, session: int) -> Row:
    return Row(*db.execute(f"SELECT {_COLUMNS} FROM session WHERE id = ?", (session,)).fetchone())


def lineage(db: sqlite3.Connection, row: Row) -> tuple[Segment, ...]:
    """The segments of a session, oldest first, its own last."""
    out = [Segment(row.id, ENDLESS, ENDLESS, ENDLESS)]
    last = ENDLESS
    while row.kind == "fork" and row.parent is not None:
        last = min(last, row.parent_seq)
        out.append(Segment(row.parent, last, row.parent_facts, row.parent_checkpoints))
        row = row_of(db, row.parent)
    return tuple(reversed(out))


def times_of(db: sqlite3.Connection, known: Known, first: int, last: int | None) -> dict[int, float]:
    """When events of the lineage happened, by seq, of those that have a time."""
    out: dict[int, float] = {}
    for part in known.segments:
        stop = min(part.last, ENDLESS if last is None else last)
        out.update(
            db.execute(
                "SELECT seq, time FROM event WHERE session = ? AND seq BETWEEN ? AND ? AND time IS NOT NULL",
                (part.session, first, stop),
            )
        )
    return out


def below(db: sqlite3.Connection, session: int, *, children: bool) -> list[Row]:
    """Forks of a session and theirs, the newest first; with `children` also the sessions that calls
    started."""
    out: list[Row] = []
    rows = db.execute(f"SELECT {_COLUMNS} FROM session WHERE parent = ? ORDER BY id DESC", (session,)).fetchall()
    for found in map(Row._make, rows):
        if children or found.kind == "fork":
            out += [found, *below(db, found.id, children=children)]
    return out


def children(db: sqlite3.Connection, session: int, call: str | None = None) -> list[Row]:
    """The sessions that calls of a session started, or calls with that id alone, as they were made."""
    where = "parent = ? AND kind = 'child'" + ("" if call is None else " AND parent_call = ?")
    values = (session,) if call is None else (session, put(call))
    return [Row(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM session WHERE {where} ORDER BY id", values)]


def rows_of_user(db: sqlite3.Connection, tenant: str, user: str) -> list[Row]:
    """All sessions of a user, newest update first."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM session JOIN user ON user.id = session.user "
        "JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ? AND user.name = ? "
        "ORDER BY updated DESC, session.id DESC",
        (put(tenant), put(user)),
    )
    return [Row(*row) for row in found]


def info_of(db: sqlite3.Connection, row: Row) -> SessionInfo:
    parent = db.execute("SELECT name FROM session WHERE id = ?", (row.parent,)).fetchone() if row.parent else None
    return SessionInfo(
        session=get(row.name),
        kind=row.kind,  # type: ignore[arg-type]
        parent=get(parent[0]) if parent else "",
        parent_seq=row.parent_seq,
        parent_call=get(row.parent_call),
        created=row.created,
        updated=row.updated,
        head=row.head,
        title=get(row.title),
        meta=unpack(row.meta, dict[str, str]),
    )


def create(db: sqlite3.Connection, key: Key, info: SessionInfo) -> tuple[Row, int]:
    """Write a session's row, inside a transaction. Raises NotFound for a parent or parent event that is not
    there."""
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
        parent = found[0]
        may_hang(info.parent, info.parent_seq, parent.head)
    fork = parent if parent and info.kind == "fork" else None
    counts = (
        db.execute("SELECT facts, checkpoints FROM session WHERE id = ?", (fork.id,)).fetchone() if fork else (0, 0)
    )
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
    return row_of(db, number), tenant


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
    """Fold in what other processes appended. False when the session was erased meanwhile."""
    found = db.execute("SELECT head, facts FROM session WHERE id = ?", (known.id,)).fetchone()
    if not found:
        return False
    if found[0] > known.log.head:
        for segment in known.segments:
            rows = db.execute(
                "SELECT body, seq FROM event WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq",
                (segment.session, known.log.head, segment.last),
            )
            known.log.extend(unpack_event(body, seq) for body, seq in rows)
    if found[1] > known.facts:
        if known.log.scopes:
            rows = db.execute(
                "SELECT body FROM fact WHERE session = ? AND number > ? ORDER BY number",
                (known.id, known.facts),
            )
            known.log.learn(unpack(body, Fact) for (body,) in rows)
        known.facts = found[1]
    return True


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
