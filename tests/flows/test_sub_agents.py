"""Sub-agents end to end: a run within limits, one report for the parent, the whole log behind it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from foldmark import MemoryStore, NotFound, Policy, PolicyError, Session, SQLiteStore, ToolCall, Usage, assistant, user
from foldmark.aio import AsyncSession
from foldmark.children import (
    ChildReport,
    ChildSession,
    ChildStopped,
    RunLimits,
    children_of,
    conclude,
    delegate,
    delegate_async,
    open_child,
    report_of,
)
from foldmark.events import Event, result
from foldmark.hooked import EventHooks, Hold
from foldmark.retention import expire
from foldmark.store import Key, SessionInfo
from foldmark.testing import AsyncScriptedModel, items_json
from foldmark.tools import recall_tools
from foldmark.wire import WIRES
from making import long_session

POLICY = Policy.coding(run="manual", budget={"landing_tokens": 3_000})
SOON = RunLimits(timeout_seconds=0.05)
LONG = 20.0
"""Seconds after which a test that waits for a thread gives up."""


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


def parent(store: Any, *ids: str, tool: str = "task", **options: Any) -> Session:
    made = Session("main", store=store, **{"policy": POLICY, **options})
    made.record(user("Fix the lock."))
    made.record(assistant("I send them.", *(ToolCall(one, tool, '{"prompt": "find it"}') for one in ids or ("c1",))))
    return made


def works(child: Session) -> str:
    """A run that changes a file, sees a test fail, and answers."""
    child.record(user("Find the lock."))
    child.request(window=60_000)
    child.record(
        assistant("I test.", ToolCall("x1", "bash", '{"command": "pytest -q"}'), usage=Usage(input=500, output=20)),
        result("x1", "FAILED tests/test_lock.py::test_wait - assert 3 == 4\n1 failed, 4 passed in 0.1s", name="bash"),
        assistant("I write.", ToolCall("x2", "write_file", '{"path": "src/lock.py", "content": "LOCK_WAIT = 4711"}')),
        result("x2", "ok", name="write_file"),
        assistant("The lock waits too long."),
    )
    return "The lock waits too long."


def answers(session: Session) -> list[Event]:
    return [event for event in session.store.log(session.key) if event.role == "tool"]


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


def nested(child: Session) -> str:
    child.record(user("Split it."), assistant("I ask one below.", ToolCall("n1", "task", "{}")))
    report = delegate(child, "n1", works)
    return f"Below said: {report.outcome}"


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


# -- awaited


def awaited(store: Any, *ids: str) -> AsyncSession:
    parent(store, *ids)
    return AsyncSession("main", store=store, policy=POLICY)


def test_awaited_sub_agents_run_side_by_side(store: Any) -> None:
    opened = awaited(store, "c1", "c2")

    async def main() -> list[ChildReport]:
        together = asyncio.Barrier(2)

        async def run(child: AsyncSession) -> str:
            await child.record(user("Go."))
            await together.wait()
            await child.request(window=60_000)
            return f"I am {child.name}."

        return await asyncio.gather(*(delegate_async(opened, one, run) for one in ("c1", "c2")))

    reports = asyncio.run(main())
    assert [report.outcome for report in reports] == ["finished", "finished"]
    assert "I am main/2.2." in reports[1].text
    assert len(answers(opened.session)) == 2


def test_an_awaited_run_is_cancelled_when_its_time_is_over(store: Any) -> None:
    opened, closed = awaited(store), list[str]()

    open_child(opened.session, "c1").record(user("Wait."), assistant("I wait."))

    async def run(child: AsyncSession) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            closed.append("closed")
        return "never"

    report = asyncio.run(delegate_async(opened, "c1", run, limits=SOON))
    assert (report.outcome, closed) == ("timeout", ["closed"])
    assert "I wait." in report.text


def test_an_awaited_run_that_will_not_end_is_left_behind(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldmark.children.running.GRACE_SECONDS", 0.05)
    opened = awaited(store)

    async def main() -> ChildReport:
        go, done = asyncio.Event(), asyncio.Event()

        async def run(child: AsyncSession) -> str:
            while not go.is_set():
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    continue
            done.set()
            return "LATE 816"

        report = await delegate_async(opened, "c1", run, limits=SOON)
        go.set()
        await done.wait()
        return report

    assert asyncio.run(main()).outcome == "timeout"
    assert len(answers(opened.session)) == 1
    assert "LATE" not in answers(opened.session)[0].text


def test_a_cancelled_call_closes_its_run_and_stays_open_to_be_taken_up(store: Any) -> None:
    opened, closed = awaited(store), list[str]()

    async def main() -> ChildReport:
        begun = asyncio.Event()

        async def waits(child: AsyncSession) -> str:
            await child.record(user("Wait."), assistant("I wait."))
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                closed.append("closed")
            return "never"

        task = asyncio.create_task(delegate_async(opened, "c1", waits))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == ["closed"]
        assert answers(opened.session) == []

        async def goes_on(child: AsyncSession) -> str:
            await child.request(window=60_000)
            return f"After {child.session.info.head}."

        return await delegate_async(opened, "c1", goes_on)

    assert "After 2." in asyncio.run(main()).text


def test_awaited_failures_are_told_as_plain_ones(store: Any) -> None:
    opened = awaited(store, "c1", "c2", "c3")

    async def fails(child: AsyncSession) -> str:
        raise ValueError("no route")

    async def cancels_itself(child: AsyncSession) -> str:
        raise asyncio.CancelledError

    async def goes_on(child: AsyncSession) -> str:
        while True:
            await child.record(assistant("more"))

    async def main() -> list[ChildReport]:
        return [
            await delegate_async(opened, "c1", fails),
            await delegate_async(opened, "c2", cancels_itself),
            await delegate_async(opened, "c3", goes_on, limits=RunLimits(rounds=2)),
        ]

    reports = asyncio.run(main())
    assert [report.outcome for report in reports] == ["failed", "failed", "limit"]
    assert reports[0].why == "ValueError: no route"
    with pytest.raises(NotFound):
        asyncio.run(delegate_async(opened, "unknown", fails))


def test_an_awaited_sub_agent_may_start_one_itself(store: Any) -> None:
    async def run(child: AsyncSession) -> str:
        await child.record(user("Split."), assistant("I ask.", ToolCall("n1", "task", "{}")))
        report = await delegate_async(child, "n1", below)
        return f"Below said: {report.outcome}"

    async def below(child: AsyncSession) -> str:
        await child.record(user("LOCK_WAIT 4711"))
        return "done"

    opened = awaited(store)
    assert "Below said: finished" in asyncio.run(delegate_async(opened, "c1", run)).text
    assert opened.session.search("LOCK_WAIT", where="children")[0].ref == "event:1@main/2/2"


def test_an_async_parent_hands_its_async_model_to_its_sub_agents(store: Any) -> None:
    model = AsyncScriptedModel(items_json())
    opened = AsyncSession("main", store=store, policy=POLICY, model=model)
    asyncio.run(opened.record(user("Go."), assistant("I send.", ToolCall("c1", "task", "{}"))))

    async def run(child: AsyncSession) -> str:
        assert child.session.summarizer is opened.session.summarizer
        await child.record(*long_session(40, 20))
        return str((await child.compact(force=True)).outcome)

    report = asyncio.run(delegate_async(opened, "c1", run))
    assert report.outcome == "finished", report.text
    assert model.asks


# -- a process died


def test_a_sub_agent_whose_process_died_is_an_open_call_whose_report_can_be_had_and_recorded(store: Any) -> None:
    opened = parent(store)
    works(open_child(opened, "c1"))
    restarted = Session("main", store=store)
    (child,) = children_of(restarted)
    assert (child.session, child.call, child.made, child.outcome, child.events, child.answered) == (
        "main/2", "c1", 2, None, 6, 0,
    )  # fmt: skip
    report = report_of(restarted, "c1")
    assert (report.outcome, report.ref) == ("interrupted", "")
    assert "as of event:6" in report.text
    assert "Its last words (event:6@main/2):\nThe lock waits too long." in report.text
    assert answers(restarted) == []
    recorded = conclude(restarted, "c1")
    assert (recorded.outcome, recorded.ref) == ("interrupted", "event:3")
    assert conclude(restarted, "c1").ref == "event:3"
    (child,) = children_of(restarted)
    assert (child.outcome, child.answered) == ("interrupted", 3)


def test_a_run_that_ended_before_the_crash_is_reported_and_not_run_again(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = parent(store)

    def crash(*given: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("foldmark.children.running.settle", crash)
        with pytest.raises(SystemExit):
            delegate(opened, "c1", works)
    assert answers(opened) == []
    runs: list[Any] = []
    report = delegate(Session("main", store=store), "c1", runs.append)
    assert (report.outcome, runs) == ("finished", [])
    assert "The lock waits too long." in answers(opened)[0].text


def test_facts_that_a_crash_kept_back_are_made_up_for(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = parent(store)
    with monkeypatch.context() as patched:
        patched.setattr("foldmark.children.reporting._hand_up", lambda *given: None)
        delegate(opened, "c1", works)
    assert ("file", "src/lock.py") not in store.context(opened.key, ()).state
    delegate(opened, "c1", works)
    delegate(opened, "c1", works)
    state, every, _ = store.covered(opened.key, 3, limit=0)
    assert state["file", "src/lock.py"].seq == 3
    assert len([fact for fact in every if fact.kind == "file"]) == 1


def test_a_call_without_a_sub_agent_has_no_report(store: Any) -> None:
    opened = parent(store)
    for ask in (report_of, conclude):
        with pytest.raises(NotFound, match="started no sub-agent"):
            ask(opened, "c1")
    with pytest.raises(NotFound):
        report_of(opened, "unknown")


def test_an_answer_that_the_application_recorded_itself_stays(store: Any) -> None:
    opened = parent(store)
    opened.record(result("c1", "I did it by hand.", name="task"))
    report = delegate(opened, "c1", works)
    assert (report.text, report.session, report.ref) == ("I did it by hand.", "", "event:3")
    assert children_of(opened) == []


# -- the parent's context


def filled(session: Session, rounds: int = 30) -> None:
    session.record(*long_session(rounds, 20, ask="Now the rest."))


def test_the_record_of_the_parent_keeps_what_the_report_proves(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", works)
    filled(opened)
    assert opened.compact(force=True, window=60_000).outcome == "applied"
    text = opened.control.history()[-1].text
    assert "src/lock.py" in text
    assert "1 failed, 4 passed" in text
    assert "(event:3" in text


def test_a_newer_fact_of_the_parent_stands_against_an_older_report(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", works)
    opened.record(
        assistant("I test again.", ToolCall("t", "bash", '{"command": "pytest -q"}')),
        result("t", "5 passed in 0.1s", name="bash"),
    )
    delegate(opened, "c1", works)
    state = store.context(opened.key, ()).state
    assert state["verification", "pytest -q"].status == "passed"
    assert state["error", "pytest -q"].status == "fixed"


@pytest.mark.parametrize("tool", ["task", "research", "search_docs", "fetch_answer", "read_and_tell"])
def test_a_report_is_never_demoted_whatever_the_tool_is_called(store: Any, tool: str) -> None:
    opened = parent(store, tool=tool, policy=Policy.coding(run="manual"))
    delegate(opened, "c1", works)
    filled(opened, 60)
    made = opened.request(window=40_000)
    shown = [event.text for event in made.messages if "Sub-agent main/2" in event.text]
    demoted = {change.seq for change in made.report.changes if change.status == "demoted"}
    assert demoted  # older results left
    assert min(demoted) > 3
    assert len(shown) == 1
    assert "The lock waits too long." in shown[0]
    assert "- created src/lock.py" in shown[0]


@pytest.mark.parametrize("outcome", ["finished", "failed"])
def test_a_report_goes_out_on_every_wire(store: Any, outcome: str) -> None:
    opened = parent(store)

    def run(child: Session) -> str:
        works(child)
        if outcome == "failed":
            raise ValueError("no route")
        return ""

    delegate(opened, "c1", run)
    for wire in WIRES:
        assert "main/2" in str(opened.request(window=60_000, wire=wire).payload())


def test_a_report_over_the_admission_limit_leaves_as_any_result_does(store: Any) -> None:
    opened = parent(store, policy=Policy.coding(run="manual", admission={"limit_tokens": 1_000, "inline_bytes": 2_000}))
    words = "\n".join(f"finding {at}: row {at * 37} of the ledger is charged twice" for at in range(400))
    report = delegate(opened, "c1", lambda child: words, limits=RunLimits(report_tokens=6_000))
    (answer,) = answers(opened)
    assert answer.artifacts
    whole = opened.load("artifact:3", limit=100_000).text
    assert "finding 0:" in whole
    assert "finding 390:" in whole
    assert len(report.text) < len(whole)
    assert delegate(opened, "c1", works) == report


def test_a_policy_that_redacts_before_it_records_does_so_with_reports(store: Any) -> None:
    opened = parent(store, policy=Policy.high_risk(run="manual"))
    delegate(opened, "c1", lambda child: "The key is AKIAIOSFODNN7EXAMPLE, use it.")
    hit = next(hit for hit in opened.search("key", where="children") if "secret:aws-key" in hit.snippet)
    assert "AKIAIOSFODNN7EXAMPLE" not in hit.snippet


def test_a_sub_agent_is_compacted_for_itself_and_the_parent_stays_as_it_is(store: Any) -> None:
    opened = parent(store)

    def run(child: Session) -> str:
        child.record(*long_session(40, 20))
        assert child.compact(force=True, window=60_000).outcome == "applied"
        return "Done."

    delegate(opened, "c1", run)
    assert opened.control.history() == []
    assert len(open_child(opened, "c1").control.history()) == 1
    assert opened.load("compaction:1@main/2").events
    assert opened.search("value_3_7", where="children")[0].session == "main/2"


# -- who sees it


def two_scopes(store: Any, first: str = "a1", second: str = "b1") -> tuple[Session, Session]:
    made = Session("main", store=store, policy=POLICY)
    for key, call in (("app/a", first), ("app/b", second)):
        made.record(user(f"Task of {key}.", scope=key), assistant("I send.", ToolCall(call, "task", "{}"), scope=key))
        scoped = Session("main", store=store, policy=POLICY, scope=key, sees="exact")
        delegate(scoped, call, lambda child, key=key: str(child.record(user(f"SECRET of {key}")).seq))
    return tuple(  # type: ignore[return-value]
        Session("main", store=store, policy=POLICY, scope=key, sees="exact") for key in ("app/a", "app/b")
    )


def test_a_scope_finds_the_sub_agents_of_calls_that_it_sees_and_no_others(store: Any) -> None:
    first, second = two_scopes(store)
    assert {hit.session for hit in first.search("SECRET", where="children") if hit.session} == {"main/2"}
    assert {hit.session for hit in second.search("SECRET", where="children") if hit.session} == {"main/5"}
    whole = Session("main", store=store)
    assert {hit.session for hit in whole.search("SECRET", where="children") if hit.session} == {"main/2", "main/5"}
    assert [child.session for child in children_of(first)] == ["main/2"]
    assert [child.session for child in children_of(whole)] == ["main/2", "main/5"]


def test_a_report_is_an_event_of_the_scope_that_made_the_call(store: Any) -> None:
    two_scopes(store)
    assert [event.key for event in store.log(Session("main", store=store).key) if event.role == "tool"] == [
        "app/a", "app/b",
    ]  # fmt: skip


def test_a_scope_that_does_not_see_the_call_gets_no_report_of_it(store: Any) -> None:
    _, second = two_scopes(store)
    for ask in (report_of, conclude):
        with pytest.raises(NotFound, match="does not see"):
            ask(second, "a1")


def test_another_user_has_neither_the_call_nor_the_sub_agent(store: Any) -> None:
    delegate(parent(store), "c1", works)
    stranger = Session("main", store=store, user="eve")
    with pytest.raises(NotFound):
        report_of(stranger, "c1")
    assert stranger.search("LOCK_WAIT", where="children") == []
    with pytest.raises(NotFound):
        stranger.load("event:4@main/2")


# -- it goes with its parent


def test_who_erases_the_parent_erases_its_sub_agents_from_every_index(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", nested)
    opened.control.delete(descendants=True)
    assert store.sessions("local", "local") == []
    other = Session("other", store=store)
    assert other.search("LOCK_WAIT 4711", where="user") == []


def test_sub_agents_expire_with_their_parent_and_never_alone(store: Any) -> None:
    policy = Policy.coding(run="manual", retention={"session_days": 10})
    opened = parent(store, clock=lambda: 1_000_000.0)
    delegate(opened, "c1", nested)
    gone = expire(store, policy_of=lambda info: None if "/" in info.session else policy, now=1_000_000.0 + 11 * 86_400)
    assert sorted(gone.sessions) == ["main", "main/2", "main/2/2"]


def test_a_run_whose_parent_was_deleted_meanwhile_does_not_bring_it_back_as_a_sub_agent(store: Any) -> None:
    opened = parent(store)

    def run(child: Session) -> str:
        child.record(user("Go."))
        opened.control.delete(descendants=True)
        return "done"

    with pytest.raises(NotFound):
        delegate(opened, "c1", run)
    assert [info.session for info in store.sessions("local", "local") if info.kind == "child"] == []


def test_a_call_event_and_its_report_are_explained_as_any_pair(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", works)
    opened.request(window=60_000)
    assert [(entry.ref, entry.status) for entry in opened.explain()][-1] == ("event:3", "raw")


def test_a_run_gets_a_session_that_knows_its_limits() -> None:
    seen: list[Any] = []
    opened = parent(MemoryStore())
    delegate(opened, "c1", seen.append, limits=RunLimits(rounds=7))
    assert isinstance(seen[0], ChildSession)
    assert seen[0].limits.rounds == 7
    with pytest.raises(PolicyError):
        RunLimits(rounds=0)


def test_an_id_that_comes_again_under_another_key_gives_no_way_to_the_sub_agent_of_the_first(store: Any) -> None:
    first, second = two_scopes(store, "call_0", "call_0")
    assert {hit.session for hit in first.search("SECRET", where="children") if hit.session} == {"main/2"}
    assert {hit.session for hit in second.search("SECRET", where="children") if hit.session} == {"main/5"}


def test_a_hook_sees_what_a_sub_agent_records_and_what_it_makes_of_the_report_holds(store: Any) -> None:
    seen: list[tuple[str, str]] = []

    def signed(recording: Any, events: Any) -> Any:
        seen.extend((recording.session, event.role) for event in events)
        return [
            result(event.result.call_id, f"{event.text} SIGNED", name=event.result.name, meta=event.meta, id=event.id)
            if "Sub-agent" in event.text
            else event
            for event in events
        ]

    opened = parent(store, hooks=[EventHooks(on_append=signed)])
    report = delegate(opened, "c1", works)
    assert {("main/2", "assistant"), ("main", "tool")} <= set(seen)
    assert report.text.endswith("SIGNED")
    assert delegate(opened, "c1", works) == report
    assert opened.search("LOCK_WAIT 4711", where="children")[0].ref == "event:4@main/2"


def test_a_report_that_a_hook_holds_back_leaves_the_call_open_and_says_so_by_having_no_ref(store: Any) -> None:
    def held(recording: Any, events: Any) -> Any:
        return [Hold("not now") if "Sub-agent" in event.text else event for event in events]

    opened = parent(store, hooks=[EventHooks(on_append=held)])
    report = delegate(opened, "c1", works)
    assert (report.outcome, report.ref) == ("finished", "")
    assert answers(opened) == []
    assert "The lock waits too long." in report.text


# -- by a model's tools


def asks(session: Session, name: str, **arguments: Any) -> str:
    tool = next(tool for tool in recall_tools(session) if tool.name == name)
    answer: str = tool(arguments)
    return answer


def test_a_model_finds_and_opens_what_a_sub_agent_did_with_the_words_of_the_report(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", nested)
    assert "event:4@main/2/2" in asks(opened, "session_search", query="LOCK_WAIT 4711", where="children")
    assert "LOCK_WAIT = 4711" in asks(opened, "session_load", ref="event:4@main/2/2")
    assert "Below said" in asks(opened, "session_load", ref="event:4@main/2")


def test_a_model_of_one_scope_opens_no_ref_into_the_sub_agents_of_another(store: Any) -> None:
    first, second = two_scopes(store)
    assert "SECRET of app/a" in asks(first, "session_load", ref="event:1@main/2")
    assert "SECRET of" not in asks(second, "session_load", ref="event:1@main/2")
    assert "SECRET of app/a" not in asks(second, "session_search", query="SECRET", where="children")


def test_a_model_opens_no_sub_agent_of_another_with_an_id_that_came_again(store: Any) -> None:
    first, second = two_scopes(store, "call_0", "call_0")
    assert "SECRET of app/a" in asks(first, "session_load", ref="event:1@main/2")
    assert "SECRET of" not in asks(second, "session_load", ref="event:1@main/2")


def test_a_sub_agent_reaches_neither_its_parent_nor_its_siblings(store: Any) -> None:
    opened = parent(store, "c1", "c2")
    delegate(opened, "c1", works)
    found: list[str] = []

    def looks(child: Session) -> str:
        child.record(user("Look round."))
        found.append(asks(child, "session_search", query="LOCK_WAIT 4711", where="children"))
        found.extend(asks(child, "session_load", ref=ref) for ref in ("event:1@main", "event:4@main/2"))
        return "done"

    delegate(opened, "c2", looks)
    assert len(found) == 3
    assert not any("LOCK_WAIT =" in each or "Fix the lock" in each for each in found)


def test_a_fork_whose_own_call_stands_where_the_other_line_made_one_has_no_part_in_its_sub_agent(store: Any) -> None:
    opened = parent(store, "call_0")
    delegate(opened, "call_0", works)
    store.open(Key(session="line"), info=SessionInfo(session="line", kind="fork", parent="main", parent_seq=1))
    line = Session("line", store=store, policy=POLICY)
    line.record(assistant("I send another.", ToolCall("call_0", "task", "{}")))
    assert report_refused(line, "call_0")
    assert children_of(line) == []
    assert [hit for hit in line.search("LOCK_WAIT 4711", where="children") if hit.session] == []
    assert "LOCK_WAIT =" not in asks(line, "session_load", ref="event:4@main/2")
    assert delegate(line, "call_0", works).session == "line/2"


def report_refused(session: Session, call: str) -> bool:
    try:
        report_of(session, call)
    except NotFound:
        return True
    return False


DIES = """
import os, sys
from foldmark import Policy, Session, SQLiteStore, ToolCall, assistant, user
from foldmark.children import delegate

session = Session("main", store=SQLiteStore(sys.argv[1]), policy=Policy.coding(run="manual"))
session.record(user("Fix the lock."), assistant("I send them.", ToolCall("c1", "task", "{}")))


def run(child):
    child.record(user("Find the lock."), assistant("I have half of it."))
    os._exit(9)


delegate(session, "c1", run)
"""


def test_a_process_that_dies_in_a_run_leaves_all_that_was_recorded_and_an_open_call(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    done = subprocess.run([sys.executable, "-c", DIES, str(path)], check=False, timeout=60)
    assert done.returncode == 9
    store = SQLiteStore(path)
    opened = Session("main", store=store, policy=POLICY)
    assert "I have half of it." in report_of(opened, "c1").text
    assert opened.request(window=60_000).messages  # an open call is no obstacle
    again = delegate(opened, "c1", lambda child: f"The rest, after {child.info.head} events.")
    assert "The rest, after 2 events." in again.text
    assert len(answers(opened)) == 1
    store.close()


# -- one rule, whoever asks


def family_of_calls(store: Any) -> dict[str, Session]:
    """A session, two scopes of it and two forks, and sub-agents that hang on calls in every way that importers know."""
    whole = Session("main", store=store, policy=POLICY)
    left, right = (Session("main", store=store, policy=POLICY, scope=one, sees="subtree") for one in ("left", "right"))
    for at, by in enumerate((left, right, whole)):  # events 1-3, 4-6, 7-9
        by.record(user(f"go {at}"), assistant("", ToolCall(f"c{at}", "task")), result(f"c{at}", "ok", name="task"))
    for by in (left, right):  # 10-12, 13-15: an id that comes again under another key
        by.record(user("again"), assistant("", ToolCall("twice", "task")), result("twice", "ok", name="task"))
    forks = {}
    for name, upto in (("late", 15), ("early", 6)):
        store.open(Key(session=name), info=SessionInfo(session=name, kind="fork", parent="main", parent_seq=upto))
        forks[name] = Session(name, store=store, policy=POLICY)
    forks["early"].record(user("mine"), assistant("", ToolCall("c9", "task")), result("c9", "ok", name="task"))
    hang = {
        "k-left": ("main", 2, "c0"), "k-right": ("main", 5, "c1"), "k-whole": ("main", 8, "c2"),
        "k-left-id": ("main", 0, "c0"), "k-whole-id": ("main", 0, "c2"), "k-twice": ("main", 0, "twice"),
        "k-first": ("main", 11, "twice"), "k-second": ("main", 14, "twice"), "k-unknown": ("main", 0, "nobody"),
        "k-early": ("early", 8, "c9"), "k-below": ("k-left", 0, "nobody"),
    }  # fmt: skip
    for name, (above, seq, call) in hang.items():
        info = SessionInfo(session=name, kind="child", parent=above, parent_seq=seq, parent_call=call)
        store.open(Key(session=name), info=info)
        Session(name, store=store).record(user(f"walrus of {name}"))
    return {"whole": whole, "left": left, "right": right, **forks}


@pytest.mark.parametrize("who", ["whole", "left", "right", "late", "early"])
def test_the_same_sub_agents_are_listed_found_and_opened(store: Any, who: str) -> None:
    """Four places ask whose a sub-agent is; where they differ, a hit cannot be opened or a ref leads too far."""
    asks = family_of_calls(store)[who]
    names = [info.session for info in store.sessions("local", "local") if info.session.startswith("k-")]
    found = {hit.session for hit in asks.search("walrus", where="children", limit=50)} - {""}
    opened = {name for name in names if opens(asks, f"event:1@{name}")}
    listed = {child.session for child in children_of(asks)}
    assert opened == found
    assert listed == found - {"k-below"}, "those of sub-agents are theirs"


def opens(session: Session, ref: str) -> bool:
    try:
        return bool(session.load(ref, reach="children").events)
    except NotFound:
        return False
