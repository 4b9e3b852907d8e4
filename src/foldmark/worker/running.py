"""The worker: threads that wait for work, how they begin and how they end. Knows nothing of what work is.

A process that forks while a worker runs has a worker in the child that is not started: its threads stayed behind.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Self
from weakref import WeakSet

from foldmark.around import Around
from foldmark.artifacts import Artifacts
from foldmark.asking import Model
from foldmark.embedding import Embedder
from foldmark.errors import PolicyError
from foldmark.lineage import finite
from foldmark.noticing import Notices
from foldmark.reports import Observation, Observer, Raised, Report
from foldmark.resolving import chosen
from foldmark.store import Backlog, Store
from foldmark.summarizer import Resolver, Summarizer
from foldmark.worker.calls import Calls
from foldmark.worker.doing import Doing, Done
from foldmark.worker.means import Means
from foldmark.worker.opening import Rules

LONGEST_TROUBLE_SECONDS = 30.0
"""A store that cannot be asked for work is asked again after so long at most."""
LAST_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between the tries of a thread that drains, when the store cannot be asked; then it ends."""
ENDING_SECONDS = 1.0
"""How long a job that was broken off may take to close what it does."""

_log = logging.getLogger("foldmark.worker")


class Worker:
    """Compacts in the background what appends have marked as dirty.

    `policy` is one for all sessions, or a function of (Key, SessionInfo); None: the one that is kept with the session
    (`session.remember({"policy": policy.to_json()})`), else what a session chooses by its tools. `model` and
    `summarizer` are those of `Session`, and may be async.

    `workers` is how many threads `start` begins. A claimed work is held for `lease_seconds`, and for as long again at
    every third of it. All calls of models of one job may take `job_timeout_seconds` together (what code does between
    them does not count); then the checkpoint is made by code, or the job failed where a model is required. What failed
    comes again after 1, 2, 4 … 300 s; after `most_attempts` (twice as many claims that never came to an end) it is
    given up until the next event raises it anew. What was vetoed, left to another compaction or given back is no
    attempt. `poll_seconds` is how long a thread without work waits before it looks again; `nudge` wakes it.

    `on_report` gets the report of every attempt, `observer` everything (Report | Raised); what they raise is logged.
    `around` sees each plan before it is carried out, as with `Session`.
    With an `embedder` (`foldmark.embedding`) the session of a settled work then gets the vectors that it lacks. After
    `job_timeout_seconds`, or once the worker ends, no batch is begun, and none may take longer. Nothing of the work is
    changed by it; what fails is logged once for each kind.
    `clock` gives Unix seconds, `monotonic` seconds that only rise, by which the time of a job is measured. Raises
    PolicyError for options that make no sense.
    """

    def __init__(
        self, store: Store, *, artifacts: Artifacts | None = None, policy: Rules = None,
        model: Model | Sequence[Model] | None = None, summarizer: Summarizer | Resolver | None = None,
        workers: int = 2, lease_seconds: float = 120.0, poll_seconds: float = 0.5, job_timeout_seconds: float = 60.0,
        most_attempts: int = 5, on_report: Callable[[Report], Any] | None = None, observer: Observer | None = None,
        around: Around | None = None, clock: Callable[[], float] = time.time, embedder: Embedder | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        for name, number in {"workers": workers, "most_attempts": most_attempts}.items():
            _need(name, number, isinstance(number, int) and number > 0, "a whole number, 1 or more")
        times = {"lease": lease_seconds, "poll": poll_seconds, "job_timeout": job_timeout_seconds}
        for name, time_ in times.items():
            _need(f"{name}_seconds", time_, isinstance(time_, int | float) and 0 < time_ < 1e9, "seconds, more than 0")
        self.store, self.workers, self.poll_seconds = store, workers, poll_seconds
        self._clock, self._lock = finite(clock), threading.Lock()
        means = Means(
            store, store.artifacts if artifacts is None else artifacts, policy, chosen(model, summarizer, sync=False),
            lease_seconds, job_timeout_seconds, most_attempts, around, Notices(on_report, observer), self._clock,
            embedder, monotonic,
        )  # fmt: skip
        self._doing = Doing(means, Calls())
        self._shift: _Shift | None = None
        self._breaks = 0
        _everywhere.add(self)

    # -- in threads

    def start(self) -> Self:
        """Begin the threads; one that runs already goes on. They are daemons: a worker that is never stopped does not
        hold up the interpreter's end, and what it did then runs out of its lease."""
        with self._lock:
            if self._shift is None:
                self._shift = _Shift(self._doing, self.workers, self.poll_seconds)
        return self

    def stop(self, drain: bool = True, timeout: float | None = None) -> bool:
        """End the threads: at once for those without a job, else when the job is done. With `drain` they first do all
        that can be claimed, from now on raised too.

        After `timeout` seconds (None: never) what still runs is broken off: its session stays as it was, and its lease
        is given back so that another process may take it. Returns whether everything came to its end: not when a store
        could not be asked, a few times in a row, for what is left (the log says so). A worker that is not started has
        nothing to stop; one that was stopped may be started again.
        """
        with self._lock:
            shift, self._shift = self._shift, None
        if shift is None:
            self._doing.calls.close()
            return True
        ended = shift.end("draining" if drain else "over", timeout)
        if not ended:
            self._doing.break_off()
            if not shift.end("over", ENDING_SECONDS):
                self._doing.give_back()
        self._doing.calls.close()
        return ended

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(drain=kind is None)

    def nudge(self, observation: Observation | None = None) -> None:
        """Wake the threads that wait. As the `observer` of sessions in the same process it does so when work is
        raised."""
        shift = self._shift
        if shift and (observation is None or (isinstance(observation, Raised) and observation.what == "raised")):
            shift.nudge()

    # -- in the caller's thread

    def run_once(self) -> Report | None:
        """Do the oldest work that can be claimed, here and now, and return the report of it. None: there is none."""
        return self._once(self._unbroken())

    def break_off(self) -> None:
        """End what other threads do in `run_once` and `drain`, as `stop` does it with threads of its own: it waits for
        no model any longer, its session stays as it was, its lease is given back, and nothing more is claimed. Calls
        of `run_once` and `drain` that begin later are not concerned."""
        with self._lock:
            self._breaks += 1
        until = time.monotonic() + ENDING_SECONDS
        self._doing.break_off()
        while self._doing.count and time.monotonic() < until:
            time.sleep(0.01)
        self._doing.give_back()

    def drain(self) -> tuple[Report, ...]:
        """Do work here and now until none can be claimed; returns the reports. An interrupt gives the lease back and
        leaves the session as it was."""
        reports, goes_on = [], self._unbroken()
        while (report := self._once(goes_on)) is not None:
            reports.append(report)
        return tuple(reports)

    def _once(self, goes_on: Callable[[], bool]) -> Report | None:
        while (done := self._doing.next(goes_on)) is not None:
            if done.report is not None:
                return done.report
        return None

    def _unbroken(self) -> Callable[[], bool]:
        """Whether nobody called `break_off` since now."""
        before = self._breaks
        return lambda: self._breaks == before

    def backlog(self) -> Backlog:
        """What waits in the store, of all tenants."""
        return self.store.backlog(self._clock())

    @property
    def busy(self) -> int:
        """How many works this worker has in hand: being done, or settled and their sessions getting vectors."""
        return self._doing.count

    def _start_anew(self) -> None:
        self._lock, self._shift = threading.Lock(), None
        self._doing.start_anew()


class _Shift:
    """The threads of one start, and when they end."""

    def __init__(self, doing: Doing, workers: int, poll_seconds: float) -> None:
        self._doing, self._poll = doing, poll_seconds
        self._phase: Literal["on", "draining", "over"] = "on"
        self._bell, self._nudges = threading.Condition(), 0
        self._is_unasked = False  # a thread that drained could not ask the store whether anything is left
        names = [f"foldmark-worker-{number}" for number in range(1, workers + 1)]
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def nudge(self) -> None:
        with self._bell:
            self._nudges += 1
            self._bell.notify_all()

    def end(self, phase: Literal["draining", "over"], timeout: float | None) -> bool:
        """Let the threads end; whether they did within that time, and when draining left nothing that they could not
        ask for. A thread that ends its own shift is not waited for."""
        self._phase = phase
        self.nudge()
        until = None if timeout is None else time.monotonic() + timeout
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in others:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        ended = not any(thread.is_alive() for thread in others)
        return ended and (phase == "over" or not self._is_unasked)

    def _work(self) -> None:
        trouble = 0
        while True:
            heard = self._nudges  # before the phase: whoever ends the shift changes that first, then nudges
            if self._phase != "on":
                break
            done, trouble = self._next(trouble)
            if done is None:
                self._rest(heard, min(self._poll * 2**trouble, max(self._poll, LONGEST_TROUBLE_SECONDS)))
        self._drain()

    def _drain(self) -> None:
        """The last thing a thread does: what can be claimed, while the shift drains. The store is asked once more after
        the shift began to end, so nothing is left that was raised before."""
        trouble = 0
        while True:
            heard = self._nudges
            if self._phase == "over":
                return
            done, trouble = self._next(trouble)
            if trouble > len(LAST_PAUSES):
                self._is_unasked = True
                _log.error("The worker ends, and what waits in the store stays there: it could not be asked for it.")
                return
            if trouble:
                self._rest(heard, LAST_PAUSES[trouble - 1])
            elif done is None:
                return

    def _next(self, trouble: int) -> tuple[Done | None, int]:
        """(what was done, how many times in a row the store could not be asked). Nothing ends the thread: an interrupt
        out of a model's code is no interrupt of the worker."""
        try:
            return self._doing.next(lambda: self._phase != "over"), 0
        except BaseException:
            _log.warning("The worker could not go on, and tries again.", exc_info=True)
            return None, min(trouble + 1, 10)

    def _rest(self, heard: int, seconds: float) -> None:
        """Wait until somebody nudges (also since that count was read), or so long."""
        with self._bell:
            if self._nudges == heard:
                self._bell.wait(seconds)


def _need(option: str, value: Any, is_right: bool, takes: str) -> None:
    if not is_right or isinstance(value, bool):
        raise PolicyError(f"Worker: {option} is {value!r}; it takes {takes}.")


_everywhere: WeakSet[Worker] = WeakSet()


def _start_anew() -> None:
    for each in list(_everywhere):
        each._start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
