"""Rounds are what a request may be cut at."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import CONTINUES, Event, ToolCall, assistant, control, injected, result, user
from foldmark.rounds import border, newest_user, open_calls, rounds, unanswered, unread_round
from making import call, numbered


def log(*events: Event) -> list[Event]:
    return [msgspec.structs.replace(event, seq=number) for number, event in enumerate(events, 1)]


def spans(events: list[Event]) -> list[tuple[int, int]]:
    return [(found.first, found.last) for found in rounds(events)]


def test_a_round_holds_the_words_before_an_assistant_step_and_all_its_results() -> None:
    events = log(
        user("go"),
        injected("note"),
        assistant("", ToolCall("a", "read"), ToolCall("b", "read")),
        result("a", "1"),
        result("b", "2"),
        assistant("done"),
        user("next"),
        assistant("yes"),
    )
    assert spans(events) == [(1, 5), (6, 6), (7, 8)]


def test_rounds_joined_give_the_events_back_in_order() -> None:
    events = log(control("meta", {}), user("a"), assistant("b"), control("meta", {}), user("c"))
    assert [event for found in rounds(events) for event in found.events] == events


def test_words_said_while_a_tool_runs_stay_in_the_round_of_its_result() -> None:
    events = log(user("go"), assistant("", ToolCall("b", "run")), user("careful"), result("b", "ok"), user("more"))
    assert spans(events) == [(1, 4), (5, 5)]


def test_a_late_result_belongs_to_the_round_in_which_it_arrives() -> None:
    events = log(assistant("", ToolCall("a", "run")), assistant("meanwhile"), result("a", "late"), assistant("thanks"))
    assert spans(events) == [(1, 1), (2, 3), (4, 4)]


def test_unanswered_user_words_are_an_unfinished_round_that_the_answer_joins() -> None:
    events = log(user("a"), assistant("b"), user("c"))
    assert [found.is_finished for found in rounds(events)] == [True, False]
    assert spans([*events, *log(user(""), user(""), user(""), assistant("d"))[3:]]) == [(1, 2), (3, 4)]


def test_control_events_ride_with_the_round_they_stand_in() -> None:
    events = log(user("a"), assistant("b"), control("usage", {}), user("c"), control("meta", {}), assistant("d"))
    assert spans(events) == [(1, 3), (4, 6)]


def test_no_events_make_no_rounds() -> None:
    assert rounds([]) == []
    assert border([], 2) == 0


def test_the_border_stands_before_the_newest_rounds() -> None:
    events = log(user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f"))
    assert [border(events, keep) for keep in range(5)] == [6, 4, 2, 0, 0]


def test_an_open_call_is_one_that_no_later_assistant_event_has_passed_over() -> None:
    calls = ToolCall("a", "run"), ToolCall("b", "run")
    events = log(user("x"), assistant("", *calls), result("a", "1"))
    assert [call.id for _, call in open_calls(events)] == ["b"]
    passed = [*events, *log(user(""), user(""), user(""), assistant("I go on"))[3:]]
    assert open_calls(passed) == []
    assert [(event.seq, call.id) for event, call in unanswered(passed)] == [(2, "b")]


def test_an_id_used_twice_is_matched_with_the_nearest_call() -> None:
    events = log(
        assistant("", ToolCall("0", "run")), assistant("", ToolCall("0", "run")), result("0", "second"), assistant("x")
    )
    assert [event.seq for event, _ in unanswered(events)] == [1]


def test_results_that_no_assistant_has_seen_are_the_unread_round() -> None:
    events = log(user("x"), assistant("", ToolCall("a", "run")), result("a", "1"), user("note"))
    assert [event.seq for event in unread_round(events)] == [3]
    assert unread_round([*events, *log(user(""), user(""), user(""), user(""), assistant("ok"))[4:]]) == ()


def test_the_newest_user_message_is_a_real_one() -> None:
    found = newest_user(log(user("real"), assistant("ok"), injected("reminder")))
    assert found is not None
    assert found.text == "real"
    assert newest_user(log(injected("only"))) is None


@given(
    st.lists(st.sampled_from(["user", "step", "again", "text", "result", "rest", "injected", "control"]), max_size=40),
    st.integers(1, 6),
)
def test_the_border_is_where_the_rounds_say_also_over_steps_in_two_records(kinds: list[str], keep: int) -> None:
    events: list[Event] = []
    for at, kind in enumerate(kinds):
        made = {
            "user": user("words"), "step": assistant("", call(number=at)), "again": assistant("", call(number=at)),
            "text": assistant("words"), "result": result(f"c{at - 1}", "out"),
            "rest": assistant("more", meta={CONTINUES: "1"}), "injected": injected("note"),
            "control": Event(role="control", meta={"control": "x"}),
        }[kind]  # fmt: skip
        events.append(made)
    events = numbered(*events)
    ends = [len(one.events) for one in rounds(events)]
    assert border(events, keep) == sum(ends[: max(0, len(ends) - keep)])
