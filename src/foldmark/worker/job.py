"""One claimed work in progress: its lease, its time, the switch that breaks it off, and the steps it drives. Knows
nothing of how the work was claimed, and of what comes after it.
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec

from foldmark.asking import Ask, Chore, info_of
from foldmark.awaiting import unawaited
from foldmark.driving import advance, close, in_time, is_open, throw
from foldmark.errors import NotFound
from foldmark.reports import Report
from foldmark.store import Store, Work
from foldmark.worker.calls import Answered, Calls

Result = TypeVar("Result")
BEATS = 3
"""The lease is extended after a third of it: two may fail before it runs out."""

_log = logging.getLogger("foldmark.worker")


class BrokenOff(Exception):
    """The worker is stopped and waits no longer. `asked`: a model was being asked."""

    def __init__(self, asked: bool) -> None:
        super().__init__("the worker was stopped")
        self.asked = asked


class Job:
    """What one claimed work may take. `lease_seconds` is for how long the lease is extended each time (by `clock`),
    `seconds` what all its calls of models may take together: what code does between them does not count. `is_lost`:
    another worker holds the lease by now. `report` is what its attempt told of itself last."""

    def __init__(
        self, store: Store, work: Work, *, clock: Callable[[], float], lease_seconds: float, seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.work, self.is_lost, self.stops = work, False, Future[None]()
        self.report: Report | None = None
        self._store, self._clock, self._monotonic, self._lease = store, clock, monotonic, lease_seconds
        self.left, self._beaten = seconds, monotonic()  # left: seconds that its calls of models may still take
        self._end = threading.Lock()  # taken once, by whoever settles the work

    def now(self) -> float:
        """Seconds that only rise."""
        return self._monotonic()

    def break_off(self) -> None:
        """Wait for no model any longer."""
        if not self.stops.done():
            self.stops.set_result(None)

    def takes_end(self) -> bool:
        """Whether the work may be settled for this job: once. It may be given back in one thread while it comes to its
        end in another."""
        return self._end.acquire(blocking=False)

    def beat(self) -> None:
        """Hold the lease for longer, when a third of it is over. A store that cannot is asked at the next beat."""
        now = self._monotonic()
        if self.is_lost or now - self._beaten < self._lease / BEATS:
            return
        self._beaten = now
        try:
            self.is_lost = not self._store.extend(self.work, self._clock() + self._lease)
        except NotFound:
            self.is_lost = True  # the session was deleted, and its work with it
        except Exception:
            _log.warning("The lease of %s could not be extended.", named(self.work), exc_info=True)

    def has(self, future: Future[Any], until: float) -> bool:
        """Wait for it, until then at most (by `now`), and hold the lease meanwhile. Raises BrokenOff."""
        while not future.done() and (left := until - self._monotonic()) > 0:
            self.beat()
            wait((future, self.stops), min(left, self._lease / BEATS), FIRST_COMPLETED)
            if self.stops.done():
                future.cancel()
                raise BrokenOff(asked=True)
        return future.done()


def named(work: Work) -> str:
    """The work in a sentence: session and scope."""
    scope = f", scope {work.key.scope!r}" if work.key.scope else ""
    return f"session {work.key.session!r}{scope}"


def drive(steps: Generator[Ask, Any, Result], lock: AbstractContextManager[Any], job: Job, calls: Calls) -> Result:
    """Run the steps of a compaction to their end. What a call raises is thrown into them; an interrupt, and a worker
    that is stopped, closes them: they leave the session as it was. Raises BrokenOff."""
    try:
        done, value = _step(lock, advance, steps)
        while not done:
            job.beat()
            try:
                answer = value.run() if isinstance(value, Chore) else _answer(value, job, calls)
            except BrokenOff:
                raise
            except Exception as error:
                done, value = _step(lock, throw, steps, error)
            else:
                done, value = _step(lock, advance, steps, answer)
    except BaseException as error:
        if is_open(steps):
            with lock:
                close(steps, error)
        raise
    return value  # type: ignore[no-any-return]


def _step(lock: AbstractContextManager[Any], move: Callable[..., tuple[bool, Any]], *arguments: Any) -> Any:
    with lock:
        return move(*arguments)


def _answer(ask: Ask, job: Job, calls: Calls) -> Any:
    """A model's answer within its own time and the job's. Raises TimeoutError after it, and for a model that there is
    no time (or no right) left to ask; BrokenOff."""
    name = info_of(ask.model).name
    if job.is_lost:
        raise TimeoutError(f"another worker has taken the work; {name} was not asked")
    limit = min(ask.timeout_seconds, job.left)
    if limit <= 0:
        raise TimeoutError(f"the job's time was over before {name} was asked")
    ask = msgspec.structs.replace(ask, timeout_seconds=limit)
    started = job.now()
    try:
        answer = _waited(calls.begin(ask), job, started + limit, ask)
        if inspect.isawaitable(answer):
            answer = _waited(calls.go_on(lambda: answer), job, started + limit, ask)
        return in_time(ask, answer, job.now() - started)
    finally:
        job.left -= job.now() - started


def _unheard(future: Future[Answered]) -> None:
    if not future.cancelled():
        unawaited(future.result()[1])


def _waited(future: Future[Answered], job: Job, until: float, ask: Ask) -> Any:
    try:
        if not job.has(future, until):
            limit = f"{ask.timeout_seconds:.3g} s"
            raise TimeoutError(f"{info_of(ask.model).name} did not answer within {limit} and was given up")
    except BaseException:
        if not future.cancel():  # a plain function goes on, unheard; it may turn out to be none
            future.add_done_callback(_unheard)
        raise
    answered, value = future.result()
    if not answered:
        raise value
    return value
