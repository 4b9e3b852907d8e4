"""Word counts of sessions in a SQLite store: kept in the process, written down at times. Knows nothing of requests."""

from __future__ import annotations

import contextlib
import sqlite3

import msgspec

from foldmark.events import Event
from foldmark.log import count_event
from foldmark.salience import Tally
from foldmark.sqlite.rows import get
from foldmark.sqlite.sessions import Known

TALLY_EVENTS = 256
"""Counts are written down after so many events; at most these are counted again after a restart."""


def tally_of(db: sqlite3.Connection, known: Known) -> Tally:
    """Counts up to the head of the folded log: from the last snapshot that fits, then from pieces."""
    if known.counted == 0 and known.log.head:
        _load_tally(db, known)
    missing_events = known.log.events[known.counted :]
    if missing_events:
        texts = _texts(db, known, missing_events)
        for event in missing_events:
            count_event(known.tally, event, texts.get(event.seq, ()))
        known.counted = known.log.head
        known.pending.clear()
    return known.tally


def _load_tally(db: sqlite3.Connection, known: Known) -> None:
    for segment in reversed(known.segments):
        found = db.execute(
            "SELECT seq, body FROM tally WHERE session = ? AND seq <= ?",
            (segment.session, min(segment.last, known.log.head)),
        ).fetchone()
        if found:
            with contextlib.suppress(msgspec.MsgspecError, ValueError, TypeError):  # damaged: all is counted again
                known.tally, known.counted = Tally.from_bytes(found[1]), found[0]
                known.written_at = found[0]
            return


def _texts(db: sqlite3.Connection, known: Known, events: list[Event]) -> dict[int, list[str]]:
    if all(event.seq in known.pending for event in events):
        return known.pending
    texts: dict[int, list[str]] = {}
    for segment in known.segments:
        rows = db.execute(
            "SELECT seq, CAST(text AS BLOB) FROM piece WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq, place",
            (segment.session, known.counted, segment.last),
        )
        for seq, text in rows:
            texts.setdefault(seq, []).append(get(text))
    return texts


def save_tally(db: sqlite3.Connection, known: Known) -> None:
    """Write the counts down when enough events came since the last time; inside a transaction."""
    if known.counted - known.written_at >= TALLY_EVENTS:
        db.execute("INSERT OR REPLACE INTO tally VALUES (?, ?, ?)", (known.id, known.counted, known.tally.to_bytes()))
        known.written_at = known.counted
