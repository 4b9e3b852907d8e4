"""SQLiteStore: one file, WAL, one connection for each thread, writers behind one lock.

Every write is one `BEGIN IMMEDIATE` transaction. Decoded events of recent sessions stay in the process; a read
fetches only the rows that came since. Knows nothing of steps or flows.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from foldmark.artifacts import Artifacts, FileArtifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import HasForks, HeadMoved, StaleBoundary, StoreError
from foldmark.events import Event
from foldmark.log import ATTEMPTS_SHOWN, Scope, build_view, committed, described, newest, title_of, viewpoint_of
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.sqlite import searching, sessions
from foldmark.sqlite.rows import (
    erase_pieces,
    get,
    in_chunks,
    insert_events,
    insert_pieces,
    insert_units,
    marks,
    pack,
    put,
    unpack,
)
from foldmark.sqlite.schema import SESSION_TABLES, connect, migrate
from foldmark.sqlite.sessions import Known, Row, add_facts, below, refresh, save_tally, scope_of, tally_of
from foldmark.store import (
    Context,
    Finding,
    Key,
    Match,
    Piece,
    ScopeState,
    SessionInfo,
    View,
    Where,
    Work,
)
from foldmark.words import telling

KEPT_SESSIONS = 32
"""Sessions whose decoded events stay in the process, the last used ones."""


class SQLiteStore:
    """Keeps everything in one SQLite file. `durability="full"` also survives a power cut, at a third of the speed
    or less; "normal" may then lose the last transactions (never a crash of the process, never the file)."""

    def __init__(self, path: str | Path, *, durability: Literal["normal", "full"] = "normal") -> None:
        if str(path) in ("", ":memory:"):
            raise StoreError("SQLiteStore needs a file; MemoryStore keeps everything in memory.")
        self.path = Path(path)
        self._full = durability == "full"
        self.artifacts: Artifacts = FileArtifacts(f"{path}.artifacts")
        self._lock = threading.RLock()
        self._local = threading.local()
        self._connections: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._known: OrderedDict[tuple[str, str, str], Known] = OrderedDict()
        self._secret = migrate(self._db, str(path))

    # sessions

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._lock:
            known = self._open(key, info)
            return sessions.info_of(self._db, sessions.row_of(self._db, known.id))

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

    def delete(self, key: Key, *, descendants: bool = False) -> tuple[str, ...]:
        with self._writing() as db:
            known = self._get(key)
            doomed = [known.row, *below(db, known.id, children=True)]
            forks = [get(row.name) for row in doomed[1:] if row.kind == "fork"]
            if forks and not descendants:
                raise HasForks(key.session, tuple(forks))
            before = searching.artifact_hashes(db, put(key.tenant))
            for row in reversed(doomed):
                erase_pieces(db, row.id, f"{known.scope.rsplit(' ', 1)[0]} s{row.id}")
                for table in SESSION_TABLES:
                    db.execute(f"DELETE FROM {table} WHERE session = ?", (row.id,))
                db.execute("DELETE FROM session WHERE id = ?", (row.id,))
                self._known.pop((key.tenant, key.user, get(row.name)), None)
            # merging the index drops the erased words from its pages too
            db.execute("INSERT INTO search (search) VALUES ('optimize')")
            gone = before - searching.artifact_hashes(db, put(key.tenant))
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return tuple(sorted(gone))

    def hashes(self, tenant: str) -> set[str]:
        return searching.artifact_hashes(self._db, put(tenant))

    def close(self) -> None:
        with self._lock:
            for _, db in self._connections:
                db.close()
            self._connections.clear()
            self._local = threading.local()
            self._known.clear()

    # events

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        with self._lock:
            known, db = self._open(key), self._db
            new, known_events = known.log.number(events)
            frame = self._state(db, known, key).frame
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
        now: float,
    ) -> None:
        with self._lock:
            known = self._open(key)
            try:
                with self._writing() as db:
                    found = db.execute("SELECT head FROM session WHERE id = ?", (known.id,)).fetchone()
                    if not found or found[0] != head or known.log.head != head:
                        raise HeadMoved(key.session, head, found[0] if found else 0)
                    self._write(db, known, events, units, facts, pieces, now)
            except HeadMoved:
                raise
            except BaseException:
                self._forget(key)  # the fold may hold what was rolled back
                raise
            known.log.learn(facts)
            known.facts += len(facts)

    def _write(
        self,
        db: sqlite3.Connection,
        known: Known,
        events: Sequence[Event],
        units: Sequence[Unit],
        facts: Sequence[Fact],
        pieces: Sequence[Piece],
        now: float,
    ) -> None:
        known.log.extend(events)
        insert_events(db, known.id, events)
        if units:
            insert_units(db, known.id, units)
        if facts:
            add_facts(db, known, facts)
        texts: dict[int, list[str]] = {event.seq: [] for event in events}
        if pieces:
            insert_pieces(db, known.id, known.scope, pieces)
            for piece in pieces:
                texts[piece.seq].append(piece.text)
        known.pending.update(texts)
        title = title_of(events, {seq: found[0] for seq, found in texts.items() if found})
        db.execute(
            "UPDATE session SET head = ?, updated = ?, created = CASE WHEN created = 0 THEN ? ELSE created END, "
            "title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
            (known.log.head, now, now, put(title), known.id),
        )
        self._raise_work(db, known, events, now)
        save_tally(db, known)

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        with self._writing() as db:
            add_facts(db, self._get(key), facts)

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        with self._lock:
            known = self._get(key)
            return known.log.seen(scope_of(self._db, known, key), first, last)

    def event(self, key: Key, name: str) -> Event:
        with self._lock:
            return self._get(key).log.event(name)

    def tally(self, key: Key) -> Tally:
        with self._lock:
            return tally_of(self._db, self._get(key))

    # requests and checkpoints

    def view(self, key: Key) -> View:
        with self._lock, self._reading() as db:
            known = self._get(key)
            attempts = db.execute(
                "SELECT body FROM attempt WHERE session = ? AND scope = ? AND sees = ? ORDER BY id DESC LIMIT ?",
                (known.id, *_at(key), ATTEMPTS_SHOWN),
            ).fetchall()
            return build_view(
                key,
                known.log,
                scope_of(db, known, key),
                self._checkpoint(db, known, key),
                self._state(db, known, key),
                [unpack(body, Attempt) for (body,) in reversed(attempts)],
            )

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        with self._writing() as db:
            known = self._get(key)
            if self._state(db, known, key).mark == expected:
                self._put_state(db, known, key, state)

    def covered(
        self, key: Key, upto: int, *, limit: int
    ) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        db, scope = self._db, Scope(key)
        with self._lock:
            known = self._get(key)
        facts = [fact for fact in sessions.all_facts(db, known, upto) if scope.shows(fact)]
        facts.sort(key=lambda fact: fact.seq)
        units = searching.best_units(db, known, key, upto, limit)
        return newest(facts), facts, units

    def commit(
        self,
        key: Key,
        checkpoint: Checkpoint,
        *,
        expected: int,
        attempt: Attempt | None = None,
        token: int | None = None,
    ) -> None:
        with self._writing() as db:
            known, at = self._get(key), _at(key)
            newest_one = self._checkpoint(db, known, key)
            found = newest_one.version if newest_one else 0
            held = db.execute(
                "SELECT token FROM work WHERE session = ? AND scope = ? AND sees = ?", (known.id, *at)
            ).fetchone()
            if (
                found != expected
                or checkpoint.version <= found
                or token not in (None, held[0] if held else 0)
            ):
                raise StaleBoundary(expected, found)
            number = db.execute(
                "UPDATE session SET checkpoints = checkpoints + 1 WHERE id = ? RETURNING checkpoints",
                (known.id,),
            ).fetchone()[0]
            db.execute(
                "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (known.id, number, *at, checkpoint.version, checkpoint.boundary, checkpoint.time,
                 checkpoint.author, pack(checkpoint)),
            )  # fmt: skip
            self._put_state(db, known, key, committed(self._state(db, known, key), checkpoint))
            if attempt:
                _insert_attempt(db, known, key, attempt)
            if token is not None:
                db.execute(
                    "UPDATE work SET done = max(done, taken), lease_until = 0 "
                    "WHERE session = ? AND scope = ? AND sees = ?",
                    (known.id, *at),
                )

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        with self._lock:
            known = self._get(key)
        rows = sessions.checkpoint_rows(self._db, known.segments, _at(key))
        return [unpack(body, Checkpoint) for _, _, body in rows]

    def note(self, key: Key, attempt: Attempt) -> None:
        with self._writing() as db:
            _insert_attempt(db, self._get(key), key, attempt)

    # following

    def wrote(self, key: Key, hashes: Iterable[str]) -> None:
        with self._writing() as db:
            known = self._get(key)
            db.executemany(
                "INSERT OR IGNORE INTO written VALUES (?, ?)", [(known.id, each) for each in hashes]
            )

    def written(self, key: Key, hashes: Sequence[str]) -> set[str]:
        with self._lock:
            known = self._get(key)
        found: set[str] = set()
        for chunk in in_chunks(list(hashes), 500):
            rows = self._db.execute(
                "SELECT hash, stands_for FROM written JOIN session ON session.id = written.session "
                f"WHERE session.root = ? AND hash IN ({marks(chunk)})",
                (known.row.root, *chunk),
            )
            found.update(rows.fetchall())
        return found

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._lock:
            known = self._get(key)
        return searching.match(self._db, known, below(self._db, known.id, children=False), chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._lock:
            known = self._get(key)
        return searching.ends(self._db, known, below(self._db, known.id, children=False), plains)

    # search

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, where: Where = "session") -> Finding:
        with self._lock, self._reading() as db:
            known = self._get(key)
            others: list[Row] = []
            if where == "children":
                others = [row for row in below(db, known.id, children=True) if row.kind == "child"]
            elif where == "user":
                others = sessions.rows_of_user(db, key.tenant, key.user)
            shown = None
            if where == "session" and key.sees != "all":
                seqs = set(scope_of(db, known, key).seqs or ())
                shown = seqs.__contains__
            searched = searching.Searched(known, others, shown)
        return searching.find(self._db, known, searched, telling(terms), limit=limit)

    # work

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        with self._writing() as db:
            found = db.execute(
                "UPDATE work SET taken = wanted, token = token + 1, lease_until = ? WHERE id = ("
                "SELECT id FROM work WHERE wanted > done AND lease_until <= ? AND not_before <= ? "
                "ORDER BY since, id LIMIT 1) RETURNING session, scope, sees, wanted, done, token, lease_until",
                (now + lease_seconds, now, now),
            ).fetchone()
            if not found:
                return None
            session, scope, sees, wanted, done, token, lease_until = found
            tenant, user, name = db.execute(
                "SELECT tenant.name, user.name, session.name FROM session JOIN user ON user.id = session.user "
                "JOIN tenant ON tenant.id = user.tenant WHERE session.id = ?",
                (session,),
            ).fetchone()
        key = Key(session=get(name), tenant=get(tenant), user=get(user), scope=get(scope), sees=sees)
        return Work(key=key, wanted=wanted, done=done, token=token, lease_until=lease_until)

    def settle(self, work: Work) -> bool:
        with self._writing() as db:
            known = self._get(work.key)
            changed = db.execute(
                "UPDATE work SET done = max(done, ?), lease_until = 0 "
                "WHERE session = ? AND scope = ? AND sees = ? AND token = ?",
                (work.wanted, known.id, *_at(work.key), work.token),
            )
            return changed.rowcount == 1

    def _raise_work(self, db: sqlite3.Connection, known: Known, events: Sequence[Event], now: float) -> None:
        due = [event for event in events if known.log.ends_step(event)]
        if not due:
            return
        scopes = db.execute("SELECT scope, sees FROM scope_state WHERE session = ?", (known.id,)).fetchall()
        for scope, sees in scopes:
            key = Key(session=known.name, scope=get(scope), sees=sees)
            if seen := [event.seq for event in due if key.shows(event)]:
                db.execute(
                    "INSERT INTO work (session, scope, sees, wanted, since) VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT (session, scope, sees) DO UPDATE SET "
                    "since = CASE WHEN wanted > done THEN since ELSE excluded.since END, wanted = excluded.wanted",
                    (known.id, scope, sees, seen[-1], now),
                )

    # rows of a scope

    def _state(self, db: sqlite3.Connection, known: Known, key: Key) -> ScopeState:
        found = db.execute(
            "SELECT body FROM scope_state WHERE session = ? AND scope = ? AND sees = ?", (known.id, *_at(key))
        ).fetchone()
        return unpack(found[0], ScopeState) if found else ScopeState()

    def _put_state(self, db: sqlite3.Connection, known: Known, key: Key, state: ScopeState) -> None:
        db.execute(
            "INSERT OR REPLACE INTO scope_state VALUES (?, ?, ?, ?)", (known.id, *_at(key), pack(state))
        )

    def _checkpoint(self, db: sqlite3.Connection, known: Known, key: Key) -> Checkpoint | None:
        """The newest version; decoded once and kept, since it is as large as a landing."""
        at = viewpoint_of(key)
        for segment in reversed(known.segments):
            found = db.execute(
                "SELECT number FROM checkpoint WHERE session = ? AND scope = ? AND sees = ? AND number <= ? "
                "AND boundary <= ? ORDER BY number DESC LIMIT 1",
                (segment.session, *_at(key), segment.checkpoints, segment.last),
            ).fetchone()
            if not found:
                continue
            cached = known.checkpoints.get(at)
            if cached and cached[:2] == (segment.session, found[0]):
                return cached[2]
            body = db.execute(
                "SELECT body FROM checkpoint WHERE session = ? AND number = ?", (segment.session, found[0])
            ).fetchone()[0]
            checkpoint = unpack(body, Checkpoint)
            known.checkpoints[at] = (segment.session, found[0], checkpoint)
            return checkpoint
        return None

    # connections, transactions, the sessions this process knows

    @property
    def _db(self) -> sqlite3.Connection:
        """This thread's connection; a forked process opens its own."""
        held = getattr(self._local, "held", None)
        if held is None or held[0] != os.getpid():
            db = connect(str(self.path), full=self._full)
            self._local.held = held = (os.getpid(), db)
            with self._lock:
                for thread, old in self._connections:
                    if not thread.is_alive():
                        old.close()
                self._connections = [pair for pair in self._connections if pair[0].is_alive()]
                self._connections.append((threading.current_thread(), db))
        connection: sqlite3.Connection = held[1]
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot for several reads."""
        db = self._db
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("COMMIT")

    def _get(self, key: Key) -> Known:
        """The session, folded up to its head. Raises NotFound."""
        known = self._find(key)
        if known is None:
            raise sessions.missing(key.session)
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


def _at(key: Key) -> tuple[str | bytes, str]:
    scope, sees = viewpoint_of(key)
    return put(scope), sees


def _insert_attempt(db: sqlite3.Connection, known: Known, key: Key, attempt: Attempt) -> None:
    db.execute(
        "INSERT INTO attempt (session, scope, sees, time, outcome, body) VALUES (?, ?, ?, ?, ?, ?)",
        (known.id, *_at(key), attempt.time, attempt.outcome, pack(attempt)),
    )
