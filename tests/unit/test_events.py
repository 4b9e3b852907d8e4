"""Events are immutable, survive JSON whatever their text, and are recognised by what was said, not by how it came."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import (
    Artifact,
    Event,
    Image,
    Opaque,
    Paste,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    chained,
    control,
    fingerprint,
    from_json,
    injected,
    result,
    to_json,
    user,
)

texts = st.text(st.characters(exclude_categories=[]), max_size=40)  # lone surrogates and NUL included
parts = st.one_of(
    st.builds(Text, texts),
    st.builds(Reasoning, texts, st.just("anthropic"), st.just({"type": "thinking", "signature": "s"})),
    st.builds(ToolCall, texts, texts, texts),
    st.builds(ToolResult, texts, texts, texts, st.booleans(), st.just((Image(url="u"),))),
    st.builds(Paste, texts, st.just(Artifact("ab", 1, 1, "text"))),
    st.builds(Opaque, st.just("x"), st.just({"a": [1, {"b": None}]})),
)


@given(st.lists(parts, max_size=4), texts, st.none() | st.floats(0, 2e9))
def test_every_event_survives_its_json_form(found: list[object], name: str, time: float | None) -> None:
    event = Event(role="assistant", parts=tuple(found), id=name, time=time, usage=Usage(input=3))  # type: ignore[arg-type]
    assert from_json(to_json(event)) == event


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        user("a").id = "b"  # type: ignore[misc]


def test_usage_times_and_ids_do_not_change_who_an_event_is() -> None:
    plain = assistant("done", ToolCall("c1", "read", "{}"))
    other = msgspec.structs.replace(plain, id="m1", time=5.0, usage=Usage(input=9), model="m", provider="p")
    assert fingerprint(plain) == fingerprint(other)


@pytest.mark.parametrize(
    "other",
    [
        assistant("done!", ToolCall("c1", "read", "{}")),
        assistant("done", ToolCall("c2", "read", "{}")),
        assistant("done", ToolCall("c1", "read", '{"a":1}')),
        user("done"),
    ],
)
def test_text_call_ids_arguments_and_role_do(other: Event) -> None:
    assert fingerprint(assistant("done", ToolCall("c1", "read", "{}"))) != fingerprint(other)


def test_the_chain_depends_on_everything_before_and_on_nothing_after() -> None:
    line = [user("a"), assistant("b"), user("c")]
    whole, head = chained(line), chained(line[:2])
    assert [event.chain for event in head] == [event.chain for event in whole[:2]]
    assert chained([user("x"), *line[1:]])[2].chain != whole[2].chain
    assert chained(line[2:], after=head[-1].chain)[0].chain == whole[2].chain


def test_only_a_real_users_words_count_as_the_users() -> None:
    assert user("stop").is_user
    assert not injected("stop").is_user
    assert not result("c", "stop").is_user
    assert control("meta", {}).text == ""
