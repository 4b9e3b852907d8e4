"""Whom a session's compaction asks, and that no past is told twice at a time. Knows nothing of what is asked, and of
who makes the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NoReturn

from foldmark import flows
from foldmark.around import Around, Consulted
from foldmark.asking import Ask, Chore
from foldmark.driving import place
from foldmark.hooked import HookedStore
from foldmark.joining import broken, signed
from foldmark.matter import Parent
from foldmark.outcomes import BeingTold
from foldmark.policy import Policy
from foldmark.redact import redactor
from foldmark.reports import Report
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
    `around` sees a plan and what came of it; `on_report` gets the report of every attempt, due or not, once, also of
    one that is broken off. Both are called outside the lock (but for an attempt that an interrupt ends), and do not
    raise.
    """
    began, hooks = clock(), Consulted(around)

    def steps(summarizer: Summarizer | flows.Choice | None) -> Generator[Ask, Any, Report]:
        return flows.compact(
            store, policy, occasion, now=began, clock=clock, summarizer=summarizer, parent=parent, hooks=hooks
        )

    def told(report: Report) -> Once:
        def act() -> None:
            hooks.tell(report)
            if on_report:
                on_report(report)

        return Once(act)

    try:
        made = yield from _told_once(store, policy, given, occasion, sync, steps, hooks)
    except BaseException as error:
        once = told(signed(broken(error, hooks.broken, _stands(store, occasion, hooks.was)), occasion, began, clock()))
        if isinstance(error, Exception):
            yield from _outside(once)
        once()
        raise
    report = signed(made, occasion, began, clock())
    if hooks.wants or on_report:
        yield from _outside(told(report))
    return report


def _stands(store: Store, occasion: Occasion, was: int | None) -> int:
    """The version that is there since an attempt began that wanted to replace `was`; 0 for none that is known of."""
    if was is None:
        return 0
    try:
        made = store.view(occasion.key).checkpoint
    except Exception:  # the store is what failed
        return 0
    return made.version if made and made.version > was else 0


class Once:
    """Does something once, however often it is called."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act: Callable[[], Any] | None = act

    def __call__(self) -> None:
        act, self._act = self._act, None
        if act:
            act()


def _outside(once: Once) -> Generator[Any, Any, None]:
    """Done by the driver, without the lock; here where the driver breaks off (a cancelled call may have committed)."""
    try:
        yield Chore(once)
    except BaseException:
        once()
        raise


def _told_once(
    store: Store, policy: Policy, given: Summarizer | Resolver | None, occasion: Occasion, sync: bool,
    steps: Callable[[Summarizer | flows.Choice | None], Generator[Ask, Any, Report]], hooks: Consulted,
) -> Generator[Ask, Any, Report]:  # fmt: skip
    """A past is told once at a time, and hooks are asked about it once at a time, unless a person insists."""
    if given is None and not hooks.wants:
        return (yield from steps(None))
    with place((_place_of(store), occasion.key)) as free:
        if not free and not occasion.force:
            return (yield from steps(_being_told))
        return (yield from steps(None if given is None else _choice(store, policy, given, occasion, sync)))


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


def _being_told() -> NoReturn:
    raise BeingTold


def _place_of(store: Store) -> Any:
    """What two store objects over one file have in common; else the object itself, for as long as it is in use."""
    while isinstance(store, HookedStore):
        store = store.inner
    path = getattr(store, "path", None)
    return Path(path).resolve() if isinstance(path, str | Path) else id(store)
