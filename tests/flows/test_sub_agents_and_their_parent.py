"""Reports of sub-agents in the parent's context, under its policy, its hooks and its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sub_agents import answers, nested, parent, works

from foldmark import MemoryStore, NotFound, Policy, Session, SQLiteStore, ToolCall, assistant, user
from foldmark.children import RunLimits, delegate, open_child
from foldmark.events import result
from foldmark.hooked import EventHooks, Hold
from foldmark.retention import expire
from foldmark.wire import WIRES
from making import long_session


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


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


def test_a_call_event_and_its_report_are_explained_as_any_pair(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", works)
    opened.request(window=60_000)
    assert [(entry.ref, entry.status) for entry in opened.explain()][-1] == ("event:3", "raw")


# -- its hooks


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
