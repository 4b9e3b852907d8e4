"""Checkpoints of a store and the state of its scopes: what a store promises of both. Knows nothing of their making."""

from __future__ import annotations

from typing import Protocol

from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.reports import Attempt
from foldmark.store.keys import Key
from foldmark.store.state import ScopeState, View


class Checkpoints(Protocol):
    """A scope is looked at, a request of it goes out, a checkpoint is written."""

    def view(self, key: Key) -> View:
        """The scope as the next request sees it. Raises NotFound."""

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        """Store the scope's state after a request was built. A no-op when the mark moved meanwhile. Raises
        NotFound."""

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        """(newest fact per (kind, key), all facts in order, best `limit` units) of the scope's log up to a seq, all of
        one moment. Raises NotFound."""

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
        """Write checkpoint, boundary and mark together. `expected` is the newest version seen (0 for none), `anchor`
        the chain of the boundary event as its maker saw it. Raises StaleBoundary; NotFound for a session
        that is not there, a boundary behind the end of its log, and a log that is another one by now (the session was
        deleted, its name given again)."""

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        """All versions of the scope, oldest first, inherited ones included. Raises NotFound."""

    def note(self, key: Key, attempt: Attempt) -> None:
        """Write the note of an attempt. Raises NotFound."""

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        """The newest notes of attempts of the scope in this session, oldest first (a view holds the last few). None
        for a limit below 1. Raises NotFound."""
