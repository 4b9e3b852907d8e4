"""A store that is another one: every method of the protocol, handed on. Knows nothing of hooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from foldmark.artifacts import Artifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.events import Event
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.seeking import Finding, Piece, Sought
from foldmark.store import Backlog, Context, Key, Match, Raising, ScopeState, SessionInfo, Store, View, Work
from foldmark.vectors import Vectors, vectors_of


class Forwarding:
    """Wraps `inner` and changes nothing. Methods are written out, so that one that the protocol gains is missed by a
    test and not by a user."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        return self.inner.open(key, info=info)

    def info(self, key: Key) -> SessionInfo:
        return self.inner.info(key)

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        return self.inner.describe(key, meta)

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        return self.inner.sessions(tenant, user)

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        return self.inner.context(key, events)

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
        return self.inner.append(
            key, events, head=head, units=units, facts=facts, pieces=pieces, tally=tally, now=now, raising=raising,
            live=live,
        )  # fmt: skip

    def view(self, key: Key) -> View:
        return self.inner.view(key)

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        return self.inner.log(key, first, last)

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        return self.inner.times(key, first, last)

    def event(self, key: Key, name: str) -> Event:
        return self.inner.event(key, name)

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        return self.inner.covered(key, upto, limit=limit)

    def tally(self, key: Key) -> Tally:
        return self.inner.tally(key)

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        return self.inner.find(key, terms, limit=limit, sought=sought)

    def close(self) -> None:
        self.inner.close()

    @property
    def path(self) -> str | Path:
        """Where the inner store keeps its file. Raises AttributeError for one that has none."""
        place: str | Path = self.inner.path  # type: ignore[attr-defined]
        return place

    @property
    def artifacts(self) -> Artifacts:
        return self.inner.artifacts

    @property
    def vectors(self) -> Vectors | None:
        """Where the inner store keeps vectors, if it does."""
        return vectors_of(self.inner)

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        self.inner.sent(key, state, expected=expected)

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
        self.inner.commit(key, checkpoint, expected=expected, attempt=attempt, token=token, anchor=anchor)

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        return self.inner.checkpoints(key)

    def note(self, key: Key, attempt: Attempt) -> None:
        self.inner.note(key, attempt)

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        return self.inner.attempts(key, limit=limit)

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        self.inner.facts(key, facts)

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        self.inner.wrote(key, hashes)

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        return self.inner.written(key, hashes)

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        return self.inner.match(key, chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        return self.inner.ends(key, plains)

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        return self.inner.delete(key, descendants=descendants, heads=heads)

    def hashes(self, tenant: str) -> set[str]:
        return self.inner.hashes(tenant)

    def enlist(self, key: Key) -> None:
        self.inner.enlist(key)

    def scopes(self, key: Key) -> list[Key]:
        return self.inner.scopes(key)

    def want(self, key: Key, now: float) -> None:
        self.inner.want(key, now)

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        return self.inner.claim(now, lease_seconds)

    def extend(self, work: Work, until: float) -> bool:
        return self.inner.extend(work, until)

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        return self.inner.settle(work, again=again, counts=counts)

    def works(self, key: Key) -> list[Work]:
        return self.inner.works(key)

    def backlog(self, now: float) -> Backlog:
        return self.inner.backlog(now)
