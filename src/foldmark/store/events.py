"""Events of a store: how they come in and are read, and what a store promises of both. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from foldmark.checkpoint import Fact, Unit
from foldmark.events import Event
from foldmark.salience import Tally
from foldmark.seeking import Piece
from foldmark.store.calls import Calls
from foldmark.store.keys import Key
from foldmark.store.work import Raising, Work

ENDLESS = 2**62
"""A seq behind the end of every log."""


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a hook held back: nothing of it is stored but its fingerprint. `place` counts in the batch that was
    offered, from 0; `id` is the caller's (empty when it had none); `calls` are the ids of its calls."""

    place: int
    reason: str
    hook: str
    id: str = ""
    plain: str = ""
    calls: tuple[str, ...] = ()


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What recording needs to know. `new` are the events to append, numbered, with id, chain and session;
    `known` those that were there already. `calls` are all calls of the lineage by id (newest of each id,
    and of each id and key),
    `state` the newest fact per (kind, key). `tally` counts words and names up to `head`: a copy
    to count on where several events are new, else the store's living one. Calls and state are living too: another
    thread may record meanwhile, so things are looked up in them, one by one, and neither walked nor changed.
    `secret` keys the labels of redacted secrets (32 random bytes of the store). `held_back` are
    events that a hook of the store kept out; `raised`, once they are appended, is the work of the scopes that got some
    by it."""

    key: Key
    head: int
    new: tuple[Event, ...]
    known: tuple[Event, ...]
    calls: Calls
    state: dict[tuple[str, str], Fact]
    tally: Tally
    secret: bytes = b""
    window: int = 0
    held_back: tuple[HeldBack, ...] = ()
    raised: tuple[Work, ...] = ()


class Events(Protocol):
    """Events come in, with all that is made of them, and are read as they were given."""

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        """Make the session if needed; number and fingerprint new events, recognise known ones. Raises IdConflict."""

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
        """Write all in one transaction, make the session if needed, and raise work rows, as `raising` says; returns the
        work of the scopes that got some by it. `tally` holds the context's counts and these events, when the caller has
        counted them; it is the store's from now on. `live` says that events without a time happen now; else their time
        stays unknown. Raises HeadMoved when the head is not `head` any more (that of a session that is not there is
        0), ValueError when the events do not go on from there, or pieces or units are of other events."""

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        """Append facts that no event brings (pins, a person's edits). Raises NotFound."""

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        """Events of the lineage that the scope sees, `first` to `last` inclusive, in order, control events
        too. Raises NotFound."""

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        """When events of the lineage happened, else when they were recorded live: Unix seconds by seq, `first` to
        `last` inclusive, without those of which nobody knows. Raises NotFound."""

    def event(self, key: Key, name: str) -> Event:
        """By seq of the lineage or by client id. Raises NotFound."""

    def tally(self, key: Key) -> Tally:
        """Word and name counts of what the scope sees, up to the head, as they are now: a copy. Raises NotFound."""
