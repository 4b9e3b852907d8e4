"""OBS: switches, reports and parameters that do what they say."""

from __future__ import annotations

from typing import Any

import pytest
from scenes import RAW, checked, classes, fresh, pair, pairs_of

from foldmark import Policy
from foldmark.events import user
from foldmark.wire import openai_chat

MANUAL = Policy.coding(run="manual", admission=RAW)


def test_off_means_off_and_nothing_goes_without_a_notice() -> None:
    """S-OBS-04: with `run="manual"` nothing is compacted, and what cleanup shortens is listed with its id."""
    session = fresh(MANUAL)
    session.record(user("Go."))
    for number in range(90):
        session.record(*pair(number, 1_000))
        request = checked(session, window=1_000_000)
        listed = {change.seq for change in request.report.changes}
        log = session.store.log(session.key)
        shown = {event.seq: event for event in request.messages if event.seq}
        different = {event.seq for event in log if event.seq not in shown or shown[event.seq].parts != event.parts}
        assert different == listed
    assert session.control.history() == []
    assert set(classes(session).values()) <= {"raw", "demoted"}


def test_with_cleanup_off_too_the_request_is_the_log() -> None:
    """S-OBS-04: off means the same list always."""
    session = fresh(MANUAL.replace(cleanup={"demote": False, "superseded": False, "duplicates": False}))
    session.record(user("Go."), *pairs_of(90, 1_000))
    request = checked(session, window=1_000_000)
    assert request.report.changes == ()
    assert request.payload()["messages"] == openai_chat.write("", [], session.store.log(session.key))["messages"]


@pytest.mark.parametrize("focus", ["only the shell results", "nothing else", "drop everything", "event:3"])
def test_focus_says_how_and_never_what(focus: str) -> None:
    """S-OBS-05: a focus text changes neither the boundary nor what is kept."""
    reports: list[Any] = []
    for words in ("", focus):
        session = fresh(Policy.coding(budget={"target_tokens": 4_000}, admission=RAW))
        session.record(user("Go. Never touch the schema."), *pairs_of(30, 300))
        reports.append(
            (session.compact(force=True, window=128_000, focus=words).outcome, session.control.history()[-1].kept)
        )
        assert "Never touch the schema." in session.control.history()[-1].text
        assert len(session.store.log(session.key)) == 61
    assert reports[0] == reports[1]


def test_a_dry_run_lists_what_goes_before_anything_does_and_undo_brings_it_back() -> None:
    """S-OBS-05: `compact('only the shell results')` by someone who means a selection: the plan shows that everything
    would go, `upto` is what selects, and what was done is undone."""
    whole = {"demote": False, "superseded": False, "duplicates": False}
    session = fresh(Policy.coding(budget={"target_tokens": 4_000}, admission=RAW, run="manual", cleanup=whole))
    session.record(user("Go. Never touch the schema."), *pairs_of(30, 300))
    before, state = checked(session, window=128_000).payload(), session.store.view(session.key)
    plan = session.control.plan(force=True, focus="only the shell results")
    assert session.store.view(session.key) == state
    listed = {one.seq for one in (*plan.goes, *plan.kept, *plan.stays)}
    assert listed == set(range(1, 62)), "every event stands in one of the three lists"
    chosen = session.control.plan(force=True, focus="only the shell results", upto="event:51")
    assert {one.seq for one in (*chosen.goes, *chosen.kept)} == set(range(1, 52))
    report = session.compact(force=True, focus="only the shell results")
    assert {one.seq for one in plan.goes} == {
        seq for seq, status in classes(session).items() if status == "covered" and seq <= report.boundary
    }
    session.control.undo()
    assert session.peek(wire=openai_chat).payload() == before


def test_every_attempt_leaves_exactly_one_note_and_a_check_leaves_none() -> None:
    """S-OBS-01 without hooks: applied and ineffective are noted once each, not_due never."""
    session = fresh(Policy.coding(budget={"target_tokens": 4_000}, admission=RAW))
    session.record(user("Go."))
    for _ in range(3):
        session.compact(window=128_000)
    assert session.store.view(session.key).attempts == ()
    session.record(*pairs_of(30, 300))
    assert session.compact().outcome == "applied"
    assert session.compact().outcome == "not_due"
    notes = session.store.view(session.key).attempts
    assert [note.outcome for note in notes] == ["applied"]
    assert notes[0].trigger == "target"
    assert notes[0].after < notes[0].before
