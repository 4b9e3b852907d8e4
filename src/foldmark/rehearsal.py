"""A store that shows what would be: it reads through to another one and writes nothing. Knows nothing of what is tried
on it.

A dry run is the real thing, run on this store: a plan cannot say anything else than what the compaction would do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from foldmark.checkpoint import Checkpoint
from foldmark.events import Event
from foldmark.log import Viewpoint, check_commit, committed, described, latest, viewpoint_of
from foldmark.reports import Attempt
from foldmark.store import (
    Checkpoints,
    Context,
    Events,
    Key,
    Lists,
    ScopeState,
    SessionInfo,
    Sessions,
    Store,
    View,
    Works,
)
from foldmark.store.forwarding import Reading
from foldmark.vectors import Unwritten, Vectors, vectors_of

P = ParamSpec("P")
R = TypeVar("R")


def _nothing(promise: Callable[Concatenate[Any, P], R], answer: R) -> Callable[Concatenate[Any, P], R]:
    """A method that takes what this one takes, does nothing and gives that answer."""

    def method(self: Any, /, *_: P.args, **__: P.kwargs) -> R:
        return answer

    return method


class _Tried(msgspec.Struct):
    """What was committed here, and nowhere else: checkpoints, the state behind them, the notes of their attempts."""

    checkpoints: list[Checkpoint]
    state: ScopeState
    attempts: list[Attempt]


class Rehearsal(Reading):
    """Reads are those of `store`. `commit` is remembered here: `view` and `checkpoints` then show it as the store
    would. Whatever else would write does nothing: no event, fact, note, lease or request comes into the store by it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._tried: dict[tuple[str, str, str, Viewpoint], _Tried] = {}

    delete = _nothing(Sessions.delete, ())
    close = _nothing(Sessions.close, None)
    append = _nothing(Events.append, ())
    facts = _nothing(Events.facts, None)
    sent = _nothing(Checkpoints.sent, None)
    note = _nothing(Checkpoints.note, None)
    wrote = _nothing(Lists.wrote, None)
    enlist = _nothing(Works.enlist, None)
    want = _nothing(Works.want, None)
    claim = _nothing(Works.claim, None)
    extend = _nothing(Works.extend, False)
    settle = _nothing(Works.settle, False)

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        """The session's row. Raises NotFound where the store would create it."""
        return self.inner.info(key)

    @property
    def vectors(self) -> Vectors | None:
        """The store's, to read alone."""
        inner = vectors_of(self.inner)
        return Unwritten(inner) if inner else None

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        row = self.open(key)
        return msgspec.structs.replace(row, meta=described(row.meta, meta))

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        self.open(key)  # a store would create the session
        return self.inner.context(key, events)

    def view(self, key: Key) -> View:
        view, tried = self.inner.view(key), self._tried.get(_place(key))
        if tried is None:
            return view
        made = tried.checkpoints[-1]
        return msgspec.structs.replace(
            view,
            checkpoint=made,
            kept=tuple(event for event in self._events(key, made.kept, made.boundary) if key.shows(event)),
            events=tuple(self.inner.log(key, made.boundary + 1)),
            state=tried.state,
            pinned=self._events(key, sorted(view.pins), made.boundary),
            attempts=(*view.attempts, *tried.attempts),
        )

    def _events(self, key: Key, seqs: Sequence[int], boundary: int) -> tuple[Event, ...]:
        return tuple(self.inner.event(key, str(seq)) for seq in seqs if 0 < seq <= boundary)

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
        check_commit(
            key.session, view.head, lambda seq: self.inner.event(key, str(seq)).chain, checkpoint, view.checkpoint,
            expected=expected, anchor=anchor,
        )  # fmt: skip
        tried = self._tried.setdefault(_place(key), _Tried([], view.state, []))
        tried.checkpoints.append(checkpoint)
        tried.state = committed(tried.state, checkpoint)
        tried.attempts += [attempt] if attempt else []

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        tried = self._tried.get(_place(key))
        return [*self.inner.checkpoints(key), *(tried.checkpoints if tried else ())]

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        tried = self._tried.get(_place(key))
        return latest([*self.inner.attempts(key, limit=limit), *(tried.attempts if tried else ())], limit)


def _place(key: Key) -> tuple[str, str, str, Viewpoint]:
    return key.tenant, key.user, key.session, viewpoint_of(key)
