"""Claims one work, does it, and settles it, whatever comes of it. Knows nothing of threads that wait for work.

A work is never lost: what is not settled runs out of its lease, and is claimed again. It is never done twice: `commit`
checks the token of the lease.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple

from foldmark.around import Around
from foldmark.artifacts import Artifacts
from foldmark.errors import FoldmarkError, NotFound
from foldmark.noticing import Notices
from foldmark.reports import COMMITTED, Attempt, Raised, Report
from foldmark.session import Session
from foldmark.store import Store, Work
from foldmark.summarizer import Resolver, Summarizer
from foldmark.worker.calls import Calls
from foldmark.worker.job import BrokenOff, Job, drive, named
from foldmark.worker.opening import Rules, existing, is_there, rules_for, run_of
from foldmark.worker.verdicts import DONE, GIVEN_UP, Verdict, after_failure, after_report, may_ask_at, rested

_log = logging.getLogger("foldmark.worker")


SILENT = 2
"""So many times `most_attempts` are the claims after which work is given up that never came to an end of its own. More
than once: a claim that was left to another compaction, or given back by a worker that was stopped, counts as well."""


class Means(NamedTuple):
    """With what work is done, as `Worker` takes it."""

    store: Store
    artifacts: Artifacts
    policy: Rules
    summarizer: Summarizer | Resolver | None
    lease_seconds: float
    job_timeout_seconds: float
    most_attempts: int
    around: Around | None
    notices: Notices
    clock: Callable[[], float]


class Done(NamedTuple):
    """A work that was claimed, and what came of it; None: its session was deleted."""

    report: Report | None


class Doing:
    """Does one work after the other, in any number of threads at once."""

    def __init__(self, means: Means, calls: Calls) -> None:
        self.means, self.calls = means, calls
        self._jobs: set[Job] = set()
        self._lock = threading.Lock()

    def next(self) -> Done | None:
        """Do the oldest work that can be claimed; None: there is none. Raises what the store raises at the claim; what
        goes wrong later is the work's own, but for an interrupt, which gives the lease back and is raised."""
        means = self.means
        work = means.store.claim(means.clock(), means.lease_seconds)
        if work is None:
            return None
        with self._held(work) as job:
            self._tell("claimed", work)
            if work.attempts > SILENT * means.most_attempts:  # perhaps it kills every process that has it
                return Done(self._unfinished(work))
            return Done(self._done(job))

    def break_off(self) -> None:
        """Let all that runs wait for no model any longer."""
        for job in self._running():
            job.break_off()

    def give_back(self) -> None:
        """Free the leases of all that runs, so that others may take it at once. A commit that still comes is
        refused."""
        for job in self._running():
            self._settle(job.work, Verdict("again", self.means.clock()))

    def start_anew(self) -> None:
        """What a forked process does first: nothing of what runs, runs here."""
        self._jobs, self._lock = set(), threading.Lock()
        self.calls.start_anew()

    # -- one work

    def _done(self, job: Job) -> Report | None:
        """Try it, and settle it by what came of it."""
        means, work = self.means, job.work
        try:
            session = self._opened(job)
            steps = session.compact_steps(lease=work.token, run=run_of(session.policy))
            report = drive(steps, session.lock, job, self.calls)
            self._settle(work, self._verdict(work, report), report)
            return report
        except BrokenOff as stopped:
            pause = rested(0.0, means.clock(), self._may_ask(work)) if stopped.asked else 0.0
            self._settle(work, Verdict("again", means.clock() + pause))
            return job.report or self._failed(work, "The worker was stopped.")
        except Exception as error:
            return self._stumbled(job, error)
        except BaseException:
            self._settle(work, Verdict("again", means.clock()))
            raise

    def _opened(self, job: Job) -> Session:
        """The session of a work. Raises NotFound where it was deleted, PolicyError."""
        means, key = self.means, job.work.key
        rules = rules_for(means.policy, key, existing(means.store, key))

        def heard(report: Report) -> None:
            job.report = report
            if means.notices.on_report:
                means.notices.on_report(report)

        existing(
            means.store, key
        )  # again: the policy is chosen by anybody's code, and a Session makes what is not there
        session = Session(
            key.session, store=means.store, artifacts=means.artifacts, policy=rules, tenant=key.tenant, user=key.user,
            scope=key.scope, sees=key.sees, clock=means.clock, around=means.around,
            on_report=heard, observer=means.notices.observer,
        )  # fmt: skip
        session.summarizer, session.awaits = means.summarizer, True
        return session

    def _verdict(self, work: Work, report: Report) -> Verdict:
        means = self.means
        return after_report(report, work.attempts, means.most_attempts, means.clock(), self._may_ask(work))

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
            self._settle(work, DONE)
            return None
        _log.warning("The compaction of %s stumbled.", named(work), exc_info=error)
        said = f": {error}" if isinstance(error, FoldmarkError) else "; the log tells more"
        report = job.report or self._failed(work, f"{type(error).__name__}{said}")
        self._settle(work, after_failure(work.attempts, means.most_attempts, means.clock()))
        return report

    def _unfinished(self, work: Work) -> Report:
        self._settle(work, GIVEN_UP)
        return self._failed(work, f"It was begun {work.attempts - 1} times and never came to its end.")

    def _failed(self, work: Work, text: str) -> Report:
        """The report of an attempt that did not come so far as to make its own."""
        report = Report(
            outcome="failed", session=work.key.session, scope=work.key.scope, run="background",
            time=self.means.clock(), text=text, reasons=(text,),
        )  # fmt: skip
        self.means.notices.report(report)
        return report

    # -- its end

    def _settle(self, work: Work, verdict: Verdict, report: Report | None = None) -> None:
        """Settle it and tell of it. A store that cannot settle now is left alone: the lease runs out."""
        try:
            held = self.means.store.settle(work, again=verdict.again)
        except NotFound:
            return  # the session was deleted, and its work with it
        except Exception:
            _log.warning("The work of %s could not be settled; its lease runs out.", named(work), exc_info=True)
            return
        committed = report is not None and report.outcome in COMMITTED  # a commit has freed the lease itself
        if not held and not committed and not self._is_there(work):
            return
        what: Literal["done", "again", "given_up", "lost"] = verdict.what if held or committed else "lost"
        if what == "given_up":
            _log.error(
                "Work of %s is given up after %d attempts; the next event in it raises it anew.",
                named(work), min(work.attempts, self.means.most_attempts),
            )  # fmt: skip
        self._tell(what, work)

    def _is_there(self, work: Work) -> bool:
        try:
            return is_there(self.means.store, work.key)
        except Exception:
            return True

    def _tell(self, what: Literal["claimed", "done", "again", "given_up", "lost"], work: Work) -> None:
        """Tell the observer, with the seconds since the scope became dirty."""
        now = self.means.clock()
        told = Raised(
            what=what, session=work.key.session, scope=work.key.scope, wanted=work.wanted, attempts=work.attempts,
            time=now, seconds=max(0.0, now - work.since),
        )  # fmt: skip
        self.means.notices.raised(told)

    @contextmanager
    def _held(self, work: Work) -> Iterator[Job]:
        means = self.means
        job = Job(
            means.store, work, clock=means.clock, lease_seconds=means.lease_seconds, seconds=means.job_timeout_seconds
        )
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
