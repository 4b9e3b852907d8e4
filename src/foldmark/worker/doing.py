"""Claims one work, does it, and settles it, whatever comes of it. Knows nothing of threads that wait for work.

A work is a row of the store that was claimed; a job (`job`) is one try at it, with its lease and its time; a verdict
(`verdicts`) says what becomes of the work afterwards, and `ending` tells store and observer so. `Means` are the options
of the worker; a shift (`running`) are the threads that call `Doing.next` again and again.

A work is never lost: what is not settled runs out of its lease, and is claimed again. It is never done twice: `commit`
checks the token of the lease.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from foldmark.errors import FoldmarkError, NotFound
from foldmark.reports import Attempt, Report
from foldmark.session import Session
from foldmark.store import Work
from foldmark.worker.calls import Calls
from foldmark.worker.embedding import Embedding
from foldmark.worker.ending import begin, failed, settle
from foldmark.worker.job import BrokenOff, Job, drive, named
from foldmark.worker.means import Means
from foldmark.worker.opening import is_there, rules_for, run_of, sizes_of
from foldmark.worker.verdicts import DONE, GIVEN_UP, Verdict, after_failure, after_report, may_ask_at, put_off, rested

_log = logging.getLogger("foldmark.worker")

SILENT = 2
"""So many times `most_attempts` are the claims after which work is given up that never came to an end. More than once:
a machine that is switched off kills its workers as well as work that no process survives."""


class Done(NamedTuple):
    """A work that was claimed, and what came of it; None: its session was deleted."""

    report: Report | None


class Doing:
    """Does one work after the other, in any number of threads at once."""

    def __init__(self, means: Means, calls: Calls) -> None:
        self.means, self.calls = means, calls
        self._vectors = Embedding(means.store, means.embedder, means.job_timeout_seconds, means.monotonic)
        self._jobs: set[Job] = set()
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """How many works are in hand."""
        return len(self._running())

    def next(self, goes_on: Callable[[], bool] = lambda: True) -> Done | None:
        """Do the oldest work that can be claimed; None: there is none, or it no longer `goes_on`. When it is settled,
        its session gets vectors, as long as that holds. Raises what the store raises at the claim; what goes wrong
        later is the work's own, but for an interrupt, which gives the lease back and is raised."""
        means = self.means
        work = means.store.claim(means.clock(), means.lease_seconds) if goes_on() else None
        if work is None:
            return None
        with self._held(work) as job:
            begin(means, job)
            if not goes_on():  # whoever ended it meanwhile has not seen this work
                settle(means, job, put_off(means.clock()))
                return None
            if work.attempts > SILENT * means.most_attempts:  # perhaps it kills every process that has it
                settle(means, job, GIVEN_UP)
                return Done(failed(means, work, f"It was begun {work.attempts - 1} times and never came to its end."))
            done = Done(self._done(job))
            self._vectors.give(work.key, job.stops, goes_on)
            return done

    def break_off(self) -> None:
        """Let all that runs wait for no model any longer."""
        for job in self._running():
            job.break_off()

    def give_back(self) -> None:
        """Free the leases of all that runs, so that others may take it at once. A commit that still comes is
        refused."""
        for job in self._running():
            settle(self.means, job, put_off(self.means.clock()))

    def start_anew(self) -> None:
        """What a forked process does first: nothing of what runs, runs here."""
        self._jobs, self._lock = set(), threading.Lock()
        self.calls.start_anew()
        self._vectors.start_anew()

    # -- one work

    def _done(self, job: Job) -> Report | None:
        """Try it, and settle it by what came of it."""
        means, work = self.means, job.work
        try:
            report = self._compacted(job)
            settle(means, job, self._verdict(work, report), report)
            return report
        except BrokenOff as stopped:
            pause = rested(0.0, means.clock(), self._may_ask(work)) if stopped.asked else 0.0
            settle(means, job, put_off(means.clock() + pause))
            return job.report or failed(means, work, "The worker was stopped.")
        except Exception as error:
            return self._stumbled(job, error)
        except BaseException:  # counted: a model's code may raise one each time
            settle(means, job, Verdict("again", means.clock()))
            raise

    def _compacted(self, job: Job) -> Report:
        """The report of the compaction, for requests of the size that the scope's last one had."""
        session, work = self._opened(job), job.work
        window, max_output = sizes_of(self.means.store.view(work.key).state.frame)
        steps = session.compact_steps(
            lease=work.token, run=run_of(session.policy), window=window, max_output=max_output
        )
        return drive(steps, session.lock, job, self.calls)

    def _opened(self, job: Job) -> Session:
        """The session of a work. Raises NotFound where it was deleted, PolicyError."""
        means, key = self.means, job.work.key

        def heard(report: Report) -> None:
            job.report = report
            if means.notices.on_report:
                means.notices.on_report(report)

        session = Session(
            key.session, store=means.store, artifacts=means.artifacts, tenant=key.tenant, user=key.user,
            policy=rules_for(means.policy, key, means.store.info(key)), create=False,
            scope=key.scope, sees=key.sees, clock=means.clock, around=means.around,
            on_report=heard, observer=means.notices.observer,
        )  # fmt: skip
        session.summarizer, session.awaits = means.summarizer, True
        return session

    def _verdict(self, work: Work, report: Report) -> Verdict:
        means, now = self.means, self.means.clock()
        return after_report(report, work.attempts, means.most_attempts, now, self._may_ask(work), now - work.since)

    def _may_ask(self, work: Work) -> Callable[[float], bool]:
        """Whether models may be asked at a time. Read when it is asked for, after a failure; a store that cannot say so
        holds nothing up."""
        found: list[Callable[[float], bool]] = []

        def may(time: float) -> bool:
            if not found:
                attempts: tuple[Attempt, ...] = ()
                with suppress(Exception):
                    attempts = self.means.store.view(work.key).attempts
                found.append(may_ask_at(self.means.summarizer, attempts))
            return found[0](time)

        return may

    def _stumbled(self, job: Job, error: Exception) -> Report | None:
        """An error of ours or of a stranger: again later, unless the session is gone."""
        work, means = job.work, self.means
        if isinstance(error, NotFound) and not self._is_there(work):
            settle(means, job, DONE)
            return None
        _log.warning("The compaction of %s stumbled.", named(work), exc_info=error)
        said = f": {error}" if isinstance(error, FoldmarkError) else "; the log tells more"
        report = job.report or failed(means, work, f"{type(error).__name__}{said}")
        settle(means, job, after_failure(work.attempts, means.most_attempts, means.clock()))
        return report

    def _is_there(self, work: Work) -> bool:
        try:
            return is_there(self.means.store, work.key)
        except Exception:
            return True

    # -- what runs

    @contextmanager
    def _held(self, work: Work) -> Iterator[Job]:
        means = self.means
        job = Job(
            means.store, work, clock=means.clock, lease_seconds=means.lease_seconds, seconds=means.job_timeout_seconds,
            monotonic=means.monotonic,
        )  # fmt: skip
        with self._lock:
            self._jobs.add(job)
        try:
            yield job
        finally:
            with self._lock:
                self._jobs.discard(job)

    def _running(self) -> list[Job]:
        with self._lock:
            return list(self._jobs)
