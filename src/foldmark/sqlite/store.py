"""SQLiteStore: one file, WAL, one connection for each thread, writers behind one lock.

Every write is one `BEGIN IMMEDIATE` transaction. Decoded events of recent sessions stay in the process; a
read fetches only the rows that came since. Knows nothing of steps or flows.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from foldmark.artifacts import Artifacts, FileArtifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import HasForks, HeadMoved, StaleBoundary, StoreError
from foldmark.events import Event
from foldmark.log import (
    build_view,
    committed,
    described,
    newest,
    no_event,
    no_session,
    replaced,
    still_there,
)
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.seeking import Finding, Piece, Sought
from foldmark.sqlite import matching, scopes, sessions
from foldmark.sqlite import work as work_rows
from foldmark.sqlite.appending import Batch, write
from foldmark.sqlite.areas import area
from foldmark.sqlite.connections import Connections
from foldmark.sqlite.erasing import erase, merges
from foldmark.sqlite.rows import get, in_chunks, marks, pack, put, unpack
from foldmark.sqlite.schema import migrate
from foldmark.sqlite.searching import Search
from foldmark.sqlite.sessions import Known, add_facts, below, refresh, scope_of, tally_of, times_of
from foldmark.sqlite.vectors import SQLiteVectors
from foldmark.store import Backlog, Context, Key, Match, Raising, ScopeState, SessionInfo, View, Work

KEPT_SESSIONS = 32
"""Sessions whose decoded events stay in the process, the last used ones."""


class SQLiteStore:
    """Keeps everything in one SQLite file. `durability="full"` also survives a power cut, at a third of the
    speed or less; "normal" may then lose the last transactions (never a crash of the process, never the
    file)."""

    def __init__(self, path: str | Path, *, durability: Literal["normal", "full"] = "normal") -> None:
        if str(path) in ("", ":memory:"):
            raise StoreError("SQLiteStore needs a file; MemoryStore keeps everything in memory.")
        self.path = Path(path)
        self._lock = threading.RLock()
        self._places = Connections(str(path), self._lock, full=durability == "full")
        self._reading, self._writing = self._places.reading, self._places.writing
        self.artifacts: Artifacts = FileArtifacts(f"{path}.artifacts")
        self._known: OrderedDict[tuple[str, str, str], Known] = OrderedDict()
        self.vectors = SQLiteVectors(self._places, self._lock, self._get, self._searched)
        self._secret = migrate(self._db, str(path))

    @property
    def _db(self) -> sqlite3.Connection:
        return self._places.mine

    # sessions

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._lock:
            known = self._open(key, info)
            return sessions.info_of(self._db, sessions.row_of(self._db, known.id))

    def info(self, key: Key) -> SessionInfo:
        with self._reading() as db:
            found = sessions.find_row(db, key)
            if found is None:
                raise no_session(key.session)
            return sessions.info_of(db, found[0])

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        with self._lock:
            known = self._open(key)
            with self._writing() as db:
                old = unpack(sessions.row_of(db, known.id).meta, dict[str, str])
                db.execute("UPDATE session SET meta = ? WHERE id = ?", (pack(described(old, meta)), known.id))
                return sessions.info_of(db, sessions.row_of(db, known.id))

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        db = self._db
        return [sessions.info_of(db, row) for row in sessions.rows_of_user(db, tenant, user)]

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        with self._writing() as db:
            known = self._get(key)
            doomed = [known.row, *below(db, known.id, children=True)]
            forks = [get(row.name) for row in doomed[1:] if row.kind == "fork"]
            if forks and not descendants:
                raise HasForks(key.session, tuple(forks))
            ends = {get(row.name): sessions.row_of(db, row.id).head for row in doomed} if heads is not None else {}
            still_there(key.session, ends, heads)
            gone = erase(db, known, doomed, key.tenant)
            for row in doomed:
                self._known.pop((key.tenant, key.user, get(row.name)), None)
        merges(self._writing)
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return tuple(sorted(gone))

    def hashes(self, tenant: str) -> set[str]:
        return matching.artifact_hashes(self._db, put(tenant))

    def close(self) -> None:
        with self._lock:
            self._places.close()
            self._known.clear()

    # events

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        with self._lock:
            known, db = self._open(key), self._db
            new, known_events = known.log.number(events)
            frame = scopes.state(db, known, key).frame
            return Context(
                key=key,
                head=known.log.head,
                new=tuple(new),
                known=tuple(known_events),
                calls=known.log.calls,
                state=scope_of(db, known, key).state,
                tally=tally_of(db, known),
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
            known = self._known.get((key.tenant, key.user, key.session)) or self._open(key)  # compared below
            try:
                with self._writing() as db:
                    found = db.execute("SELECT head, facts FROM session WHERE id = ?", (known.id,)).fetchone()
                    if found and (found[0] > known.log.head or found[1] > known.facts):
                        refresh(db, known)
                    if not found or found[0] != head or known.log.head != head:
                        raise HeadMoved(key.session, head, found[0] if found else 0)
                    batch = Batch(events=events, units=units, facts=facts, pieces=pieces, tally=tally)
                    write(db, known, batch, now, live=live)
                    dirty = work_rows.raise_work(db, known, key, events, now, raising)
            except HeadMoved:
                raise
            except BaseException:
                self._forget(key)  # the fold may hold what was rolled back
                raise
            known.log.learn(facts)
            known.facts += len(facts)
            return dirty

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        with self._writing() as db:
            add_facts(db, self._get(key), facts)

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        with self._lock:
            known = self._get(key)
            return known.log.seen(scope_of(self._db, known, key), first, last)

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        with self._lock, self._reading() as db:
            return times_of(db, self._get(key), first, last)

    def event(self, key: Key, name: str) -> Event:
        with self._lock:
            return self._get(key).log.event(name)

    def tally(self, key: Key) -> Tally:
        with self._lock:
            known = self._get(key)
            return scope_of(self._db, known, key).tally(tally_of(self._db, known))

    # requests and checkpoints

    def view(self, key: Key) -> View:
        with self._lock, self._reading() as db:
            known = self._get(key)
            view = build_view(
                key,
                known.log,
                scope_of(db, known, key),
                scopes.newest_checkpoint(db, known, key),
                scopes.state(db, known, key),
                scopes.attempts(db, known, key),
            )
            return msgspec.structs.replace(view, secret=self._secret)

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        with self._writing() as db:
            known = self._get(key)
            if scopes.state(db, known, key).mark == expected:
                scopes.put_state(db, known, key, state)

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        db = self._db
        with self._lock:
            known = self._get(key)
        facts = [fact for fact in sessions.all_facts(db, known, upto) if known.log.shows(key, fact)]
        facts.sort(key=lambda fact: fact.seq)
        units = matching.best_units(db, known, key, upto, limit)
        return newest(facts), facts, units

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
        with self._writing() as db:
            known = self._get(key)
            if anchor is not None and not known.log.is_at(checkpoint.boundary, anchor):
                raise replaced(key.session)
            if checkpoint.boundary > known.log.head:
                raise no_event(str(checkpoint.boundary), key.session, known.log.head)
            newest_one = scopes.newest_checkpoint(db, known, key)
            found = newest_one.version if newest_one else 0
            if found != expected or checkpoint.version <= found or work_rows.fences(db, known, key, token):
                raise StaleBoundary(expected, found)
            scopes.add_checkpoint(db, known, key, checkpoint)
            scopes.put_state(db, known, key, committed(scopes.state(db, known, key), checkpoint))
            if attempt:
                scopes.add_attempt(db, known, key, attempt)
            if token is not None:
                work_rows.commit(db, known, key)

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        with self._lock:
            known = self._get(key)
        rows = sessions.checkpoint_rows(self._db, known.segments, scopes.at(known, key)[1:])
        return [unpack(body, Checkpoint) for _, _, body in rows]

    def note(self, key: Key, attempt: Attempt) -> None:
        with self._writing() as db:
            scopes.add_attempt(db, self._get(key), key, attempt)

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        with self._lock:
            return scopes.newest_attempts(self._db, self._get(key), key, limit)

    # following

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        with self._lock:
            known = self._get(key)
            new = {each: plain for each, plain in hashes.items() if known.wrote.get(each) != plain}
            if not new:
                return  # most requests show the same previews again
            with self._writing() as db:
                db.executemany(
                    "INSERT OR REPLACE INTO written VALUES (?, ?, ?)",
                    [(known.id, each, plain) for each, plain in new.items()],
                )
            known.wrote.update(new)

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        with self._lock:
            known = self._get(key)
        found: dict[str, str] = {}
        for chunk in in_chunks(list(hashes), 500):
            rows = self._db.execute(
                "SELECT hash, stands_for FROM written JOIN session ON session.id = written.session "
                f"WHERE session.root = ? AND hash IN ({marks(chunk)}) ORDER BY session.id",
                (known.row.root, *chunk),
            )
            found.update(rows.fetchall())
        return found

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._lock:
            known = self._get(key)
        return matching.match(self._db, known, below(self._db, known.id, children=False), chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._lock:
            known = self._get(key)
        return matching.ends(self._db, known, below(self._db, known.id, children=False), plains)

    # search

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        with self._reading() as db:
            with self._lock:
                known = self._searched(db, key, sought)
                seqs = scope_of(db, known, key).seqs if key.sees != "all" else None
                visible = None if seqs is None else set(seqs).__contains__
            return Search(db, area(db, known, key, sought, visible), known.log, sought).find(terms, limit)

    def _searched(self, db: sqlite3.Connection, key: Key, sought: Sought) -> Known:
        """The session that is asked, folded only where what its events say decides: a long log is not read in order to
        look into it."""
        found = sessions.find_row(db, key)
        if found is None:
            raise no_session(key.session)
        held = self._known.get((key.tenant, key.user, key.session))
        known = held if held and held.id == found[0].id else Known(*found, sessions.lineage(db, found[0]))
        decides = key.sees != "all" or (sought.where == "children" and len(known.segments) > 1)
        return self._get(key) if decides else known

    # work

    def enlist(self, key: Key) -> None:
        with self._lock:
            self._open(key)
            with self._writing() as db:
                work_rows.enlist(db, self._get(key).id, key)

    def scopes(self, key: Key) -> list[Key]:
        with self._reading() as db:
            return work_rows.scopes(db, key)

    def want(self, key: Key, now: float) -> None:
        with self._writing() as db:
            work_rows.want(db, key, now)

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        with self._reading() as db:
            if not work_rows.is_waiting(db, now):
                return None
        with self._writing() as db:
            return work_rows.claim(db, now, lease_seconds)

    def extend(self, work: Work, until: float) -> bool:
        with self._writing() as db:
            return work_rows.extend(db, work, until)

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        with self._writing() as db:
            return work_rows.settle(db, work, again, counts)

    def works(self, key: Key) -> list[Work]:
        with self._reading() as db:
            return work_rows.of_session(db, key)

    def backlog(self, now: float) -> Backlog:
        with self._reading() as db:
            return work_rows.backlog(db, now)

    # the sessions this process knows

    def _get(self, key: Key) -> Known:
        """The session, folded up to its head. Raises NotFound."""
        known = self._find(key)
        if known is None:
            raise no_session(key.session)
        return known

    def _open(self, key: Key, info: SessionInfo | None = None) -> Known:
        known = self._find(key)
        if known is None:
            with self._writing() as db:
                if sessions.find_row(db, key) is None:
                    sessions.create(db, key, info or SessionInfo(session=key.session))
            known = self._get(key)
        return known

    def _find(self, key: Key) -> Known | None:
        name, db = (key.tenant, key.user, key.session), self._db
        known = self._known.get(name)
        if known is None or not refresh(db, known):
            self._known.pop(name, None)
            found = sessions.find_row(db, key)
            if found is None:
                return None
            known = Known(found[0], found[1], sessions.lineage(db, found[0]))
            refresh(db, known)
            self._known[name] = known
            while len(self._known) > KEPT_SESSIONS:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return known

    def _forget(self, key: Key) -> None:
        self._known.pop((key.tenant, key.user, key.session), None)
