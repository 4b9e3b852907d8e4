"""What an attempt came to, as reports and stored notes. Knows nothing of how anything was decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from foldmark.around import Consulted
from foldmark.budget import Room
from foldmark.checkpoint import Checkpoint, Mark
from foldmark.drafts import Request, cost
from foldmark.errors import NotFound, StaleBoundary, SummaryError, SummaryRejected
from foldmark.events import Event
from foldmark.overview import NO_OVERVIEW, Telling
from foldmark.policy import Policy
from foldmark.prefix import digest
from foldmark.prices import Money, Price
from foldmark.reports import COMMITTED, Attempt, Outcome, Reason, Report, Run, Spent, summed
from foldmark.rounds import in_flight
from foldmark.store import Frame, Key, ScopeState, Store, View
from foldmark.watching import awaited

NOTHING = Spent()
"""No model was asked."""

LEAST_GAINED = 0.1
"""Share of the request that has to go when a person asks, or the report says what the rest costs."""


class Trial(NamedTuple):
    """One attempt at a compaction: what its steps share. `before` is the size of the next request without it and
    `least` the one that it has to come under, `now` when it began and `clock` what tells how late it is; `reported`
    what the provider said of the first request after the compaction before (0: nothing); `run` how it is run, `upto`
    the last event that may go (None: any), `sent` the size of the request that would go out without it, `said` what
    every report of it has to say; `hooks` are told of it; `telling` is how requests tell of what can be recalled."""

    store: Store
    key: Key
    view: View
    policy: Policy
    room: Room
    reason: Reason
    before: int
    now: float
    clock: Callable[[], float]
    focus: str = ""
    reported: int = 0
    run: Run = "caller"
    least: int = 0
    upto: int | None = None
    sent: int = 0
    said: tuple[str, ...] = ()
    hooks: Consulted | None = None
    telling: Telling = NO_OVERVIEW

    @property
    def version(self) -> int:
        """The newest version of a checkpoint that it has seen."""
        return self.view.checkpoint.version if self.view.checkpoint else 0

    @property
    def target(self) -> int:
        """What the whole next request should come to."""
        return self.room.static + self.room.landing

    def attempt(self, outcome: Outcome, spent: Spent = NOTHING, money: Money | None = None, **fields: Any) -> Attempt:
        """The note of it, as of the time when it ended: a call may have taken longer than a model should rest."""
        noted = Attempt(
            time=self.clock(), outcome=outcome, trigger=self.reason.trigger, before=self.before, head=self.view.head,
            reported=self.reported, run=self.run, **fields,
        )  # fmt: skip
        return _with_calls(noted, spent, money)

    def report(self, outcome: Outcome, spent: Spent = NOTHING, money: Money | None = None, **fields: Any) -> Report:
        """The report of it, at the old boundary unless there is a new one."""
        fields = {"boundary": _boundary(self.view), "failure": spent.kind, **fields}
        fields["warnings"] = (*self.said, *fields.get("warnings", ()))
        return Report(
            outcome=outcome, trigger=self.reason.trigger, value=self.reason.value, threshold=self.reason.threshold,
            before=self.before, sent=self.sent, resume=in_flight(self.view.events), mode=spent.mode,
            calls=spent.calls, coverage=spent.coverage, cache=spent.cache, money=money, **fields,
        )  # fmt: skip


def not_due(view: View, room: Room, size: int, warning: str = "", *, sent: int | None = None) -> Report:
    """Nothing to do: the normal answer. Reported, never stored. `sent` is the size that would go out, where that is
    less than `size` because the next request begins an epoch."""
    above = size - room.static
    cleaned = f" ({sent - room.static:,} once the next cleanup is done)" if sent is not None and sent < size else ""
    small = above < room.nothing_below
    text = (
        f"{above:,} tokens above the static prefix: too short for a compaction to help (nothing below "
        f"{room.nothing_below:,})."
        if small
        else f"{above:,} tokens above the static prefix{cleaned}; not due yet."
    )
    if room.forced:
        text = _of_target(view, room, size)
    if above < min(view.state.held, room.cap):
        text = f"{above:,} tokens above the static prefix; held by an undo up to {min(view.state.held, room.cap):,}."
    return Report(
        outcome="not_due", text=text, boundary=_boundary(view), before=size, after=size,
        resume=in_flight(view.events), warnings=(warning,) if warning else (),
    )  # fmt: skip


def _of_target(view: View, room: Room, size: int) -> str:
    """Why nothing is due to reach the target that was asked for."""
    target, later, made = room.static + room.level, room.static + room.trigger, view.checkpoint
    if size <= target:
        return f"{size:,} tokens are within the target of {target:,}; not due."
    if made is not None and room.static + room.landing >= 0.97 * made.compacted_size and size < later:
        return f"{size:,} tokens; compacted to the target of {target:,} already, due again over {later:,}."
    last = view.attempts[-1] if view.attempts else None
    if last is not None and last.outcome not in COMMITTED:
        return (
            f"{size:,} tokens, the target is {target:,}; the last attempt gained nothing, and it is tried again when "
            "there is a tenth more, or by force."
        )
    if last is not None and last.after > target:
        return f"{size:,} tokens, the target is {target:,}; the last compaction came to {last.after:,} and no closer."
    return f"{size:,} tokens, the target is {target:,}; the policy's pace, or thinking that is going on, holds it back."


def ineffective(trial: Trial) -> Report:
    """Due, and nothing could be gained. Noted, so that the next request does not try again at once."""
    text = "There is no whole round to cover, or the checkpoint would not be smaller than what it replaces."
    if trial.before <= trial.target and trial.upto is None:
        text += (
            f" A compaction aims at {trial.target:,} tokens, and the request has {trial.before:,}: a smaller target "
            "covers more, as far as there are whole rounds."
        )
    trial.store.note(trial.key, _in_vain(trial, "ineffective", (text,)))
    return trial.report("ineffective", text=text, after=trial.before)


def _in_vain(
    trial: Trial, outcome: Outcome, why: tuple[str, ...], spent: Spent = NOTHING, money: Money | None = None
) -> Attempt:
    """The note of an attempt that came to nothing, with what it aimed at: of another aim it says nothing."""
    return trial.attempt(
        outcome, spent, money, after=trial.before, reasons=why, target=trial.target, boundary=trial.upto or 0
    )


def failed(trial: Trial, error: SummaryError, spent: Spent = NOTHING, money: Money | None = None) -> Report:
    """No checkpoint could be used. Noted with what was paid; the session is as it was, and requests go on without."""
    why = error.reasons if isinstance(error, SummaryRejected) else (str(error),)
    if spent.kind != "resting":  # nothing was tried, and a note would make the rest longer
        trial.store.note(trial.key, _in_vain(trial, "failed", tuple(why[:20]), spent, money))
    said, kind = (
        (str(error), *spent.warnings),
        spent.kind or ("invalid" if isinstance(error, SummaryRejected) else "error"),
    )
    return trial.report(
        "failed", spent, money, text=str(error), after=trial.before, reasons=why, warnings=said, failure=kind
    )


def held_back(trial: Trial, reason: str) -> Report:
    """A hook said no; it is asked again when one is due again. Noted once, however often it says the same."""
    text = f"Held back by a hook: {reason}"
    last = trial.view.attempts[-1] if trial.view.attempts else None
    if last is None or last.outcome != "deferred" or last.calls or last.boundary:
        trial.store.note(trial.key, trial.attempt("deferred", after=trial.before, reasons=(text,)))
    return trial.report("deferred", text=text, after=trial.before)


def broken_off(trial: Trial, spent: Spent) -> None:
    """A call was cancelled or interrupted: noted with what was paid, and the session is as it was."""
    note = trial.attempt("failed", spent, after=trial.before, reasons=(spent.failure,))
    if trial.hooks:
        trial.hooks.broken = note
    trial.store.note(trial.key, note)


class BeingTold(Exception):
    """A model is asked already about the past that another one would be asked about."""


def being_told(trial: Trial) -> Report:
    """Due, and nobody was asked, because another compaction of this process is asking."""
    name = trial.key.session
    text = f"The past of session {name!r} is being told by a model already; nobody was asked a second time."
    return trial.report("deferred", text=text, after=trial.before)


def beaten(trial: Trial, stale: StaleBoundary | NotFound, spent: Spent = NOTHING, money: Money | None = None) -> Report:
    """Another compaction of the scope won: nothing is written but what this one has paid. (Or the session was deleted,
    and nothing is written at all.)"""
    if spent.calls and isinstance(stale, StaleBoundary):
        trial.store.note(trial.key, trial.attempt("deferred", spent, money, after=trial.before, reasons=(str(stale),)))
    return trial.report("deferred", spent, money, text=str(stale), after=trial.before, warnings=spent.warnings)


def applied(
    trial: Trial, checkpoint: Checkpoint, covered: Sequence[Event], attempt: Attempt, spent: Spent, money: Money | None,
    warnings: Sequence[str],
) -> Report:  # fmt: skip
    """The report of what was committed. A model that was asked and did not deliver all makes it `degraded`."""
    said = (
        *_landing_warnings(checkpoint, attempt.after, trial.target), *_little_gained(trial, attempt.after),
        *_telling_warnings(spent), *warnings,
    )  # fmt: skip
    return trial.report(
        attempt.outcome, spent, money, text=trial.reason.text, epoch="compaction", reasons=spent.reasons,
        warnings=said, version=checkpoint.version, boundary=checkpoint.boundary, after=attempt.after,
        target=trial.target, checkpoint=checkpoint.tokens, events=len(covered), tokens=cost(covered),
    )  # fmt: skip


def noted(trial: Trial, checkpoint: Checkpoint, after: int, spent: Spent, money: Money | None) -> Attempt:
    """The note that is committed with a checkpoint."""
    return trial.attempt(
        "degraded" if spent.failure else "applied", spent, money, version=checkpoint.version,
        boundary=checkpoint.boundary, after=after, target=trial.target,
        reasons=tuple(filter(None, (trial.reason.text, spent.failure))),
    )  # fmt: skip


def _with_calls(attempt: Attempt, spent: Spent, money: Money | None = None) -> Attempt:
    """The note of an attempt with what its model calls came to: what cooldown and breaker read after a restart."""
    if not spent.calls:
        return msgspec.structs.replace(attempt, money=money)
    return msgspec.structs.replace(
        attempt,
        mode=spent.mode,
        calls=len(spent.calls),
        failure=spent.kind,
        rests={name: attempt.time + seconds for name, seconds in spent.rests.items()},
        model=spent.calls[-1].asked,
        usage=summed(call.usage for call in spent.calls),
        seconds=sum(call.seconds for call in spent.calls),
        money=money,
    )


def _landing_warnings(checkpoint: Checkpoint, after: int, target: int) -> tuple[str, ...]:
    if after < 0.97 * target and not checkpoint.warnings:
        return (f"{after:,} of {target:,} tokens: the covered past had no more to say, and the next round is larger.",)
    return checkpoint.warnings


def _little_gained(trial: Trial, after: int) -> tuple[str, ...]:
    """What to say when somebody asked for a compaction that a trigger would not have found worth its price."""
    gained = trial.before - after
    if trial.reason.trigger not in ("target", "manual") or gained >= LEAST_GAINED * trial.before:
        return ()
    return (
        f"Only {gained:,} tokens less: all {after - trial.room.static:,} behind the static prefix are written to the "
        "provider's cache anew for it.",
    )


def _telling_warnings(spent: Spent) -> tuple[str, ...]:
    if not spent.failure:
        return spent.warnings
    made = "no model told anything new, so code alone made the checkpoint"
    if spent.untold and spent.coverage:
        first, last = spent.untold
        made = f"event:{first} to event:{last} were told by no model ({spent.coverage:.0%} of the text was)"
    return (f"Degraded ({spent.failure}): {made}.", *spent.warnings)


def _boundary(view: View) -> int:
    return view.checkpoint.boundary if view.checkpoint else 0


def request_report(view: View, mark: Mark, frame: Frame) -> Report:
    """The report of a request before it is made to fit: its boundary and whether the stable prefix was broken.

    A request breaks it when the mark moved, when a compaction (an undo, an edit) came since the last one, or when the
    static prefix is another; the first request of a scope breaks nothing.
    """
    last = view.state.frame
    epoch = ""
    if last is not None and view.state.last_time:
        if last.static_hash != frame.static_hash:
            epoch = "static prefix changed"
        elif view.checkpoint and view.checkpoint.version != view.state.last_version:
            epoch = view.checkpoint.kind
        elif mark.seq != view.mark.seq or mark.options != view.mark.options:
            epoch = mark.reason
    elif view.checkpoint:
        epoch = view.checkpoint.kind
    return Report(
        outcome="not_due", session=view.key.session, scope=view.key.scope, boundary=_boundary(view),
        version=view.checkpoint.version if view.checkpoint else 0,
        epoch=epoch, warnings=frame.warnings,
    )  # fmt: skip


def named(made: Request, state: ScopeState) -> Request:
    """The request with an epoch in its report when its stable prefix does not go on from the last one's. A mark, a
    compaction and a changed static prefix are named already; what is left are `fit`, a layout, an edited or forked
    past, and a call whose marker gave way to its result."""
    if made.report.epoch or not state.last_count:
        return made
    before = made.messages[: state.last_count]
    if len(before) == state.last_count and digest(before, made.system) == state.last_hash:
        return made
    by_fit = any(change.reason.startswith("fit") for change in made.report.changes)
    epoch = "fit" if by_fit else "the shown past changed"
    return made.with_report(msgspec.structs.replace(made.report, epoch=epoch))


def after_request(
    state: ScopeState, frame: Frame, mark: Mark, made: Request, now: float, prices: Price | None = None
) -> ScopeState:
    """The scope's state once a request was built."""
    return msgspec.structs.replace(
        state,
        frame=frame,
        mark=mark,
        last_size=made.tokens.total,
        last_time=now,
        last_version=made.report.version,
        last_hash=digest(made.messages[: made.stable], made.system),
        last_count=made.stable,
        awaited=awaited(state, frame, size=made.tokens.total, now=now, epoch=made.report.epoch, prices=prices),
    )
