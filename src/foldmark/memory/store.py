"""The store in memory: for tests, short-lived agents and as the plainest statement of what a store does.

Knows nothing of disk. Every rule that is not about places comes from `log`; the contract suite holds it
and the others to the same behaviour.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from threading import RLock

import msgspec

from foldmark.artifacts import Artifacts, MemoryArtifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.dirtying import ends, enlists, makes_whole_session, touched
from foldmark.errors import HasForks, HeadMoved, StaleBoundary
from foldmark.events import Event
from foldmark.log import (
    Scope,
    build_view,
    committed,
    described,
    newest,
    no_event,
    no_session,
    replaced,
    started,
    still_there,
    title_of,
    viewpoint_of,
)
from foldmark.memory import searching
from foldmark.memory.rows import Name, Row, count, hashes, times_of
from foldmark.memory.searching import Search, Stretch
from foldmark.memory.vectors import MemoryVectors
from foldmark.memory.work import Works
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.seeking import Finding, Piece, Sought
from foldmark.store import Backlog, Context, Key, Match, Raising, ScopeState, SessionInfo, View, Work


class MemoryStore:
    """Keeps everything in this process, behind one lock."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._rows: dict[Name, Row] = {}
        self._works = Works()
        self._pieces = 0
        self._secret = secrets.token_bytes(32)
        self.artifacts: Artifacts = MemoryArtifacts()
        self.vectors = MemoryVectors(self._lock, self._row, self._searched)

    # sessions

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._lock:
            return self._info(self._open(key, info))

    def info(self, key: Key) -> SessionInfo:
        with self._lock:
            return self._info(self._row(key))

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        with self._lock:
            row = self._open(key)
            row.info = msgspec.structs.replace(row.info, meta=described(row.info.meta, meta))
            return self._info(row)

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        with self._lock:
            mine = [self._info(row) for name, row in reversed(self._rows.items()) if name[:2] == (tenant, user)]
        return sorted(mine, key=lambda info: info.updated, reverse=True)

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        with self._lock:
            row = self._row(key)
            doomed = [row, *self._below(row, children=True)]
            forks = [other.name[2] for other in doomed[1:] if other.info.kind == "fork"]
            if forks and not descendants:
                raise HasForks(key.session, tuple(forks))
            still_there(key.session, {other.name[2]: other.log.head for other in doomed}, heads)
            gone: set[str] = set()
            for other in doomed:
                gone |= hashes(other)
                del self._rows[other.name]
                self._works.erase(other.name)
            return tuple(sorted(gone - self._hashes(key.tenant)))

    def hashes(self, tenant: str) -> set[str]:
        with self._lock:
            return self._hashes(tenant)

    def close(self) -> None:
        """Nothing to release."""

    # events

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        with self._lock:
            row = self._open(key)
            new, known = row.log.number(events)
            frame = row.states.get(viewpoint_of(key), ScopeState()).frame
            return Context(
                key=key,
                head=row.log.head,
                new=tuple(new),
                known=tuple(known),
                calls=row.log.calls,
                state=self._scope(row, key).state,
                tally=count(row),
                secret=self._secret,
                window=frame.window if frame else 0,
            )

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
            row = self._open(key)
            if row.log.head != head:
                raise HeadMoved(key.session, head, row.log.head)
            row.log.extend(events)
            row.log.learn(facts)
            row.facts += facts
            row.units += units
            self._hold(row, pieces)
            if live:
                row.recorded.update((event.seq, now) for event in events if event.time is None)
            if tally is not None:
                row.tally, row.counted = tally, row.log.head
            dirty = self._raise(row, key, events, now, raising)
            info = row.info
            texts = {piece.seq: piece.text for piece in reversed(pieces)}
            row.info = msgspec.structs.replace(
                info,
                created=info.created or now,
                updated=now,
                title=info.title or title_of(events, texts),
            )
            return dirty

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        with self._lock:
            row = self._row(key)
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

    # requests and checkpoints

    def view(self, key: Key) -> View:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            made = row.checkpoints.get(at)
            state = row.states.get(at, ScopeState())
            view = build_view(
                key,
                row.log,
                self._scope(row, key),
                made[-1] if made else None,
                state,
                row.attempts.get(at, ()),
            )
            return msgspec.structs.replace(view, secret=self._secret)

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            if row.states.get(at, ScopeState()).mark == expected:
                row.states[at] = state

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        with self._lock:
            row = self._row(key)
            facts = [fact for fact in row.all_facts() if fact.seq <= upto and row.log.shows(key, fact)]
            facts.sort(key=lambda fact: fact.seq)
            units = [
                unit
                for other, last, _ in row.lineage()
                for unit in other.units
                if unit.seq <= min(last, upto) and key.shows(row.log.events[unit.seq - 1])
            ]
        units.sort(key=lambda unit: (-unit.score, unit.seq, unit.order))
        return newest(facts), facts, units[: max(0, limit)]

    def commit(
        self,
        key: Key,
        checkpoint: Checkpoint,
        *,
        expected: int,
        attempt: Attempt | None = None,
        token: int | None = None,
        anchor: str | None = None,
    ) -> None:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            if anchor is not None and not row.log.is_at(checkpoint.boundary, anchor):
                raise replaced(key.session)
            if checkpoint.boundary > row.log.head:
                raise no_event(str(checkpoint.boundary), key.session, row.log.head)
            made = row.checkpoints.setdefault(at, [])
            found = made[-1].version if made else 0
            if found != expected or checkpoint.version <= found or self._works.fences(key, token):
                raise StaleBoundary(expected, found)
            made.append(checkpoint)
            row.states[at] = committed(row.states.get(at, ScopeState()), checkpoint)
            if attempt:
                row.attempts.setdefault(at, []).append(attempt)
            if token is not None:
                self._works.commit(key)

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        with self._lock:
            return list(self._row(key).checkpoints.get(viewpoint_of(key), ()))

    def note(self, key: Key, attempt: Attempt) -> None:
        with self._lock:
            self._row(key).attempts.setdefault(viewpoint_of(key), []).append(attempt)

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        with self._lock:
            return list(self._row(key).attempts.get(viewpoint_of(key), ()))[-limit:]

    # following

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        with self._lock:
            self._row(key).written.update(hashes)

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        with self._lock:
            root = list(self._row(key).lineage())[-1][0]
            family = {id(root), *(id(other) for other in self._below(root, children=False))}
            found: dict[str, str] = {}
            for row in self._rows.values():  # as they were made: the newest word of a family holds
                if id(row) in family:
                    found.update({each: row.written[each] for each in hashes if each in row.written})
            return found

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._lock:
            row = self._row(key)
            return searching.match([row, *self._below(row, children=False)], chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._lock:
            row = self._row(key)
            return searching.ends([row, *self._below(row, children=False)], plains)

    # search

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        with self._lock:
            row = self._row(key)
            return Search(row, self._searched(row, key, sought), key, sought).find(terms, limit)

    def _searched(self, row: Row, key: Key, sought: Sought) -> list[Stretch]:
        """The stretches of rows that a search looks through."""
        lineage = [Stretch(other, 0, min(last, other.log.head)) for other, last, _ in row.lineage()][::-1]
        if sought.where == "covered":
            return [one._replace(last=min(one.last, sought.upto)) for one in lineage]
        if sought.where == "children":
            mine = [child for one in lineage for child in self._started(row, one, key)]
            below = [each for child in mine for each in (child, *self._below(child, children=True))]
            return [*lineage, *(Stretch(child, 0, child.log.head, scoped=False) for child in below)]
        others = self._others(row, key, lineage) if sought.where != "session" else []
        return others if sought.where == "others" else [*others, *lineage]

    def _others(self, row: Row, key: Key, lineage: Sequence[Stretch]) -> list[Stretch]:
        """What the user has beside a lineage. What was forked from the same session is seen as the scope sees it, and
        what calls started there only where the scope sees the call."""
        inherited = {id(one.row): one.last for one in lineage}
        mine = [other for name, other in self._rows.items() if name[:2] == row.name[:2]]
        line = {id(other) for other in mine if other.root is row.root} if key.sees != "all" else set()
        seen = {id(child) for one in lineage for child in self._started(row, one, key)} if line else set()
        apart = [other for other in mine if other.info.kind == "child" and id(other.parent) in line]
        apart = [other for other in apart if id(other) not in seen]
        hidden = {id(each) for other in apart for each in (other, *self._below(other, children=True))} | {id(row)}
        return [
            Stretch(other, inherited.get(id(other), 0), other.log.head, scoped=id(other) in line)
            for other in mine
            if id(other) not in hidden
        ]

    def _started(self, row: Row, one: Stretch, key: Key) -> list[Row]:
        """The sessions that calls of a stretch of the row's lineage started, as far as the key sees the calls."""
        made = [child for child in self._children(one.row) if child.info.parent_seq <= one.last]
        own = one.row is row
        return [
            child for child in made if started(row.log, key, child.info.parent_call, own=own, at=child.info.parent_seq)
        ]

    def _hold(self, row: Row, pieces: Sequence[Piece]) -> None:
        """Pieces with their numbers, which rise with the events; an index is made when somebody searches."""
        row.pieces += sorted(pieces, key=lambda piece: (piece.seq, piece.order))
        row.numbers += range(self._pieces, self._pieces + len(pieces))
        self._pieces += len(pieces)

    def _children(self, row: Row) -> list[Row]:
        """The sessions that calls of this one started."""
        return [other for other in self._rows.values() if other.parent is row and other.info.kind == "child"]

    # work

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

    def _raise(self, row: Row, key: Key, events: Sequence[Event], now: float, raising: Raising) -> tuple[Work, ...]:
        dirty: list[Work] = []
        if enlists(row.log, key, raising):
            row.states.setdefault(viewpoint_of(key), ScopeState())
        if makes_whole_session(events, raising):
            row.states.setdefault(("", "all"), ScopeState())
        due = ends(row.log, events, raising)
        for each, wanted in touched(row.scopes(), events, due, raising) if due or raising.not_before else ():
            if wanted:
                self._works.raise_for(each, wanted, now, raising.not_before)
                dirty.append(Work(key=each, wanted=wanted, done=0))
            else:
                self._works.move_on(each, raising.not_before)
        return tuple(dirty)

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

    # rows

    def _row(self, key: Key) -> Row:
        row = self._rows.get((key.tenant, key.user, key.session))
        if row is None:
            raise no_session(key.session)
        return row

    def _open(self, key: Key, info: SessionInfo | None = None) -> Row:
        name = (key.tenant, key.user, key.session)
        if (row := self._rows.get(name)) is None:
            info = msgspec.structs.replace(info or SessionInfo(session=key.session), session=key.session)
            parent = None
            if info.parent:
                parent = self._row(msgspec.structs.replace(key, session=info.parent))
                if info.parent_seq:
                    parent.log.event(str(info.parent_seq))
            row = self._rows[name] = Row(name, info, parent)
        return row

    def _info(self, row: Row) -> SessionInfo:
        return msgspec.structs.replace(row.info, head=row.log.head)

    def _below(self, row: Row, *, children: bool) -> list[Row]:
        """Forks of the session and theirs, the newest first; with `children` also the sessions calls
        started."""
        out: list[Row] = []
        for other in reversed(self._rows.values()):
            if other.parent is row and (children or other.info.kind == "fork"):
                out += [other, *self._below(other, children=children)]
        return out

    def _scope(self, row: Row, key: Key) -> Scope:
        return row.log.scope(key, row.all_facts)

    def _hashes(self, tenant: str) -> set[str]:
        return {sha for name, row in self._rows.items() if name[0] == tenant for sha in hashes(row)}
