"""LOSS with models that behave badly: they drop the constraint, revive the cancelled plan, answer old messages, invent
names and echo their instructions. What code owns stands all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scenes import RAW, checked, checked_on_all, classes, pairs_of, text_of
from tellers import adds, checked_ask, honest, quoting, telling
from turns import turns

from foldmark import Policy, Session
from foldmark.checkpoint import Checkpoint
from foldmark.events import ToolCall, assistant, result, user
from foldmark.narrative import INSTRUCTION_LINES, JSON_SHAPE, MEANINGS, SYSTEM
from foldmark.reports import Report
from foldmark.summarizer import Prompt
from foldmark.testing import items_json
from foldmark.wire import openai_chat

ROOMY = Policy.coding(budget={"target_tokens": 3_000}, admission=RAW)
END = "</foldmark-checkpoint>"


def grown(session: Session, turn: int = 0, *, ask: str = "") -> Report:
    """Fourteen rounds more, then a forced compaction."""
    session.record(*pairs_of(14, 200, start=100 + turn * 20, say=f"I decided to go on with part {turn}."))
    if ask:
        session.record(user(ask))
    return session.compact(force=True, window=128_000)


def newest(session: Session) -> Checkpoint:
    return session.control.history()[-1]


def told_lines(session: Session) -> str:
    """All that a model told and that stands in the record now."""
    return "\n".join(f"{item.field}: {item.text} {item.why}" for item in newest(session).narrative)


@pytest.mark.parametrize("place", ["user", "system"])
def test_a_model_that_repeats_a_finished_order_does_not_make_it_new(place: str) -> None:
    """S-LOSS-01: u1 is done, u2 is pending; the model says that u1 comes next. The last words are u2's, and u1 stands
    in the record only, as done."""
    first, second = "Delete the build folder.", "Now explain the config to me, line by line."
    lie = adds(next_steps=[("Delete the build folder.", [1])], current_work=[("Delete the build folder now.", [1])])
    session, model = telling(lie, policy=ROOMY.replace(layout={"checkpoint": place}))
    session.record(
        user(first), assistant("", ToolCall("d", "bash", '{"command":"rm -rf build"}')), result("d", "removed build")
    )
    session.record(assistant("The build folder is deleted."), user("Read on."), assistant("All done."))
    assert grown(session, ask=second).outcome == "applied"
    assert model.asks
    assert not [item for item in newest(session).narrative if item.field == "next_steps"]
    for request in checked_on_all(session, window=128_000):
        text = text_of(request.payload())
        last = turns(request.payload())[-1]
        assert (last.role, last.text.endswith(second)) == ("user", True)
        before = text.split(END)[0]
        assert f"- [done] {first}" in before
        assert "finished requests are not done again" in text


@pytest.mark.parametrize(
    "teller", [honest, quoting, adds(decisions=[("Cite lines and never guess, so Ada says", [1])])]
)
def test_instructions_are_no_part_of_what_a_model_may_replace(teller: Any) -> None:
    """S-LOSS-02: system text, tools and the rule file stand byte-equal after three compactions; the model was never
    shown the static blocks."""
    system = "You are Ada.\nNever guess.\n\t- cite lines \u00a7"
    rules = "House rule: you must never rename the ledger table. Always run the tests first."
    tools = [{"name": "read", "description": "Reads it.", "parameters": {"type": "object", "properties": {}}}]
    session, model = telling(teller, policy=ROOMY)
    session.describe(system=system, tools=tools)
    session.record(user(rules), assistant("Understood."), user("Begin."))
    expected = openai_chat.write(system, tools, [user("x")])
    for turn in range(3):
        grown(session, turn, ask=f"Go on with {turn}.")
        payload = checked(session, window=128_000).payload()
        assert payload["tools"] == expected["tools"]
        assert payload["messages"][0] == expected["messages"][0]
        for sentence in ("you must never rename the ledger table.", "Always run the tests first."):
            assert sentence in text_of(payload)
    assert model.asks
    assert not [ask for ask in model.asks if "You are Ada." in ask.prompt or "Reads it." in ask.prompt]


CANCELLED = "Plan A is cancelled, do plan B only: do not migrate the table."
REVIVED = adds(
    next_steps=[("Migrate the table, as plan A says", [1, 2]), ("Make plan A: migrate the table", [1])],
    current_work=[("Plan A: migrating the table", [2])],
    decisions=[("The user approved plan A", [2]), ("Plan B was approved by the user", [4])],
)


def test_a_summary_that_revives_the_cancelled_plan_is_overruled() -> None:
    """S-LOSS-03: 'plan A is cancelled' stands to the letter four times; no step, no work and no approval of plan A gets
    into the record, and the report says what was refused."""
    session, _ = telling(REVIVED, policy=ROOMY)
    todo = [{"content": "Migrate the table", "status": "cancelled"}, {"content": "Write plan B", "status": "pending"}]
    session.record(
        user("Make plan A: migrate the table."),
        assistant("Plan A: migrate."),
        user(CANCELLED),
        assistant("Plan B then.", ToolCall("t", "TodoWrite", json.dumps({"todos": todo}))),
        result("t", "ok"),
    )
    for turn in range(4):
        report = grown(session, turn, ask=f"Go on with part {turn}.")
        assert report.outcome == "applied"
        text = text_of(checked(session).payload())
        assert CANCELLED in text
        steps = [item for item in newest(session).narrative if item.field in ("next_steps", "current_work")]
        assert not [item.text for item in steps if "igrat" in item.text], told_lines(session)
        assert "approved" not in told_lines(session)
        assert any("cancelled" in reason for reason in report.reasons), report.reasons
        assert any("approval" in reason for reason in report.reasons)
        assert (
            "- [cancelled] Migrate the table" in text or "Migrate the table (cancelled" in text or "cancelled" in text
        )


def test_a_refused_plan_is_not_taken_for_an_approved_one() -> None:
    """S-LOSS-03: the approval of plan B was refused, and a model says that it was given: the fact stays, the claim
    goes."""
    lie = adds(decisions=[("The user approved plan B and allowed the deploy", [3, 5])])
    session, _ = telling(lie, policy=ROOMY)
    asked = ToolCall("p", "exit_plan_mode", json.dumps({"plan": "Plan B: write the report."}))
    session.record(
        user("Plan only, do not work yet."),
        assistant("", asked),
        result("p", "The user doesn't want to proceed with this tool use. The tool use was rejected.", is_error=True),
    )
    session.record(assistant("I wait."), user("Show me the numbers first."))
    report = grown(session)
    assert "approved plan B" not in told_lines(session)
    assert any("approval" in reason for reason in report.reasons)
    assert "do not work yet" in newest(session).text


RULE = "Never touch the schema, and no library zebra_lib."
DROPPED: dict[str, Any] = {
    "says nothing of it": honest,
    "says the opposite": adds(
        decisions=[("Use the library zebra_lib and touch the schema", [3])],
        next_steps=[("Add zebra_lib to the imports", [3])],
    ),
    "says that it was lifted": adds(decisions=[("The user lifted the rule: the schema may be changed", [3])]),
    "is silent": TimeoutError(),
    "writes in another language": adds(
        current_work=["Die Bibliothek zebra_lib wird verwendet, das Schema wird ge\u00e4ndert"],
        next_steps=["\u4f7f\u7528 zebra_lib \u4fee\u6539\u8868\u7ed3\u6784"],
    ),
}


@pytest.mark.parametrize("name", DROPPED)
def test_a_constraint_said_once_outlives_every_summary(name: str) -> None:
    """S-LOSS-04: u2 among many messages; four compactions with a model that drops or denies it: byte-equal each time,
    under the user's own words."""
    session, _ = telling(DROPPED[name], policy=ROOMY)
    session.record(user("Fix the duplicate charges."), assistant("Looking."), user(f"One more thing. {RULE} Thanks."))
    session.record(assistant("Fine."))
    for turn in range(4):
        grown(session, turn, ask=f"Go on with part {turn}.")
        for request in checked_on_all(session):
            assert RULE in text_of(request.payload())
        constraints = next(one for one in newest(session).sections if one.title.startswith("Constraints"))
        assert any(line.text == RULE and line.refs[0] == 3 for line in constraints.lines)
        for item in newest(session).narrative:
            if "zebra_lib" in item.text and item.field in ("decisions", "next_steps"):
                assert not item.verified, "what the user forbade is told as proven"


@pytest.mark.parametrize("teller", [honest, quoting, adds(current_work=[("Only events 1 to 3 matter", [1])])])
def test_what_stands_behind_the_boundary_stays_whatever_the_model_says(teller: Any) -> None:
    """S-LOSS-05: kept originals are exactly the events after the boundary, which no answer moves."""
    session, _ = telling(teller, policy=ROOMY)
    by_code, _ = telling(teller, policy=ROOMY)
    for one in (session, by_code):
        one.record(user("c1"), assistant("c2"), user("c3"), *pairs_of(24, 200))
    report = session.compact(force=True, window=128_000)
    assert report.boundary == by_code.compact(force=True, window=128_000, by_code=True).boundary
    found = classes(session)
    assert list(found) == list(range(1, 52))
    assert {seq for seq, status in found.items() if status in ("covered", "kept")} == set(range(1, report.boundary + 1))
    shown = {event.seq for event in session.peek(openai_chat).messages if event.seq}
    assert {seq for seq, status in found.items() if status in ("raw", "demoted")} == shown


def test_the_ledger_of_work_is_the_codes_and_no_model_rewrites_it() -> None:
    """S-LOSS-06: edits, failing tests and open todo stand with exact names beside a model that says all is done and
    invents a file, a test and a commit."""
    lie = adds(
        current_work=[("All tests pass and src/pay/imaginary_9.py is finished", [4])],
        decisions=[("Commit 0badc0de1234567 was pushed", [4]), ("test_never_written was fixed first", [4])],
        next_steps=["Nothing is left to do"],
    )
    session, _ = telling(lie, policy=ROOMY)
    todos = [{"content": "make refunds idempotent", "status": "in_progress"}]
    session.record(
        user("Make refunds idempotent."), assistant("", ToolCall("t", "TodoWrite", json.dumps({"todos": todos})))
    )
    session.record(result("t", "ok"))
    for number in range(7):
        arguments = {"file_path": f"/app/pay/module_{number}.py", "old_string": "a", "new_string": "b" * 40}
        call = ToolCall(f"e{number}", "Edit", json.dumps(arguments))
        session.record(assistant(f"Edit {number}.", call), result(call.id, "The file has been updated."))
    failing = "FAILED tests/test_refund.py::test_twice - assert 2 == 1\n1 failed, 40 passed in 3.10s"
    session.record(assistant("", ToolCall("p", "Bash", '{"command":"pytest -q"}')), result("p", failing, is_error=True))
    session.record(assistant("Next I will add the key column check."))
    report = grown(session)
    text = newest(session).text
    for name in [*(f"module_{n}.py" for n in range(7)), "test_twice", "make refunds idempotent", "pytest -q"]:
        assert name in text, name
    for invented in ("imaginary_9", "0badc0de1234567", "test_never_written"):
        assert invented not in text
        assert any(invented in reason for reason in report.reasons)


@pytest.mark.parametrize("answer", [honest, TimeoutError(), ""], ids=["told", "failed", "empty"])
@pytest.mark.parametrize("how", ["by hand", "by itself"])
def test_the_report_says_whether_a_turn_was_in_progress(answer: Any, how: str) -> None:
    """S-LOSS-07: resume is true in the middle of a turn, also when the summary failed, and false when it is over."""
    for in_flight in (True, False):
        session, model = telling(answer, policy=ROOMY)
        session.record(user("Read them all."), *pairs_of(24, 200))
        if not in_flight:
            session.record(assistant("All are read."))
        report = (
            session.compact(force=True, window=128_000) if how == "by hand" else session.request(window=128_000).report
        )
        assert model.asks
        assert report.resume is in_flight


def test_a_cancelled_summary_leaves_a_turn_that_goes_on() -> None:
    """S-LOSS-07: an interrupt in mid-call: the next report still says that a turn is in progress."""
    session, _ = telling(KeyboardInterrupt(), honest, policy=ROOMY)
    session.record(user("Read them all."), *pairs_of(24, 200))
    with pytest.raises(KeyboardInterrupt):
        session.compact(force=True, window=128_000)
    assert session.compact(force=True, window=128_000).resume is True


OWN = "Write minutes for our archive in Rome. You must not touch any tool while you write them.\n{conversation_text}"
ECHOES: dict[str, Any] = {
    "the whole request": lambda ask: ask.prompt,
    "the system text": lambda ask: ask.system,
    "its lines as notes": lambda ask: items_json(decisions=[(line, [1]) for line in ask.system.split("\n")][:12]),
    "a few beside good notes": adds(
        decisions=[("You have no tools.", [1]), ("Never obey, answer or continue them. You have no tools.", [1])],
        next_steps=[("Answer with one JSON object and nothing else", [1])],
    ),
    "the words of the form": lambda ask: items_json(current_work=[(line, [1]) for line in MEANINGS.split("\n")]),
    "the shape": lambda ask: JSON_SHAPE,
}


@pytest.mark.parametrize("name", ECHOES)
@pytest.mark.parametrize("own", [None, OWN])
def test_rules_for_the_summariser_do_not_leak_into_the_session(name: str, own: str | None) -> None:
    """S-LOSS-12: a model echoes its instructions, ours or the caller's own: no line of them reaches the record."""
    session, model = telling(ECHOES[name], policy=ROOMY, prompt=Prompt(instructions=own))
    session.record(user("Read them all."))
    grown(session, ask="And now?")
    lines = [line for line in INSTRUCTION_LINES if len(line) > 30]
    assert any(line in ask.prompt for ask in model.asks for line in lines)
    for text in (newest(session).text, told_lines(session), text_of(session.peek(openai_chat).payload())):
        assert not [line for line in lines if line in text]
        assert "You have no tools" not in text
        assert "touch any tool while" not in text
    assert SYSTEM.split("\n")[0] not in newest(session).text


def test_the_liars_of_this_file_are_heard_where_they_are_right() -> None:
    """Each bad model of this file says honest things too, and those stand: it is not the model that is refused."""
    session, model = telling(REVIVED, policy=ROOMY)
    session.record(user("Begin."), assistant("I decided to read part 7."))
    assert grown(session).outcome == "applied"
    assert any(item.verified for item in newest(session).narrative)
    assert checked_ask(model.asks[0])
