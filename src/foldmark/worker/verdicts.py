"""What comes after a job: done, again at a later time, or given up. Pure; knows nothing of stores and threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from foldmark.pacing import may_ask
from foldmark.reports import Attempt, Report
from foldmark.summarizer import Limits, Resolver, Summarizer, names_of

LONGEST_PAUSE_SECONDS = 300.0
"""As long as a breaker rests: a fault that lasts for longer is found by the next append or by a person."""

PAUSES = tuple(min(2.0**step, LONGEST_PAUSE_SECONDS) for step in range(10))
"""Seconds between attempts: 1, 2, 4 … 256, 300."""


class Verdict(NamedTuple):
    """What becomes of the work; `again` is when it may be claimed next, `counts` whether this was an attempt."""

    what: Literal["done", "again", "given_up"]
    again: float | None = None
    counts: bool = True


DONE, GIVEN_UP = Verdict("done"), Verdict("given_up")


def pause(attempts: int) -> float:
    """Seconds after so many attempts: doubled with each, five minutes at most."""
    return PAUSES[min(max(attempts, 1), len(PAUSES)) - 1]


def put_off(until: float) -> Verdict:
    """It was nobody's fault: again then, and this was no attempt."""
    return Verdict("again", until, counts=False)


def after_report(
    report: Report, attempts: int, most: int, now: float, may: Callable[[float], bool], waited: float = 0.0
) -> Verdict:
    """What follows from a report. `may` says whether models may be asked at a time: an attempt while they rest would
    come to nothing. What was left to another compaction, or vetoed, is never given up: it is looked at again after it
    has waited once more as long as it has (`waited`, seconds since it became dirty), so ever more rarely."""
    if report.outcome == "deferred":
        return put_off(now + min(max(waited, PAUSES[0]), LONGEST_PAUSE_SECONDS))
    return after_failure(attempts, most, now, may) if report.outcome == "failed" else DONE


def after_failure(attempts: int, most: int, now: float, may: Callable[[float], bool] = lambda time: True) -> Verdict:
    """Again after a pause, or given up when it was the last of `most` attempts."""
    return GIVEN_UP if attempts >= most else Verdict("again", now + rested(pause(attempts), now, may))


def rested(least: float, now: float, may: Callable[[float], bool]) -> float:
    """Seconds, `least` at the least, after which models may be asked; the longest pause when none is long enough."""
    found = (seconds for seconds in (least, *PAUSES) if seconds >= least and may(now + seconds))
    return next(found, max(least, LONGEST_PAUSE_SECONDS))


def may_ask_at(given: Summarizer | Resolver | None, attempts: Sequence[Attempt]) -> Callable[[float], bool]:
    """Whether models may be asked at a time, by the notes of past attempts; of a function that chooses, as the defaults
    say."""
    known = given if isinstance(given, Summarizer) else None
    limits, models = (known.limits, names_of(known)) if known else (Limits(), ())
    return lambda time: not may_ask(attempts, limits, time, models=models)
