"""A worker beside sessions: which work it does, by which policy, and what is left of it.

The clock stands still unless a test moves it; models follow a script.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from background import GOOD, POLICY, grown, versions, whats
from foldmark import MemoryStore, Policy, Session, assistant, user
from foldmark.around import Around, Veto
from foldmark.asking import Ask
from foldmark.reports import Observation, Raised, Report
from foldmark.store import Key, SessionInfo, Store
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker import Worker
from making import long_session, tool_round


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


def test_hooks_see_the_plan_of_a_worker(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    around = Around(before=lambda planned: Veto("not now"))
    (report,) = Worker(store, policy=POLICY, clock=clock, around=around).drain()
    assert "not now" in str((report.text, report.reasons))
    assert not versions(session)


def test_async_and_plain_models_stand_in_one_chain(store: Store, clock: FixedClock) -> None:
    async def failing(ask: Ask) -> str:
        raise ConnectionError("no")

    session = grown(store, clock)
    (report,) = Worker(store, policy=POLICY, model=[failing, ScriptedModel(GOOD)], clock=clock).drain()
    assert report.outcome == "applied"
    assert session.control.history()[0].narrative


def _noting(used: list[object]) -> Callable[..., Any]:
    real = Session.compact_steps

    def steps(self: Session, **options: Any) -> Any:
        used.append(self.artifacts)
        return real(self, **options)

    return steps


def test_an_artifact_store_of_ones_own_is_used(clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    store, mine, used = MemoryStore(), MemoryStore().artifacts, list[object]()
    grown(store, clock)
    monkeypatch.setattr(Session, "compact_steps", _noting(used))
    Worker(store, artifacts=mine, policy=POLICY, clock=clock).drain()
    Worker(store, policy=POLICY, clock=clock).drain()
    assert used == [mine]


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
