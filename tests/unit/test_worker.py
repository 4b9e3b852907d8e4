"""What a worker decides: when work comes again, under which policy, what an option may be. No clock, no disk."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark import MemoryStore, NotFound, Policy, PolicyError, Session, Summarizer
from foldmark.reports import Attempt, Report
from foldmark.store import Frame, Key, SessionInfo, Work
from foldmark.testing import ScriptedModel
from foldmark.worker import Worker
from foldmark.worker.job import Job
from foldmark.worker.opening import is_there, rules_for, run_of, sizes_of
from foldmark.worker.verdicts import DONE, GIVEN_UP, Verdict, after_failure, after_report, may_ask_at, pause, rested

KEY = Key(session="s")
INFO = SessionInfo(session="s")


def always(time: float) -> bool:
    return True


# -- when


def test_pauses_double_up_to_five_minutes() -> None:
    assert [pause(attempts) for attempts in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@pytest.mark.parametrize("outcome", ["applied", "not_due", "ineffective", "degraded"])
def test_what_came_to_an_end_is_done(outcome: Any) -> None:
    assert after_report(Report(outcome=outcome), 1, 5, 100.0, always) == DONE


def test_what_failed_comes_again_and_is_given_up_at_the_last_attempt() -> None:
    failed = Report(outcome="failed")
    assert after_report(failed, 1, 3, 100.0, always).again == 101.0
    assert after_report(failed, 2, 3, 100.0, always).again == 102.0
    assert after_report(failed, 3, 3, 100.0, always) == GIVEN_UP
    assert after_failure(3, 3, 100.0) == GIVEN_UP


def test_what_was_left_to_another_compaction_is_never_given_up() -> None:
    for waited, pause_ in ((0.0, 1.0), (0.5, 1.0), (20.0, 20.0), (299.0, 299.0), (10_000.0, 300.0)):
        deferred = after_report(Report(outcome="deferred"), 50, 5, 100.0, always, waited)
        assert deferred == Verdict("again", 100.0 + pause_, counts=False)


def test_no_attempt_is_wasted_while_models_rest() -> None:
    asked = Attempt(time=100.0, outcome="failed", calls=1, model="small", failure="timeout", rests={"small": 160.0})
    may = may_ask_at(Summarizer(models=(ScriptedModel(name="small"),)), (asked,))
    assert rested(1.0, 100.0, may) == 64.0, "the first pause after the minute's rest"
    assert after_report(Report(outcome="failed"), 1, 5, 100.0, may).again == 164.0


def test_models_that_rest_for_longer_than_any_pause_are_not_waited_for() -> None:
    assert rested(1.0, 0.0, lambda time: False) == 300.0


def test_where_nobody_is_known_to_be_asked_the_default_cooldown_counts() -> None:
    asked = Attempt(time=100.0, outcome="failed", calls=1, model="any", failure="cancelled")
    assert not may_ask_at(None, (asked,))(130.0)
    assert may_ask_at(None, (asked,))(164.0)


# -- under which policy


def test_a_policy_that_is_given_rules_all_sessions() -> None:
    given = Policy.chat()
    assert rules_for(given, KEY, INFO) is given


def test_without_one_the_session_keeps_its_own() -> None:
    kept = Policy.research(run="background")
    assert rules_for(None, KEY, SessionInfo(session="s", meta={"policy": kept.to_json()})) == kept
    assert rules_for(None, KEY, INFO) is None


def test_a_kept_policy_aims_where_the_session_was_last_compacted_to() -> None:
    meta = {"policy": Policy.coding().to_json(), "target": "9000"}
    found = rules_for(None, KEY, SessionInfo(session="s", meta=meta))
    assert found
    assert found.budget.target_tokens == 9_000


def test_a_function_chooses_by_key_and_row() -> None:
    seen = []

    def choose(key: Key, info: SessionInfo) -> Policy | None:
        seen.append((key, info))
        return Policy.chat() if key.session == "s" else None

    assert rules_for(choose, KEY, INFO) == Policy.chat()
    assert seen == [(KEY, INFO)]
    kept = Policy.research()
    other = SessionInfo(session="t", meta={"policy": kept.to_json()})
    assert rules_for(choose, Key(session="t"), other) == kept, "None leaves it to the session"


def test_a_function_that_returns_no_policy_is_named() -> None:
    with pytest.raises(PolicyError, match="returned str"):
        rules_for(lambda key, info: "coding", KEY, INFO)  # type: ignore[arg-type, return-value]


def test_work_after_a_pause_is_called_idle() -> None:
    assert run_of(Policy.coding()) == "background"
    assert run_of(Policy.coding(background={"idle_seconds": 0.0})) == "background", "no pause is none"
    assert run_of(Policy.coding(background={"idle_seconds": 30.0})) == "idle"


def test_a_session_that_is_not_there_is_not_made() -> None:
    store = MemoryStore()
    assert not is_there(store, KEY)
    with pytest.raises(NotFound):
        Session("s", store=store, create=False)
    assert not store.sessions("local", "local")
    store.open(KEY)
    assert is_there(store, KEY)
    assert Session("s", store=store, create=False).name == "s"


def test_room_is_made_for_requests_of_the_last_ones_size_where_somebody_said_it() -> None:
    assert sizes_of(None) == (None, None)
    assert sizes_of(Frame(window=60_000)) == (60_000, None)
    assert sizes_of(Frame(window=60_000, max_output=900)) == (60_000, 900)
    assert sizes_of(Frame(window=128_000, assumed=True, max_output=900)) == (None, 900)


# -- its end


def test_a_job_ends_once() -> None:
    work = Work(key=KEY, wanted=1, done=0)
    job = Job(MemoryStore(), work, clock=lambda: 0.0, lease_seconds=1.0, seconds=1.0)
    assert [job.takes_end() for _ in range(3)] == [True, False, False]


# -- options


@pytest.mark.parametrize(
    "wrong",
    [
        {"workers": 0},
        {"workers": True},
        {"workers": 1.5},
        {"most_attempts": 0},
        {"lease_seconds": 0},
        {"poll_seconds": -1},
        {"job_timeout_seconds": "60"},
    ],
)
def test_an_option_that_makes_no_sense_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        Worker(MemoryStore(), **wrong)


def test_a_model_and_a_summarizer_cannot_both_be_given() -> None:
    model = ScriptedModel()
    with pytest.raises(PolicyError, match="not both"):
        Worker(MemoryStore(), model=model, summarizer=Summarizer(models=(model,)))
