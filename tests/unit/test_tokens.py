"""The meter counts as tiktoken does, whatever the text, and prices every part of an event."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import tokens
from foldmark.errors import PolicyError
from foldmark.events import Image, Opaque, Reasoning, ToolCall, ToolResult, assistant, control, user
from foldmark.media_prices import IMAGE_TOKENS


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [("hello world", 2, 2), ("", 0, 0), ("src/foldmark/events.py:12", 8, 8), ("東京都に住んでいます", 6, 10)],
)
def test_known_texts_cost_their_known_tokens(text: str, o200k: int, cl100k: int) -> None:
    assert tokens.count(text) == o200k
    assert tokens.count(text, "cl100k_base") == cl100k


def test_a_lone_half_of_a_surrogate_pair_counts_like_the_replacement_character() -> None:
    assert tokens.count("a \ud800 b") == tokens.count("a \ufffd b")


def test_two_halves_that_meet_count_like_the_character_they_make() -> None:
    assert tokens.count("a \ud83d\ude00 b") == tokens.count("a 😀 b")


def test_an_unknown_encoding_names_the_known_ones() -> None:
    with pytest.raises(PolicyError, match="o200k_base"):
        tokens.count("x" * 300, "r50k")


@given(st.integers(0, 6), st.integers(-3, 3))
def test_a_cut_never_falls_between_the_halves_of_a_surrogate_pair(front: int, shift: int) -> None:
    text = "x" * front + "\ud83d\ude00" * 60
    end = 40 + shift
    cut = tokens._cut(text, end)
    assert end - 1 <= cut <= end
    assert not ("\ud800" <= text[cut - 1] <= "\udbff" and "\udc00" <= text[cut] <= "\udfff")


def test_an_event_costs_its_parts_and_a_control_record_nothing() -> None:
    call = ToolCall("c1", "read", '{"path":"a.py"}')
    event = assistant("hello world", call)
    assert tokens.event_tokens(event) == 2 + tokens.count("read") + tokens.count('{"path":"a.py"}')
    assert tokens.event_tokens(control("meta", {"a": "long text " * 50})) == 0
    assert tokens.part_tokens(ToolResult("c1", "hello world", images=(Image(url="u"),))) == 2 + IMAGE_TOKENS
    assert tokens.event_tokens(user("hello world")) == 2


def test_thinking_and_foreign_blocks_are_parts_with_a_price() -> None:
    assert tokens.part_tokens(Reasoning("hello world")) == 2
    assert tokens.part_tokens(Reasoning()) == 0
    assert tokens.part_tokens(Opaque("x", {"type": "note", "text": "hello world"})) > 2


def test_a_tool_schema_is_counted_once() -> None:
    seen: list[str] = []

    def counting(text: str) -> int:
        seen.append(text)
        return len(text)

    tools = [{"name": f"tool_{n}", "parameters": {"type": "object"}} for n in range(40)]
    first = tokens.tool_tokens(tools, counting)
    assert tokens.tool_tokens(tools, counting) == first == sum(map(len, seen))
    assert len(seen) == 40
