"""Work of a store: which scopes wait, who does it, and what a store promises of both. Knows nothing of what is done."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from foldmark.store.keys import Key, sees

CLOCK_SKEW_SECONDS = 60.0
"""So far may the clocks of two processes on one store lie apart. What is further ahead is a clock that was set back."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A scope that is dirty up to event `wanted` since the time `since`; `token` fences the worker that holds the lease
    until `lease_until`. `attempts` counts the claims since it was last settled as done, this one included, without
    those that were settled as none."""

    key: Key
    wanted: int
    done: int
    token: int = 0
    lease_until: float = 0.0
    since: float = 0.0
    attempts: int = 0


class Raising(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which work an append raises: `after` the end of every step (final assistant text, complete tool rounds), of a
    turn (final assistant text alone), or never; not to be claimed before the time `not_before` (each append that the
    scope sees moves it on). `enlist`: the scope that appends exists from now on, but the
    whole session's only while no event has a key of its own.

    `scopes` are the keys whose scopes get work, each with all below it (None: every scope that exists). The whole
    session's scope follows `whole_session` alone: None when it exists, True always (it is made then), False never."""

    after: Literal["steps", "turns", "nothing"] = "steps"
    not_before: float = 0.0
    scopes: tuple[str, ...] | None = None
    whole_session: bool | None = None
    enlist: bool = False

    def allows(self, key: Key) -> bool:
        """Whether that scope, which exists, gets work."""
        if key.is_whole:
            return self.whole_session is not False
        return self.scopes is None or any(sees(one, key.scope, "subtree") for one in self.scopes if one)


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """Work that waits: how many scopes are `dirty`, how many of them are `leased` just now or `resting` (not to be
    claimed yet), and for how many seconds the oldest that could be claimed has waited."""

    dirty: int = 0
    leased: int = 0
    resting: int = 0
    oldest_seconds: float = 0.0


class Works(Protocol):
    """Scopes exist, are dirty, are leased and settled."""

    def enlist(self, key: Key) -> None:
        """Make the session if needed, and a scope of it exist, as a request of it does: from now on appends raise work
        for it."""

    def scopes(self, key: Key) -> list[Key]:
        """The scopes of the session that exist: requested, enlisted (also by an append), or with a checkpoint of their
        own. Raises NotFound."""

    def want(self, key: Key, now: float) -> None:
        """Mark a scope dirty up to the head by hand, to be claimed at once, whatever pause or retry it rests for; it is
        enlisted with it. Raises NotFound."""

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        """Take the oldest dirty scope whose lease is free, in a session of which no scope is leased. The token fences
        every earlier holder of the lease, and is good for one commit. What is dirty since a time to come (by more than
        CLOCK_SKEW_SECONDS) was raised before the clock was set back: it neither rests nor is it leased."""

    def extend(self, work: Work, until: float) -> bool:
        """Hold the lease until then. False when another worker holds it by now, or the session is gone."""

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        """The claimed work is done up to `work.wanted`, committed or not: frees the lease. With `again` it is not done
        and may be claimed from that time on, or at once when it was wanted by hand meanwhile; without `counts` this
        claim was no attempt (it was put off or given back). False when another worker holds it by now, or the session
        is gone (nothing is changed then)."""

    def works(self, key: Key) -> list[Work]:
        """The dirty scopes of the session and those with a lease, ordered as `scopes`. Raises NotFound."""

    def backlog(self, now: float) -> Backlog:
        """What waits, over all tenants."""
