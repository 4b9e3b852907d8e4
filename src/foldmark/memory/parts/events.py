"""Events of a store in memory. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.checkpoint import Fact, Unit
from foldmark.errors import HeadMoved
from foldmark.events import Event
from foldmark.log import build_context, title_of, viewpoint_of
from foldmark.memory.parts.held import Held
from foldmark.memory.parts.work import raise_work
from foldmark.memory.rows import Row, count, times_of
from foldmark.salience import Tally
from foldmark.seeking import Piece
from foldmark.store import Context, Key, Raising, ScopeState, SessionInfo, Work
from foldmark.store.refusing import may_come


class Events(Held):
    """Events come in, with all that is made of them, and are read as they were given."""

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        with self._lock:
            name = (key.tenant, key.user, key.session)
            row = self._rows.get(name) or Row(name, SessionInfo(session=key.session), None)
            frame = row.states.get(viewpoint_of(key), ScopeState()).frame
            scope = self._scope(row, key)
            built = build_context(key, row.log, scope, events, tally=count(row), frame=frame, secret=self._secret)
            self._rows[name] = row
            return built

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
            there = self._rows.get((key.tenant, key.user, key.session))
            found = there.log.head if there else 0
            if found != head:
                raise HeadMoved(key.session, head, found)
            may_come(head, events, units, facts, pieces)
            row = self._open(key)
            row.log.extend(events)
            row.log.learn(facts)
            row.facts += facts
            row.units += units
            self._hold(row, pieces)
            if live:
                row.recorded.update((event.seq, now) for event in events if event.time is None)
            if tally is not None:
                row.tally, row.counted = tally, row.log.head
            dirty = raise_work(self._works, row, key, events, now, raising)
            info = row.info
            texts = {piece.seq: piece.text for piece in reversed(pieces)}
            row.info = msgspec.structs.replace(
                info,
                created=info.created or now,
                updated=now,
                title=info.title or title_of(events, texts),
            )
            return dirty

    def _hold(self, row: Row, pieces: Sequence[Piece]) -> None:
        """Pieces with their numbers, which rise with the events; an index is made when somebody searches."""
        row.pieces += sorted(pieces, key=lambda piece: (piece.seq, piece.order))
        row.numbers += range(self._pieces, self._pieces + len(pieces))
        self._pieces += len(pieces)

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        with self._lock:
            row = self._row(key)
            may_come(row.log.head, (), (), facts, ())
            row.facts += facts
            row.log.learn(facts)

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        with self._lock:
            row = self._row(key)
            return row.log.seen(self._scope(row, key), first, last)

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        with self._lock:
            return times_of(self._row(key), first, last)

    def event(self, key: Key, name: str) -> Event:
        with self._lock:
            return self._row(key).log.event(name)

    def tally(self, key: Key) -> Tally:
        with self._lock:
            row = self._row(key)
            return self._scope(row, key).tally(count(row))
