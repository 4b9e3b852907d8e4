"""LOSS: instructions, constraints, plans and the newest turn that a compaction forgets or confuses."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import RAW, SMALL, checked, checked_on_all, classes, fresh, pair, pairs_of, text_of
from turns import turns

from foldmark import Policy
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.wire import openai_chat

ROOMY = Policy.coding(budget={"target_tokens": 4_000}, admission=RAW)


@pytest.mark.parametrize("place", ["user", "system"])
def test_a_finished_request_is_history_and_the_pending_one_rules(place: str) -> None:
    """S-LOSS-01: u2 stands verbatim as the last user words; u1 only inside the record, marked as finished."""
    first, second = "Delete the build folder.", "Now explain the config to me, line by line."
    session = fresh(ROOMY.replace(layout={"checkpoint": place}))
    session.record(
        user(first), assistant("", ToolCall("d", "bash", '{"command":"rm -rf build"}')), result("d", "removed build")
    )
    session.record(assistant("The build folder is deleted."), *pairs_of(20, 300), assistant("All done."), user(second))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    for request in checked_on_all(session, window=128_000):
        payload = request.payload()
        last = turns(payload)[-1]
        assert last.role == "user"
        assert last.text.endswith(second)
        before = text_of(payload).split("</foldmark-checkpoint>")[0]
        assert text_of(payload).count(first) == before.count(first)
        assert f"- [done] {first}" in before


@pytest.mark.parametrize("preset", [Policy.coding, Policy.chat])
def test_instructions_are_no_history(preset: Any) -> None:
    """S-LOSS-02: system text and tools are byte-equal after three compactions and were never in their range."""
    system, tools = (
        "You are Ada.\nNever guess.\n\t- cite lines \u00a7",
        [{"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}],
    )
    session = fresh(preset(budget={"target_tokens": 3_000}, admission=RAW))
    session.record(user("Begin."))
    expected = openai_chat.write(system, tools, [user("x")])
    for turn in range(3):
        session.record(*pairs_of(14, 300, start=turn * 20))
        assert session.compact(force=True, window=128_000).outcome == "applied"
        payload = checked(session, system=system, tools=tools, window=128_000).payload()
        assert payload["tools"] == expected["tools"]
        assert payload["messages"][0]["content"].startswith(system)
        assert "Never guess." not in session.control.history()[-1].text


def test_a_cancelled_plan_stays_cancelled() -> None:
    """S-LOSS-03: 'plan A cancelled, do plan B only' is in every later request to the letter."""
    said = "Plan A is cancelled, do plan B only: do not migrate the table."
    session = fresh(ROOMY)
    session.record(
        user("Make plan A: migrate the table."), assistant("Plan A: migrate."), user(said), assistant("Plan B then.")
    )
    for turn in range(4):
        session.record(*pairs_of(14, 300, start=turn * 20), user(f"Go on with part {turn}."))
        assert session.compact(force=True, window=128_000).outcome == "applied"
        assert said in text_of(checked(session).payload())


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch the schema, and no library X.",
        "Do not use pandas anywhere.",
        "You must not push to main.",
        "只能用 SQLite。",
        "Please always answer in German.",
        "Don't change the public names.",
    ],
)
def test_a_constraint_said_once_survives_four_compactions(rule: str) -> None:
    """S-LOSS-04: one sentence of the second user message, byte-equal after each compaction."""
    session = fresh(ROOMY)
    session.record(
        user("Fix the duplicate charges."),
        assistant("Looking."),
        user(f"One more thing. {rule} Thanks."),
        assistant("Fine."),
    )
    for turn in range(4):
        session.record(*pairs_of(14, 300, start=turn * 20), user(f"Go on with part {turn}."), assistant("Ok."))
        assert session.compact(force=True, window=128_000).outcome == "applied"
        assert rule in text_of(checked(session).payload())


def test_exactly_what_stands_after_the_boundary_stays_raw() -> None:
    """S-LOSS-05: nothing behind the cut is wiped; covered and shown together are all, without gap or overlap."""
    session = fresh(SMALL)
    session.record(user("c1"), *pairs_of(20, 150))
    report = session.compact(force=True)
    found = classes(session)
    assert list(found) == list(range(1, 42))
    assert {seq for seq, status in found.items() if status in ("covered", "kept")} == set(range(1, report.boundary + 1))
    shown = {event.seq for event in session.peek(openai_chat).messages if event.seq}
    assert {seq for seq, status in found.items() if status in ("raw", "demoted")} == shown
    assert min(shown) == report.boundary + 1


def test_the_ledger_of_work_is_kept_by_code_with_exact_names() -> None:
    """S-LOSS-06: thirty edits on seven files, two failing tests and the open todo are there after a compaction."""
    session = fresh(
        Policy.coding(
            budget={"target_tokens": 5_000},
            admission=RAW,
            cleanup={"demote": False, "superseded": False, "duplicates": False},
        )
    )
    todos = [
        {"content": "make refunds idempotent", "status": "in_progress"},
        {"content": "write the changelog", "status": "pending"},
    ]
    session.record(
        user("Make refunds idempotent."),
        assistant("", ToolCall("t", "TodoWrite", json.dumps({"todos": todos}))),
        result("t", "ok"),
    )
    for number in range(30):
        call = ToolCall(
            f"e{number}",
            "Edit",
            json.dumps({"file_path": f"/app/pay/module_{number % 7}.py", "old_string": "a", "new_string": "b" * 40}),
        )
        session.record(
            assistant(f"Edit {number}.", call),
            result(call.id, "The file has been updated. " + "line of context\n" * 90),
        )
    failing = "FAILED tests/test_refund.py::test_twice - assert 2 == 1\n"
    failing += "FAILED tests/test_ledger.py::test_sum - KeyError: 'eur'\n2 failed, 40 passed in 3.10s"
    session.record(assistant("", ToolCall("p", "Bash", '{"command":"pytest -q"}')), result("p", failing, is_error=True))
    session.record(assistant("Next I will add the key column check."), *pairs_of(30, 300))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    text = session.control.history()[-1].text
    for name in [f"module_{n}.py" for n in range(7)] + [
        "test_twice",
        "test_sum",
        "make refunds idempotent",
        "write the changelog",
        "pytest -q",
    ]:
        assert name in text, name


def test_user_messages_nobody_answered_stay_verbatim_and_in_order() -> None:
    """S-LOSS-08: three messages that came while the agent worked, before a compaction."""
    session = fresh(ROOMY)
    waiting = [
        f"Question {n}: what about case {n}, the one with the {w} key?"
        for n, w in ((8, "red"), (9, "blue"), (10, "green"))
    ]
    session.record(user("Go."), *pairs_of(20, 300))
    session.record(
        assistant("", ToolCall("w", "bash", "{}")),
        user(waiting[0]),
        result("w", "ok"),
        user(waiting[1]),
        user(waiting[2]),
    )
    assert session.compact(force=True, window=128_000).outcome == "applied"
    for request in checked_on_all(session, window=128_000):
        tail = "\n".join(turn.text for turn in turns(request.payload())).split("</foldmark-checkpoint>")[-1]
        places = [tail.index(words) for words in waiting]
        assert places == sorted(places)


def test_events_with_equal_times_fall_into_no_gap() -> None:
    """S-LOSS-09 as it was reported: two calls and their results share a time; none is between record and tail."""
    times = [1.0, 2.0, 2.0, 2.0, 3.0, 4.0]
    events = [user("Go."), *pair("a", 400), *pair("b", 400), user("Next.")]
    session = fresh(SMALL)
    session.record(*(msgspec.structs.replace(event, time=time) for event, time in zip(events, times, strict=True)))
    session.record(*pairs_of(6, 150))
    report = session.compact(force=True)
    assert report.outcome == "applied"
    found = classes(session)
    assert list(found) == list(range(1, 19))
    assert all((status in ("covered", "kept")) == (seq <= report.boundary) for seq, status in found.items())
    for request in checked_on_all(session):
        assert {seq for seq, status in found.items() if status == "raw"} <= {one.seq for one in request.messages}


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, -1.0, None]), st.booleans()), min_size=8, max_size=40))
def test_every_event_is_covered_or_shown_whatever_the_times_say(steps: list[tuple[float | None, bool]]) -> None:
    """S-LOSS-09: equal, missing and backward timestamps: coverage goes by seq, each event is in exactly one class."""
    session = fresh(SMALL)
    session.record(user("Go.", time=2.0))
    for number, (time, answered) in enumerate(steps):
        call, answer = pair(number, 150)
        session.record(
            *(msgspec.structs.replace(event, time=time) for event in ([call, answer] if answered else [call]))
        )
    session.compact(force=True)
    log, found = session.store.log(session.key), classes(session)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert list(found) == [event.seq for event in log]
    boundary = session.store.view(session.key).checkpoint
    edge = boundary.boundary if boundary else 0
    assert all((status in ("covered", "kept")) == (seq <= edge) for seq, status in found.items())
    checked(session)


@pytest.mark.parametrize("place", ["user", "system"])
def test_the_record_drives_no_turn_by_itself(place: str) -> None:
    """S-LOSS-11: marked as reference, with a begin and an end, never behind the newest user message."""
    session = fresh(ROOMY.replace(layout={"checkpoint": place}))
    session.record(
        user("First request: rename the module."),
        *pairs_of(20, 300),
        user("Second request: now test it."),
        *pairs_of(2, 100, start=50),
    )
    session.compact(force=True, window=128_000)
    for request in checked_on_all(session, window=128_000):
        text = text_of(request.payload())
        assert text.count("<foldmark-checkpoint ") == text.count("</foldmark-checkpoint>") == 1
        assert "Reference only" in text
        if place == "user":
            record = next(
                at for at, turn in enumerate(turns(request.payload())) if "<foldmark-checkpoint " in turn.text
            )
            assert record == 0
        behind = "\n".join(turn.text for turn in turns(request.payload())).split("</foldmark-checkpoint>")[-1]
        assert behind.count("Second request: now test it.") == 1
        assert "First request" not in behind


def test_a_covered_current_request_is_repeated_behind_the_record() -> None:
    """S-LOSS-11: in a long loop the one open request stands verbatim after the end mark, named as current."""
    ask = "Rename the module to ledger and keep every import working."
    session = fresh(ROOMY)
    session.record(user(ask), *pairs_of(30, 300))
    session.compact(force=True, window=128_000)
    behind = text_of(checked(session).payload()).split("</foldmark-checkpoint>")[1]
    assert "Current request (event:1)" in behind
    assert behind.count(ask) == 1


def test_a_round_of_any_kind_is_counted_once_by_the_classes() -> None:
    """S-LOSS-05: after many compactions with every kind of event, the classes still sum up to the log."""
    session = fresh(SMALL)
    at = itertools.count(1)
    for turn in range(6):
        events: list[Event] = [
            user(f"Turn {turn}."),
            *pair(next(at), 180),
            *pair(next(at), 40),
            assistant(f"Done {turn}."),
        ]
        session.record(*events, *pairs_of(6, 150, start=100 * turn + 200))
        session.compact(force=True)
        checked(session)
        assert len(classes(session)) == len(session.store.log(session.key))
