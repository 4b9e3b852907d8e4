"""Gathers what a model is told and what its answer is checked against. Knows nothing of models and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from foldmark.asking import Ask, ModelInfo, Reply, info_of
from foldmark.checkpoint import Checkpoint, Item
from foldmark.compose import words_of
from foldmark.drafts import Request
from foldmark.errors import FoldmarkError, NotFound
from foldmark.events import Event
from foldmark.forking import CacheReport, cache_report, causes, fork_of
from foldmark.outcomes import Trial, broken_off
from foldmark.prompts import fork_words, style_of
from foldmark.records.telling import role_of
from foldmark.redact import Redactor, redactor
from foldmark.selection import Span
from foldmark.store import Frame, Key, Store, View
from foldmark.story import Sources
from foldmark.summarizer import Style, Summarizer

KNOWN_SECTIONS = ("Goal", "Constraints and corrections, in the user's words", "Todo")
"""What of the code's own record a model is shown, so that it neither repeats nor contradicts it."""

Fork = Callable[[Summarizer, tuple[Item, ...]], Ask | str]


class Matter(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told: the `covered` events, the `previous` narrative, what may prove a statement, and what code
    `known` already says. `fork` clones the parent request for a summarizer, or says why not; `beaten` tells whether
    another compaction won meanwhile, so that nothing more is paid; `cache` compares what a fork read with its parent;
    `resting` names models that are not asked now; `broken_off` is told what was paid when a call is cancelled."""

    covered: tuple[Event, ...]
    previous: tuple[Item, ...]
    sources: Sources
    known: str
    focus: str
    style: Style
    redact: Redactor
    fork: Fork | None = None
    cache: Callable[[Summarizer, Ask, Reply], CacheReport] | None = None
    beaten: Callable[[], bool] = lambda: False
    broken_off: Callable[[Any], None] = lambda account: None
    resting: frozenset[str] = frozenset()


def gather(trial: Trial, span: Span, checkpoint: Checkpoint, shown: Sequence[Event], summarizer: Summarizer) -> Matter:
    """The matter of a compaction whose `checkpoint` code has already written. `shown` are the events of the view as the
    agent saw them: not as the new mark will show them."""
    store, key, view, policy = trial.store, trial.key, trial.view, trial.policy
    redact = redactor(view.secret, policy.redact)
    seen = {event.seq: event for event in (*view.events, *view.kept) if event.seq <= span.boundary}
    sources = Sources(
        shown={seq: redact(words_of(event)) for seq, event in seen.items() if event.role != "control"},
        spoken_by={seq: role_of(event) for seq, event in seen.items() if event.role != "control"},
        earlier=_earlier(store, key, redact),
        state=store.covered(key, span.boundary, limit=1)[0],
        known=checkpoint.text,
        boundary=span.boundary,
        redact=redact,
    )
    return Matter(
        covered=tuple(event for event in shown if event.seq <= span.boundary),
        previous=view.checkpoint.narrative if view.checkpoint else (),
        sources=sources,
        known=_known(checkpoint),
        focus=redact(trial.focus),
        style=style_of(summarizer.prompt, policy.name),
        redact=redact,
        beaten=lambda: _is_beaten(trial),
        broken_off=lambda account: broken_off(trial, account),
    )


class Parent(NamedTuple):
    """The request that a fork clones: how to make the one that would go out `next`, and the `last` one that was built
    (its reply's usage says what the cache should hold)."""

    next: Callable[[], Request]
    last: Request | None = None


def with_fork(matter: Matter, parent: Parent, frame: Frame, boundary: int, view: View, cold: bool) -> Matter:
    """The matter of a session that can say what its next request would be. `cold`: the cache has been left for longer
    than it lives."""
    runs = msgspec.structs.replace(frame, model=frame.model or view.state.model)

    def fork(summarizer: Summarizer, previous: tuple[Item, ...]) -> Ask | str:
        words = fork_words(summarizer, boundary, previous, focus=matter.focus, style=matter.style, redact=matter.redact)
        if not view.state.last_count:
            return "no request has gone out yet, so nothing is in a cache"
        model = summarizer.models[0]
        window = info_of(model).window if isinstance(getattr(model, "info", None), ModelInfo) else None
        try:
            request = parent.next()
        except FoldmarkError as error:
            return f"the next request cannot be built as it stands ({type(error).__name__})"
        return fork_of(request, model, summarizer, words, frame=runs, window=window)

    def cache(summarizer: Summarizer, ask: Ask, reply: Reply) -> CacheReport:
        blame = causes(parent.last, ask, summarizer)
        blame = ("a pause longer than it lives", *blame) if cold else blame
        return cache_report(view.state.last_usage, view.state.last_size, reply, blame)

    return msgspec.structs.replace(matter, fork=fork, cache=cache)


def _is_beaten(trial: Trial) -> bool:
    """Whether another compaction won meanwhile, or the session is gone."""
    try:
        made = trial.store.view(trial.key).checkpoint
    except NotFound:
        return True
    return (made.version if made else 0) != trial.version


def _known(checkpoint: Checkpoint) -> str:
    """Goal, constraints and todo states as code recorded them."""
    return "\n".join(
        f"{section.title}:\n" + "\n".join(f"- {line.text}" for line in section.lines)
        for section in checkpoint.sections
        if section.title in KNOWN_SECTIONS
    )


def _earlier(store: Store, key: Key, redact: Redactor) -> Callable[[int], str]:
    found: Mapping[int, str] = {}

    def text_of(seq: int) -> str:
        nonlocal found
        if seq not in found:
            try:
                event = store.event(key, str(seq))
                found = {**found, seq: redact(words_of(event)) if key.shows(event) else ""}
            except NotFound:
                found = {**found, seq: ""}
        return found[seq]

    return text_of


__all__ = ["Matter", "Parent", "gather", "with_fork"]
