"""What every wire promises: reading what was written is identity, payloads are valid, refusals are
understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from foldmark import wire as wires
from foldmark.errors import PolicyError
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, ToolResult, assistant, result, user
from foldmark.wire import WIRES, Overflow, Wire, neutral_tools, overflow, tools_of_calls

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)

CONVERSATION: list[Event] = [
    user("Which beds need water?"),
    assistant("I look.", ToolCall("call_1", "read", '{"bed":1}'), ToolCall("call_2", "read", '{"bed":2}')),
    result("call_1", "40%", name="read"),
    result("call_2", "12%", name="read"),
    assistant("Bed 2 is dry."),
    Event(
        role="user",
        origin="user",
        parts=(
            Text("Like this one?"),
            Image(media_type="image/png", data="AAAA"),
            Image(url="https://example.org/b.png"),
        ),
    ),
    assistant("", ToolCall("call_3", "water", "{}")),
    result("call_3", "done", name="water"),
]


def essence(events: tuple[Event, ...] | list[Event]) -> list[tuple[str, Any]]:
    return [(event.role, event.parts) for event in events]


def read_back(wire: Wire, payload: Mapping[str, Any]) -> wires.Transcript:
    return wire.read_messages(payload["messages"], payload.get("system"), payload.get("tools"))


@each_wire
def test_reading_what_was_written_is_identity(wire: Wire) -> None:
    tools = neutral_tools([{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}])
    found = read_back(wire, wire.write("Be brief.", tools, CONVERSATION))
    assert essence(found.events) == essence(CONVERSATION)
    assert found.system == "Be brief."
    assert list(found.tools) == tools
    assert found.warnings == ()


@each_wire
def test_writing_what_was_read_is_identity_twice(wire: Wire) -> None:
    first = wire.write("s", [], CONVERSATION)
    second = wire.write("s", [], read_back(wire, first).events)
    assert json.dumps(second) == json.dumps(first)


@each_wire
def test_messages_read_one_by_one_are_the_events_of_the_whole_list(wire: Wire) -> None:
    payload = wire.write("", [], CONVERSATION)
    one_by_one = [event for message in payload["messages"] for event in wire.read(message)]
    whole = read_back(wire, payload).events
    assert [(e.role, e.text, e.calls) for e in one_by_one] == [(e.role, e.text, e.calls) for e in whole]


@each_wire
def test_the_payload_of_a_conversation_has_no_problem_at_all(wire: Wire) -> None:
    payload = wire.write("s", tools_of_calls(CONVERSATION), CONVERSATION)
    assert wire.validate(payload, suspected=True) == []


@each_wire
def test_nothing_in_gives_no_message_out(wire: Wire) -> None:
    for events in ([], [user("")]):
        assert wire.write("", [], events) == {"messages": []}
    assert wire.validate({"messages": []})[0].code == "no_messages"


@each_wire
def test_foreign_reasoning_never_goes_out_and_is_reported(wire: Wire) -> None:
    foreign = Event(
        role="assistant",
        origin="agent",
        parts=(Reasoning("secret thought", "somebody", {"x": 1}), Text("hi")),
    )
    assert "secret thought" not in json.dumps(wire.write("", [], [user("go"), foreign]))
    assert wire.lost([foreign]) == ["1 x reasoning of somebody"]
    assert wire.lost(CONVERSATION) == []


@each_wire
def test_every_problem_names_a_rule_and_every_rule_says_where_it_comes_from(wire: Wire) -> None:
    assert all(rule.source.endswith(".") for rule in wire.RULES)
    assert len({rule.code for rule in wire.RULES}) == len(wire.RULES)
    problem = wire.validate(wire.write("", [], [user("go"), result("nobody", "x")]))[0]
    assert (problem.code, problem.certainty) == ("orphan_result", "known")
    assert str(problem).startswith(problem.path)


@each_wire
def test_a_request_that_goes_on_begins_with_the_same_bytes(wire: Wire) -> None:
    texts = [
        json.dumps(wire.write("s", [], CONVERSATION[:length])["messages"], ensure_ascii=False)
        for length in (1, 4, 6, 8)
    ]
    for shorter, longer in pairwise(texts):
        assert longer.startswith(shorter.rstrip("]} "))


@each_wire
def test_the_overhead_is_four_tokens_a_message(wire: Wire) -> None:
    assert (wire.OVERHEAD.message, wire.OVERHEAD.call, wire.OVERHEAD.request) == (4, 0, 0)


@each_wire
def test_a_result_with_an_error_and_pictures_is_written_without_a_problem(wire: Wire) -> None:
    picture = Image(media_type="image/png", data="AAAA")
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "", is_error=True, images=(picture,)),))
    payload = wire.write("", tools_of_calls([CONVERSATION[1]]), [user("go"), assistant("", ToolCall("a", "f")), shown])
    assert wire.validate(payload, suspected=True) == []


def test_wires_are_found_by_name() -> None:
    assert [wires.by_name(wire.NAME) for wire in WIRES] == list(WIRES)
    with pytest.raises(PolicyError, match="openai-chat, anthropic"):
        wires.by_name("morse")


def test_tools_of_every_shape_become_neutral_and_stay_so() -> None:
    shapes = [
        {"name": "a", "description": "A.", "parameters": {"type": "object"}},
        {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}, "strict": True}},
        {"name": "c", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    neutral = neutral_tools(shapes)
    assert neutral == [
        {"name": "a", "description": "A.", "parameters": {"type": "object"}},
        {"name": "b", "description": "", "parameters": {"type": "object"}, "strict": True},
        {"name": "c", "description": "", "parameters": {"type": "object"}},
        {
            "name": "web_search",
            "provider": "anthropic",
            "raw": {"type": "web_search_20250305", "name": "web_search"},
        },
    ]
    assert neutral_tools(neutral) == neutral


class RefusedError(Exception):
    """Stands for an SDK error: a status beside the words."""

    def __init__(self, words: str, status_code: int, body: Any = None) -> None:
        super().__init__(words)
        self.status_code, self.body = status_code, body


@pytest.mark.parametrize(
    ("words", "limit", "size"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
            200000,
            190000,
        ),
        (
            "maximum context length is 128000 tokens. However, your messages resulted in 130001",
            128000,
            130001,
        ),
        (
            "endpoint's maximum context length is 32768 tokens. However, you requested about 40000",
            32768,
            40000,
        ),
        (
            "exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            272000,
            300000,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
            131072,
            150000,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1048576,
            1200000,
        ),
        (
            "Prompt contains 40000 tokens and 0 draft, too large for model with 32768 maximum context",
            32768,
            40000,
        ),
        (
            "request (9000 tokens) exceeds the available context size (8192 tokens), try more",
            8192,
            9000,
        ),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens", 8193, 9000),
        ("Invalid request: Your request exceeded model token limit: 131072", 131072, None),
        ("the request exceeds the available context size (8192 tokens)", 8192, None),
        ("Your input exceeds the context window of this model. Please adjust your input.", None, None),
        ("Input is too long for requested model.", None, None),
        ("Please reduce the length of the messages or completion.", None, None),
    ],
)
def test_a_refusal_for_length_gives_limit_and_size(words: str, limit: int | None, size: int | None) -> None:
    assert overflow(RefusedError(words, 400)) == Overflow(limit, size)
    assert overflow({"error": {"message": words, "type": "invalid_request_error"}}) == Overflow(limit, size)


def test_the_code_in_the_body_is_enough() -> None:
    assert overflow(RefusedError("Error code: 400", 400, {"error": {"code": "context_length_exceeded"}})) == Overflow()


def test_a_body_of_too_many_bytes_is_told_from_too_many_tokens() -> None:
    error = RefusedError("request_too_large: Request exceeds the maximum size", 413)
    assert overflow(error) == Overflow(unit="bytes")


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("prompt is too long: 210000 tokens > 200000 maximum", 429),
        RefusedError("Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000", 413),
        RefusedError("Rate limit reached: maximum context length is 10 tokens", 400),
        RefusedError("invalid x-api-key", 401),
        RefusedError("You exceeded your current quota", 429),
        RefusedError("Overloaded", 529),
        {"error": {"code": 429, "message": "maximum context length is 10 tokens"}},
        "tool_use ids must be unique",
        None,
    ],
)
def test_rate_limits_authentication_and_other_errors_are_no_overflow(error: Any) -> None:
    assert overflow(error) is None
