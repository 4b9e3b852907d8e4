"""Events of a session read from their rows where its log is not folded: to open one of them nobody reads all.

Knows nothing of scopes: whoever sees less than the whole needs the fold.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from foldmark.events import Event
from foldmark.sqlite.damaged import Damaged
from foldmark.sqlite.rows import put, unpack_event
from foldmark.sqlite.sessions import Known, Segment
from foldmark.store import Key
from foldmark.store.refusing import no_event

FEW = 2_000
"""So many rows are read as they are. Who asks for more reads the log, and is likely to ask again: it is folded."""


def serves(known: Known, key: Key, first: int = 1, last: int | None = 1) -> bool:
    """Whether a stretch of the log is read from its rows: it is seen as a whole, not folded, and short enough."""
    head = known.row.head
    few = min(head, head if last is None else last) - max(1, first) < FEW
    return few and key.sees == "all" and known.log.head == 0


def stretch(db: sqlite3.Connection, known: Known, first: int = 1, last: int | None = None) -> list[Event]:
    """The events `first` to `last` inclusive of a lineage, as `Log.seen` gives them."""
    first, last = max(1, first), known.row.head if last is None else min(last, known.row.head)
    out: list[Event] = []
    for segment in known.segments:
        rows = db.execute(
            "SELECT body, seq FROM event WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq",
            (segment.session, first, min(last, segment.last)),
        )
        out += [unpack_event(body, seq) for body, seq in rows.fetchall()]
    return out


def event(db: sqlite3.Connection, known: Known, name: str) -> Event:
    """By seq or by client id, as `Log.event` finds it. Raises NotFound, Damaged."""
    if name.isascii() and name.isdigit() and len(name) <= 18 and 1 <= int(name) <= known.row.head:
        if here := stretch(db, known, int(name), int(name)):
            return here[0]
        raise Damaged(None, ValueError("its row is gone"), f"event:{int(name)} of session {known.name!r}")
    if found := _by_id(db, known.segments, name):
        return found
    raise no_event(name, known.name, known.row.head)


def _by_id(db: sqlite3.Connection, segments: Sequence[Segment], name: str) -> Event | None:
    for segment in reversed(segments):  # of two of the same id the later one
        found = db.execute(
            "SELECT body, seq FROM event WHERE session = ? AND id = ? AND seq <= ?",
            (segment.session, put(name), segment.last),
        ).fetchone()
        if found:
            return unpack_event(*found)
    return None
