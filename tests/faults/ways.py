"""The ways to run a compaction, for fault tests: one session that is compacted in the way that a test names, by code or
with a model that follows a script. Knows nothing of what must hold of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from scenes import RAW
from tellers import honest

from foldmark import MemoryStore, Policy, Session, Summarizer
from foldmark.around import Around
from foldmark.driving import drive
from foldmark.events import Event
from foldmark.reports import Observer, Report
from foldmark.summarizer import Limits
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker import Worker
from waiting import LONG

WAYS = ("caller", "request", "intra_run", "tool", "worker", "idle")
"""Asked for by the caller; on the way to a request; between two calls of one run; by the agent through its tool; by a
worker; by a worker after a pause."""
TOLD = ("code", "model")
"""Who writes: code alone, or a good model too."""
RUNS = {
    "caller": "manual", "request": "inline", "intra_run": "intra_run", "tool": "manual", "worker": "background",
    "idle": "background",
}  # fmt: skip
REPORTED = {"request": "intra_run", "worker": "background"}
"""`Report.run` of a way, where it has another name: these sessions stand in the middle of a turn."""
PAUSE = 30.0
STEADY = Limits(cooldown_seconds=0.0)
"""Models that may be asked again at once, so that a test needs no minute between two compactions."""


def policy_for(way: str, **changes: Any) -> Policy:
    """A landing of 3,000 tokens in every way, and nothing that cleanup alone could do instead."""
    options = {
        "run": RUNS[way],
        "window": 128_000,
        "budget": {"landing_tokens": 3_000, "trigger_tokens": 5_000, "nothing_below": 2_500},
        "admission": RAW,
        "cleanup": {"demote": False},
        "background": {"idle_seconds": PAUSE if way == "idle" else None},
    }
    return Policy.coding(**options | changes)


class Way:
    """A session and how it is compacted. With no script code writes alone."""

    def __init__(
        self, way: str, store: Any = None, *script: Any, policy: Policy | None = None, around: Around | None = None,
        on_report: Callable[[Report], Any] | None = None, observer: Observer | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.way, self.clock, self.store = way, FixedClock(), store if store is not None else MemoryStore()
        self.model = ScriptedModel(*script, window=options.pop("window", 64_000))
        self.summarizer = Summarizer(models=(self.model,), limits=STEADY, **options) if script else None
        self.policy = policy or policy_for(way)
        told: dict[str, Any] = {"around": around, "on_report": on_report, "observer": observer, "clock": self.clock}
        self.session = Session("s", store=self.store, policy=self.policy, summarizer=self.summarizer, **told)
        told |= {"summarizer": self.summarizer, "most_attempts": 1_000}  # nothing is given up under a test's interrupts
        self.worker = Worker(self.store, policy=self.policy, **told)
        self.session.control.enlist()

    def record(self, *events: Event) -> None:
        self.session.record(*events)

    def compacted(self) -> Report:
        """One compaction, and a minute goes by."""
        self.clock.advance(60.0)
        found = self.run()
        assert found, "there was no work"
        return found

    def run(self) -> Report | None:
        """One compaction, now. None: there is no work for a worker."""
        if self.way in ("request", "intra_run"):
            return self.session.request().report
        if self.way == "tool":
            return drive(self.session.compact_steps(run="tool"), self.session.lock)
        return self.worker.run_once() if self.way in ("worker", "idle") else self.session.compact()


def lived(way: str, store: Any = None, told: str = "code", **options: Any) -> Way:
    """The same with a good model, or with none."""
    return Way(way, store, *([honest] if told == "model" else []), **options)


def inside(store: Any, method: str, happening: Callable[[], Any], *, times: int = 1) -> None:
    """Let something happen inside the next calls of a store's method, as if another one came first."""
    real, left = getattr(store, method), [None] * times

    def crowded(*arguments: Any, **options: Any) -> Any:
        if left:
            left.pop()
            happening()
        return real(*arguments, **options)

    setattr(store, method, crowded)


def refusing(store: Any, method: str, error: BaseException, *, after: bool = False) -> Callable[[], None]:
    """Let every call of a store's method fail, before its work or `after` it; call what comes back to mend it."""
    real = getattr(store, method)

    def fails(*arguments: Any, **options: Any) -> Any:
        if after:
            real(*arguments, **options)
        raise error

    setattr(store, method, fails)

    def mend() -> None:
        with suppress(AttributeError):
            delattr(store, method)  # the class has its own

    return mend


def meanwhile(work: Callable[[], Any]) -> None:
    """Another thread does it, and is waited for; a compaction must not keep it waiting."""
    failures: list[BaseException] = []

    def done() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=done, daemon=True)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive(), "a compaction keeps others from working"
    assert failures == []
