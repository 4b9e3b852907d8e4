"""Sub-agents whose process died: what is left, what is made up for, and what stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sub_agents import POLICY, answers, parent, works

from foldmark import MemoryStore, NotFound, Session, SQLiteStore
from foldmark.children import children_of, conclude, delegate, open_child, report_of
from foldmark.events import result


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


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
