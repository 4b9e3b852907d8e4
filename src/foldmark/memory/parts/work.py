"""Work of a store in memory: which scopes exist and wait, and who does it. Knows nothing of what is done."""

from __future__ import annotations

from collections.abc import Sequence

from foldmark.dirtying import ends, enlists, makes_whole_session, touched
from foldmark.events import Event
from foldmark.log import WHOLE, viewpoint_of
from foldmark.memory.parts.held import Held
from foldmark.memory.rows import Row
from foldmark.memory.work import Works as Dirt
from foldmark.store import Backlog, Key, Raising, ScopeState, Work


class Works(Held):
    """Scopes exist, are dirty, are leased and settled."""

    def enlist(self, key: Key) -> None:
        with self._lock:
            self._open(key).states.setdefault(viewpoint_of(key), ScopeState())

    def scopes(self, key: Key) -> list[Key]:
        with self._lock:
            return self._row(key).scopes()

    def want(self, key: Key, now: float) -> None:
        with self._lock:
            row = self._row(key)
            row.states.setdefault(viewpoint_of(key), ScopeState())
            if row.log.head:
                self._works.want(key, row.log.head, now)

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        with self._lock:
            return self._works.claim(now, lease_seconds)

    def extend(self, work: Work, until: float) -> bool:
        with self._lock:
            return self._works.extend(work, until)

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        with self._lock:
            return self._works.settle(work, again, counts)

    def works(self, key: Key) -> list[Work]:
        with self._lock:
            self._row(key)
            return self._works.of_session(key)

    def backlog(self, now: float) -> Backlog:
        with self._lock:
            return self._works.backlog(now)


def raise_work(
    works: Dirt, row: Row, key: Key, events: Sequence[Event], now: float, raising: Raising
) -> tuple[Work, ...]:
    """Mark the scopes dirty for which the new events are an end, and let the work of those that see any of them rest
    on. Returns the former."""
    dirty: list[Work] = []
    if enlists(row.log, key, raising):
        row.states.setdefault(viewpoint_of(key), ScopeState())
    if makes_whole_session(events, raising):
        row.states.setdefault(WHOLE, ScopeState())
    due = ends(row.log, events, raising)
    for each, wanted in touched(row.scopes(), events, due, raising) if due or raising.not_before else ():
        if wanted:
            works.raise_for(each, wanted, now, raising.not_before)
            dirty.append(Work(key=each, wanted=wanted, done=0))
        else:
            works.move_on(each, raising.not_before)
    return tuple(dirty)
