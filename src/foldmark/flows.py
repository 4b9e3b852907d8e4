"""The four lines: events come in, a request goes out, a checkpoint is made, a fact is recovered.

The whole system on one page. Knows nothing of sessions, threads, event loops or frameworks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import msgspec

from foldmark.account import UNASKED, Account, lasting, paused, refusal, without_narrative
from foldmark.admission import admit
from foldmark.artifacts import Artifacts
from foldmark.asking import Ask
from foldmark.assembly import assemble, dressed, head_tokens
from foldmark.bar import state_bar
from foldmark.budget import room_for
from foldmark.checkpoint import Checkpoint
from foldmark.cleanup import clean, mark_at, next_mark
from foldmark.compose import compose, trimmed, unit_limit, with_shortened
from foldmark.drafts import Request, cost
from foldmark.errors import HeadMoved, NotFound, StaleBoundary, SummaryError, SummaryRejected
from foldmark.events import Event
from foldmark.facts import facts_of
from foldmark.fitting import fit
from foldmark.gauging import gauge
from foldmark.kinds import on_screen
from foldmark.loading import locate
from foldmark.matter import Parent, gather, with_fork
from foldmark.narrating import Asking, narrate
from foldmark.originals import pictured
from foldmark.outcomes import (
    Trial,
    after_request,
    applied,
    beaten,
    failed,
    ineffective,
    named,
    not_due,
    noted,
    request_report,
)
from foldmark.pacing import first_reported, may_ask, resting
from foldmark.policy import Policy
from foldmark.readings import read
from foldmark.redact import redactor
from foldmark.reports import Report
from foldmark.retrieval import Hit, Loaded, pieces, rank, read_page, snippets, widen
from foldmark.salience import units_and_counts
from foldmark.selection import Span, anchor, select, unused
from foldmark.spending import coming, spent
from foldmark.store import Context, Frame, Key, Store, Where
from foldmark.summarizer import Summarizer, names_of
from foldmark.triggers import due, is_cold, static_warning
from foldmark.validation import validate
from foldmark.words import words
from foldmark.written import noted as remembered
from foldmark.written import ours

Choice = Callable[[], tuple[Summarizer | None, str]]
"""Chooses a summarizer when a compaction is due: (it, what went wrong)."""


def record(
    store: Store, artifacts: Artifacts, policy: Policy, key: Key, events: Sequence[Event], *, now: float,
    head: int | None = None,
) -> Context:  # fmt: skip
    """Events come in: admit, note, append (one, or a batch in one transaction). The same event twice is a no-op.
    With `head` only behind that seq: else HeadMoved is raised and nothing is written."""
    context = store.context(key, events)  # numbered; open calls, newest state, word counts
    if head not in (None, context.head):
        raise HeadMoved(key.session, head or 0, context.head)
    redact = redactor(context.secret, policy.redact)
    admitted, bodies = admit(context, policy, redact=redact)  # a big result becomes preview + body
    for body in bodies:
        artifacts.put(key.tenant, body.text.encode("utf-8", "surrogatepass"))  # first: an orphan body harms nobody
    readings = read(admitted, bodies, context.calls, lambda text: redact(on_screen(text)))
    units, tally = units_and_counts(readings, context.tally)
    facts = facts_of(readings, context.state, policy.profiles)
    store.append(
        key, admitted, head=context.head, units=units, facts=facts, pieces=pieces(readings), tally=tally, now=now
    )
    for body in (one for one in bodies if not artifacts.has(key.tenant, one.sha256)):  # swept while no event named it
        artifacts.put(key.tenant, body.text.encode("utf-8", "surrogatepass"))
    return context


def request(
    store: Store, artifacts: Artifacts, policy: Policy, key: Key, *, frame: Frame, now: float, system: str,
    tools: Sequence[Mapping[str, Any]], wire: Any, peek: bool = False,
) -> Request:  # fmt: skip
    """A request goes out: load, clean, assemble, fit. With `peek` nothing is stored."""
    view = store.view(key)  # checkpoint, kept events, mark, every event after the boundary
    space = room_for(view, frame, policy, clean(view.events, view.mark, policy, view.secret)[0])
    mark = next_mark(view, policy, frame, now, room=space)  # moves only in an epoch
    events, changes = clean(view.events, mark, policy, view.secret)
    bar = state_bar(store, view) if policy.layout.state_bar else ""
    draft = assemble(
        view.checkpoint, view.kept, events, system, tools, policy.layout, changes=changes, bar=bar, pins=view.pins
    )
    report, redact = request_report(view, mark, frame), redactor(view.secret, policy.redact)
    made = fit(draft, space, wire, report, max_output=frame.max_output, redact=redact)  # or raises
    made = named(made.with_messages(pictured(made.messages, artifacts, key.tenant)), view.state)  # says what broke
    if not peek:
        store.sent(key, after_request(view.state, frame, mark, made, now, policy.prices), expected=view.mark)
        store.wrote(key, ours(made))
        remembered(made)
    return made


def compact(
    store: Store, policy: Policy, key: Key, *, frame: Frame, now: float, clock: Callable[[], float] | None = None,
    force: bool = False, why: str = "manual", focus: str = "", context: Mapping[str, Any] = {},
    summarizer: Summarizer | Choice | None = None, parent: Parent | None = None,
) -> Generator[Ask, Any, Report]:  # fmt: skip
    """A checkpoint is made: check, select, write by code, ask, write again, commit. Failure leaves the session as it
    was. Yields a call of a summary model and is sent its answer; without a summarizer it never yields."""
    view = store.view(key)
    size = gauge(view, frame, policy, now)
    known = summarizer if isinstance(summarizer, Summarizer) else None
    call = coming(known, policy, view, size, now)
    reason = due(view, policy, size.room, size.sizes, now, force, why=why, context=context, call=call)
    if not reason:
        return not_due(view, size.room, size.sizes.whole, static_warning(policy, size.room))
    trial = Trial(
        store, key, view, policy, size.room, reason, size.sizes.whole, now, clock or (lambda: now), focus,
        first_reported(view, size.room),
    )  # fmt: skip
    mark = mark_at(view.events, policy, "compaction", now, view.mark, view.pins)
    events = dressed(*clean(view.events, mark, policy, view.secret))
    span = select(view, events, policy, size.room, mark, now=now)  # whole rounds; its last event is the new boundary
    if not span:
        return ineffective(trial)
    try:
        span, checkpoint = settle(trial, span, events)  # written by code and validated: what stands without a model
    except SummaryError as error:
        return failed(trial, error)
    if landed(trial, span, checkpoint) >= trial.before:
        return ineffective(trial)
    chosen, trouble = summarizer() if callable(summarizer) else (summarizer, "")
    told = yield from ask(trial, span, checkpoint, size.shown, chosen, trouble, frame, parent, force)
    money, unpriced = spent(told.calls, policy, size, landed(trial, span, checkpoint))
    if refused := refusal(told, chosen):
        return failed(trial, refused, told, money)
    try:
        checkpoint, told = retold(trial, span, checkpoint, told)  # written again with the narrative, and validated
        attempt = noted(trial, checkpoint, landed(trial, span, checkpoint), told, money)
        store.commit(key, checkpoint, expected=trial.version, attempt=attempt, anchor=anchor(view, span))
    except (StaleBoundary, NotFound) as stale:  # another compaction won, or the session is gone
        return beaten(trial, stale, told, money)
    return applied(trial, checkpoint, attempt, told, money, unpriced)


def landed(trial: Trial, span: Span, checkpoint: Checkpoint) -> int:
    """Tokens of the next request with that checkpoint."""
    return trial.room.static + head_tokens(checkpoint, span.kept, trial.policy.layout) + span.tail_tokens


def settle(trial: Trial, span: Span, events: Sequence[Event]) -> tuple[Span, Checkpoint]:
    """Write the checkpoint; when the past has not enough to say for its room, let the raw tail take the rest."""
    checkpoint, more = write(trial, span), 0
    for _ in range(4):
        more += unused(span, checkpoint)
        longer = select(trial.view, events, trial.policy, trial.room, span.mark, more=more, now=trial.now)
        if not longer or longer.boundary >= span.boundary:
            break
        span, checkpoint = longer, write(trial, longer)
    return span, checkpoint


def ask(
    trial: Trial, span: Span, checkpoint: Checkpoint, shown: Sequence[Event], summarizer: Summarizer | None,
    trouble: str, frame: Frame, parent: Parent | None, force: bool,
) -> Asking:  # fmt: skip
    """Ask the models for a narrative of the span, when there are any and they may be asked now."""
    if summarizer is None:
        return paused(trouble, "error") if trouble else UNASKED
    attempts, names = trial.view.attempts, names_of(summarizer)
    pause = may_ask(attempts, summarizer.limits, trial.now, models=names, reported=trial.reported)
    if pause and not force:
        return paused(pause)
    matter = gather(trial, span, checkpoint, shown, summarizer)
    if parent:
        cold = is_cold(trial.view, trial.policy.prices, trial.now)
        matter = with_fork(matter, parent, frame, span.boundary, trial.view, cold)
    if not force:
        matter = msgspec.structs.replace(matter, resting=resting(attempts, trial.now))
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
    if landed(trial, span, made) >= trial.before:
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
    checkpoint = compose(
        span, sources, view, trial.room, trial.policy, tally=store.tally(key), focus=trial.focus, now=trial.now,
        narrative=trimmed(narrative, replaced), author=author,
    )  # fmt: skip
    grown = max(0, checkpoint.target - span.room_tokens)  # by what was told
    aimed = trial.room.static + max(trial.room.landing, span.floor_tokens) + grown  # C' of the rent rule, fixed here
    head = store.view(key).head if told.calls else view.head  # an agent goes on while a model is asked
    checkpoint = msgspec.structs.replace(checkpoint, head=head, compacted_size=aimed)
    return validate(checkpoint, material, view)


def search(store: Store, key: Key, query: str, *, limit: int = 10, where: Where = "session") -> list[Hit]:
    """A fact is recovered: search. Hits carry a ref."""
    return snippets(rank(store.find(key, words(query), where=where), query), query)[:limit]


def load(
    store: Store, artifacts: Artifacts, key: Key, ref: str, *, before: int = 0, after: int = 0, limit: int = 8_000
) -> Loaded:
    """A fact is recovered: load. An event with its neighbours, lines of a body, or all that a compaction covers."""
    place = locate(store, artifacts, key, ref, limit)
    if place.seq:
        return Loaded(ref=ref, events=widen(store, place.key, place.seq, before, after), next=place.next)
    if place.events:
        return Loaded(ref=ref, events=place.events, next=place.next)
    return read_page(place.shelf, key.tenant, place.sha256, place.ref, limit)
