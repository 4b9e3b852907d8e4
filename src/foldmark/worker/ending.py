"""How a claimed work begins and ends for the store and for those who are told: every claim has one end. Knows nothing
of what is done between them.
"""

from __future__ import annotations

import logging
from typing import Literal

from foldmark.errors import NotFound
from foldmark.reports import COMMITTED, Raised, Report
from foldmark.store import Work
from foldmark.worker.job import Job, named
from foldmark.worker.means import Means
from foldmark.worker.verdicts import Verdict

End = Literal["done", "again", "given_up", "lost"]

_log = logging.getLogger("foldmark.worker")


def begin(means: Means, job: Job) -> None:
    """Tell the observer that the work was claimed."""
    _tell(means, "claimed", job.work)


def settle(means: Means, job: Job, verdict: Verdict, report: Report | None = None) -> None:
    """Settle the work and tell the observer of it, once: a work that was given back has had its end already. A store
    that cannot settle now is left alone: the lease runs out."""
    if not job.takes_end():
        return
    held = _is_settled(means, job.work, verdict)
    committed = report is not None and report.outcome in COMMITTED  # a commit has freed the lease itself
    end: End = verdict.what if held or committed else "lost"
    if end == "given_up":
        _log.error(
            "Work of %s is given up after %d attempts; the next event in it raises it anew.",
            named(job.work), min(job.work.attempts, means.most_attempts),
        )  # fmt: skip
    _tell(means, end, job.work)


def failed(means: Means, work: Work, text: str) -> Report:
    """The report of an attempt that did not come so far as to make its own."""
    report = Report(
        outcome="failed", session=work.key.session, scope=work.key.scope, run="background", time=means.clock(),
        text=text, reasons=(text,),
    )  # fmt: skip
    means.notices.report(report)
    return report


def _is_settled(means: Means, work: Work, verdict: Verdict) -> bool:
    """Whether the store took the verdict: not when the work is another worker's by now, or went with its session."""
    try:
        return means.store.settle(work, again=verdict.again, counts=verdict.counts)
    except NotFound:
        return False
    except Exception:
        _log.warning("The work of %s could not be settled; its lease runs out.", named(work), exc_info=True)
        return False


def _tell(means: Means, what: Literal["claimed"] | End, work: Work) -> None:
    """With the seconds since the scope became dirty."""
    now = means.clock()
    told = Raised(
        what=what, session=work.key.session, scope=work.key.scope, wanted=work.wanted, attempts=work.attempts,
        time=now, seconds=max(0.0, now - work.since),
    )  # fmt: skip
    means.notices.raised(told)
