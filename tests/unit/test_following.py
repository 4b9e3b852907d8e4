"""A re-sent message list is recognised: what is new comes in, edits and retries fork, our own words never return."""

from __future__ import annotations

import pytest

from foldmark.events import Event, assistant, control, user
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.wire import openai_chat
from making import long_session, tool_round

LINE = [user("one"), *tool_round(1), assistant("two"), user("three"), assistant("four")]


def session(events: list[Event] | None = None) -> Session:
    made = Session("s", store=MemoryStore(), policy=Policy.coding(), clock=lambda: 1_000.0, new_id=iter("abcdef").__next__)
    if events:
        made.follow(events)
    return made


def texts(made: Session) -> list[str]:
    return [event.text for event in made.store.log(made.key)]


def test_the_same_list_again_brings_nothing_new() -> None:
    made = session(LINE)
    found = made.follow(LINE)
    assert (found.new, found.known, found.forked_at, made.name) == ((), 6, None, "s")


@pytest.mark.parametrize("known", range(1, 6))
def test_a_grown_list_brings_only_its_end(known: int) -> None:
    made = session(LINE[:known])
    found = made.follow(LINE)
    assert (len(found.new), found.known, made.name) == (6 - known, known, "s")
    assert texts(made) == [event.text for event in LINE]


def test_an_edited_past_forks_at_the_longest_prefix_and_the_old_line_stays() -> None:
    made = session(LINE)
    edited = [*LINE[:4], user("three, but different"), assistant("other")]
    found = made.follow(edited)
    assert found.forked_at == 4
    assert made.name == "s+a"
    assert texts(made) == [event.text for event in edited]
    assert texts(Session("s", store=made.store)) == [event.text for event in LINE]


def test_a_retry_forks_where_the_list_ends() -> None:
    made = session(LINE)
    found = made.follow(LINE[:5])
    assert found.forked_at == 5
    made.record(assistant("another answer"))
    assert texts(made)[-1] == "another answer"
    assert texts(Session("s", store=made.store))[-1] == "four"


def test_going_back_to_the_first_line_finds_it_again() -> None:
    made = session(LINE)
    made.follow([*LINE[:4], user("branch")])
    found = made.follow([*LINE, user("five")])
    assert (found.session, found.forked_at, made.name) == ("s", None, "s")
    assert texts(made)[-1] == "five"


def test_a_list_whose_front_was_trimmed_goes_on() -> None:
    made = session(LINE)
    found = made.follow([*LINE[3:], user("five")])
    assert (found.known, [event.text for event in found.new], found.forked_at) == (3, ["five"], None)


def test_an_unrelated_list_gets_a_line_of_its_own() -> None:
    made = session(LINE)
    found = made.follow([user("something else entirely"), assistant("yes")])
    assert found.forked_at == 0
    assert texts(made) == ["something else entirely", "yes"]


def test_control_records_come_in_once_and_break_no_match() -> None:
    noted = [*LINE[:4], control("model_change", {"model": "x"})]
    made = session(noted)
    found = made.follow([*noted, *LINE[4:]])
    assert [event.text for event in found.new] == ["three", "four"]
    assert made.follow([*noted, *LINE[4:]]).new == ()


def test_our_own_request_sent_back_is_recognised() -> None:
    made = session(long_session(60))
    made.compact(force=True)
    payload = made.request(window=128_000).payload()
    before = len(texts(made))
    found = made.follow([*payload["messages"], {"role": "assistant", "content": "Done."}])
    assert [event.text for event in found.new] == ["Done."]
    assert len(texts(made)) == before + 1
    assert found.forked_at is None


def test_a_preview_sent_back_stands_for_its_whole_result() -> None:
    made = Session("s", policy=Policy.coding(admission={"limit_tokens": 200}), clock=lambda: 1.0)
    made.follow([user("go"), *tool_round(1, "\n".join(f"row {n} of much output" for n in range(900)))])
    payload = made.request(window=128_000).payload()
    found = made.follow([*payload["messages"], {"role": "assistant", "content": "Seen."}])
    assert [event.text for event in found.new] == ["Seen."]


def test_system_messages_go_to_the_static_prefix() -> None:
    made = session()
    made.follow([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}], wire=openai_chat)
    assert made.system == "Be kind."
    assert texts(made) == ["hi"]


def test_the_same_retry_again_stays_in_its_fork() -> None:
    made = session(LINE)
    assert made.follow(LINE[:5]).forked_at == 5
    again = made.follow(LINE[:5])
    assert (again.forked_at, again.session, made.name) == (None, "s+a", "s+a")


def test_a_checkpoint_in_the_system_text_sent_back_is_not_taken_for_the_static_prefix() -> None:
    made = Session("s", policy=Policy.coding(layout={"checkpoint": "system"}), clock=lambda: 1.0)
    made.describe(system="Be kind.")
    made.follow(long_session(60))
    made.compact(force=True)
    payload = made.request(window=128_000).payload()
    assert len(payload["messages"][0]["content"]) > 2_000
    found = made.follow([*payload["messages"], {"role": "assistant", "content": "Done."}], wire=openai_chat)
    assert made.system == "Be kind."
    assert ([event.text for event in found.new], found.forked_at) == (["Done."], None)
