"""The store in memory: for tests, short-lived agents and as the plainest statement of what a store does.

Knows nothing of disk. Every rule that is not about places comes from `log`; the contract suite holds it
and the others to the same behaviour.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from threading import RLock

import msgspec

from foldmark.artifacts import Artifacts, MemoryArtifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import HasForks, HeadMoved, NotFound, StaleBoundary
from foldmark.events import Event
from foldmark.log import (
    Log,
    Scope,
    Viewpoint,
    build_view,
    choose,
    committed,
    count_event,
    described,
    fitting,
    holds_call,
    inherit,
    newest,
    overlap,
    title_of,
    viewpoint_of,
)
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.store import (
    Context,
    Finding,
    Found,
    Key,
    Match,
    Piece,
    ScopeState,
    SessionInfo,
    View,
    Where,
    Work,
)
from foldmark.words import distinct, telling

Name = tuple[str, str, str]  # tenant, user, session


class _Row:
    """A session with everything of its own; what it inherits is read through `parent` up to `parent_seq`."""

    def __init__(self, name: Name, info: SessionInfo, parent: _Row | None) -> None:
        self.name, self.info, self.parent = name, info, parent
        inherits = parent is not None and info.kind == "fork"
        self.limit = info.parent_seq if inherits else 0
        self.fact_limit = len(parent.facts) if parent and inherits else 0
        self.log: Log = parent.log.upto(self.limit, name[2]) if parent and inherits else Log(name[2])
        self.facts: list[Fact] = []
        self.units: list[Unit] = []
        self.pieces: list[Piece] = []
        self.counted = 0
        self.tally = Tally()
        self.postings: dict[str, list[int]] = {}
        self.indexed = 0
        self.checkpoints: dict[Viewpoint, list[Checkpoint]] = {}
        self.states: dict[Viewpoint, ScopeState] = {}
        self.attempts: dict[Viewpoint, list[Attempt]] = {}
        self.written: dict[str, str] = {}
        self.work: dict[Viewpoint, _Work] = {}
        if parent and inherits:
            self.checkpoints = {at: fitting(all_, self.limit) for at, all_ in parent.checkpoints.items()}
            self.states = {
                at: inherit(state, parent.checkpoints.get(at, ()), self.limit)
                for at, state in parent.states.items()
            }

    def lineage(self) -> Iterator[tuple[_Row, int, int]]:
        """(row, last seq, facts seen) of this session and those it inherits from, the newest first."""
        row: _Row = self
        limit, facts = self.log.head, len(self.facts)
        while True:
            yield row, limit, facts
            if row.info.kind != "fork" or row.parent is None:
                return
            limit, facts = min(limit, row.limit), row.fact_limit
            row = row.parent

    def all_facts(self) -> list[Fact]:
        """Facts of the lineage, oldest first."""
        out: list[Fact] = []
        for row, limit, count in reversed(list(self.lineage())):
            out += [fact for fact in row.facts[:count] if fact.seq <= limit]
        return out


class _Work(msgspec.Struct):
    wanted: int = 0
    done: int = 0
    taken: int = 0
    token: int = 0
    lease_until: float = 0.0


class MemoryStore:
    """Keeps everything in this process, behind one lock."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._rows: dict[Name, _Row] = {}
        self._secret = secrets.token_bytes(32)
        self.artifacts: Artifacts = MemoryArtifacts()

    # sessions

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        with self._lock:
            return self._info(self._open(key, info))

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        with self._lock:
            row = self._open(key)
            row.info = msgspec.structs.replace(row.info, meta=described(row.info.meta, meta))
            return self._info(row)

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        with self._lock:
            mine = [self._info(row) for name, row in self._rows.items() if name[:2] == (tenant, user)]
        return sorted(reversed(mine), key=lambda info: info.updated, reverse=True)

    def delete(self, key: Key, *, descendants: bool = False) -> tuple[str, ...]:
        with self._lock:
            row = self._row(key)
            doomed = [row, *self._below(row, children=True)]
            forks = [other.name[2] for other in doomed[1:] if other.info.kind == "fork"]
            if forks and not descendants:
                raise HasForks(key.session, tuple(forks))
            gone: set[str] = set()
            for other in doomed:
                gone |= _hashes(other)
                del self._rows[other.name]
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
                tally=self._tally(row),
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
            row = self._open(key)
            if row.log.head != head:
                raise HeadMoved(key.session, head, row.log.head)
            row.log.extend(events)
            row.log.learn(facts)
            row.facts += facts
            row.units += units
            row.pieces += pieces
            self._raise_work(row, events)
            info = row.info
            texts = {piece.seq: piece.text for piece in reversed(pieces)}
            row.info = msgspec.structs.replace(
                info,
                created=info.created or now,
                updated=now,
                title=info.title or title_of(events, texts),
            )

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        with self._lock:
            row = self._row(key)
            row.facts += facts
            row.log.learn(facts)

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        with self._lock:
            row = self._row(key)
            return row.log.seen(self._scope(row, key), first, last)

    def event(self, key: Key, name: str) -> Event:
        with self._lock:
            return self._row(key).log.event(name)

    def tally(self, key: Key) -> Tally:
        with self._lock:
            return self._tally(self._row(key))

    # requests and checkpoints

    def view(self, key: Key) -> View:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            made = row.checkpoints.get(at)
            state = row.states.get(at, ScopeState())
            return build_view(
                key,
                row.log,
                self._scope(row, key),
                made[-1] if made else None,
                state,
                row.attempts.get(at, ()),
            )

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            if row.states.get(at, ScopeState()).mark == expected:
                row.states[at] = state

    def covered(
        self, key: Key, upto: int, *, limit: int
    ) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        with self._lock:
            row = self._row(key)
            scope = Scope(key)
            facts = [fact for fact in row.all_facts() if fact.seq <= upto and scope.shows(fact)]
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
    ) -> None:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            made = row.checkpoints.setdefault(at, [])
            found = made[-1].version if made else 0
            work = row.work.get(at, _Work())
            if found != expected or checkpoint.version <= found or token not in (None, work.token):
                raise StaleBoundary(expected, found)
            made.append(checkpoint)
            row.states[at] = committed(row.states.get(at, ScopeState()), checkpoint)
            if attempt:
                row.attempts.setdefault(at, []).append(attempt)
            if token is not None:
                work.done, work.lease_until = max(work.done, work.taken), 0.0

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        with self._lock:
            return list(self._row(key).checkpoints.get(viewpoint_of(key), ()))

    def note(self, key: Key, attempt: Attempt) -> None:
        with self._lock:
            self._row(key).attempts.setdefault(viewpoint_of(key), []).append(attempt)

    # following

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        with self._lock:
            self._row(key).written.update(hashes)

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        with self._lock:
            root = list(self._row(key).lineage())[-1][0]
            family = [root, *self._below(root, children=False)]
            return {
                each: row.written[each] for row in reversed(family) for each in hashes if each in row.written
            }

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._lock:
            row = self._row(key)
            candidates = [row, *self._below(row, children=False)]
            places = [{event.chain: event.seq for event in row.log.events} for row in candidates]
            for count in range(len(chains), 0, -1):
                for candidate, seqs in zip(candidates, places, strict=True):
                    if seq := seqs.get(chains[count - 1]):
                        return Match(candidate.name[2], seq, count)
        return None

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._lock:
            row = self._row(key)
            best: Match | None = None
            for candidate in (row, *self._below(row, children=False)):
                shown = [event for event in candidate.log.events if event.chain][-len(plains) :]
                count = overlap(plains, [event.plain for event in shown])
                if count > (best.count if best else 0) and (count > 1 or holds_call(shown[-1])):
                    best = Match(candidate.name[2], shown[-1].seq, count)
        return best

    # search

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, where: Where = "session") -> Finding:
        with self._lock:
            row = self._row(key)
            numbered: list[tuple[_Row, Piece]] = []
            postings: dict[str, list[int]] = {term: [] for term in telling(terms)}
            total = 0
            lineage = {id(other) for other, _, _ in row.lineage()}
            for other, last in self._searched(row, where):
                _index(other)
                shown = [
                    piece.seq <= last and (where != "session" or key.shows(other.log.events[piece.seq - 1]))
                    for piece in other.pieces
                ]
                total += sum(shown)
                start = len(numbered)
                numbered += [(other, piece) for piece in other.pieces]
                for term, numbers in postings.items():
                    numbers += [start + number for number in other.postings.get(term, ()) if shown[number]]
            chosen = [numbered[number] for number in choose(postings, total, limit)]
            found = tuple(
                Found(
                    piece,
                    other.log.events[piece.seq - 1],
                    "" if id(other) in lineage and piece.seq <= row.log.head else other.name[2],
                )
                for other, piece in chosen
            )
            return Finding(found, total, {term: len(hits) for term, hits in postings.items()})

    def _searched(self, row: _Row, where: Where) -> list[tuple[_Row, int]]:
        if where == "user":
            return [(other, other.log.head) for name, other in self._rows.items() if name[:2] == row.name[:2]]
        lineage = [(other, last) for other, last, _ in row.lineage()]
        if where == "children":
            own = {id(other) for other, _ in lineage}
            below = [child for child in self._below(row, children=True) if id(child) not in own]
            lineage += [(child, child.log.head) for child in below if child.info.kind == "child"]
        return lineage[::-1]

    # work

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        with self._lock:
            waiting = [
                (work.wanted, row, at, work)
                for row in self._rows.values()
                for at, work in row.work.items()
                if work.wanted > work.done and work.lease_until <= now
            ]
            if not waiting:
                return None
            _, row, at, work = waiting[0]
            work.taken, work.token, work.lease_until = work.wanted, work.token + 1, now + lease_seconds
            tenant, user, session = row.name
            key = Key(session=session, tenant=tenant, user=user, scope=at[0], sees=at[1])  # type: ignore[arg-type]
            return Work(
                key=key, wanted=work.wanted, done=work.done, token=work.token, lease_until=work.lease_until
            )

    def settle(self, work: Work) -> bool:
        with self._lock:
            held = self._row(work.key).work.get(viewpoint_of(work.key))
            if held is None or held.token != work.token:
                return False
            held.done, held.lease_until = max(held.done, work.wanted), 0.0
            return True

    def _raise_work(self, row: _Row, events: Sequence[Event]) -> None:
        for event in events:
            if not row.log.ends_step(event):
                continue
            for at in row.states:
                if Key(session="", scope=at[0], sees=at[1]).shows(event):  # type: ignore[arg-type]
                    row.work.setdefault(at, _Work()).wanted = event.seq

    # rows

    def _row(self, key: Key) -> _Row:
        row = self._rows.get((key.tenant, key.user, key.session))
        if row is None:
            raise NotFound(
                key.session, f"There is no session {key.session!r}. `foldmark show` lists those there are."
            )
        return row

    def _open(self, key: Key, info: SessionInfo | None = None) -> _Row:
        name = (key.tenant, key.user, key.session)
        if (row := self._rows.get(name)) is None:
            info = msgspec.structs.replace(info or SessionInfo(session=key.session), session=key.session)
            parent = None
            if info.parent:
                parent = self._row(msgspec.structs.replace(key, session=info.parent))
                if info.parent_seq:
                    parent.log.event(str(info.parent_seq))
            row = self._rows[name] = _Row(name, info, parent)
        return row

    def _info(self, row: _Row) -> SessionInfo:
        return msgspec.structs.replace(row.info, head=row.log.head)

    def _below(self, row: _Row, *, children: bool) -> list[_Row]:
        """Forks of the session and theirs, the newest first; with `children` also the sessions calls started."""
        out: list[_Row] = []
        for other in reversed(self._rows.values()):
            if other.parent is row and (children or other.info.kind == "fork"):
                out += [other, *self._below(other, children=children)]
        return out

    def _scope(self, row: _Row, key: Key) -> Scope:
        return row.log.scope(key, row.all_facts)

    def _tally(self, row: _Row) -> Tally:
        """Counts up to the head; inherited events are counted from the parent's pieces."""
        if row.counted < row.log.head:
            texts: dict[int, list[str]] = {}
            for other, last, _ in row.lineage():
                for piece in other.pieces:
                    if row.counted < piece.seq <= last:
                        texts.setdefault(piece.seq, []).append(piece.text)
            for event in row.log.events[row.counted :]:
                count_event(row.tally, event, texts.get(event.seq, ()))
            row.counted = row.log.head
        return row.tally

    def _hashes(self, tenant: str) -> set[str]:
        return {sha for name, row in self._rows.items() if name[0] == tenant for sha in _hashes(row)}


def _index(row: _Row) -> None:
    """Bring the session's index up to its pieces; done when somebody searches, so recording stays cheap."""
    for number in range(row.indexed, len(row.pieces)):
        piece = row.pieces[number]
        for word in distinct(f"{piece.head}\n{piece.text}"):
            row.postings.setdefault(word, []).append(number)
    row.indexed = len(row.pieces)


def _hashes(row: _Row) -> set[str]:
    own = row.log.events[row.limit :]
    return {artifact.sha256 for event in own for artifact in event.artifacts}
