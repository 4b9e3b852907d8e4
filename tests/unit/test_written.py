"""What a request's messages stand for when they come back: nothing where every message is the event it was."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark.events import Event, ToolCall, assistant, named, result, user
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.wire import anthropic, openai_chat, openai_responses
from foldmark.written import noted, ours, restored, without_checkpoint
from making import long_session, tool_round

WIRES = [openai_chat, anthropic, openai_responses]


def session(*events: Event, **options: Any) -> Session:
    made = Session("s", store=MemoryStore(), policy=Policy.coding(**options), clock=lambda: 1_000.0)
    made.record(*events)
    return made


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
def test_a_plain_request_needs_no_entry(wire: Any) -> None:
    made = session(user("a"), *tool_round(1), assistant("b"), user("c")).request(window=50_000, wire=wire)
    assert ours(made) == {}


def test_a_merged_message_stands_for_all_it_was_made_of() -> None:
    made = session(user("a"), user("b"), assistant("c")).peek(anthropic)
    one, two, _ = made.messages
    assert list(ours(made).values()) == [f"{one.plain},{two.plain}"]


def test_the_next_request_looks_only_at_what_is_new() -> None:
    made = session(user("a"), user("b"), *tool_round(1), user("c"), user("d"))
    first = made.request(window=50_000, wire=anthropic)
    assert len(ours(first)) == 1, "the last chunk is looked at again: it may grow"
    made.record(assistant("e"), user("f"), user("g"))
    second = made.peek(anthropic)
    assert len(ours(second)) == 2
    noted(second)
    assert len(ours(second)) == 1


def test_what_one_store_was_told_is_told_to_another_too() -> None:
    for _ in range(2):
        made = session(*long_session(60))
        made.compact(force=True, window=128_000)
        payload = made.request(wire=anthropic).payload()["messages"]
        assert len(made.follow([*payload, {"role": "assistant", "content": "Done."}], wire=anthropic).new) == 1


def test_messages_are_left_out_taken_apart_renamed_and_put_in_order() -> None:
    offered = [named(user(text)) for text in ("none", "two", "front", "late", "early", "own")]
    none, two, front, late, early, own = (event.plain for event in offered)
    known = {none: "", two: "p,q", front: front, late: f"{late}@9", early: f"{early}@8"}
    found = restored(offered, known)
    assert [read.plain for read in found] == ["p", "q", front, early, late, own]
    assert [read.at for read in found] == [1, 1, 2, 4, 3, 5]
    assert [read.is_ours for read in found] == [True, True, False, False, False, False]
    assert [read.is_front for read in found] == [False, False, True, False, False, False]


def test_a_silent_neighbour_is_added_only_where_the_list_lacks_it() -> None:
    silent, said = (named(event) for event in (Event(role="assistant", origin="agent"), user("b")))
    known = {said.plain: f"{silent.plain},{said.plain}"}
    for offered in ([said], [silent, said]):
        assert [read.plain for read in restored(offered, known)] == [silent.plain, said.plain]


def test_results_that_a_wire_reorders_remember_where_they_stood() -> None:
    calls = ToolCall("x", "bash", "{}"), ToolCall("y", "bash", "{}")
    made = session(user("a"), assistant("", *calls), result("y", "2"), result("x", "1"))
    for wire in WIRES:
        assert sorted(value.partition("@")[2] for value in ours(made.peek(wire)).values()) == ["3", "4"]


def test_only_a_checkpoint_of_ours_is_cut_out_of_system_text() -> None:
    made = session(*long_session(60), layout={"checkpoint": "system"})
    made.compact(force=True, window=128_000)
    (checkpoint,) = made.control.history()
    assert without_checkpoint(f"A\n\n{checkpoint.text}\n\nB", [checkpoint]) == "A\n\nB"
    assert without_checkpoint(checkpoint.text, [checkpoint]) == ""
    assert without_checkpoint(f"A\n\n{checkpoint.text}", []) == f"A\n\n{checkpoint.text}"
    cut = checkpoint.text[:-20]
    assert without_checkpoint(cut, [checkpoint]) == cut
