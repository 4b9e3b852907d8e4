"""Writes the checkpoint of a compaction: by code alone, then again with what models told. Knows nothing of when one is
due or of how it is committed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import msgspec

from foldmark.account import UNASKED, Account, lasting, paused, unshown, without_narrative
from foldmark.around import Consulted, Protect, Veto
from foldmark.asking import Chore
from foldmark.assembly import head_tokens
from foldmark.checkpoint import Checkpoint, Extent
from foldmark.compose import (
    adopted_in,
    compose,
    cost_of_section,
    trimmed,
    unit_limit,
    with_adopted_section,
    with_shortened,
)
from foldmark.drafts import cost
from foldmark.errors import SummaryError, SummaryRejected
from foldmark.events import Event
from foldmark.gauging import Gauge
from foldmark.laying import Laid, lay, planned, protecting
from foldmark.matter import Parent, gather, with_fork
from foldmark.narrating import Asking, narrate
from foldmark.outcomes import Trial, failed, held_back, ineffective
from foldmark.overview import Telling, overview_of, telling
from foldmark.pacing import first_reported, may_ask, resting
from foldmark.policy import Policy
from foldmark.presenting import overview_tokens
from foldmark.reports import Reason, Report
from foldmark.selection import Span, select, unused
from foldmark.store import Store, View
from foldmark.summarizer import Occasion, Summarizer, names_of
from foldmark.surveying import covered_extent
from foldmark.tokens import count
from foldmark.triggers import is_cold
from foldmark.validation import validate


def landed(trial: Trial, span: Span, checkpoint: Checkpoint) -> int:
    """Tokens of the next request with that checkpoint. What is kept stands in it as it was recorded: the span holds the
    form of the old tail, with the line of its preview on it already."""
    recorded = {event.seq: event for event in trial.view.events}
    kept = [recorded.get(event.seq, event) for event in span.kept]
    static = trial.room.static
    head = head_tokens(checkpoint, kept, trial.policy.layout, span.tail, static, trial.telling)
    return static + head + span.tail_tokens


def begun(
    store: Store, policy: Policy, asked: Occasion, view: View, size: Gauge, reason: Reason, *, now: float,
    clock: Callable[[], float] | None = None, said: tuple[str, ...] = (), hooks: Consulted | None = None,
) -> Trial:  # fmt: skip
    """An attempt that is due: what its steps share."""
    return Trial(
        store=store, key=asked.key, view=view, policy=policy, room=size.room, reason=reason, before=size.sizes.whole,
        now=now, clock=clock or (lambda: now), focus=asked.focus, reported=first_reported(view, size.room),
        run=asked.run, least=size.least(reason), upto=asked.upto, sent=size.sizes.sent, said=said, hooks=hooks,
        telling=telling(policy.recall, asked.frame),
    )  # fmt: skip


def drafted(trial: Trial) -> tuple[Span, Checkpoint] | Report:
    """What goes, and the checkpoint that code writes of it, validated: what stands without a model. A report where
    nothing can be gained or written."""
    laid = lay(trial)
    if not laid:
        return ineffective(trial)
    try:
        span, checkpoint = settle(trial, laid)
    except SummaryError as error:
        return failed(trial, error)
    return (span, checkpoint) if landed(trial, span, checkpoint) < trial.least else ineffective(trial)


def approved(
    trial: Trial, made: tuple[Span, Checkpoint] | Report, hooks: Consulted | None
) -> Generator[Any, Any, tuple[Trial, tuple[Span, Checkpoint] | Report]]:
    """What your code says to the plan: nothing, or events to protect (then it is drafted anew), or no. It is asked
    without the session's lock: a person may be behind it. Raises PolicyError for what a hook may not say."""
    if hooks is not None:
        hooks.was = trial.version
    if isinstance(made, Report) or hooks is None or not hooks.wants:
        return trial, made
    said = yield Chore(partial(hooks.ask, planned(trial, made[0])))
    if isinstance(said, Veto):
        return trial, held_back(trial, said.reason)
    if isinstance(said, Protect) and said.seqs:
        trial = protecting(trial, said)
        made = drafted(trial)
    return trial, made


def settle(trial: Trial, laid: Laid) -> tuple[Span, Checkpoint]:
    """Write the checkpoint; when the past has not enough to say for its room, let the raw tail take the rest."""
    events, span = laid
    checkpoint, more = write(trial, span), 0
    for _ in range(4):
        more += unused(span, _with_overview(checkpoint, trial.policy, trial.telling))
        longer = select(
            trial.view, events, trial.policy, trial.room, span.mark, more=more, now=trial.now, upto=trial.upto
        )
        if not longer or longer.boundary >= span.boundary:
            break
        span, checkpoint = longer, write(trial, longer)
    return span, checkpoint


def awake(trial: Trial, summarizer: Summarizer | None, force: bool) -> Account:
    """Whether models may be asked now: an account of nobody asked, with the reason when they rest."""
    if summarizer is None or force:
        return UNASKED
    names = names_of(summarizer)
    pause = may_ask(trial.view.attempts, summarizer.limits, trial.now, models=names, reported=trial.reported)
    return paused(pause) if pause else UNASKED


def ask(
    trial: Trial, span: Span, checkpoint: Checkpoint, shown: Sequence[Event], summarizer: Summarizer | None,
    trouble: str, asked: Occasion, parent: Parent | None,
) -> Asking:  # fmt: skip
    """Ask the models for a narrative of the span, when there are any and they may be asked now."""
    if summarizer is None:
        return paused(trouble, "error") if trouble else UNASKED
    waiting = awake(trial, summarizer, asked.force)
    if waiting.failure:
        return waiting
    matter = gather(trial, span, checkpoint, shown, summarizer)
    if parent:
        cold = is_cold(trial.view, trial.policy.prices, trial.now)
        matter = with_fork(matter, parent, asked.frame, span.boundary, trial.view, cold)
    if not asked.force:
        matter = msgspec.structs.replace(matter, resting=resting(trial.view.attempts, trial.now))
    return (yield from narrate(matter, summarizer))


def retold(trial: Trial, span: Span, checkpoint: Checkpoint, told: Account) -> tuple[Checkpoint, Account]:
    """The checkpoint with the narrative that was told. One that does not stand, or that would make the request larger
    than it was, is given up: then the code's own stays."""
    if told.narrative is None:
        return checkpoint, told
    try:
        made = write(trial, span, told)
    except SummaryRejected as error:
        return checkpoint, without_narrative(told, error.reasons)
    if landed(trial, span, made) >= trial.least:
        return checkpoint, without_narrative(told, ("it is longer than what it replaces",))
    return made, told


def write(trial: Trial, span: Span, told: Account = UNASKED) -> Checkpoint:
    """Gather what the whole log up to the boundary knows, best units first; compose and validate."""
    store, key, view, limit = trial.store, trial.key, trial.view, unit_limit(span.room_tokens)
    material = store.covered(key, span.boundary, limit=limit)
    later = store.covered(key, max(span.shortened), limit=limit) if span.shortened else material
    sources = with_shortened(material, later, span)  # what the tail shows shortened may be quoted too
    narrative, author = lasting(told, view.checkpoint, material[0])
    replaced = cost(span.covered) + (view.checkpoint.tokens if view.checkpoint else 0)
    adopted = adopted_in(view.checkpoint)  # a summary that somebody brought in stays until somebody takes it out
    extent = covered_extent(store, key, span.boundary, material, view) if trial.policy.recall.overview_tokens else None
    span = narrowed(span, cost_of_section(adopted) + _overview_tokens(extent, span, trial))
    checkpoint = compose(
        span, sources, view, trial.room, trial.policy, tally=store.tally(key), focus=trial.focus, now=trial.now,
        narrative=trimmed(narrative, replaced), author=author,
    )  # fmt: skip
    checkpoint = with_adopted_section(checkpoint, adopted) if adopted else checkpoint
    grown = max(0, checkpoint.target - span.room_tokens)  # by what was told
    aimed = trial.room.static + max(trial.room.landing, span.floor_tokens) + grown  # C' of the rent rule, fixed here
    latest = store.view(key) if told.calls else view  # an agent goes on while a model is asked
    checkpoint = msgspec.structs.replace(
        checkpoint, head=latest.head, compacted_size=aimed, replaced=latest.mark, source=trial.version,
        trigger=trial.reason.trigger, extent=extent,
        warnings=(*checkpoint.warnings, *unshown(view.checkpoint, narrative, checkpoint)),
    )  # fmt: skip
    checkpoint = msgspec.structs.replace(checkpoint, sizes=(trial.before, landed(trial, span, checkpoint)))
    return validate(checkpoint, material, view)


def _overview_tokens(extent: Extent | None, span: Span, trial: Trial) -> int:
    """What the overview behind the checkpoint will take: code has so much less room for its own text."""
    if extent is None:
        return 0
    bare = Checkpoint(version=trial.version + 1, boundary=span.boundary, text="", tokens=0, extent=extent)
    return count(overview_of(bare, trial.telling)) + 1


def _with_overview(checkpoint: Checkpoint, policy: Policy, told: Telling) -> Checkpoint:
    """The checkpoint with the tokens of its overview among its own."""
    more = overview_tokens(checkpoint, policy.layout, told)
    return msgspec.structs.replace(checkpoint, tokens=checkpoint.tokens + more) if more else checkpoint


def narrowed(span: Span, tokens: int) -> Span:
    """The span with so many tokens less for what code writes, at most half of its room."""
    return msgspec.structs.replace(span, room_tokens=max(span.room_tokens // 2, span.room_tokens - tokens))
