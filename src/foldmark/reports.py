"""What a step did: changes, attempts and reports, as immutable values. Knows nothing of who prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from foldmark.events import Usage
from foldmark.prices import Money

Outcome = Literal["applied", "not_due", "deferred", "ineffective", "degraded", "failed"]
COMMITTED = ("applied", "degraded")
"""Outcomes of an attempt that moved the boundary."""
Run = Literal["caller", "intra_run", "background", "idle", "tool", "overflow"]
"""How a compaction was run: asked for by the caller (or by the request on its way out), between two model calls of one
run, by a worker, by a worker after a pause, by the agent through a tool, after a provider's refusal."""
Status = Literal["raw", "demoted", "kept", "covered", "left_out"]


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of a report: event `seq` is shown in another form or not at all. Sizes in tokens."""

    seq: int
    status: Status
    reason: str
    before: int = 0
    after: int = 0


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `explain`: where an event is and why. Exactly one entry per event of the scope's log."""

    seq: int
    ref: str
    status: Status
    tokens: int
    reason: str
    artifact: str | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The note of one compaction attempt; what cooldown, breaker and history read. Not-due ones are not stored.

    `head` was the newest seq. `calls` counts those of summary models, `model` was the last of them, `failure` what went
    wrong with it (a kind of `foldmark.failures`), `rests` the time before which a model (by name) should not be asked;
    `usage`, `seconds` and `money` are what they took. `run` says how it was run. `reported` is the size, by the
    provider's usage in our tokens, of the first request after the compaction *before* this one: what that one really
    came to (0: not known).
    """

    time: float
    outcome: Outcome
    trigger: str = ""
    version: int = 0
    boundary: int = 0
    before: int = 0
    after: int = 0
    target: int = 0
    mode: str = "code"
    reasons: tuple[str, ...] = ()
    head: int = 0
    calls: int = 0
    model: str = ""
    failure: str = ""
    rests: dict[str, float] = {}
    reported: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    money: Money | None = None
    run: Run = "caller"


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a compaction is due: the trigger's name, its value and threshold in the trigger's own unit."""

    trigger: str
    value: float = 0.0
    threshold: float = 0.0
    text: str = ""


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a summary model: `model` as the reply names it, `asked` as the summarizer does, `part` of
    `parts`, `tokens` of its prompt by our count, the `usage` it reported, `seconds` it took, and what went wrong (a
    kind of `foldmark.failures`; empty: it was used)."""

    model: str
    asked: str = ""
    mode: str = "standalone"
    part: int = 1
    parts: int = 1
    tokens: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    failure: str = ""


class Spent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the telling of a narrative took. `failure` says in words why it is missing or ends early (empty: it is
    whole), `kind` in a word of `foldmark.failures`; `rests` how many seconds each model (by name) should rest;
    `coverage` which share of the covered text a model has seen (None: none was asked), `untold` the first and last seq
    that none has. `cache` says what a fork read from the provider's cache."""

    mode: str = "code"
    calls: tuple[Call, ...] = ()
    failure: str = ""
    kind: str = ""
    rests: dict[str, float] = {}
    coverage: float | None = None
    untold: tuple[int, int] | None = None
    cache: str = ""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one `compact` or `request` did. Sizes in tokens; `boundary` is a seq, 0 for none. `mode` is `code`,
    `standalone` or `fork`; `calls` are those of summary models, `coverage` the share of the covered text that they saw.
    `resume`: a turn was in progress, so the agent should go on without a new message.

    `session` and `scope` are whose past it is, `run` how it was run, `time` when it began (Unix seconds) and `seconds`
    how long it took. `value` and `threshold` are those of the trigger, in its own unit. `events` and `tokens` are what
    was newly covered, `events` as a count; `sent` is the request that would have gone out without it: less than
    `before` where cleanup would have taken something all the same. `checkpoint` is the size of the checkpoint that was
    written. `preloaded` are the refs of what a request brings by itself from earlier (`policy.recall.preload_tokens`).
    `failure` says in a word what went wrong (a kind of `foldmark.failures`, `hook`, `cancelled`, `resting`, or
    `invalid`: the checkpoint itself did not pass validation)."""

    outcome: Outcome
    trigger: str = ""
    value: float = 0.0
    threshold: float = 0.0
    session: str = ""
    scope: str = ""
    run: Run = "caller"
    time: float = 0.0
    seconds: float = 0.0
    events: int = 0
    tokens: int = 0
    sent: int = 0
    checkpoint: int = 0
    failure: str = ""
    text: str = ""
    boundary: int = 0
    version: int = 0
    before: int = 0
    after: int = 0
    target: int = 0
    epoch: str = ""
    changes: tuple[Change, ...] = ()
    preloaded: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    mode: str = "code"
    calls: tuple[Call, ...] = ()
    coverage: float | None = None
    cache: str = ""
    money: Money | None = None
    resume: bool = False

    @property
    def estimated_tokens(self) -> int:
        """Prompt tokens of the summary calls by our own count."""
        return sum(call.tokens for call in self.calls)

    @property
    def usage(self) -> Usage:
        """What the providers billed for the summary calls, summed: input, cache reads and writes, output."""
        return summed(call.usage for call in self.calls)

    @property
    def cached_share(self) -> float | None:
        """Share of the billed prompt tokens that came from the provider's cache; None where nothing was billed."""
        billed = self.usage
        return billed.cache_read / billed.input if billed.input else None


BY_WORDS = "by words alone"
"""How the remark on a search begins for which no vectors could be used, though an embedder was given."""


class Looked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One search or load: `what`, how many hits or events it brought, the characters of their text, how long it took.
    Never the query, never text. `remark` says where a search was by words alone, or by vectors of a part alone, though
    an embedder was given."""

    what: Literal["search", "load"]
    session: str
    scope: str = ""
    found: int = 0
    characters: int = 0
    time: float = 0.0
    seconds: float = 0.0
    failed: bool = False
    remark: str = ""


class Raised(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of work in the background: `raised` by an append (or by hand), `claimed` by a worker after `seconds` of
    waiting, `done`, put off (`again`), given up (`given_up`), or `lost` (to another worker, with its session, or
    because the store could not settle it). Each claim has one end. `wanted` is the event up to which the scope is
    dirty."""

    what: Literal["raised", "claimed", "done", "again", "given_up", "lost"]
    session: str
    scope: str = ""
    wanted: int = 0
    attempts: int = 0
    time: float = 0.0
    seconds: float = 0.0


Observation = Report | Looked | Raised
Observer = Callable[[Observation], Any]
"""Is told of everything. What it raises is logged and changes nothing."""


def summed(usages: Iterable[Usage]) -> Usage:
    """Usages of several calls as one."""
    found = list(usages)
    return Usage(**{field: sum(getattr(one, field) for one in found) for field in Usage.__struct_fields__})
