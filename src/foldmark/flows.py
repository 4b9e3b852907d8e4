"""The four lines: events come in, a request goes out, a checkpoint is made, a fact is recovered.

The whole system on one page. Knows nothing of sessions, threads, event loops or frameworks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from foldmark.admission import admit
from foldmark.artifacts import Artifacts
from foldmark.assembly import assemble, dressed, head_tokens
from foldmark.bar import state_bar
from foldmark.budget import Room, room_for
from foldmark.checkpoint import Checkpoint
from foldmark.cleanup import clean, mark_at, next_mark
from foldmark.compose import compose, unit_limit, with_shortened
from foldmark.drafts import Request
from foldmark.errors import HeadMoved, SummaryError
from foldmark.events import Event
from foldmark.facts import facts_of
from foldmark.fitting import fit
from foldmark.kinds import on_screen
from foldmark.loading import locate
from foldmark.originals import pictured
from foldmark.outcomes import after_request, applied, failed, ineffective, named, not_due, request_report
from foldmark.policy import Policy
from foldmark.readings import read
from foldmark.redact import redactor
from foldmark.reports import Report
from foldmark.retrieval import Hit, Loaded, pieces, rank, read_page, snippets, widen
from foldmark.salience import units_and_counts
from foldmark.selection import Span, select, unused
from foldmark.store import Context, Frame, Key, Store, View, Where
from foldmark.triggers import due, sizes
from foldmark.validation import validate
from foldmark.words import words
from foldmark.written import noted, ours


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
        store.sent(key, after_request(view.state, frame, mark, made, now), expected=view.mark)
        store.wrote(key, ours(made))
        noted(made)
    return made


def compact(
    store: Store, policy: Policy, key: Key, *, frame: Frame, now: float, force: bool = False, focus: str = ""
) -> Report:
    """A checkpoint is made: check, select, gather, compose, validate, commit. Failure leaves the session as it was."""
    view = store.view(key)
    space = room_for(view, frame, policy, clean(view.events, view.mark, policy, view.secret)[0])
    head = head_tokens(view.checkpoint, view.kept, policy.layout)
    measured = sizes(view, dressed(*clean(view.events, view.mark, policy, view.secret)), head, policy, space, now)
    reason = due(view, policy, space, measured, now, force)
    if not reason:
        return not_due(view, space, measured.whole)
    mark = mark_at(view.events, policy, "compaction", now, view.mark, view.pins)
    events = dressed(*clean(view.events, mark, policy, view.secret))
    span = select(view, events, policy, space, mark)  # whole rounds; its last event is the new boundary
    if not span:
        return ineffective(store, key, view, reason, measured.whole, now)
    try:
        span, checkpoint = settle(store, key, span, events, view, space, policy, focus, now)
    except SummaryError as error:
        return failed(store, key, view, reason, measured.whole, now, error)
    after = space.static + head_tokens(checkpoint, span.kept, policy.layout) + span.tail_tokens
    if after >= measured.whole:
        return ineffective(store, key, view, reason, measured.whole, now)
    return applied(store, key, view, checkpoint, reason, space, measured.whole, after)


def settle(
    store: Store, key: Key, span: Span, events: Sequence[Event], view: View, space: Room, policy: Policy, focus: str,
    now: float,
) -> tuple[Span, Checkpoint]:  # fmt: skip
    """Write the checkpoint; when the past has not enough to say for its room, let the raw tail take the rest."""
    checkpoint, more = write(store, key, span, view, space, policy, focus, now), 0
    for _ in range(4):
        more += unused(span, checkpoint)
        longer = select(view, events, policy, space, span.mark, more=more)
        if not longer or longer.boundary >= span.boundary:
            break
        span, checkpoint = longer, write(store, key, longer, view, space, policy, focus, now)
    return span, checkpoint


def write(
    store: Store, key: Key, span: Span, view: View, space: Room, policy: Policy, focus: str, now: float
) -> Checkpoint:
    """Gather what the whole log up to the boundary knows, best units first; compose and validate."""
    limit = unit_limit(span.room_tokens)
    material = store.covered(key, span.boundary, limit=limit)
    later = store.covered(key, max(span.shortened), limit=limit) if span.shortened else material
    sources = with_shortened(material, later, span)  # what the tail shows shortened may be quoted too
    checkpoint = compose(span, sources, view, space, policy, tally=store.tally(key), focus=focus, now=now)
    landed = space.static + max(space.landing, span.floor_tokens)  # C' of the rent rule, fixed here
    checkpoint = msgspec.structs.replace(checkpoint, head=view.head, compacted_size=landed)
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
