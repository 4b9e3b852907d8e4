"""Ways to run a compaction: on the way to a request, between two model calls of one run, by a worker, by hand."""

from __future__ import annotations

import pytest

from foldmark import MemoryStore, Policy, Session, assistant, user
from foldmark.reports import Looked, Report
from foldmark.testing import FixedClock, ScriptedModel, items_json
from making import call, tool_round

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
