"""A worker beside sessions: what it does with work, with models that hang, with sessions that go, and with its own end.

The clock stands still unless a test moves it; models follow a script.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark import MemoryStore, NotFound, Policy, Session, SQLiteStore, Summarizer, assistant, user
from foldmark.around import Around, Veto
from foldmark.asking import Ask
from foldmark.driving import place
from foldmark.hooked.forwarding import Forwarding
from foldmark.reports import Observation, Raised, Report
from foldmark.store import Key, SessionInfo, Store, View, Work
from foldmark.testing import FixedClock, ScriptedModel, items_json
from foldmark.worker import Worker, calls, running
from making import long_session, tool_round

POLICY = Policy.coding(
    run="background",
    window=128_000,
    budget={"landing_tokens": 2_000, "trigger_tokens": 4_000, "nothing_below": 1_000},
)
GOOD = items_json(decisions=[("Read the files one by one, beginning with src/file_1.py", [2])])
SOURCE = Path(__file__).parents[2] / "src"
LONG = 60.0
"""Seconds after which a test gives up what must come; nothing waits so long where all is well."""


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is broken off may take its time to close on a busy machine."""
    monkeypatch.setattr(running, "ENDING_SECONDS", LONG)
    monkeypatch.setattr(calls, "CLOSING_SECONDS", LONG)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    yield made
    made.close()


def grown(store: Store, clock: Callable[[], float], name: str = "s", *, rounds: int = 12, **options: Any) -> Session:
    """A session with one long turn behind it, which is due for a compaction."""
    made = Session(name, store=store, clock=clock, policy=options.pop("policy", POLICY), **options)
    store.enlist(made.key)
    made.record(*long_session(rounds, lines=20), assistant("All done."))
    return made


def whats(seen: list[Observation]) -> list[str]:
    return [one.what if isinstance(one, Raised) else one.outcome for one in seen if isinstance(one, Raised | Report)]


def until(true: Callable[[], object]) -> None:
    """Waits for what another thread does. Raises TimeoutError where it never comes."""
    end = time.monotonic() + LONG
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.001)


def versions(session: Session) -> list[int]:
    return [made.version for made in session.control.history()]


# -- what is due


def test_work_that_is_due_is_compacted_and_reported(store: Store, clock: FixedClock) -> None:
    session, seen, reports = grown(store, clock), list[Observation](), list[Report]()
    worker = Worker(store, policy=POLICY, clock=clock, observer=seen.append, on_report=reports.append)
    assert worker.backlog().dirty == 1
    clock.advance(7.0)
    report = worker.run_once()
    assert report
    assert (report.outcome, report.run, report.session) == ("applied", "background", "s")
    assert reports == [report]
    assert whats(seen) == ["claimed", "applied", "done"]
    claimed = seen[0]
    assert isinstance(claimed, Raised)
    assert (claimed.seconds, claimed.attempts, claimed.wanted) == (7.0, 1, 26)
    assert versions(session) == [1]
    assert worker.backlog().dirty == 0
    assert worker.run_once() is None


def test_a_request_after_it_is_small_and_asks_no_model(store: Store, clock: FixedClock) -> None:
    session, model = grown(store, clock), ScriptedModel(GOOD)
    assert sum(event.tokens for event in store.log(session.key)) > 4_000
    Worker(store, policy=POLICY, model=model, clock=clock).drain()
    session.record(user("And now?"))
    request = session.request()
    assert request.report.version == 1
    assert request.tokens.total < 2_500
    assert len(model.asks) == 1


def test_without_work_there_is_nothing_to_do(store: Store, clock: FixedClock) -> None:
    assert Worker(store, clock=clock).run_once() is None
    assert Worker(store, clock=clock).drain() == ()


def test_work_that_is_not_due_is_settled_without_a_note(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock, rounds=1)
    (report,) = Worker(store, policy=POLICY, clock=clock).drain()
    assert report.outcome == "not_due"
    assert not session.control.attempts()
    assert store.backlog(clock()).dirty == 0


def test_a_compaction_that_gains_nothing_is_settled(store: Store, clock: FixedClock) -> None:
    made = Session("s", store=store, clock=clock, policy=POLICY)
    store.enlist(made.key)
    made.record(user("Tell me all."), assistant("word " * 9_000))  # the newest round stays whole
    (report,) = Worker(store, policy=POLICY, clock=clock).drain()
    assert report.outcome == "ineffective"
    assert store.backlog(clock()).dirty == 0


def test_a_model_that_fails_leaves_a_degraded_checkpoint_and_the_work_is_done(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    (report,) = Worker(store, policy=POLICY, model=ScriptedModel(ConnectionError("no")), clock=clock).drain()
    assert report.outcome == "degraded"
    assert versions(session) == [1]
    assert store.backlog(clock()).dirty == 0


def test_what_is_recorded_during_a_job_is_not_lost_and_raises_again(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)

    def slow(ask: Ask) -> str:
        for number in range(100, 112):
            session.record(*tool_round(number, "line of new output\n" * 300))
        session.record(assistant("More."))
        return GOOD

    model = ScriptedModel(slow, GOOD)
    worker = Worker(store, policy=POLICY, model=model, clock=clock)
    first = worker.run_once()
    assert first
    assert first.outcome == "applied"
    assert store.backlog(clock()).dirty == 1, "the new rounds are dirty"
    clock.advance(100.0)
    second = worker.run_once()
    assert second
    assert second.outcome == "applied"
    assert second.boundary > first.boundary
    assert len(store.log(session.key)) == 26 + 25


def test_one_session_after_the_other_by_age(store: Store, clock: FixedClock) -> None:
    for name in ("old", "middle", "new"):
        grown(store, clock, name, rounds=2)
        clock.advance(1.0)
    assert [report.session for report in Worker(store, policy=POLICY, clock=clock).drain()] == ["old", "middle", "new"]


def test_a_scope_of_a_tenants_session_is_compacted_as_that_scope(store: Store, clock: FixedClock) -> None:
    session = Session(
        "s", store=store, clock=clock, policy=POLICY, tenant="t", user="u", scope="team/a", sees="lineage"
    )
    store.enlist(session.key)
    events = (*long_session(12, lines=20), assistant("Done."))
    session.record(*(msgspec.structs.replace(event, scope="team/a") for event in events))
    (report,) = Worker(store, policy=POLICY, clock=clock).drain()
    assert (report.outcome, report.session, report.scope) == ("applied", "s", "team/a")
    assert versions(session) == [1]


def test_idle_work_waits_for_the_pause(store: Store, clock: FixedClock) -> None:
    idle = POLICY.replace(background={"idle_seconds": 30.0})
    session = grown(store, clock, policy=idle, rounds=40)
    worker = Worker(store, policy=idle, clock=clock)
    assert worker.run_once() is None
    clock.advance(20.0)
    session.record(user("Still here."))
    clock.advance(20.0)
    assert worker.run_once() is None, "the message moved it on"
    assert worker.backlog().resting == 1
    clock.advance(10.0)
    report = worker.run_once()
    assert report
    assert (report.outcome, report.run) == ("applied", "idle")


def test_the_policy_that_is_kept_with_a_session_rules_it(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    session.remember({"policy": POLICY.to_json()})
    grown(store, clock, "plain", rounds=12).remember({"policy": ""})
    reports = {report.session: report.outcome for report in Worker(store, clock=clock).drain()}
    assert reports == {"s": "applied", "plain": "not_due"}, "the other one has the defaults of its tools"


def test_a_function_may_choose_the_policy(store: Store, clock: FixedClock) -> None:
    grown(store, clock, "a")
    grown(store, clock, "b")

    def choose(key: Key, info: SessionInfo) -> Policy:
        assert info.head == 26
        return POLICY if key.session == "a" else Policy.coding()

    reports = {report.session: report.outcome for report in Worker(store, policy=choose, clock=clock).drain()}
    assert reports == {"a": "applied", "b": "not_due"}


# -- what goes wrong


def required(*script: Any) -> Summarizer:
    return Summarizer(models=(ScriptedModel(*script),), require_model=True)


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


@pytest.mark.parametrize("window", [32_000, 60_000])
def test_a_worker_makes_room_in_the_window_that_the_last_request_named(window: int) -> None:
    """What is compacted in the background is what a request would have compacted on its way."""
    found = dict[str, list[tuple[int, int, int, str]]]()
    untouched = {"demote": False, "superseded": False, "duplicates": False}
    for run in ("background", "inline"):
        policy = Policy.coding(run=run, window=200_000, cleanup=untouched, budget={"trigger_tokens": 15_000})
        store = MemoryStore()
        made = Session("s", store=store, policy=policy, clock=FixedClock())
        made.request(window=window, max_output=2_000)
        for event in long_session(40):
            made.record(event)
            if event.role == "tool":
                if run == "background":
                    Worker(store, policy=policy, clock=FixedClock()).drain()
                made.request(window=window)
        found[run] = [(one.boundary, one.before, one.target, one.trigger) for one in made.control.compactions()]
    assert found["background"]
    assert found["background"] == found["inline"]


class Hiccup(MemoryStore):
    """A store whose methods fail when their turn comes."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[str, int] = {}

    def _may_fail(self, name: str) -> None:
        if self.failing.get(name, 0) > 0:
            self.failing[name] -= 1
            raise OSError(f"{name}: disk")

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        self._may_fail("claim")
        return super().claim(now, lease_seconds)

    def view(self, key: Key) -> View:
        self._may_fail("view")
        return super().view(key)

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        self._may_fail("settle")
        return super().settle(work, again=again, counts=counts)


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


ENDS = {"done", "again", "given_up", "lost"}


def ended_once(seen: list[Observation]) -> bool:
    """Whether the observer heard of one end for each claim."""
    told = [one for one in whats(seen) if one == "claimed" or one in ENDS]
    return len(told) > 1 and told[::2] == ["claimed"] * (len(told) // 2) and set(told[1::2]) <= ENDS


def deleting(session: Session, *, then: Any = GOOD) -> Callable[[Any], Any]:
    def model(ask: Any) -> Any:
        with suppress(NotFound):
            session.control.delete()
        if isinstance(then, BaseException):
            raise then
        return then

    return model


@pytest.mark.parametrize("required_", [False, True])
@pytest.mark.parametrize("then", [GOOD, "no answer", ConnectionError("no"), KeyboardInterrupt(), ValueError("x")])
@pytest.mark.parametrize("deletes", [True, False])
@pytest.mark.parametrize("hiccups", [0, 1])
def test_every_claim_has_one_end_for_those_who_listen(
    clock: FixedClock, required_: bool, then: Any, deletes: bool, hiccups: int
) -> None:
    store, seen = Hiccup(), list[Observation]()
    session = grown(store, clock)
    model = deleting(session, then=then) if deletes else ScriptedModel(then)
    summarizer = Summarizer(models=(model,), require_model=required_)
    worker = Worker(store, policy=POLICY, summarizer=summarizer, clock=clock, observer=seen.append)
    store.failing["settle"] = hiccups
    with suppress(KeyboardInterrupt):
        worker.run_once()
    assert ended_once(seen), whats(seen)
    assert bool(store.sessions("local", "local")) is not deletes


ASKED = {"info", "open", "view", "covered", "log", "tally", "describe", "checkpoints", "commit", "note", "settle"}


class Going(Forwarding):
    """A store in which a session is deleted before the `step`th thing that is asked of it."""

    def __init__(self, inner: Store, session: Session, step: int) -> None:
        super().__init__(inner)
        self.session, self.left = session, step

    def __getattribute__(self, name: str) -> Any:
        if name in ASKED:
            self.left -= 1
            if self.left < 0 and self.inner.sessions("local", "local"):
                self.session.control.delete()
        return super().__getattribute__(name)


def test_a_session_that_is_deleted_at_any_step_of_a_job_stays_deleted(clock: FixedClock) -> None:
    for step in itertools.count():
        store, seen = MemoryStore(), list[Observation]()
        session = grown(store, clock)
        session.remember({"policy": POLICY.to_json()})
        going = Going(store, session, step)
        Worker(going, clock=clock, observer=seen.append).run_once()
        assert ended_once(seen), (step, whats(seen))
        if going.left >= 0:
            break
        assert store.sessions("local", "local") == [], step
    assert step > 5


def test_a_listener_that_raises_changes_nothing(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)

    def angry(value: Any) -> None:
        raise RuntimeError("a bug in the dashboard")

    (report,) = Worker(store, policy=POLICY, clock=clock, on_report=angry, observer=angry).drain()
    assert report.outcome == "applied"
    assert versions(session) == [1]
    assert store.backlog(clock()).dirty == 0


def test_a_deleted_session_stays_deleted(store: Store, clock: FixedClock) -> None:
    grown(store, clock, "before").control.delete()
    during = grown(store, clock, "during")
    seen = list[Observation]()

    def choose(key: Key, info: SessionInfo) -> Policy:
        during.control.delete()
        return POLICY

    worker = Worker(store, policy=choose, clock=clock, observer=seen.append)
    worker.drain()
    assert whats(seen) == ["claimed", "lost"], "nothing of it is reported as an error"
    assert store.sessions("local", "local") == []
    assert worker.backlog().dirty == 0


def test_a_session_that_is_deleted_while_a_model_thinks_gets_nothing_written(store: Store, clock: FixedClock) -> None:
    session, seen = grown(store, clock), list[Observation]()

    def delete(ask: Ask) -> str:
        session.control.delete()
        return GOOD

    worker = Worker(store, policy=POLICY, model=ScriptedModel(delete), clock=clock, observer=seen.append)
    (report,) = worker.drain()
    assert report.outcome == "deferred"
    assert whats(seen) == ["claimed", "deferred", "lost"]
    assert store.sessions("local", "local") == []
    assert worker.backlog().dirty == 0


def test_a_fork_made_under_a_job_has_its_own_past_and_work(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    names: list[str] = []

    def fork(ask: Ask) -> str:
        mine = Session("s", store=store, clock=clock, policy=POLICY)
        messages = store.log(session.key)[:20]
        mine.follow([*messages, user("Do it otherwise.")])
        mine.record(*tool_round(200, "line of fork output\n" * 300), assistant("Forked."))
        names.append(mine.name)
        return GOOD

    worker = Worker(store, policy=POLICY, model=ScriptedModel(fork, GOOD), clock=clock)
    first = worker.run_once()
    assert first
    assert (first.session, first.outcome) == ("s", "applied")
    assert versions(session) == [1]
    other = Session(names[0], store=store, clock=clock, policy=POLICY)
    assert other.name != "s"
    assert not versions(other), "the boundary of its parent came after the fork"
    second = worker.run_once()
    assert second
    assert (second.session, second.outcome) == (other.name, "applied")
    assert worker.backlog().dirty == 0


# -- the time of a job


async def hanging(ask: Ask) -> str:
    await asyncio.Event().wait()
    return "never"


JOB_SECONDS = 1 / 32  # exact: sums of it are what they should be


class Ticks(FixedClock):
    """Seconds that only models let pass: however busy the machine is, a call is begun in time."""


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
    session = grown(store, clock)
    summarizer = Summarizer(models=(hanging,), require_model=True)
    worker = Worker(store, policy=POLICY, summarizer=summarizer, clock=clock, job_timeout_seconds=JOB_SECONDS)
    assert [report.outcome for report in worker.drain()] == ["failed"]
    assert not versions(session)
    assert worker.backlog().resting == 1


def test_a_plain_model_that_answers_too_late_is_not_heard(store: Store, clock: FixedClock) -> None:
    session, late, answered = grown(store, clock), threading.Event(), threading.Event()

    def model(ask: Ask) -> str:
        late.wait(LONG)
        answered.set()
        return GOOD

    (report,) = Worker(store, policy=POLICY, model=model, clock=clock, job_timeout_seconds=JOB_SECONDS).drain()
    late.set()
    assert report.outcome == "degraded"
    assert answered.wait(LONG)
    assert versions(session) == [1]
    assert not session.control.history()[0].narrative


def test_async_and_plain_models_stand_in_one_chain(store: Store, clock: FixedClock) -> None:
    async def failing(ask: Ask) -> str:
        raise ConnectionError("no")

    session = grown(store, clock)
    (report,) = Worker(store, policy=POLICY, model=[failing, ScriptedModel(GOOD)], clock=clock).drain()
    assert report.outcome == "applied"
    assert session.control.history()[0].narrative


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


# -- anything at any time


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_nothing_is_forgotten_or_done_twice(seed: int) -> None:
    store, clock, rng = MemoryStore(), FixedClock(), random.Random(seed)
    sessions = {name: grown(store, clock, name) for name in ("a", "b", "c")}
    recorded = dict.fromkeys(sessions, 26)
    numbers = itertools.count(1_000)
    given_up = set[str]()

    def grow(name: str, rounds: int) -> None:
        for _ in range(rounds):
            sessions[name].record(*tool_round(next(numbers), f"new output {next(numbers)}\n" * 150))
        sessions[name].record(assistant("So far."))
        recorded[name] += 2 * rounds + 1
        given_up.discard(name)

    told = Counter[str]()

    def watch(seen: Observation) -> None:
        told.update(whats([seen]))
        if isinstance(seen, Raised) and seen.what == "given_up":
            given_up.add(seen.session)

    def model(ask: Ask) -> str:
        match rng.randrange(8):
            case 0:
                raise ConnectionError("no")
            case 1:
                raise KeyboardInterrupt
            case 2:
                grow(rng.choice(sorted(sessions)), 3)
            case 3:  # the process sleeps through its lease, and another one takes the work
                clock.advance(200.0)
                Worker(store, policy=POLICY, clock=clock, observer=watch).run_once()
            case 4:
                clock.advance(50.0)
        return GOOD

    def worker() -> Worker:
        summarizer = Summarizer(models=(model,), require_model=rng.random() < 0.3)
        return Worker(store, policy=POLICY, summarizer=summarizer, clock=clock, observer=watch)

    for _ in range(40):
        match rng.randrange(5):
            case 0:
                grow(rng.choice(sorted(sessions)), rng.randrange(1, 8))
            case 1:
                store.claim(clock(), 60.0)  # and that process is killed
            case 2:
                clock.advance(rng.choice((1.0, 30.0, 70.0)))
            case _:
                with suppress(KeyboardInterrupt):
                    worker().run_once()
    clock.advance(1_000.0)
    Worker(store, policy=POLICY, clock=clock, observer=watch).drain()
    assert store.backlog(clock()).dirty == 0
    assert told["claimed"] == sum(told[end] for end in ENDS)
    for name, session in sessions.items():
        made = session.control.history()
        assert [one.version for one in made] == list(range(1, len(made) + 1))
        assert all(older.boundary < newer.boundary for older, newer in itertools.pairwise(made))
        assert len(store.log(session.key)) == recorded[name]
        assert session.compact().outcome in (("applied", "not_due") if name in given_up else ("not_due", "ineffective"))


# -- broken off from another thread


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


# -- threads


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


def test_hooks_see_the_plan_of_a_worker(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    around = Around(before=lambda planned: Veto("not now"))
    (report,) = Worker(store, policy=POLICY, clock=clock, around=around).drain()
    assert "not now" in str((report.text, report.reasons))
    assert not versions(session)


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
    threading.Timer(0.03, free.set).start()
    assert worker.stop(drain=False)
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


@pytest.fixture
def resting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Is set once a thread has found nothing to do and goes to sleep."""
    rests, rest = threading.Event(), running._Shift._rest

    def tells(self: running._Shift, heard: int, seconds: float) -> None:
        rests.set()
        rest(self, heard, seconds)

    monkeypatch.setattr(running._Shift, "_rest", tells)
    return rests


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
    until = time.monotonic() + LONG
    while not versions(second) and time.monotonic() < until:
        time.sleep(0.01)
    assert versions(second) == [1]
    assert worker.stop(timeout=LONG)
    assert first.control.attempts()


# -- processes


def run(code: str, *arguments: str, seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[1]), str(Path(__file__).parent)])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=seconds, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


def test_a_worker_that_is_not_stopped_never_holds_up_the_end(tmp_path: Path) -> None:
    code = """
import asyncio, sys, threading, time
from foldmark import SQLiteStore
from foldmark.worker import Worker
from test_background import POLICY, grown
begun = threading.Barrier(3)
def plain(ask):
    begun.wait(50); time.sleep(600)
async def awaited(ask):
    await asyncio.to_thread(begun.wait, 50); await asyncio.sleep(600)
store = SQLiteStore(sys.argv[1])
grown(store, time.time, "a"); grown(store, time.time, "b")
Worker(store, policy=POLICY, model=plain, workers=1).start()
Worker(store, policy=POLICY, model=awaited, workers=1).start()
begun.wait(50)
print("end")
"""
    done = run(code, str(tmp_path / "a.db"))  # would time out
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr
    later = FixedClock(time.time() + 200.0)
    reports = Worker(SQLiteStore(tmp_path / "a.db"), policy=POLICY, clock=later).drain()
    assert [report.outcome for report in reports] == ["applied", "applied"], "the leases ran out"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_worker_that_is_not_started(tmp_path: Path) -> None:
    code = """
import os, sys, time
from foldmark import SQLiteStore
from foldmark.worker import Worker
from test_background import POLICY, grown, versions
store = SQLiteStore(sys.argv[1])
worker = Worker(store, policy=POLICY, poll_seconds=600.0).start()
time.sleep(0.3)  # its threads sleep: none of them is inside of SQLite, whose locks a fork would carry across
pid = os.fork()
if not pid:
    assert worker.stop(), "nothing to stop"
    mine = grown(store, time.time, "child")
    worker.start(); assert worker.stop(); assert versions(mine) == [1]
    print("child", flush=True); os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
mine = grown(store, time.time, "parent")
assert worker.stop(); assert versions(mine) == [1]
print("parent", flush=True)
"""
    done = run("import warnings; warnings.simplefilter('ignore')\n" + code, str(tmp_path / "a.db"))
    assert (done.returncode, done.stdout.split()) == (0, ["child", "parent"]), done.stderr


def test_two_processes_on_one_file_compact_each_boundary_once(tmp_path: Path) -> None:
    path, count = tmp_path / "a.db", 12
    store = SQLiteStore(path)
    for number in range(count):
        grown(store, time.time, f"s{number}")
    code = """
import sys
from foldmark import SQLiteStore
from foldmark.worker import Worker
from test_background import POLICY
print("ready", flush=True); sys.stdin.readline()
print(*(report.outcome for report in Worker(SQLiteStore(sys.argv[1]), policy=POLICY).drain()))
"""
    paths = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[1]), str(Path(__file__).parent)])
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        for _ in range(2)
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout
        assert worker.stdout.readline() == "ready\n"
    outcomes = " ".join(worker.communicate("go\n", timeout=60)[0] for worker in workers).split()
    assert outcomes == ["applied"] * count
    for number in range(count):
        made = store.checkpoints(Key(session=f"s{number}"))
        assert len(made) == 1
    assert store.backlog(time.time()).dirty == 0


def test_an_artifact_store_of_ones_own_is_used(clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    store, mine, used = MemoryStore(), MemoryStore().artifacts, list[object]()
    grown(store, clock)
    monkeypatch.setattr(Session, "compact_steps", _noting(used))
    Worker(store, artifacts=mine, policy=POLICY, clock=clock).drain()
    Worker(store, policy=POLICY, clock=clock).drain()
    assert used == [mine]


def _noting(used: list[object]) -> Callable[..., Any]:
    real = Session.compact_steps

    def steps(self: Session, **options: Any) -> Any:
        used.append(self.artifacts)
        return real(self, **options)

    return steps
