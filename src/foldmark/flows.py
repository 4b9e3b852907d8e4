"""The four lines: events come in, a request goes out, a checkpoint is made, a fact is recovered.

The whole system on one page. Knows nothing of sessions, threads, event loops or frameworks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from foldmark.account import refusal
from foldmark.admission import admit
from foldmark.around import Consulted
from foldmark.artifacts import Artifacts
from foldmark.asking import Ask
from foldmark.assembly import assemble
from foldmark.bar import state_bar
from foldmark.budget import room_for
from foldmark.cleanup import clean, next_mark
from foldmark.drafting import approved, ask, awake, begun, drafted, landed, retold
from foldmark.drafts import Request
from foldmark.errors import HeadMoved, NotFound, StaleBoundary
from foldmark.events import Event
from foldmark.facts import facts_of
from foldmark.fitting import fit
from foldmark.gauging import gauge
from foldmark.keeping import ruled
from foldmark.kinds import on_screen
from foldmark.loading import locate, page_of
from foldmark.matter import Parent
from foldmark.merging import merged
from foldmark.originals import pictured
from foldmark.outcomes import (
    BeingTold,
    after_request,
    applied,
    beaten,
    being_told,
    failed,
    named,
    not_due,
    noted,
    request_report,
)
from foldmark.overview import telling
from foldmark.policy import Policy
from foldmark.preloading import preloaded
from foldmark.raising import raising
from foldmark.readings import read, without_recalled, without_secrets
from foldmark.recalls import recalls
from foldmark.redact import Redactor, redactor
from foldmark.reports import Report
from foldmark.retrieval import (
    By,
    Hit,
    Loaded,
    Meaning,
    bounded,
    chosen,
    limited,
    mended,
    pieces,
    question,
    rank,
    read_page,
    snippets,
    told_by,
    widen,
    widen_rounds,
)
from foldmark.salience import units_and_counts
from foldmark.seeking import CANDIDATES, Reach, Sought
from foldmark.selection import anchor
from foldmark.spending import coming, of_calls, spent
from foldmark.store import Context, Frame, Key, Store
from foldmark.store.calls import answers
from foldmark.summarizer import Occasion, Summarizer
from foldmark.triggers import due, landing_warning, static_warning
from foldmark.written import noted as remembered
from foldmark.written import ours

Choice = Callable[[], tuple[Summarizer | None, str]]
"""Chooses a summarizer when a compaction is due: (it, what went wrong)."""


def record(
    store: Store, artifacts: Artifacts, policy: Policy, key: Key, events: Sequence[Event], *, now: float,
    head: int | None = None, live: bool = True,
) -> Context:  # fmt: skip
    """Events come in: admit, note, append (one, or a batch in one transaction). The same event twice is a no-op.
    With `head` only behind that seq: else HeadMoved is raised and nothing is written. `live` dates events without a
    time by now; else their time stays unknown."""
    context = store.context(key, events)  # numbered; open calls, newest state, word counts
    if head not in (None, context.head):
        raise HeadMoved(key.session, head or 0, context.head)
    redact = redactor(context.secret, policy.redact)
    admitted, bodies = admit(context, policy, redact=redact)  # a big result becomes preview + body
    for body in bodies:
        artifacts.put(key.tenant, body.text.encode("utf-8", "surrogatepass"))  # first: an orphan body harms nobody
    readings = read(admitted, bodies, answers(admitted, context.calls), lambda text: redact(on_screen(text)))
    readings = without_recalled(readings, partial(recalls, policy=policy))  # recalled text is no news
    units, tally = units_and_counts(readings, context.tally)
    facts = facts_of(readings, context.state, policy.profiles)
    raised = store.append(
        key, admitted, head=context.head, units=units, facts=facts, pieces=pieces(readings), tally=tally, now=now,
        raising=raising(policy, now), live=live,
    )  # fmt: skip
    for body in (one for one in bodies if not artifacts.has(key.tenant, one.sha256)):  # swept while no event named it
        artifacts.put(key.tenant, body.text.encode("utf-8", "surrogatepass"))
    return msgspec.structs.replace(context, raised=raised)


def request(
    store: Store, artifacts: Artifacts, policy: Policy, key: Key, *, frame: Frame, now: float, system: str,
    tools: Sequence[Mapping[str, Any]], wire: Any, peek: bool = False,
) -> Request:  # fmt: skip
    """A request goes out: load, clean, assemble, fit. With `peek` nothing is stored."""
    view, _ = ruled(store.view(key), frame, policy)  # checkpoint, kept events, mark, every event after the boundary
    space = room_for(view, frame, policy, clean(view.events, view.mark, policy, view.secret)[0])
    mark = next_mark(view, policy, frame, now, room=space)  # moves only in an epoch
    events, changes = clean(view.events, mark, policy, view.secret)
    report, redact = request_report(view, mark, frame), redactor(view.secret, policy.redact)
    bar = state_bar(store, view) if policy.layout.state_bar else ""
    draft = assemble(
        view.checkpoint, view.kept, events, system, tools, policy.layout, told=telling(policy.recall, frame),
        changes=changes, preloaded=preloaded(store, view, policy, frame), bar=bar, pins=view.pins,
    )  # fmt: skip
    made = fit(draft, space, wire, report, max_output=frame.max_output, redact=redact)  # or raises
    made = made.with_messages(pictured(made.messages, artifacts, key.tenant))
    made = named(merged(made) if policy.layout.merge else made, view.state)  # says what broke
    if not peek:
        store.sent(key, after_request(view.state, frame, mark, made, now, policy.prices), expected=view.mark)
        store.wrote(key, ours(made))
        remembered(made)
    return made


def compact(
    store: Store, policy: Policy, asked: Occasion, *, now: float, clock: Callable[[], float] | None = None,
    summarizer: Summarizer | Choice | None = None, parent: Parent | None = None, hooks: Consulted | None = None,
) -> Generator[Ask, Any, Report]:  # fmt: skip
    """A checkpoint is made: check, select, write by code, ask, write again, commit. Failure leaves the session as it
    was. Yields a call of a summary model (or a chore, for hooks) and is sent what came of it; with neither it never
    yields."""
    view, said = ruled(store.view(asked.key), asked.frame, policy)
    size = gauge(view, asked.frame, policy, now)
    known = summarizer if isinstance(summarizer, Summarizer) else None
    call = coming(known, policy, view, size, now)
    reason = due(
        view, policy, size.room, size.sizes, now, asked.force, why=asked.why, context=asked.context, call=call,
        cap_only=asked.cap_only, wanted=asked.run == "tool",
    )  # fmt: skip
    if not reason:
        warning = static_warning(policy, size.room) or landing_warning(policy, size.room, size.sizes)
        return not_due(view, size.room, size.sizes.whole, warning, sent=size.sizes.sent)
    trial = begun(store, policy, asked, view, size, reason, now=now, clock=clock, said=said, hooks=hooks)
    waiting = awake(trial, known, asked.force)
    if refused := refusal(waiting, known):
        return failed(trial, refused, waiting)  # a model is required and rests: nothing is worked out for it
    try:
        chosen, trouble = summarizer() if callable(summarizer) else (summarizer, "")
    except BeingTold:
        return being_told(trial)
    trial, made = yield from approved(trial, drafted(trial), hooks)  # whole rounds, by code; your code sees the plan
    if isinstance(made, Report):
        return made
    span, checkpoint = made
    told = yield from ask(trial, span, checkpoint, size.shown, chosen, trouble, asked, parent)
    money, unpriced = spent(told.calls, policy, size, landed(trial, span, checkpoint))
    if refused := refusal(told, chosen):
        return failed(trial, refused, told, of_calls(money))
    try:
        checkpoint, told = retold(trial, span, checkpoint, told)  # written again with the narrative, and validated
        attempt = noted(trial, checkpoint, landed(trial, span, checkpoint), told, money)
        store.commit(
            asked.key, checkpoint, expected=trial.version, attempt=attempt, anchor=anchor(view, span), token=asked.lease
        )
    except (StaleBoundary, NotFound) as stale:  # another compaction won, or the session is gone
        return beaten(trial, stale, told, money)
    return applied(trial, checkpoint, span.covered, attempt, told, money, (*size.remarks(attempt.after), *unpriced))


def search(
    store: Store, key: Key, query: str, *, now: float, limit: int = 10, sought: Sought = Sought(),
    meaning: Meaning | None = None, told: Callable[[str], object] = lambda remark: None,
) -> list[Hit]:  # fmt: skip
    """A fact is recovered: search. Hits carry a ref. With `meaning` also what stands near; `told` hears where that is
    missing."""
    asked, sought, most = question(query, now), bounded(store, key, sought), max(CANDIDATES, limit)
    finding = store.find(key, asked.terms, limit=most, sought=sought)
    if (better := mended(asked, finding, lambda: store.tally(key).words)) is not asked:
        asked, finding = better, store.find(key, better.terms, limit=most, sought=sought)
    if not asked.terms:
        return snippets(limited(finding, sought)[: max(0, limit)], asked, told_by(sought))
    if meaning is None:
        return snippets(rank(finding, asked, max(0, limit)), asked)
    candidates, remark = meaning.judged(store, key, asked, finding, sought)
    told(remark)
    return snippets(chosen(candidates, max(0, limit)), asked)


def load(
    store: Store, artifacts: Artifacts, key: Key, ref: str, *, before: int = 0, after: int = 0, by: By = "events",
    limit: int = 8_000, reach: Reach | None = None, redact: Redactor | None = None,
) -> Loaded:  # fmt: skip
    """A fact is recovered: load. An event with its neighbours, lines of a body, or all that a compaction covers."""
    place = locate(store, artifacts, key, ref, limit, reach)
    if place.sha256:
        return read_page(place.shelf, key.tenant, place.sha256, place.ref, limit, redact)
    events, more = place.events, place.next
    if place.seq:
        wide = widen_rounds if by == "rounds" else widen
        events, more = page_of(wide(store, place.key, place.seq, before, after), limit, place.ref.session, more)
    shown = tuple(without_secrets(event, redact) for event in events) if redact else events
    skip = place.ref.bytes[0] if place.ref.bytes else 0
    known = store.times(place.key, shown[0].seq, shown[-1].seq)
    times = tuple(known.get(event.seq) for event in shown)
    return Loaded(ref=ref, events=shown, times=times, next=more, session=place.ref.session, skip=skip)
