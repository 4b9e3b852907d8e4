"""The strict variant of chat completions: roles take turns, and nothing else changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, assistant, injected, result, user
from foldmark.wire import by_name, openai_chat, openai_strict
from making import long_session, tool_round
from pairs import pair_errors

TALK: list[Event] = [
    user("Go."),
    injected("A note."),
    *tool_round(1),
    assistant("Done."),
    assistant("And said."),
    user("More?"),
    Event(role="user", origin="user", parts=(Text("This."), Image(url="https://example.org/a.png"))),
    assistant("Yes."),
]


def turns(payload: dict[str, Any]) -> list[str]:
    """The roles that must alternate: tool messages belong to the assistant's turn."""
    return [message["role"] for message in payload["messages"] if message["role"] in ("user", "assistant")]


def test_neighbours_of_one_role_are_one_message() -> None:
    payload = openai_strict.write("Be brief.", [], TALK)
    assert turns(payload) == ["user", "assistant", "assistant", "user", "assistant"]
    assert payload["messages"][1] == {"role": "user", "content": "Go.\n\nA note."}
    assert payload["messages"][-2]["content"] == [
        {"type": "text", "text": "More?"},
        {"type": "text", "text": "This."},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    assert by_name("openai-chat-strict") is openai_strict


def test_where_roles_take_turns_already_it_writes_what_chat_writes() -> None:
    events = [user("a"), *tool_round(1), assistant("b"), user("c"), assistant("d"), user("e")]
    assert openai_strict.write("s", [], events) == openai_chat.write("s", [], events)


def test_a_conversation_never_begins_with_the_assistant() -> None:
    payload = openai_strict.write("s", [], [assistant("b"), user("c")])
    assert turns(payload) == ["user", "assistant", "user"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("uiab"), min_size=1, max_size=14), st.sampled_from([1_500, 3_000, 60_000]))
def test_roles_take_turns_whatever_was_said_and_whatever_was_compacted(order: list[str], target: int) -> None:
    """S-PAIR-17: head and tail may end and begin with any role; a checkpoint stands between them."""
    session = Session(
        "s", store=MemoryStore(), policy=Policy.coding(budget={"target_tokens": target}), clock=lambda: 1.0
    )
    session.record(*long_session(12))
    for number, kind in enumerate(order):
        made = {"u": [user(f"u{number}")], "i": [injected(f"i{number}")], "a": [assistant(f"a{number}")]}
        call = ToolCall(f"b{number}", "run", "{}")
        session.record(*made.get(kind, [assistant("", call), result(call.id, f"done {number}", name="run")]))
    session.compact(force=True)
    payload = session.request(wire=openai_strict).payload()
    talk = [message for message in payload["messages"] if message["role"] != "system"]
    assert talk[0]["role"] == "user"
    for before, after in pairwise(talk):
        assert before["role"] != after["role"] or before["role"] == "tool"
    assert not pair_errors(payload)


def test_our_own_payload_that_comes_back_is_recognised() -> None:
    session = Session("s", store=MemoryStore(), policy=Policy.coding(budget={"target_tokens": 3_000}))
    session.record(*long_session(40), *TALK)
    session.compact(force=True)
    for turn in range(3):
        messages = session.request(wire=openai_strict).payload()["messages"]
        found = session.follow([*messages, {"role": "user", "content": f"Turn {turn}?"}], wire=openai_strict)
        assert [event.text for event in found.new] == [f"Turn {turn}?"]
        session.record(assistant(f"Answer {turn}."))


def thought(**raw: Any) -> Event:
    words = str(next(iter(raw.values())))
    return Event(role="assistant", origin="agent", parts=(Reasoning(words, "openai", raw), Text(f"after {words}")))


def test_reasoning_of_messages_that_become_one_is_joined_like_their_words() -> None:
    events = [user("a"), thought(reasoning_content="r1"), thought(reasoning_content="r2"), user("b")]
    assert openai_strict.write("", [], events)["messages"][1] == {
        "role": "assistant",
        "content": "after r1\n\nafter r2",
        "reasoning_content": "r1\n\nr2",
    }
    assert openai_strict.lost(events) == []
    details = [{"type": "reasoning.text", "text": "d1"}], [{"type": "reasoning.encrypted", "data": "d2"}]
    events[1:3] = [thought(reasoning="r1", reasoning_details=details[0]), thought(reasoning_details=details[1])]
    joined = openai_strict.write("", [], events)["messages"][1]
    assert (joined["reasoning"], joined["reasoning_details"]) == ("r1", [*details[0], *details[1]])


def test_reasoning_of_one_step_in_two_records_is_joined_on_the_wire_it_stands_for_too() -> None:
    call = ToolCall("c", "f", "{}")
    first = Event(role="assistant", parts=(Reasoning("r1", "openai", {"reasoning_content": "r1"}), call))
    events = [user("a"), first, thought(reasoning_content="r2"), result("c", "x", name="f"), user("b")]
    for wire in (openai_chat, openai_strict):
        message = wire.write("", [], events)["messages"][1]
        assert (message["reasoning_content"], len(message["tool_calls"])) == ("r1\n\nr2", 1)
