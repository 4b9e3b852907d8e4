"""Ways to run a compaction: on the way to a request, between two model calls of one run, by a worker, by hand."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from foldmark import MemoryStore, Policy, Session, SQLiteStore, StoreError, Usage, assistant, user
from foldmark.aio import AsyncSession
from foldmark.hooked import EventHooks
from foldmark.reports import Attempt, Looked, Raised, Report
from foldmark.testing import FixedClock, ScriptedModel, items_json
from making import call, long_session, tool_round
from waiting import LONG, until

SMALL = {"landing_tokens": 3_000, "trigger_tokens": 6_000, "nothing_below": 3_000}
GOOD = items_json()


def running(run: str, **options: object) -> Session:
    """A session of that way to run, in the middle of a turn and far over its trigger."""
    policy = Policy.coding(run=run, budget=SMALL)
    made = Session("s", policy=policy, clock=FixedClock(1_000.0), **options)  # type: ignore[arg-type]
    made.request(window=100_000)  # the scope exists from now on
    made.record(user("Fix the refund; never touch the schema."))
    for number in range(40):
        lines = "\n".join(f"module_{number}_{line}.py: handler {number * line} is registered" for line in range(30))
        made.record(*tool_round(number, lines))
    return made


def test_inline_compacts_on_the_way_and_raises_no_work() -> None:
    made = running("inline")
    assert made.request(window=100_000).report.outcome == "applied"
    assert made.store.claim(2_000.0, 60.0) is None


def test_manual_never_compacts_by_itself_and_raises_no_work() -> None:
    made = running("manual")
    assert made.request(window=100_000).report.outcome == "not_due"
    assert made.store.claim(2_000.0, 60.0) is None
    assert made.compact().outcome == "applied"


def test_background_raises_work_and_no_request_waits_for_a_model() -> None:
    model = ScriptedModel(GOOD)
    made = running("background", model=model)
    assert made.request(window=100_000).report.outcome == "not_due"
    assert not model.asks
    work = made.store.claim(2_000.0, 60.0)
    assert work
    assert (work.key, work.wanted) == (made.key, made.store.view(made.key).head)


def test_a_session_that_was_never_asked_for_a_request_is_compacted_in_the_background_too() -> None:
    made = Session("quiet", policy=Policy.coding(run="background"), scope="team/a", sees="lineage")
    made.record(user("Hello."), assistant("Hello."))
    work = made.store.claim(2e9, 60.0)
    assert work
    assert work.key == made.key


def test_in_the_background_only_the_cap_is_answered_on_the_way_and_by_code() -> None:
    model = ScriptedModel(GOOD)
    made = running("background", model=model)
    request = made.request(window=8_000)
    assert (request.report.outcome, request.report.trigger, request.report.mode) == ("applied", "cap", "code")
    assert request.tokens.total <= request.ceiling
    assert not model.asks


def test_intra_run_compacts_between_two_calls_of_one_run_and_its_steps_raise_no_work() -> None:
    made = running("intra_run")
    report = made.request(window=100_000).report
    assert (report.outcome, report.run) == ("applied", "intra_run")
    assert made.store.claim(2_000.0, 60.0) is None, "tool rounds of the run raise nothing"
    made.record(assistant("Done: the refund is mended."))
    assert made.store.claim(2_000.0, 60.0), "the end of the turn does"


def test_intra_run_does_not_keep_a_new_question_waiting() -> None:
    made = running("intra_run")
    made.record(assistant("Done."), user("And the invoice?"))
    assert made.request(window=100_000).report.outcome == "not_due"


def test_every_attempt_leaves_a_report_due_or_not() -> None:
    reports: list[Report] = []
    made = running("inline", on_report=reports.append)
    made.request(window=100_000)
    made.request(window=100_000)
    assert [one.outcome for one in reports[-2:]] == ["applied", "not_due"]
    first = reports[-2]
    assert (first.session, first.scope, first.run, first.time) == ("s", "", "intra_run", 1_000.0)
    assert (first.trigger, first.threshold) == ("size", 6_000)
    assert first.value > first.threshold
    assert first.events > 0
    assert first.tokens > 0


def test_an_attempt_that_an_interrupt_ends_leaves_a_report_too() -> None:
    reports: list[Report] = []
    model = ScriptedModel(KeyboardInterrupt())
    made = running("manual", on_report=reports.append, model=model)
    with pytest.raises(KeyboardInterrupt):
        made.compact(force=True)
    assert (reports[-1].outcome, reports[-1].reasons) == ("failed", ("KeyboardInterrupt",))
    assert made.store.view(made.key).checkpoint is None


def test_a_listener_that_fails_changes_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken(report: object) -> None:
        raise RuntimeError("no disk")

    made = running("inline", on_report=broken, observer=broken)
    assert made.request(window=100_000).report.outcome == "applied"
    assert made.search("refund")
    assert "on_report failed" in caplog.text
    assert "observer failed" in caplog.text


def test_searches_and_loads_are_observed_and_hold_no_words() -> None:
    seen: list[object] = []
    made = running("manual", observer=seen.append)
    hits = made.search("schema")
    made.load(hits[0].ref)
    looked = [one for one in seen if isinstance(one, Looked)]
    assert [(one.what, one.found > 0, one.failed) for one in looked] == [("search", True, False), ("load", True, False)]
    assert "schema" not in repr(looked)
    with pytest.raises(LookupError):
        made.load("event:9999")
    assert seen[-1].failed  # type: ignore[attr-defined]


def test_a_listener_may_use_the_session_it_listens_to() -> None:
    store = MemoryStore()
    sizes: list[int] = []
    made = running("inline", store=store, on_report=lambda report: sizes.append(made.peek().tokens.total))
    made.request(window=100_000)
    assert sizes


def test_a_call_that_is_open_while_the_agent_compacts_stays_whole() -> None:
    made = running("manual")
    made.record(assistant("I compact first.", call("compact_context", "open", "{}")))
    steps = made.compact_steps(run="tool")
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert (end.value.value.outcome, end.value.value.run, end.value.value.trigger) == ("applied", "tool", "agent")
    assert "copen" in str(made.request(window=100_000).payload())


def test_a_cancelled_call_that_had_committed_is_reported_once() -> None:
    """Whenever the cancellation comes: a version that stands was reported, and none twice."""
    told = committed = 0

    async def once(delay: float) -> tuple[int, int]:
        reports: list[Report] = []
        made = AsyncSession("s", policy=Policy.coding(budget=SMALL), on_report=reports.append)
        await made.record(*long_session(30, 12))
        task = asyncio.create_task(made.compact(force=True))
        await asyncio.sleep(delay)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        done = [one for one in reports if one.outcome == "applied"]
        assert len(done) == len(made.control.history())
        assert len(reports) <= 1
        return len(done), len(made.control.history())

    for step in range(40):
        one, other = asyncio.run(once(step * 0.004))
        told, committed = told + one, committed + other
    assert told == committed


def test_a_listener_never_makes_recording_fail(tmp_path: Path) -> None:
    """The events are stored: whatever the listener or a look at the store would raise, the caller must not think that
    they are not."""
    for option in ("on_report", "observer"):
        store = MemoryStore()
        made = Session("s", store=store, policy=Policy.coding(run="background"), **{option: lambda one: 1 / 0})

        def broken(key: object) -> None:
            raise StoreError("the database is locked")

        view, store.view = store.view, broken  # type: ignore[assignment, method-assign]
        assert made.record(user("Hello."), assistant("Hello.")).seq == 2
        store.view = view  # type: ignore[method-assign]


def test_what_an_append_raised_is_told_with_the_event_up_to_which_it_is_dirty() -> None:
    seen: list[object] = []
    made = Session("s", policy=Policy.coding(run="background"), observer=seen.append, clock=FixedClock(7.0))
    made.record(user("Hello."), assistant("Hello."), user("One more thing."))
    assert [(one.what, one.wanted, one.time) for one in seen if isinstance(one, Raised)] == [("raised", 2, 7.0)]


def test_a_session_that_is_deleted_and_made_again_raises_work_again(tmp_path: Path) -> None:
    for store in (MemoryStore(), SQLiteStore(tmp_path / "a.db")):
        made = Session("s", store=store, policy=Policy.coding(run="background"))
        made.record(user("Hello."), assistant("Hello."))
        made.control.delete()
        assert store.backlog(2e9).dirty == 0
        made.record(user("Hello again."), assistant("Hello."))
        assert store.backlog(2e9).dirty == 1


def test_a_second_refusal_is_heard_and_says_whose_it_is() -> None:
    reports: list[Report] = []
    refusal = ValueError("maximum context length is 20000 tokens, your messages resulted in 31000 tokens")
    made = Session("s", policy=Policy.coding(run="manual"), on_report=reports.append, clock=FixedClock(9.0))
    made.record(*long_session(40, 20))
    made.request(window=100_000)
    made.overflowed(refusal)
    made.overflowed(refusal)
    assert [(one.outcome, one.session, one.run, one.time) for one in reports] == [
        ("applied", "s", "overflow", 9.0), ("failed", "s", "overflow", 9.0),
    ]  # fmt: skip


def test_listeners_of_a_refusal_may_wait_for_another_thread_that_uses_the_session() -> None:
    def listen(report: Report) -> None:
        ThreadPoolExecutor(1).submit(made.peek).result(timeout=LONG)

    made = Session("s", policy=Policy.coding(run="manual"), on_report=listen)
    made.record(*long_session(40, 20))
    made.request(window=100_000)
    report = made.overflowed(
        ValueError("maximum context length is 20000 tokens, your messages resulted in 31000 tokens")
    )
    assert report
    assert report.outcome == "applied"


def test_an_attempt_that_is_broken_off_is_billed_for_its_own_calls_alone() -> None:
    reports: list[Report] = []
    store = MemoryStore()
    other = Attempt(time=2e9, outcome="failed", calls=3, model="theirs", usage=Usage(input=90_000))

    def interrupted(ask: object) -> str:
        store.note(made.key, other)
        raise KeyboardInterrupt

    made = Session("s", store=store, policy=Policy.coding(budget=SMALL), on_report=reports.append, model=interrupted)
    made.record(*long_session(30, 12))
    with pytest.raises(KeyboardInterrupt):
        made.compact(force=True)
    assert [call.model for call in reports[-1].calls] != ["theirs"]
    assert reports[-1].usage.input < 90_000


def test_one_past_behind_hooks_is_told_by_one_model_at_a_time() -> None:
    outcomes: list[str] = []

    def model(ask: object) -> str:  # thinks until all others were told that they need not
        until(lambda: len(outcomes) == 3)
        return GOOD

    store = MemoryStore()
    hooks = (EventHooks(on_append=lambda key, events: None),)
    sessions = [
        Session("s", store=store, policy=Policy.coding(budget=SMALL), model=model, hooks=hooks) for _ in range(4)
    ]
    sessions[0].record(*long_session(30, 12))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: outcomes.append(one.compact().outcome), sessions))
    assert outcomes[:3] == ["deferred"] * 3
    assert len(sessions[0].control.history()) == 1


def test_many_threads_that_record_tell_of_each_work_once() -> None:
    seen: list[Raised] = []
    made = Session("s", policy=Policy.coding(run="background"), observer=seen.append)

    def talk(number: int) -> None:
        for turn in range(20):
            made.record(user(f"{number} {turn}"), assistant("Yes."))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, range(6)))
    raised = [one.wanted for one in seen if isinstance(one, Raised)]
    assert sorted(raised) == list(range(2, 242, 2))
