"""How a worker is stopped, or broken off: what it has ends or is given back, and nothing else is begun.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest

from background import GOOD, POLICY, Hiccup, ended_once, grown, hanging, versions, whats
from foldmark import MemoryStore, Session
from foldmark.around import Around
from foldmark.asking import Ask
from foldmark.reports import Observation, Report
from foldmark.store import Key, Store, Work
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker import Worker, running
from waiting import LONG, until


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_drain_that_is_broken_off_gives_back_what_it_has_and_takes_nothing_more(store: Store, is_async: bool) -> None:
    sessions = [grown(store, time.time, f"s{number}") for number in range(5)]
    begun, free, asked, reports = threading.Event(), threading.Event(), list[Ask](), list[Report]()

    def plain(ask: Ask) -> str:
        asked.append(ask)
        begun.set()
        free.wait(LONG)
        return GOOD

    async def awaited(ask: Ask) -> str:
        asked.append(ask)
        begun.set()
        return await hanging(ask)

    worker = Worker(store, policy=POLICY, model=awaited if is_async else plain)
    thread = threading.Thread(target=lambda: reports.extend(worker.drain()), daemon=True)
    thread.start()
    assert begun.wait(LONG)
    worker.break_off()
    thread.join(LONG)
    assert not thread.is_alive()
    free.set()
    assert [report.outcome for report in reports] == ["failed"]
    assert len(asked) == 1
    backlog = worker.backlog()
    assert (backlog.dirty, backlog.leased) == (5, 0)
    assert not any(versions(session) for session in sessions)
    assert len(Worker(store, policy=POLICY, clock=FixedClock(time.time() + 65.0)).drain()) == 5


def test_work_that_was_claimed_while_the_worker_was_broken_off_is_given_back(clock: FixedClock) -> None:
    claiming, go = threading.Event(), threading.Event()

    class Slow(MemoryStore):
        def claim(self, now: float, lease_seconds: float) -> Work | None:
            claiming.set()
            assert go.wait(LONG)
            return super().claim(now, lease_seconds)

    store, model, reports, seen = Slow(), ScriptedModel(GOOD), list[Report | None](), list[Observation]()
    session = grown(store, clock)
    worker = Worker(store, policy=POLICY, model=model, clock=clock, observer=seen.append)
    thread = threading.Thread(target=lambda: reports.append(worker.run_once()), daemon=True)
    thread.start()
    assert claiming.wait(LONG)
    worker.break_off()
    go.set()
    thread.join(LONG)
    assert reports == [None]
    assert not model.asks
    assert whats(seen) == ["claimed", "again"]
    (work,) = store.works(session.key)
    assert (work.lease_until, work.attempts) == (0.0, 0)
    report = worker.run_once()
    assert report
    assert report.outcome == "applied", "a later call is not concerned"


def test_to_break_off_where_nothing_runs_changes_nothing(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    worker = Worker(store, policy=POLICY, clock=clock)
    worker.break_off()
    worker.break_off()
    assert [report.outcome for report in worker.drain()] == ["applied"]
    assert versions(session) == [1]


# -- stop


def test_a_lease_that_is_given_back_by_a_stop_is_no_attempt(store: Store) -> None:
    grown(store, time.time)
    begun = threading.Semaphore(0)

    async def hangs(ask: Ask) -> str:
        begun.release()
        return await hanging(ask)

    for turn in range(3):
        clock = FixedClock(time.time() + 400.0 * turn)
        worker = Worker(store, policy=POLICY, model=hangs, workers=1, poll_seconds=0.01, clock=clock).start()
        assert begun.acquire(timeout=LONG)
        assert not worker.stop(timeout=0.02)
        (work,) = store.works(Key(session="s"))
        assert (work.attempts, work.lease_until) == (0, 0.0)


def test_stop_without_drain_ends_the_job_it_has_and_takes_no_other(store: Store) -> None:
    for number in range(4):
        grown(store, time.time, f"s{number}")
    begun, free, reports = threading.Event(), threading.Event(), list[Report]()

    def slow(ask: Ask) -> str:
        begun.set()
        free.wait(LONG)
        return GOOD

    worker = Worker(store, policy=POLICY, model=slow, workers=1, poll_seconds=0.01, on_report=reports.append).start()
    assert begun.wait(LONG)
    shift = worker._shift
    assert shift

    def frees() -> None:  # no sooner than the worker is being stopped, or the job's thread would take another one
        until(lambda: shift._phase == "over")
        free.set()

    freeing = threading.Thread(target=frees)
    freeing.start()
    assert worker.stop(drain=False)
    freeing.join(LONG)
    assert [report.outcome for report in reports] == ["applied"]
    assert worker.backlog().dirty == 3


def test_stop_with_a_timeout_breaks_off_and_gives_the_lease_back(store: Store) -> None:
    session, begun, reports = grown(store, time.time), threading.Event(), list[Report]()

    async def hangs(ask: Ask) -> str:
        begun.set()
        return await hanging(ask)

    worker = Worker(store, policy=POLICY, model=hangs, workers=1, poll_seconds=0.01, on_report=reports.append).start()
    assert begun.wait(LONG)
    assert not worker.stop(timeout=0.02)
    assert [report.outcome for report in reports] == ["failed"]
    assert not versions(session)
    backlog = worker.backlog()
    assert (backlog.dirty, backlog.leased) == (1, 0)
    later = FixedClock(time.time() + 65.0)  # the call was paid: models rest a minute
    assert [report.outcome for report in Worker(store, policy=POLICY, clock=later).drain()] == ["applied"]


def test_a_stop_that_cannot_ask_the_store_does_not_say_that_all_is_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running, "LAST_PAUSES", (0.001,) * 5)
    store = Hiccup()
    session = grown(store, time.time)
    store.failing["claim"] = 10**9
    worker = Worker(store, policy=POLICY, workers=2, poll_seconds=600.0).start()
    with caplog.at_level(logging.ERROR, "foldmark.worker"):
        assert not worker.stop()
    assert "could not be asked" in caplog.text
    assert worker.backlog().dirty == 1
    store.failing["claim"] = 0
    assert worker.start().stop(), "the next one can"
    assert versions(session) == [1]


@pytest.mark.parametrize("times", [1, 3, 5])
def test_a_stop_asks_a_store_that_hiccups_again(
    times: int, monkeypatch: pytest.MonkeyPatch, resting: threading.Event
) -> None:
    monkeypatch.setattr(running, "LAST_PAUSES", (0.001,) * 5)
    store = Hiccup()
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=600.0).start()
    assert resting.wait(LONG)
    session = grown(store, time.time)
    store.failing["claim"] = times
    assert worker.stop()
    assert versions(session) == [1]


def test_a_stop_without_drain_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Hiccup()
    store.failing["claim"] = 10**9
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=600.0).start()
    assert worker.stop(drain=False, timeout=LONG), "or it would sleep for ten minutes"


def test_a_stop_does_what_was_raised_after_a_thread_last_looked(clock: FixedClock) -> None:
    """The thread has found nothing; work is raised, and the worker stopped, before it hears of either."""
    looked, go, session = threading.Event(), threading.Event(), list[Session]()

    class Slow(MemoryStore):
        def claim(self, now: float, lease_seconds: float) -> Work | None:
            work = super().claim(now, lease_seconds)
            if not looked.is_set():
                looked.set()
                go.wait(LONG)
            return work

    store = Slow()
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=600.0).start()
    assert looked.wait(LONG)
    session.append(grown(store, time.time))
    threading.Timer(0.05, go.set).start()
    assert worker.stop()
    assert versions(session[0]) == [1]


def test_a_worker_that_was_stopped_may_be_started_again(store: Store) -> None:
    worker = Worker(store, policy=POLICY, poll_seconds=0.01)
    assert worker.stop(), "nothing to stop"
    worker.start().start()
    assert worker.stop()
    session = grown(store, time.time)
    worker.start()
    assert worker.stop()
    assert versions(session) == [1]


def test_a_listener_may_stop_the_worker(store: Store) -> None:
    grown(store, time.time)
    done = threading.Event()

    def stop(report: Report) -> None:
        worker.stop()
        done.set()

    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=0.01, on_report=stop)
    worker.start()
    assert done.wait(LONG)


def test_a_job_that_cannot_be_broken_off_gives_its_lease_back_and_changes_nothing_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "ENDING_SECONDS", 0.05)
    session, begun, free, ended = grown(store, time.time), *(threading.Event() for _ in range(3))
    seen = list[Observation]()

    def slow(planned: Any) -> None:  # no model: nothing breaks it off
        begun.set()
        free.wait(LONG)

    def watch(one: Observation) -> None:
        seen.append(one)
        if isinstance(one, Report):
            ended.set()

    around = Around(before=slow)
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=0.01, around=around, observer=watch).start()
    assert begun.wait(LONG)
    assert not worker.stop(timeout=0.02)
    try:
        (work,) = store.works(session.key)
        assert (work.lease_until, work.attempts) == (0.0, 0)
        backlog = worker.backlog()
        assert (backlog.dirty, backlog.leased, backlog.resting) == (1, 0, 0)
        assert whats(seen) == ["claimed", "again"]
    finally:
        free.set()
    assert ended.wait(LONG)
    for thread in threading.enumerate():
        if thread.name.startswith("foldmark-worker"):
            thread.join(LONG)
    assert not versions(session), "its commit is refused"
    assert [report.outcome for report in Worker(store, policy=POLICY).drain()] == ["applied"]
    assert whats(seen)[:2] == ["claimed", "again"]
    assert ended_once(seen)
