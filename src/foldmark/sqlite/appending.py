"""What one append writes into a SQLite store. Knows nothing of transactions: it runs inside its caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from foldmark.checkpoint import Fact, Unit
from foldmark.events import Event
from foldmark.log import title_of
from foldmark.salience import Tally
from foldmark.seeking import Piece
from foldmark.sqlite.counting import save_tally
from foldmark.sqlite.rows import insert_events, insert_facts, insert_pieces, insert_units, put
from foldmark.sqlite.sessions import Known


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What comes with the events of one append."""

    events: Sequence[Event]
    units: Sequence[Unit]
    facts: Sequence[Fact]
    pieces: Sequence[Piece]
    tally: Tally | None


def write(db: sqlite3.Connection, known: Known, batch: Batch, now: float, *, live: bool = True) -> None:
    """Fold the events in and write all rows but those of work. Only what is `live` happens now."""
    events, moment = batch.events, now if live else None
    known.log.extend(events)
    insert_events(db, known.id, events, moment)
    if batch.units:
        insert_units(db, known.id, batch.units)
    if batch.facts:
        insert_facts(db, known.id, known.facts, batch.facts)
    texts: dict[int, list[str]] = {event.seq: [] for event in events}
    if batch.pieces:
        times = {event.seq: moment if event.time is None else event.time for event in events}
        insert_pieces(db, known.id, known.scope, batch.pieces, times)
        for piece in batch.pieces:
            texts[piece.seq].append(piece.text)
    if batch.tally is None:
        known.pending.update(texts)
    else:
        known.tally, known.counted = batch.tally, known.log.head
        known.pending.clear()
    title = title_of(events, {seq: found[0] for seq, found in texts.items() if found})
    db.execute(
        "UPDATE session SET head = ?, facts = ?, updated = ?, "
        "created = CASE WHEN created = 0 THEN ? ELSE created END, "
        "title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
        (known.log.head, known.facts + len(batch.facts), now, now, put(title), known.id),
    )
    save_tally(db, known)
