"""What is no reply of an API is never read as an empty message: it is said what it is instead."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark.errors import WireError
from foldmark.events import Event
from foldmark.wire import WIRES, by_name

CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
REPLIES: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"id": "1", "object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "hi"}}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    ],
    "anthropic": [
        {"id": "1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    ],
    "openai-responses": [
        {
            "id": "1",
            "object": "response",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
        },
        {"type": "mcp_call", "id": "m", "name": "look", "server_label": "s", "arguments": "{}", "error": "it broke"},
    ],
    "gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}]},
        {"role": "model", "parts": [{"text": "hi"}]},
        {"role": "user", "parts": [{"text": "hi"}]},
    ],
}
ERRORS: list[tuple[dict[str, Any], str]] = [
    ({}, "it is empty"),
    ({"error": {"code": 429, "message": "Quota\nis gone", "status": "RESOURCE_EXHAUSTED"}}, "`error`: 429 RESOURCE_EX"),
    ({"error": {"message": "Bad key", "type": "invalid_request_error"}}, "`error`: invalid_request_error Bad key"),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded_error Overloaded"),
    ({"error": "x" * 5_000}, "it holds `error`: xxx"),
    ({"error": {"detail": "odd"}}, "it holds `error`: {'detail': 'odd'}"),
    ({"messages": []}, "it holds `messages`"),
    ({f"field{n}": n for n in range(9)}, "and 3 more"),
]


def read_or_refused(wire: str, reply: dict[str, Any]) -> list[Event] | None:
    try:
        return by_name(wire).read(reply)
    except WireError:
        return None


def says_something(events: list[Event]) -> bool:
    return bool(events) and all(event.parts for event in events)


@pytest.mark.parametrize("wire", [wire.NAME for wire in WIRES])
@pytest.mark.parametrize(("given", "said"), ERRORS)
def test_an_error_in_place_of_a_reply_is_told_and_not_read(wire: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(WireError) as refused:
        by_name(wire).read(given)
    assert said in str(refused.value)
    assert "Nothing was read." in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("wire", [wire.NAME for wire in WIRES])
@pytest.mark.parametrize("owner", [wire.NAME for wire in WIRES])
def test_a_reply_is_read_by_its_own_wire_and_by_no_other_as_nothing(wire: str, owner: str) -> None:
    for reply in REPLIES[owner]:
        events = read_or_refused(wire, reply)
        assert events is None or says_something(events)
        assert (events is not None) or wire != owner
        assert events is None or wire == owner or not reply.get("tool_calls"), "the calls are lost"


@pytest.mark.parametrize(
    ("wire", "owner", "at"),
    [
        ("gemini", "openai-chat", 0), ("anthropic", "openai-chat", 1), ("anthropic", "openai-chat", 2),
        ("openai-responses", "openai-chat", 0), ("openai-chat", "gemini", 0), ("anthropic", "openai-responses", 0),
    ],
)  # fmt: skip
def test_the_wire_that_reads_it_is_named(wire: str, owner: str, at: int) -> None:
    with pytest.raises(WireError, match=f"The wire '{owner}' reads such"):
        by_name(wire).read(REPLIES[owner][at])


def test_contents_of_other_apis_are_not_read_as_empty_ones() -> None:
    with pytest.raises(WireError, match=r"contents\[1\]\.parts: are missing"):
        by_name("gemini").read_messages([{"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "content": "b"}])


def test_an_error_beside_no_choice_is_told() -> None:
    with pytest.raises(WireError, match=r"no choice .*502 upstream is gone"):
        by_name("openai-chat").read({"choices": [], "error": {"code": 502, "message": "upstream is gone"}})
