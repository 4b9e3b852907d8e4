"""Protect rules: what stays verbatim because the policy says so."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark import Policy, PolicyError, Session, assistant, user
from foldmark.events import result
from foldmark.keeping import ruled
from foldmark.options import Keep
from foldmark.store import Frame, Key, ScopeState, View
from making import call, numbered, tool_round

FRAME = Frame(window=100_000)


def view(*events: Any) -> View:
    return View(
        key=Key(session="s"), checkpoint=None, kept=(), events=tuple(numbered(*events)), state=ScopeState(), head=9,
        first_request=1,
    )  # fmt: skip


def pins(keep: Keep, *events: Any) -> set[int]:
    return set(ruled(view(*events), FRAME, Policy.coding(keep=keep))[0].pins)


def test_without_a_rule_the_view_is_the_same_object() -> None:
    seen = view(user("hello"))
    assert ruled(seen, FRAME, Policy.coding()) == (seen, ())
    assert ruled(seen, FRAME, Policy.coding())[0] is seen


def test_results_of_named_tools_stay_also_when_the_result_names_none() -> None:
    plan = call("read_plan", 7)
    events = (user("go"), *tool_round(1), assistant("", plan), result(plan.id, "1. do it"))
    assert pins(Keep(tools=("read_plan",)), *events) == {5}
    assert pins(Keep(tools=("read*",)), *events) == {3, 5}
    assert pins(Keep(tools=("write*",)), *events) == set()


def test_marked_events_the_first_request_and_a_rule_of_ones_own_stay() -> None:
    events = (user("first"), assistant("yes", meta={"keep": "1"}), user("second"))
    assert pins(Keep(meta=("keep",)), *events) == {2}
    assert pins(Keep(first_request=True), *events) == {1}
    assert pins(Keep(choose=lambda event: "second" in event.text), *events) == {3}


def test_what_passes_the_share_is_named_and_the_newest_come_first() -> None:
    long = [user(f"rule {number} " + "word " * 1_500) for number in range(5)]
    seen, warnings = ruled(view(*long), FRAME, Policy.coding(keep=Keep(choose=lambda event: True)))
    assert seen.pins == {4, 5}
    assert "event:1, event:2, event:3" in warnings[0]


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_rule_that_says_neither_yes_nor_no_is_refused_by_name(answer: Any) -> None:
    with pytest.raises(PolicyError, match=r"keep\.choose returned .* event:1"):
        pins(Keep(choose=lambda event: answer), user("hello"))


def test_a_rule_that_fails_is_named_with_its_cause() -> None:
    with pytest.raises(PolicyError, match=r"keep\.choose failed at event:1") as caught:
        pins(Keep(choose=lambda event: event.nothing), user("hello"))
    assert isinstance(caught.value.__cause__, AttributeError)


def test_what_a_rule_protects_is_verbatim_in_every_request_after_ten_compactions() -> None:
    budget = {"landing_tokens": 3_000, "trigger_tokens": 5_000, "nothing_below": 3_000}
    policy = Policy.coding(run="manual", budget=budget, keep={"tools": ("read_plan",), "first_request": True})
    made = Session("s", policy=policy)
    plan = call("read_plan", "plan")
    body = "STEP ONE: never touch ledger_v2.\nSTEP TWO: run make verify-ledger."
    made.record(user("Start with the ledger of March."), assistant("", plan), result(plan.id, body))
    for number in range(100):
        made.record(*tool_round(number, f"line {number} " + "some more words of a log " * 60))
        if number % 10 == 9:
            assert made.compact(force=True).outcome == "applied"
            shown = str(made.request(window=100_000).payload())
            assert "STEP ONE: never touch ledger_v2." in shown
            assert "STEP TWO: run make verify-ledger." in shown
            assert "Start with the ledger of March." in shown
    kept = [entry for entry in made.explain() if entry.status == "kept"]
    assert {entry.seq for entry in kept} == {1, 3}
    assert {entry.reason for entry in kept} <= {
        "protected by policy.keep or by a hook", "the current request, verbatim behind the checkpoint",
    }  # fmt: skip


def test_a_first_request_that_is_covered_already_leaves_its_place_to_no_later_one() -> None:
    budget = {"landing_tokens": 3_000, "trigger_tokens": 5_000, "nothing_below": 3_000}
    made = Session("s", policy=Policy.coding(run="manual", budget=budget))
    made.record(user("The first request."), assistant("Done. " * 3_000), user("The second request."))
    for number in range(20):
        made.record(*tool_round(number, f"line {number} " + "some more words of a log " * 60))
    assert made.compact(force=True).outcome == "applied"
    for number in range(20, 40):
        made.record(*tool_round(number, f"line {number} " + "some more words of a log " * 60))
    rule = Policy.coding(run="manual", budget=budget, keep={"first_request": True})
    made.record(assistant("Finished."), user("The third request."), assistant("Yes. " * 900))
    assert made.compact(force=True, policy=rule).outcome == "applied"
    assert 3 not in {entry.seq for entry in made.explain() if entry.status == "kept"}
