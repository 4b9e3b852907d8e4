"""Rows of sessions in a SQLite store: read whatever they hold, held to what a row may say, told to those who ask. Knows
nothing of lineages and logs.

A disk or another program may have changed any column of one. Such a row is named, can be erased, and costs the others
nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple, get_args, get_type_hints

from foldmark.errors import StoreError
from foldmark.sqlite.damaged import BACKUP, DELETE, Damaged
from foldmark.sqlite.rows import get, put, unpack
from foldmark.store import ENDLESS, Key, SessionInfo

COLUMNS = (
    "session.id, session.name, kind, parent, parent_seq, parent_call, parent_facts, parent_checkpoints, "
    "root, created, updated, head, facts, checkpoints, title, meta, user"
)
_KINDS = get_args(get_type_hints(SessionInfo)["kind"])
_COUNTS = ("parent_seq", "parent_facts", "parent_checkpoints", "head", "facts", "checkpoints")
_PLACE = ("kind", "parent", "parent_seq")
_TIMES = frozenset(("created", "updated"))
_BLANK: dict[str, Any] = {
    "name": None, "kind": "root", "parent": None, "parent_seq": 0, "parent_call": "", "parent_facts": 0,
    "parent_checkpoints": 0, "root": 0, "created": 0.0, "updated": 0.0, "head": 0, "facts": 0, "checkpoints": 0,
    "title": "", "meta": b"{}",
}  # fmt: skip
"""What is told in the place of a damaged value."""


class Row(NamedTuple):
    """A session's row as it is stored; a damaged one holds anything anywhere but in its `id`."""

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
    facts: int
    checkpoints: int
    title: str | bytes
    meta: bytes
    user: int


class Undecodable(bytes):
    """A text of the database that is no UTF-8."""


def _text(raw: bytes) -> str | Undecodable:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return Undecodable(raw)


def fetched(db: sqlite3.Connection, sql: str, values: Sequence[object] = ()) -> list[Any]:
    """All rows of a query; a text that cannot be decoded is one value of its row, and no error."""
    before, db.text_factory = db.text_factory, _text
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.text_factory = before


def find_row(db: sqlite3.Connection, key: Key) -> tuple[Row, int] | None:
    """(row, tenant's number) of the key's session; tenant and user come from the key alone."""
    found = fetched(
        db,
        f"SELECT {COLUMNS}, user.tenant FROM session JOIN user ON user.id = session.user "
        "JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ? AND user.name = ? AND session.name = ?",
        (put(key.tenant), put(key.user), put(key.session)),
    )
    return (Row(*found[0][:-1]), found[0][-1]) if found else None


def row_to_erase(db: sqlite3.Connection, key: Key) -> tuple[Row, int] | None:
    """As `find_row`; a session whose own name is damaged is found by the one that a listing gives it. Raises StoreError
    where that is the name of another one, too."""
    rows = fetched(
        db,
        f"SELECT {COLUMNS}, user.tenant FROM session JOIN user ON user.id = session.user "
        "JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ? AND user.name = ? AND session.id = ?",
        (put(key.tenant), put(key.user), put(key.session.removeprefix(_NAMELESS))),
    )
    named = find_row(db, key)
    nameless = next(((Row(*row[:-1]), row[-1]) for row in rows if not is_text(row[1])), None)
    if nameless and listed_name(*nameless[0][:2]) != key.session:
        nameless = None
    if named and nameless:
        raise StoreError(
            f"Two sessions are listed as {key.session!r}: one has that name, the name of the other is damaged. Neither "
            "is erased. Export the first, and restore the file from a backup."
        )
    return named or nameless


def row_of(db: sqlite3.Connection, session: int | None) -> Row | None:
    """The row with that number; None where there is none."""
    found = fetched(db, f"SELECT {COLUMNS} FROM session WHERE id = ?", (session,))
    return Row(*found[0]) if found else None


def rows_of_user(db: sqlite3.Connection, tenant: str, user: str) -> list[Row]:
    """All sessions of a user, newest update first."""
    found = fetched(
        db,
        f"SELECT {COLUMNS} FROM session JOIN user ON user.id = session.user "
        "JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ? AND user.name = ? "
        "ORDER BY updated DESC, session.id DESC",
        (put(tenant), put(user)),
    )
    return [Row(*row) for row in found]


# -- what may be wrong with one

_NAMELESS = "damaged-"


def listed_name(session: int, name: object) -> str:
    """A session's name; of one whose name is damaged another by which it can be erased."""
    return get(name) if is_text(name) else f"{_NAMELESS}{session}"  # type: ignore[arg-type]


def sound(db: sqlite3.Connection, row: Row) -> Row:
    """The row, when the log of its session can be read by it. Raises Damaged."""
    if wrong := _wrong(db, row):
        raise _damaged(row, wrong)
    return row


def is_sound(db: sqlite3.Connection, row: Row) -> bool:
    return not _wrong(db, row)


def told_name(db: sqlite3.Connection, session: int, known: dict[int, bool]) -> str | None:
    """The name under which a session can be opened; None where its row, or one that it hangs on, is damaged: nobody
    could say then who may. `known` keeps what was found of each: a line of forks may be long."""
    line, row = list[int](), row_of(db, session)
    name, is_told = row and row.name, row is not None
    while row is not None and is_told and row.id not in known:
        line.append(row.id)
        is_told = not _wrong(db, row) and not _untold(row, _meta(row))
        row = row_of(db, row.parent) if is_told and row.parent is not None else None
    is_told = is_told and (row is None or known[row.id])
    known.update(dict.fromkeys(line, is_told))
    return get(name) if is_told and name is not None else None


def call_of(row: Row) -> str:
    """The id of the call that started a session; empty where it is damaged too."""
    return get(row.parent_call) if is_text(row.parent_call) else ""


def kind_of(row: Row) -> str:
    """What a session is to those that it hangs on; of one of which nobody knows a fork, which is not erased unasked."""
    return row.kind if row.kind in _KINDS else "fork"


def head_of(row: Row) -> int:
    """Where its log ends, as lists tell it."""
    return row.head if _is_within(row.head, 0, ENDLESS) else 0


def _wrong(db: sqlite3.Connection, row: Row) -> list[str]:
    """The columns that cannot be what was written, of those by which a log is read."""
    wrong = [] if is_text(row.name) else ["name"]
    wrong += [] if row.kind in _KINDS else ["kind"]
    wrong += [] if _hangs_well(db, row) else ["parent"]
    wrong += [name for name, count in zip(_COUNTS, _counts(row), strict=True) if not _is_within(count, 0, ENDLESS)]
    return wrong if _is_within(row.root, 1, row.id) else [*wrong, "root"]


def _hangs_well(db: sqlite3.Connection, row: Row) -> bool:
    """On nothing, or on an earlier session of the same user."""
    if row.parent is None:
        return True
    if not _is_within(row.parent, 1, row.id - 1):
        return False
    sql = "SELECT 1 FROM session WHERE id = ? AND user = ?"
    return db.execute(sql, (row.parent, row.user)).fetchone() is not None


def _untold(row: Row, meta: dict[str, str] | None) -> list[str]:
    """The columns that cannot be what was written, of those that are only told; `meta` is what was read of that."""
    wrong = [] if is_text(row.parent_call) else ["parent_call"]
    wrong += [] if _is_time(row.created) else ["created"]
    wrong += [] if _is_time(row.updated) else ["updated"]
    wrong += [] if is_text(row.title) else ["title"]
    return wrong if meta is not None else [*wrong, "meta"]


def _meta(row: Row) -> dict[str, str] | None:
    """The settings of a session; None where they are damaged."""
    try:
        return unpack(row.meta, dict[str, str])
    except Damaged:
        return None


def _counts(row: Row) -> tuple[object, ...]:
    """As `_COUNTS` names them."""
    return row.parent_seq, row.parent_facts, row.parent_checkpoints, row.head, row.facts, row.checkpoints


def is_text(value: object) -> bool:
    """Whether a column holds a text as `put` writes it, so that it is found by it too."""
    if isinstance(value, str):
        return True
    if isinstance(value, Undecodable) or not isinstance(value, bytes):
        return False
    try:
        return put(get(value)) == value
    except Damaged:
        return False


def _is_within(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and least <= value <= most


def _is_time(value: object) -> bool:
    return isinstance(value, float) and isfinite(value)


def _damaged(row: Row, columns: Sequence[str]) -> Damaged:
    value = getattr(row, columns[0])
    name = listed_name(row.id, row.name)
    return Damaged(value, ValueError(f"it is {value!r:.40}"), f"the {' and the '.join(columns)} of session {name!r}")


# -- what it tells


def info_of(db: sqlite3.Connection, row: Row) -> SessionInfo:
    """What the row of a session says. Raises Damaged."""
    meta = _meta(row)
    if wrong := [*_wrong(db, row), *_untold(row, meta)]:
        raise _damaged(row, wrong)
    return _info(db, row, meta or {})


def listed(db: sqlite3.Connection, rows: Sequence[Row]) -> list[SessionInfo]:
    """What rows say. Of one that is damaged what can be read, and no place among the others if that is not sure."""
    return [_legible(db, row) for row in rows]


def _legible(db: sqlite3.Connection, row: Row) -> SessionInfo:
    meta = _meta(row)
    wrong, untold = _wrong(db, row), _untold(row, meta)
    if not wrong and not untold:
        return _info(db, row, meta or {})
    times = () if _TIMES.isdisjoint(untold) else _TIMES  # one alone would pass for the last time it was used
    read = row._replace(**{name: _BLANK[name] for name in (*wrong, *untold, *times, *(_PLACE if wrong else ()))})
    columns = " and ".join(name.replace("_", " ") for name in (*wrong, *untold))
    return _info(db, read, meta or {}, damaged=f"its {columns} cannot be read. {BACKUP}{DELETE}.")


def _info(db: sqlite3.Connection, row: Row, meta: dict[str, str], *, damaged: str = "") -> SessionInfo:
    parent = fetched(db, "SELECT id, name FROM session WHERE id = ?", (row.parent,)) if row.parent else []
    return SessionInfo(
        session=listed_name(row.id, row.name),
        kind=row.kind,  # type: ignore[arg-type]
        parent=listed_name(*parent[0]) if parent else "",
        parent_seq=row.parent_seq,
        parent_call=get(row.parent_call),
        created=row.created,
        updated=row.updated,
        head=row.head,
        title=get(row.title),
        meta=meta,
        damaged=damaged,
    )
