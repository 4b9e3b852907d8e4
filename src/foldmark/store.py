"""What a store keeps and promises: the protocol and its values. Knows nothing of how (memory, SQLite) or of
flows.

Rules that every store obeys (the contract suite carries them from one to the next):

- `append` is one transaction: events, facts, units, pieces, full text and work rows, or nothing.
- seq rises strictly; a fork inherits by reference; queries take the lineage.
- same id and same content is a no-op, same id and other content is IdConflict.
- tenant and user come from the key, never from a query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.calibration import Correction, Sample, learned
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.events import Event, ToolCall, Usage
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.seeking import Finding, Piece, Sought

Sees = Literal["exact", "lineage", "subtree", "all"]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """Whose session, which scope of it. `tenant` and `user` isolate; `scope` + `sees` filter inside the
    session."""

    session: str
    tenant: str = "local"
    user: str = "local"
    scope: str = ""
    sees: Sees = "all"

    def shows(self, event: Event) -> bool:
        """Whether a request of this scope sees the event. Segments of keys are separated by `/`."""
        return sees(self.scope, event.key, self.sees)


def sees(scope: str, key: str, how: Sees) -> bool:
    """exact = same key; lineage = equal, ancestor or descendant; subtree = equal or descendant; all."""
    if how == "all" or scope == key:
        return True
    if how == "exact":
        return False
    mine, theirs = [s for s in scope.split("/") if s], [s for s in key.split("/") if s]
    below = theirs[: len(mine)] == mine
    above = mine[: len(theirs)] == theirs
    return below or (how == "lineage" and above)


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request is built for. `static_tokens` and `static_hash` describe system text and tool
    schemas; `model` is who reads it, where the caller said so; `assumed` that nobody said how large the window is;
    `recalls` are those tools for recall among its tools that overview and preload speak of, where it has any."""

    window: int
    max_output: int | None = None
    static_tokens: int = 0
    static_hash: str = ""
    wire: str = "openai-chat"
    warnings: tuple[str, ...] = ()
    model: str = ""
    assumed: bool = False
    recalls: tuple[str, ...] = ()


def meter_name(wire: str, model: str) -> str:
    """The name under which a provider's usages are kept."""
    return f"{wire} {model}".strip()


class OpenCall(msgspec.Struct, frozen=True):
    """A call and where it was made: at which `seq`, by an event of which `key`; `answered` is the seq of its result, 0
    while there is none."""

    seq: int
    call: ToolCall
    answered: int = 0
    key: str = ""


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
    `known` those that were there already. `calls` are all calls of the lineage by id (newest of each id),
    `state` the newest fact per (kind, key). `tally` counts words and names up to `head`: do not change it.
    `secret` keys the labels of redacted secrets (32 random bytes of the store). Calls, state and tally are
    the store's own living values: read them before the next append, never change them. `held_back` are
    events that a hook of the store kept out; `raised`, once they are appended, is the work of the scopes that got some
    by it."""

    key: Key
    head: int
    new: tuple[Event, ...]
    known: tuple[Event, ...]
    calls: dict[str, OpenCall]
    state: dict[tuple[str, str], Fact]
    tally: Tally
    secret: bytes = b""
    window: int = 0
    held_back: tuple[HeldBack, ...] = ()
    raised: tuple[Work, ...] = ()


class Awaited(msgspec.Struct, frozen=True, array_like=True):
    """What the provider's cache should hold of the last request: `tokens` (our count) of `size`, and the `cause` for
    which it may be gone all the same (empty: none is known)."""

    tokens: int = 0
    size: int = 0
    cause: str = ""


class Miss(msgspec.Struct, frozen=True, array_like=True):
    """Requests whose prefix was not read from the cache as it should have been, and the tokens that were paid in full
    instead (as the provider counts)."""

    count: int = 0
    tokens: int = 0


class ScopeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a scope remembers between requests: the last one's `frame`, `last_size` as built (our tokens),
    `last_time`, checkpoint (`last_version`), reported usage, its stable prefix (`last_hash` over `last_count`
    messages); the calibration: `model` of the last reply and the newest `usages` of every (wire, model).
    `held` lifts all triggers but the cap until that many tokens were added (after an undo). `limits` are windows that
    refusals named, by meter, `overflowed` the head of the last one. `reported`
    is the version of a checkpoint and the input that the provider reported of the first request with it. `awaited` is
    what the cache should hold of the last request; `watched` counts by meter the requests whose reads were looked at,
    `misses` by cause those that missed."""

    frame: Frame | None = None
    mark: Mark = Mark()
    last_size: int = 0
    last_time: float = 0.0
    last_usage: Usage | None = None
    last_hash: str = ""
    last_count: int = 0
    held: int = 0
    model: str = ""
    usages: dict[str, tuple[Sample, ...]] = {}
    last_version: int = 0
    limits: dict[str, int] = {}
    overflowed: int = 0
    reported: tuple[int, int] = (0, 0)
    awaited: Awaited = Awaited()
    misses: dict[str, Miss] = {}
    watched: dict[str, int] = {}

    def correction(self, frame: Frame | None) -> Correction:
        """How the provider of that frame counts: its own samples, never another model's."""
        wire, model = (frame.wire, frame.model) if frame else ("", "")
        return learned(self.usages.get(meter_name(wire, model or self.model), ()))

    @property
    def factor(self) -> float:
        """The factor of the correction for the last frame."""
        return self.correction(self.frame).factor


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a request is built from: the newest checkpoint of the scope, the kept events before its boundary,
    and every event after it that the scope sees, in order. `all_events` counts the scope's whole log. `pins` are the
    pinned seqs, `pinned` the events of those at or before the boundary, kept already or not. `secret` keys the labels
    of redacted secrets, as in `Context`. `first_request` is the seq of the first message of a real user (0: none)."""

    key: Key
    checkpoint: Checkpoint | None
    kept: tuple[Event, ...]
    events: tuple[Event, ...]
    state: ScopeState
    pins: frozenset[int] = frozenset()
    pinned: tuple[Event, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    all_events: int = 0
    head: int = 0
    secret: bytes = b""
    first_request: int = 0

    @property
    def mark(self) -> Mark:
        return self.state.mark


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session's row. `kind` is root, fork (inherits up to `parent_seq`) or child (a context of its own)."""

    session: str
    kind: Literal["root", "fork", "child"] = "root"
    parent: str = ""
    parent_seq: int = 0
    parent_call: str = ""
    created: float = 0.0
    updated: float = 0.0
    head: int = 0
    title: str = ""
    meta: dict[str, str] = {}


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
        if key.sees == "all" and not key.scope:
            return self.whole_session is not False
        return self.scopes is None or any(sees(one, key.scope, "subtree") for one in self.scopes if one)


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """Work that waits: how many scopes are `dirty`, how many of them are `leased` just now or `resting` (not to be
    claimed yet), and for how many seconds the oldest that could be claimed has waited."""

    dirty: int = 0
    leased: int = 0
    resting: int = 0
    oldest_seconds: float = 0.0


class Match(msgspec.Struct, frozen=True):
    """The longest chained match: the first `count` of the offered fingerprints are in `session`, the last
    at `seq`."""

    session: str
    seq: int
    count: int


class Store(Protocol):
    """Everything foldmark needs from a place. Every method is safe from several threads."""

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        """Create the session if needed (as `info` says) and return its row."""

    def info(self, key: Key) -> SessionInfo:
        """The session's row. Creates nothing: raises NotFound."""

    @property
    def artifacts(self) -> Artifacts:
        """Where bodies go unless the caller names another place."""

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        """Keep small settings with the session; an empty value removes one. Returns the new row."""

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        """All sessions of a user, newest update first."""

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        """Number and fingerprint new events, recognise known ones. Raises IdConflict."""

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
        """Write all in one transaction and raise work rows, as `raising` says; returns the work of the scopes that got
        some by it. `tally` holds the context's counts and these events, when the caller has counted them; it is the
        store's from now on. `live` says that events without a time happen now; else their time stays unknown. Raises
        HeadMoved when the head is not `head` any more."""

    def view(self, key: Key) -> View:
        """The scope as the next request sees it."""

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        """Events of the lineage that the scope sees, `first` to `last` inclusive, in order, control events
        too."""

    def times(self, key: Key, first: int = 1, last: int | None = None) -> dict[int, float]:
        """When events of the lineage happened, else when they were recorded live: Unix seconds by seq, `first` to
        `last` inclusive, without those of which nobody knows."""

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        """Store the scope's state after a request was built. A no-op when the mark moved meanwhile."""

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        """(newest fact per (kind, key), all facts in order, best `limit` units) of the scope's log up to a
        seq."""

    def tally(self, key: Key) -> Tally:
        """Word and name counts of what the scope sees, up to the head: do not change them."""

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
        the chain of the boundary event as its maker saw it. Raises StaleBoundary; NotFound for a boundary behind the
        end of the log, and for a log that is another one by now (the session was deleted, its name given again)."""

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        """All versions of the scope, oldest first, inherited ones included."""

    def note(self, key: Key, attempt: Attempt) -> None:
        """Write the note of an attempt."""

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        """The newest notes of attempts of the scope in this session, oldest first (a view holds the last few)."""

    def facts(self, key: Key, facts: Sequence[Fact]) -> None:
        """Append facts that no event brings (pins, a person's edits)."""

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        """Remember fingerprints of messages that we wrote into a request, each with the fingerprint of the
        event that it stands for ("" for none: a checkpoint)."""

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        """Which of these fingerprints are of messages that we wrote in the session, its forks or the sessions
        it was forked from, and what each stands for."""

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        """Longest chained match in the session and its forks; the session itself wins a tie."""

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        """Longest head of the list (at least two, or one holding a call) that ends the log of session or
        fork."""

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        """Pieces that hold any of the analysed terms, and what stands near them. What `sought` does not
        allow is not brought; the statistics are those of all that was searched. No terms bring the newest pieces that
        the filters allow, and nothing without filters."""

    def event(self, key: Key, name: str) -> Event:
        """By seq of the lineage or by client id. Raises NotFound."""

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        """Erase a session with all that hangs on it; returns the artifact hashes no other session of the
        tenant shares. With `heads` (of every session that may go, by id) only while each still ends there, in the same
        transaction. Raises HasForks, also for what hangs on it and is not in `heads`; HeadMoved, NotFound."""

    def hashes(self, tenant: str) -> set[str]:
        """Artifact hashes that events of the tenant still refer to."""

    def enlist(self, key: Key) -> None:
        """Make a scope exist, as a request of it does: from now on appends raise work for it."""

    def scopes(self, key: Key) -> list[Key]:
        """The scopes of the session that exist: requested, enlisted (also by an append), or with a checkpoint of their
        own."""

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

    def close(self) -> None:
        """Release connections."""
