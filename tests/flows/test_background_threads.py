"""A worker's threads: what wakes them, what they leave alone, and what does not end them.
"""

from __future__ import annotations

import threading
import time

import pytest

from background import GOOD, POLICY, Hiccup, grown, versions
from foldmark import MemoryStore, user
from foldmark.asking import Ask
from foldmark.reports import Observation, Raised, Report
from foldmark.store import Key, Store
from foldmark.worker import Worker
from waiting import LONG, until


def test_two_scopes_of_one_session_are_done_one_after_the_other(store: Store) -> None:
    session, at_once, most = grown(store, time.time), list[str](), list[int]()
    branch = Key(session="s", scope="team", sees="lineage")
    store.want(branch, time.time())

    def model(ask: Ask) -> str:
        at_once.append("in")
        most.append(len(at_once))
        time.sleep(0.03)
        at_once.pop()
        return GOOD

    with Worker(store, policy=POLICY, model=model, workers=3, poll_seconds=0.01):
        pass
    assert most == [1, 1]
    assert versions(session) == [1]
    assert len(store.checkpoints(branch)) == 1


def test_threads_do_the_work_and_end(store: Store) -> None:
    sessions = [grown(store, time.time, f"s{number}") for number in range(6)]
    seen = list[Observation]()
    with Worker(store, policy=POLICY, observer=seen.append, poll_seconds=0.01) as worker:
        pass
    assert worker.backlog().dirty == 0
    assert [versions(session) for session in sessions] == [[1]] * 6
    assert sum(isinstance(one, Report) for one in seen) == 6
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("foldmark-")]


def test_an_append_never_waits_for_a_job(store: Store) -> None:
    session, begun, free = grown(store, time.time), threading.Event(), threading.Event()

    def slow(ask: Ask) -> str:
        begun.set()
        free.wait(LONG)
        return GOOD

    worker = Worker(store, policy=POLICY, model=slow, workers=1, poll_seconds=0.01).start()
    assert begun.wait(LONG)
    session.record(user("Nobody holds me up."))
    assert worker.backlog().leased == 1, "the job is not over yet"
    free.set()
    assert worker.stop(timeout=LONG)
    assert versions(session) == [1]


def test_a_nudge_wakes_a_sleeper(store: Store, resting: threading.Event) -> None:
    done = threading.Event()
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=600.0, on_report=lambda report: done.set()).start()
    assert resting.wait(LONG)
    grown(store, time.time)
    worker.nudge()
    assert done.wait(LONG)
    assert worker.stop()


def test_raised_work_nudges_as_an_observation(store: Store, resting: threading.Event) -> None:
    done = threading.Event()
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=600.0, on_report=lambda report: done.set()).start()
    assert resting.wait(LONG)
    grown(store, time.time)
    worker.nudge(Report(outcome="not_due"))
    assert not done.wait(0.05), "a report is no work"
    worker.nudge(Raised(what="raised", session="s"))
    assert done.wait(LONG)
    assert worker.stop()


def test_a_store_that_cannot_be_asked_ends_no_thread_and_tells_a_caller() -> None:
    store = Hiccup()
    session = grown(store, time.time)
    store.failing["claim"] = 1
    with pytest.raises(OSError, match="claim"):
        Worker(store, policy=POLICY).drain()
    store.failing["claim"] = 2
    done = threading.Event()
    worker = Worker(store, policy=POLICY, workers=1, poll_seconds=0.01, on_report=lambda report: done.set()).start()
    assert done.wait(LONG)
    assert worker.stop()
    assert versions(session) == [1]


@pytest.mark.parametrize("interrupt", [SystemExit, KeyboardInterrupt])
def test_an_interrupt_out_of_a_models_code_ends_no_thread(interrupt: type[BaseException]) -> None:
    store = MemoryStore()
    first = grown(store, time.time, "first")
    done = threading.Event()

    def model(ask: Ask) -> str:
        if not done.is_set():
            done.set()
            raise interrupt
        return GOOD

    worker = Worker(store, policy=POLICY, model=model, workers=1, poll_seconds=0.01).start()
    assert done.wait(LONG)
    second = grown(store, time.time, "second")
    until(lambda: versions(second) == [1])
    assert worker.stop(timeout=LONG)
    assert first.control.attempts()
