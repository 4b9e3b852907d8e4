"""Whom a session's compaction asks, and that no past is told twice at a time. Knows nothing of what is asked, and of
who makes the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from foldmark import flows
from foldmark.around import Around, Consulted
from foldmark.asking import Ask, Chore
from foldmark.driving import place
from foldmark.errors import FoldmarkError
from foldmark.hooked import as_recorded
from foldmark.joining import broken, deferred, signed
from foldmark.matter import Parent
from foldmark.policy import Policy
from foldmark.redact import redactor
from foldmark.reports import Attempt, Report
from foldmark.resolving import resolved
from foldmark.store import Store
from foldmark.summarizer import Occasion, Resolver, Summarizer

OnReport = Callable[[Report], Any]
"""Is told of an attempt."""


def tell(
    store: Store, policy: Policy, given: Summarizer | Resolver | None, occasion: Occasion, *,
    clock: Callable[[], float], parent: Parent | None = None, sync: bool = True, around: Around | None = None,
    on_report: OnReport | None = None,
) -> Generator[Ask, Any, Report]:  # fmt: skip
    """The steps of a compaction of `occasion.key`; what a session moves to meanwhile is none of it.

    `given` is who is asked, or the function that chooses (None: code alone). `sync` refuses async models. While another
    compaction of the line asks, in this process, one that is due is reported as `deferred`, unless it is forced.
    `around` sees a plan and what came of it; `on_report` gets the report of every attempt, due or not, also of one that
    is broken off (outside the lock, but for that one). It must not raise.
    """
    began, hooks = clock(), Consulted(around)

    def steps(summarizer: Summarizer | flows.Choice | None) -> Generator[Ask, Any, Report]:
        return flows.compact(
            store, policy, occasion, now=began, clock=clock, summarizer=summarizer, parent=parent, hooks=hooks
        )

    try:
        report = signed((yield from _told_once(store, policy, given, occasion, sync, steps)), occasion, began, clock())
    except BaseException as error:
        report = signed(broken(error, _noted(store, occasion, began)), occasion, began, clock())
        hooks.tell(report)
        if on_report:
            on_report(report)
        raise
    hooks.tell(report)
    if on_report:
        yield Chore(partial(on_report, report))  # type: ignore[misc]  # drivers do chores outside the lock
    return report


def _noted(store: Store, occasion: Occasion, began: float) -> Attempt | None:
    """What was noted of an attempt that was broken off, if anything."""
    try:
        last = store.view(occasion.key).attempts[-1:]
    except FoldmarkError:
        return None
    return last[0] if last and last[0].outcome == "failed" and last[0].time >= began else None


def _told_once(
    store: Store, policy: Policy, given: Summarizer | Resolver | None, occasion: Occasion, sync: bool,
    steps: Callable[[Summarizer | flows.Choice | None], Generator[Ask, Any, Report]],
) -> Generator[Ask, Any, Report]:  # fmt: skip
    if given is None:
        return (yield from steps(None))
    with place((_place_of(store), occasion.key)) as free:  # a past is told once at a time, unless a person insists
        try:
            asked = _choice(store, policy, given, occasion, sync) if free or occasion.force else _being_told
            return (yield from steps(asked))
        except _BeingTold:
            return deferred(store.view(occasion.key))


def _choice(
    store: Store, policy: Policy, given: Summarizer | Resolver, occasion: Occasion, sync: bool
) -> Summarizer | flows.Choice:
    """Who is asked; of a function the question, for when a compaction is due."""
    if isinstance(given, Summarizer):
        return given

    def choice() -> tuple[Summarizer | None, str]:
        found, said = resolved(given, occasion, sync=sync)
        redact = redactor(store.view(occasion.key).secret, policy.redact)
        return found, redact(said) if said else ""  # it goes into reports and notes

    return choice


class _BeingTold(Exception):
    """A model is asked already about the past that another one would be asked about."""


def _being_told() -> NoReturn:
    raise _BeingTold


def _place_of(store: Store) -> Any:
    """What two store objects over one file have in common; else the object itself, for as long as it is in use."""
    store = as_recorded(store)
    path = getattr(store, "path", None)
    return Path(path).resolve() if isinstance(path, str | Path) else id(store)
