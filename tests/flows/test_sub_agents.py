"""Sub-agents end to end: a run within limits, one report for the parent, the whole log behind it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sub_agents import SOON, answers, nested, parent, works

from foldmark import MemoryStore, PolicyError, Session, SQLiteStore, ToolCall, assistant, user
from foldmark.children import (
    ChildReport,
    ChildSession,
    ChildStopped,
    RunLimits,
    children_of,
    conclude,
    delegate,
    open_child,
    report_of,
)
from waiting import LONG


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


# -- one report


def test_the_parent_gets_one_result_and_the_whole_log_stays_behind_it(store: Any) -> None:
    opened = parent(store)
    report = delegate(opened, "c1", works)
    assert (report.outcome, report.session, report.ref) == ("finished", "main/2", "event:3")
    (answer,) = answers(opened)
    assert answer.text == report.text
    assert answer.result
    assert (answer.result.call_id, answer.result.name, answer.result.is_error) == ("c1", "task", False)
    assert "The lock waits too long." in report.text
    assert "- created src/lock.py event:5@main/2" in report.text
    assert "test_wait" in report.text
    assert "LOCK_WAIT" not in "".join(event.text for event in store.log(opened.key))
    assert store.info(open_child(opened, "c1").key).head == 6


def test_a_retry_changes_nothing_and_brings_the_same_report(store: Any) -> None:
    opened = parent(store)
    first = delegate(opened, "c1", works)
    runs: list[Any] = []
    again = delegate(opened, "c1", runs.append)
    assert (again, runs) == (first, [])
    assert conclude(opened, "c1") == first
    assert len(answers(opened)) == 1


def test_its_steps_are_found_and_opened_from_the_parent(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", works)
    assert not [hit for hit in opened.search("LOCK_WAIT 4711") if "4711" in hit.snippet]
    hits = opened.search("LOCK_WAIT 4711", where="children")
    assert hits[0].ref == "event:4@main/2"
    assert "LOCK_WAIT = 4711" in str(opened.load(hits[0].ref).events[0].calls)


def test_what_a_run_returns_is_in_its_log_even_when_it_never_recorded_it(store: Any) -> None:
    opened = parent(store)
    words = "FIRST " + "much is to be said of it. " * 800 + "LAST"
    report = delegate(opened, "c1", lambda child: words, limits=RunLimits(report_tokens=300))
    assert "(shortened here; whole: event:1@main/2)" in report.text
    assert opened.load("event:1@main/2").events[0].text == words


@pytest.mark.parametrize("returned", [None, "", "The lock waits too long.", assistant("The lock waits too long.")])
def test_a_run_may_return_nothing_text_or_a_reply(store: Any, returned: Any) -> None:
    opened = parent(store)

    def run(child: Session) -> Any:
        works(child)
        return returned

    report = delegate(opened, "c1", run)
    assert report.outcome == "finished"
    assert "Its answer (event:6@main/2):\nThe lock waits too long." in report.text
    assert store.info(open_child(opened, "c1").key).head == 6


def test_a_run_that_returns_no_text_is_told_so_and_its_work_is_kept(store: Any) -> None:
    report = delegate(parent(store), "c1", lambda child: (works(child), 7))  # type: ignore[arg-type,return-value]
    assert report.outcome == "failed"
    assert "the run returned tuple" in report.text
    assert "src/lock.py" in report.text


def test_an_async_run_in_a_plain_call_is_a_failure_that_names_the_way(store: Any) -> None:
    async def run(child: Any) -> str:
        return "never"

    report = delegate(parent(store), "c1", run)  # type: ignore[arg-type]
    assert report.outcome == "failed"
    assert "delegate_async" in report.text


def test_a_run_gets_a_session_that_knows_its_limits() -> None:
    seen: list[Any] = []
    opened = parent(MemoryStore())
    delegate(opened, "c1", seen.append, limits=RunLimits(rounds=7))
    assert isinstance(seen[0], ChildSession)
    assert seen[0].limits.rounds == 7
    with pytest.raises(PolicyError):
        RunLimits(rounds=0)


# -- how it may end


def test_an_exception_is_told_in_a_line_without_secrets_and_with_what_there_was(store: Any) -> None:
    opened = parent(store)

    def run(child: Session) -> str:
        works(child)
        raise ValueError("no\nroute for AKIAIOSFODNN7EXAMPLE " + "and on " * 500)

    report = delegate(opened, "c1", run)
    assert report.outcome == "failed"
    assert report.why.startswith("ValueError: no route for [secret:aws-key ")
    assert len(report.why) < 260
    assert "AKIAIOSFODNN7EXAMPLE" not in report.text
    assert "src/lock.py" in report.text
    assert answers(opened)[0].result.is_error  # type: ignore[union-attr]


def test_an_exception_whose_words_cannot_be_read_is_told_by_its_type(store: Any) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def run(child: Session) -> str:
        raise Odd

    assert "Odd, whose message cannot be read" in delegate(parent(store), "c1", run).text


def test_an_interrupt_passes_and_the_call_stays_open_until_it_is_run_again(store: Any) -> None:
    opened = parent(store)

    def interrupted(child: Session) -> str:
        works(child)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delegate(opened, "c1", interrupted)
    assert answers(opened) == []

    def goes_on(child: Session) -> str:
        assert child.info.head == 6
        return "Done after all."

    assert "Done after all." in delegate(opened, "c1", goes_on).text


@pytest.mark.parametrize(
    ("limits", "noun"),
    [({"rounds": 3}, "3 of 3 rounds"), ({"spent_tokens": 5}, "of 5 tokens"), ({"events": 4}, "events")],
)
def test_a_limit_ends_the_run_and_its_report_says_which(store: Any, limits: dict[str, int], noun: str) -> None:
    opened = parent(store)

    def endless(child: Session) -> str:
        child.record(user("Go on for ever."))
        while True:
            child.request(window=60_000)
            child.record(assistant("one more step"))

    report = delegate(opened, "c1", endless, limits=RunLimits(**limits))
    assert report.outcome == "limit"
    assert noun in report.text
    assert "Not finished. Its last words" in report.text
    assert answers(opened)[0].result.is_error  # type: ignore[union-attr]


def test_a_run_that_wraps_up_at_its_limit_is_heard_and_is_not_called_finished(store: Any) -> None:
    def run(child: Session) -> str:
        child.record(user("Go."), assistant("one"))
        try:
            child.request(window=60_000)
        except ChildStopped:
            return "Half of it is done."
        raise AssertionError

    report = delegate(parent(store), "c1", run, limits=RunLimits(rounds=1))
    assert report.outcome == "limit"
    assert "Half of it is done." in report.text


def test_a_thread_that_outlives_its_time_writes_into_its_own_log_alone(store: Any) -> None:
    opened = parent(store)
    go, begun, threads, seen = threading.Event(), threading.Event(), list[threading.Thread](), list[BaseException]()

    works(open_child(opened, "c1"))  # before its time runs, so that no clock decides what it had

    def slow(child: Session) -> str:
        threads.append(threading.current_thread())
        begun.set()
        assert go.wait(LONG)
        try:
            child.request(window=60_000)
        except ChildStopped as error:
            seen.append(error)
        try:
            child.record(assistant("LATE STEP 815"))
        except ChildStopped as error:
            seen.append(error)
        return "LATE REPORT 816"

    report = delegate(opened, "c1", slow, limits=SOON)
    assert report.outcome == "timeout"
    assert "its 0.05 seconds are over" in report.text
    assert "src/lock.py" in report.text
    before = store.log(opened.key)
    go.set()
    assert begun.wait(LONG)
    threads[0].join(LONG)
    assert len(seen) == 2
    assert store.log(opened.key) == before
    assert delegate(opened, "c1", works) == report
    refs = [hit.ref for hit in opened.search("LATE 815 816", where="children")]
    assert {"event:7@main/2", "event:8@main/2"} <= set(refs)
    assert "LATE" not in report_of(opened, "c1").text


def test_a_run_in_time_is_finished_and_so_is_one_that_raises_a_timeout_of_its_own(store: Any) -> None:
    opened = parent(store, "c1", "c2")

    def times_out(child: Session) -> str:
        raise TimeoutError("the web is slow")

    limits = RunLimits(timeout_seconds=LONG)
    assert delegate(opened, "c1", works, limits=limits).outcome == "finished"
    report = delegate(opened, "c2", times_out, limits=limits)
    assert (report.outcome, report.why) == ("failed", "TimeoutError: the web is slow")


# -- several, and below each other


def test_sub_agents_run_side_by_side_and_each_call_gets_its_own_report(store: Any) -> None:
    ids = [f"c{at}" for at in range(4)]
    opened, together = parent(store, *ids), threading.Barrier(4)

    def run(child: Session) -> str:
        child.record(user("Go."))
        together.wait(LONG)
        child.record(assistant(f"I am {child.name}."))
        return ""

    threads = [threading.Thread(target=delegate, args=(opened, one, run)) for one in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    found = {event.result.call_id: event.text for event in answers(opened) if event.result}
    assert sorted(found) == ids
    names = ["main/2", "main/2.2", "main/2.3", "main/2.4"]
    assert all(f"I am {name}." in found[one] for one, name in zip(ids, names, strict=True))
    assert [child.session for child in children_of(opened)] == names


def test_two_that_report_for_one_call_at_once_leave_one_answer(store: Any) -> None:
    opened, together = parent(store), threading.Barrier(2)

    def run(child: Session) -> str:
        together.wait(LONG)
        return f"by {threading.current_thread().name}"

    threads = [threading.Thread(target=delegate, args=(Session("main", store=store), "c1", run)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert len(answers(opened)) == 1


def test_a_sub_agent_may_start_one_itself_and_the_top_finds_both(store: Any) -> None:
    opened = parent(store)
    report = delegate(opened, "c1", nested)
    assert "Below said: finished" in report.text
    assert opened.search("LOCK_WAIT 4711", where="children")[0].ref == "event:4@main/2/2"
    assert opened.load("event:5@main/2/2").events[0].text == "ok"
    assert [child.session for child in children_of(opened)] == ["main/2"]
    assert [child.session for child in children_of(open_child(opened, "c1"))] == ["main/2/2"]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_depth_holds_whoever_asks(store: Any, depth: int) -> None:
    reports: list[ChildReport] = []

    def digs(child: Session) -> str:
        child.record(user("Dig."), assistant("Deeper.", ToolCall("n1", "task", "{}")))
        reports.append(delegate(child, "n1", digs, limits=RunLimits(depth=99)))
        return "up"

    opened = parent(store)
    report = delegate(opened, "c1", digs, limits=RunLimits(depth=depth))
    sessions = {info.session for info in store.sessions("local", "local")}
    assert sessions == {"main", *("main" + "/2" * level for level in range(1, depth + 1))}
    refused = reports[0] if reports else report
    assert (refused.outcome, refused.session) == ("limit", "")
    assert f"at most {depth} may stand below each other" in refused.text


def test_when_the_time_of_the_one_above_is_over_the_one_below_ends_at_its_next_step(store: Any) -> None:
    opened = parent(store)
    go, begun, threads, below = threading.Event(), threading.Event(), list[threading.Thread](), list[ChildReport]()

    open_child(opened, "c1").record(user("Split."), assistant("I ask.", ToolCall("n1", "task", "{}")))

    def waits(child: Session) -> str:
        assert go.wait(LONG)
        child.request(window=60_000)
        raise AssertionError

    def run(child: Session) -> str:
        threads.append(threading.current_thread())
        begun.set()
        below.append(delegate(child, "n1", waits))
        return "late"

    assert delegate(opened, "c1", run, limits=SOON).outcome == "timeout"
    go.set()
    assert begun.wait(LONG)
    threads[0].join(LONG)
    assert below[0].outcome == "limit"
    assert "main/2 above it has to stop: its 0.05 seconds are over" in below[0].why
