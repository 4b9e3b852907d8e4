"""What a worker does with work that fails, is put off, or meets a store that hiccups: it comes again, or is given up by
name.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from background import GOOD, POLICY, Hiccup, grown, required, versions, whats
from foldmark import MemoryStore, Policy, assistant
from foldmark.around import Around, Veto
from foldmark.asking import Ask
from foldmark.driving import place
from foldmark.reports import Observation, Report
from foldmark.store import Key, SessionInfo, Store
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker import Worker


def test_what_failed_comes_again_when_models_may_be_asked(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    summarizer = required(ConnectionError("no"), GOOD)
    worker = Worker(store, policy=POLICY, summarizer=summarizer, clock=clock)
    (report,) = worker.drain()
    assert report.outcome == "failed"
    assert not versions(session)
    clock.advance(63.0)
    assert worker.drain() == (), "it rests as long as models do after a call"
    clock.advance(2.0)
    (report,) = worker.drain()
    assert report.outcome == "applied"
    assert versions(session) == [1]


def test_a_poison_session_is_given_up_by_name_and_blocks_no_other(
    store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    poison, seen = grown(store, clock, "poison"), list[Observation]()

    def choose(key: Key, info: SessionInfo) -> Policy:
        if key.session == "poison":
            raise RuntimeError("a bug in the lookup")
        return POLICY

    worker = Worker(store, policy=choose, clock=clock, observer=seen.append, most_attempts=3)
    grown(store, clock, "good")
    outcomes = {report.session: report.outcome for report in worker.drain()}
    assert outcomes == {"poison": "failed", "good": "applied"}
    clock.advance(1.0)
    assert len(worker.drain()) == 1
    clock.advance(1.0)
    assert worker.drain() == (), "the second pause is twice as long"
    clock.advance(1.0)
    with caplog.at_level(logging.ERROR, "foldmark.worker"):
        assert len(worker.drain()) == 1
    assert "'poison' is given up after 3 attempts" in caplog.text
    assert whats([one for one in seen if one.session == "poison"]) == [
        *["claimed", "failed", "again"] * 2,
        *["claimed", "failed", "given_up"],
    ]
    assert worker.backlog().dirty == 0
    poison.record(assistant("One more word."))
    assert worker.backlog().dirty == 1, "the next append raises it anew"
    assert "a bug in the lookup" not in str([one.text for one in seen if isinstance(one, Report)])


def test_work_that_kills_every_process_is_given_up_too(store: Store, clock: FixedClock) -> None:
    grown(store, clock)
    for _ in range(4):
        assert store.claim(clock(), 10.0)  # and the process dies
        clock.advance(11.0)
    seen = list[Observation]()
    worker = Worker(store, policy=POLICY, clock=clock, observer=seen.append, most_attempts=2)
    (report,) = worker.drain()
    assert report.outcome == "failed"
    assert "begun 4 times" in report.text
    assert whats(seen) == ["claimed", "given_up", "failed"]
    assert worker.backlog().dirty == 0


def test_what_is_left_to_another_compaction_is_looked_at_until_it_can_be_done(clock: FixedClock) -> None:
    store, model = MemoryStore(), ScriptedModel(GOOD)
    session = grown(store, clock)
    worker = Worker(store, policy=POLICY, model=model, clock=clock, most_attempts=3)
    with place((id(store), session.key)):  # a request of this process is asking a model already
        for _ in range(5):
            assert [report.outcome for report in worker.drain()] == ["deferred"]
            assert worker.drain() == ()
            clock.advance(301.0)
    assert not model.asks
    assert [report.outcome for report in worker.drain()] == ["applied"]


def test_what_is_put_off_however_often_is_never_given_up(store: Store, clock: FixedClock) -> None:
    session, seen, may = grown(store, clock), list[Observation](), list[bool]()
    around = Around(before=lambda planned: None if may else Veto("not now"))
    worker = Worker(store, policy=POLICY, clock=clock, around=around, observer=seen.append, most_attempts=2)
    for _ in range(12):
        assert [report.outcome for report in worker.drain()] == ["deferred"]
        assert worker.drain() == ()
        clock.advance(301.0)
    assert set(whats(seen)) == {"claimed", "deferred", "again"}
    may.append(True)
    assert [report.outcome for report in worker.drain()] == ["applied"]
    assert versions(session) == [1]


def test_what_is_put_off_is_looked_at_ever_more_rarely(clock: FixedClock) -> None:
    store, tries = MemoryStore(), list[float]()
    grown(store, clock)
    began = clock()
    worker = Worker(store, policy=POLICY, clock=clock, around=Around(before=lambda planned: Veto("not now")))
    while clock() < began + 1_000.0:
        if worker.drain():
            tries.append(clock() - began)
        clock.advance(1.0)
    assert tries == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 812]


def test_what_was_put_off_does_not_use_up_the_attempts_of_what_fails(clock: FixedClock) -> None:
    store, vetoes = MemoryStore(), [True] * 6
    grown(store, clock)
    around = Around(before=lambda planned: Veto("not now") if vetoes and vetoes.pop() else None)
    worker = Worker(store, policy=POLICY, summarizer=required(ConnectionError("no")), clock=clock, around=around,
                    most_attempts=2)  # fmt: skip
    outcomes = []
    while worker.backlog().dirty:
        outcomes += [report.outcome for report in worker.drain()]
        clock.advance(301.0)
    assert outcomes == ["deferred"] * 6 + ["failed"] * 2


def test_an_interrupt_out_of_a_models_code_is_an_attempt(clock: FixedClock) -> None:
    store = MemoryStore()
    grown(store, clock)
    for _ in range(3):
        with pytest.raises(SystemExit):
            Worker(store, policy=POLICY, model=ScriptedModel(SystemExit()), clock=clock).run_once()
        clock.advance(100.0)
    assert [work.attempts for work in store.works(Key(session="s"))] == [3], "it must not go on for ever"


def test_what_is_wanted_by_hand_during_a_job_that_fails_is_tried_at_once(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)

    def wanting(ask: Ask) -> str:
        store.want(session.key, clock())
        raise ConnectionError("no")

    worker = Worker(store, policy=POLICY, summarizer=required(wanting), clock=clock)
    assert [report.outcome for report in (worker.run_once(),) if report] == ["failed"]
    assert worker.backlog().resting == 0
    assert worker.run_once()


def test_a_store_that_hiccups_in_the_steps_is_tried_again(clock: FixedClock) -> None:
    store = Hiccup()
    session, reports = grown(store, clock), list[Report]()
    worker = Worker(store, policy=POLICY, clock=clock, on_report=reports.append)
    store.failing["view"] = 1
    (report,) = worker.drain()
    assert report.outcome == "failed"
    assert reports == [report], "one report for one attempt"
    clock.advance(1.0)
    assert [report.outcome for report in worker.drain()] == ["applied"]
    assert versions(session) == [1]


def test_a_commit_that_cannot_be_settled_is_done_all_the_same(clock: FixedClock) -> None:
    store = Hiccup()
    session = grown(store, clock)
    store.failing["settle"] = 1
    worker = Worker(store, policy=POLICY, clock=clock)
    assert [report.outcome for report in worker.drain()] == ["applied"]
    assert worker.backlog().dirty == 0, "the commit said it"
    assert versions(session) == [1]


def test_an_end_that_cannot_be_settled_runs_out_of_its_lease(clock: FixedClock) -> None:
    store = Hiccup()
    grown(store, clock, rounds=1)
    store.failing["settle"] = 1
    worker = Worker(store, policy=POLICY, clock=clock, lease_seconds=10.0)
    assert [report.outcome for report in worker.drain()] == ["not_due"]
    assert worker.backlog().leased == 1
    clock.advance(11.0)
    assert [report.outcome for report in worker.drain()] == ["not_due"]
    assert worker.backlog().dirty == 0


def test_a_listener_that_raises_changes_nothing(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)

    def angry(value: Any) -> None:
        raise RuntimeError("a bug in the dashboard")

    (report,) = Worker(store, policy=POLICY, clock=clock, on_report=angry, observer=angry).drain()
    assert report.outcome == "applied"
    assert versions(session) == [1]
    assert store.backlog(clock()).dirty == 0
