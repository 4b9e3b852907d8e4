"""The time that a job of a worker may take, and the lease that it holds meanwhile.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from background import GOOD, POLICY, Ticks, grown, hanging, versions, whats
from foldmark import Summarizer
from foldmark.asking import Ask
from foldmark.reports import Observation, Report
from foldmark.store import Store, Work
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker import Worker
from waiting import LONG, until

JOB_SECONDS = 1 / 32  # exact: sums of it are what they should be


def test_a_hanging_async_model_is_broken_off_and_code_makes_the_checkpoint(store: Store, clock: FixedClock) -> None:
    session, begun, ticks = grown(store, clock), list[float](), Ticks()

    async def hangs(ask: Ask) -> str:
        begun.append(ask.timeout_seconds)
        ticks.advance(JOB_SECONDS)
        return await hanging(ask)

    worker = Worker(
        store, policy=POLICY, model=hangs, clock=clock, job_timeout_seconds=JOB_SECONDS, monotonic=ticks
    )
    (report,) = worker.drain()
    assert report.outcome == "degraded"
    assert [call.failure for call in report.calls] == ["timeout"]
    assert len(begun) == 1
    assert 0 < begun[0] <= JOB_SECONDS
    assert versions(session) == [1]


def test_a_hanging_model_that_is_required_fails_and_changes_nothing(store: Store, clock: FixedClock) -> None:
    session, ticks = grown(store, clock), Ticks()

    async def hangs(ask: Ask) -> str:
        ticks.advance(JOB_SECONDS)
        return await hanging(ask)

    summarizer = Summarizer(models=(hangs,), require_model=True)
    worker = Worker(
        store, policy=POLICY, summarizer=summarizer, clock=clock, job_timeout_seconds=JOB_SECONDS, monotonic=ticks
    )
    assert [report.outcome for report in worker.drain()] == ["failed"]
    assert not versions(session)
    assert worker.backlog().resting == 1


def test_a_plain_model_that_answers_too_late_is_not_heard(store: Store, clock: FixedClock) -> None:
    session, late, answered, ticks = grown(store, clock), threading.Event(), threading.Event(), Ticks()

    def model(ask: Ask) -> str:
        ticks.advance(JOB_SECONDS)
        late.wait(LONG)
        answered.set()
        return GOOD

    worker = Worker(store, policy=POLICY, model=model, clock=clock, job_timeout_seconds=JOB_SECONDS, monotonic=ticks)
    (report,) = worker.drain()
    late.set()
    assert report.outcome == "degraded"
    assert answered.wait(LONG)
    assert versions(session) == [1]
    assert not session.control.history()[0].narrative


# -- the lease


def test_the_lease_is_held_while_a_model_thinks(store: Store, clock: FixedClock) -> None:
    session, ticks, others = grown(store, clock), Ticks(), list[Any]()

    def slow(ask: Ask) -> str:
        for _ in range(4):
            now = clock.advance(0.1)
            ticks.advance(0.1)
            until(lambda now=now: store.works(session.key)[0].lease_until > now + 0.1)
            others.append(store.claim(now, 60.0))
        return GOOD

    worker = Worker(store, policy=POLICY, model=slow, lease_seconds=0.15, clock=clock, monotonic=ticks)
    assert [report.outcome for report in worker.drain()] == ["applied"]
    assert others == [None] * 4
    assert versions(session) == [1]


def test_a_lost_lease_defers_and_nothing_is_written_twice(store: Store, clock: FixedClock) -> None:
    session, seen = grown(store, clock), list[Observation]()
    other = Worker(store, policy=POLICY, clock=clock)
    inside = list[Report]()

    def stalled(ask: Ask) -> str:  # the process slept through its lease
        clock.advance(200.0)
        work = store.claim(clock(), 60.0)
        assert work
        store.settle(work, again=clock())
        inside.extend(other.drain())
        return GOOD

    worker = Worker(store, policy=POLICY, model=stalled, clock=clock, observer=seen.append)
    report = worker.run_once()
    assert report
    assert report.outcome == "deferred"
    assert [one.outcome for one in inside] == ["applied"]
    assert versions(session) == [1]
    assert whats(seen) == ["claimed", "deferred", "lost"]
    assert worker.backlog().dirty == 0


def test_a_lease_that_was_given_away_refuses_the_commit(store: Store, clock: FixedClock) -> None:
    session, taken = grown(store, clock), list[Work]()

    def stalled(ask: Ask) -> str:
        clock.advance(200.0)
        work = store.claim(clock(), 60.0)
        assert work
        taken.append(work)
        return GOOD

    worker = Worker(store, policy=POLICY, model=stalled, clock=clock)
    assert [report.outcome for report in worker.drain()] == ["deferred"]
    assert not versions(session)
    assert store.settle(taken[0], again=clock()), "the other one still holds it"
    assert [report.outcome for report in Worker(store, policy=POLICY, clock=clock).drain()] == ["applied"]


def test_a_worker_killed_between_claim_and_commit_leaves_work_for_the_next(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    assert store.claim(clock(), 60.0)
    worker = Worker(store, policy=POLICY, clock=clock)
    assert worker.drain() == ()
    clock.advance(61.0)
    assert [report.outcome for report in worker.drain()] == ["applied"]
    assert versions(session) == [1]


def test_a_worker_killed_after_the_commit_leaves_nothing_to_do(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    work = store.claim(clock(), 60.0)
    assert work
    steps = session.compact_steps(lease=work.token, run="background")
    with pytest.raises(StopIteration):
        next(steps)
    clock.advance(61.0)
    assert Worker(store, policy=POLICY, clock=clock).drain() == ()
    assert versions(session) == [1]


def test_an_interrupt_in_drain_gives_the_lease_back_at_once(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    worker = Worker(store, policy=POLICY, model=ScriptedModel(KeyboardInterrupt()), clock=clock)
    with pytest.raises(KeyboardInterrupt):
        worker.drain()
    assert not versions(session)
    assert worker.backlog().leased == 0
    assert [report.outcome for report in Worker(store, policy=POLICY, clock=clock).drain()] == ["applied"]
