"""A store that shows what would be: it reads through to another one and writes nothing. Knows nothing of what is tried
on it.

A dry run is the real thing, run on this store: a plan cannot say anything else than what the compaction would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import NotFound, StaleBoundary
from foldmark.events import Event
from foldmark.log import Viewpoint, committed, described, viewpoint_of
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.seeking import Finding, Piece, Sought
from foldmark.store import Backlog, Context, Key, Match, Raising, ScopeState, SessionInfo, Store, View, Work
from foldmark.vectors import Unwritten, Vectors, vectors_of

_NOTHING = Raising()


class _Tried(msgspec.Struct):
    """What was committed here, and nowhere else: checkpoints, the state behind them, the notes of their attempts."""

    checkpoints: list[Checkpoint]
    state: ScopeState
    attempts: list[Attempt]


class Rehearsal:
    """Reads are those of `store`. `commit` is remembered here: `view` and `checkpoints` then show it as the store
    would. Whatever else would write does nothing: no event, fact, note, lease or request comes into the store by it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tried: dict[tuple[str, str, str, Viewpoint], _Tried] = {}

    # sessions

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        """The session's row. Raises NotFound where the store would create it."""
        return self._store.info(key)

    def info(self, key: Key) -> SessionInfo:
        return self._store.info(key)

    @property
    def artifacts(self) -> Artifacts:
        return self._store.artifacts

    @property
    def vectors(self) -> Vectors | None:
        """The store's, to read alone."""
        inner = vectors_of(self._store)
        return Unwritten(inner) if inner else None

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        row = self.open(key)
        return msgspec.structs.replace(row, meta=described(row.meta, meta))

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        return self._store.sessions(tenant, user)

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        return ()

    def hashes(self, tenant: str) -> set[str]:
        return self._store.hashes(tenant)

    def close(self) -> None:
        """Nothing to release: the store is somebody else's."""

    # events

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        self.open(key)  # a store would create the session
        return self._store.context(key, events)

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
        raising: Raising = _NOTHING,
        live: bool = True,
    ) -> tuple[Work, ...]:
        """Nothing comes in."""
        return ()

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        """Nothing is noted."""

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        tried = self._tried.get(_place(key))
        return [*self._store.attempts(key, limit=limit), *(tried.attempts if tried else ())][-limit:]

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        return self._store.log(key, first, last)

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        return self._store.times(key, first, last)

    def event(self, key: Key, name: str) -> Event:
        return self._store.event(key, name)

    def tally(self, key: Key) -> Tally:
        return self._store.tally(key)

    # requests and checkpoints

    def view(self, key: Key) -> View:
        view, tried = self._store.view(key), self._tried.get(_place(key))
        if tried is None:
            return view
        made = tried.checkpoints[-1]
        return msgspec.structs.replace(
            view,
            checkpoint=made,
            kept=tuple(event for event in self._events(key, made.kept, made.boundary) if key.shows(event)),
            events=tuple(self._store.log(key, made.boundary + 1)),
            state=tried.state,
            pinned=self._events(key, sorted(view.pins), made.boundary),
            attempts=(*view.attempts, *tried.attempts),
        )

    def _events(self, key: Key, seqs: Sequence[int], boundary: int) -> tuple[Event, ...]:
        return tuple(self._store.event(key, str(seq)) for seq in seqs if 0 < seq <= boundary)

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        """No request goes out."""

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        return self._store.covered(key, upto, limit=limit)

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
        """Remember it here. Raises StaleBoundary and NotFound as the store would, but for leases: nobody holds one."""
        view = self.view(key)
        found = view.checkpoint.version if view.checkpoint else 0
        if found != expected or checkpoint.version <= found:
            raise StaleBoundary(expected, found)
        if checkpoint.boundary and anchor not in (None, self._store.event(key, str(checkpoint.boundary)).chain):
            raise NotFound(key.session, f"Session {key.session!r} is another one by now.")
        tried = self._tried.setdefault(_place(key), _Tried([], view.state, []))
        tried.checkpoints.append(checkpoint)
        tried.state = committed(tried.state, checkpoint)
        tried.attempts += [attempt] if attempt else []

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        tried = self._tried.get(_place(key))
        return [*self._store.checkpoints(key), *(tried.checkpoints if tried else ())]

    def note(self, key: Key, attempt: Attempt) -> None:
        """Nothing is noted."""

    # following

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        """Nothing was written."""

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        return self._store.written(key, hashes)

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        return self._store.match(key, chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        return self._store.ends(key, plains)

    # search

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        return self._store.find(key, terms, limit=limit, sought=sought)

    # work

    def enlist(self, key: Key) -> None:
        """No scope begins to exist."""

    def scopes(self, key: Key) -> list[Key]:
        return self._store.scopes(key)

    def want(self, key: Key, now: float) -> None:
        """No work is raised."""

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        return None

    def extend(self, work: Work, until: float) -> bool:
        return False

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        return False

    def works(self, key: Key) -> list[Work]:
        return self._store.works(key)

    def backlog(self, now: float) -> Backlog:
        return self._store.backlog(now)


def _place(key: Key) -> tuple[str, str, str, Viewpoint]:
    return key.tenant, key.user, key.session, viewpoint_of(key)
