"""Events of a SQLite store. Knows nothing of requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from foldmark.checkpoint import Fact, Unit
from foldmark.errors import HeadMoved
from foldmark.events import Event
from foldmark.log import build_context
from foldmark.salience import Tally
from foldmark.seeking import Piece
from foldmark.sqlite import reading, scopes
from foldmark.sqlite import work as work_rows
from foldmark.sqlite.appending import Batch, write
from foldmark.sqlite.counting import tally_of
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.sessions import Known, add_facts, scope_of, times_of
from foldmark.store import Context, Key, Raising, Work
from foldmark.store.refusing import may_come


class Events(Held):
    """Events come in, with all that is made of them, and are read as they were given."""

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        with self._lock:
            with self._reading() as db:
                if known := self._find(key):
                    return self._context(db, known, key, events)
            with self._folding(key) as db:
                self._create(db, key)
                return self._context(db, self._get(key), key, events)

    def _context(self, db: sqlite3.Connection, known: Known, key: Key, events: Sequence[Event]) -> Context:
        frame, scope, tally = scopes.state(db, known, key).frame, scope_of(db, known, key), tally_of(db, known)
        return build_context(key, known.log, scope, events, tally=tally, frame=frame, secret=self._secret)

    def append(
        self,
        key: Key,
        events: Sequence[Event],
        *,
        head: int,
        units: Sequence[Unit] = (),
        facts: Sequence[Fact] = (),
        pieces: Sequence[Piece] = (),
        tally: Tally | None = None,
        now: float,
        raising: Raising = Raising(),
        live: bool = True,
    ) -> tuple[Work, ...]:
        with self._lock:
            with self._folding(key) as db:
                there = self._find(key)
                found = there.log.head if there else 0
                if found != head:
                    raise HeadMoved(key.session, head, found)
                may_come(head, events, units, facts, pieces)
                if there is None:
                    self._create(db, key)
                known = there or self._get(key)
                batch = Batch(events=events, units=units, facts=facts, pieces=pieces, tally=tally)
                write(db, known, batch, now, live=live)
                dirty = work_rows.raise_work(db, known, key, events, now, raising)
            known.log.learn(facts)
            known.facts += len(facts)
            return dirty

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        with self._writing() as db:
            known = self._get(key)
            may_come(known.log.head, (), (), facts, ())
            add_facts(db, known, facts)

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        with self._lock, self._reading() as db:
            if reading.serves(known := self._glance(db, key), key, first, last):
                return reading.stretch(db, known, first, last)
            known = self._get(key)
            return known.log.seen(scope_of(db, known, key), first, last)

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        with self._lock, self._reading() as db:
            return times_of(db, self._glance(db, key), first, last)

    def event(self, key: Key, name: str) -> Event:
        with self._lock, self._reading() as db:
            if reading.serves(known := self._glance(db, key), key):
                return reading.event(db, known, name)
            return self._get(key).log.event(name)

    def tally(self, key: Key) -> Tally:
        with self._lock, self._reading() as db:
            known = self._get(key)
            return scope_of(db, known, key).tally(tally_of(db, known))
