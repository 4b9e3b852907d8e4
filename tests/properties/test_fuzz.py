"""Hostile inputs of every sort, the same ones each time: no crash, no invalid payload, nothing untrue, nothing lost.

`python -m bench.fuzz` looks further, for as long as you like. What it found once stands here as an input of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import pytest

import fuzzing
import oracles
from foldmark.events import Event, ToolCall, assistant, result, to_json, user
from foldmark.wire import by_name
from wire_pairs import broken_pairs

Make = Callable[[Random], bytes]
Check = Callable[[bytes], str]


def said(*events: Event) -> bytes:
    return b"\n".join(map(to_json, events))


def over(wire: str, **payload: object) -> bytes:
    return json.dumps({"wire": wire, "payload": payload}).encode()


@pytest.mark.parametrize(
    ("make", "check", "inputs"),
    [
        pytest.param(fuzzing.transcript, oracles.check_import, 300, id="a transcript is read and can be sent"),
        pytest.param(fuzzing.told, oracles.check_conversation, 150, id="any events can be recorded and sent"),
        pytest.param(fuzzing.payload, oracles.check_payload, 300, id="any payload is judged and read"),
        pytest.param(fuzzing.text, oracles.check_text, 400, id="any result has a true preview"),
        pytest.param(fuzzing.transcript, oracles.check_doctor, 300, id="any file is examined and mended"),
        pytest.param(fuzzing.spoken, oracles.check_follow, 60, id="what was sent is known when it comes back"),
        pytest.param(fuzzing.transcript, oracles.check_cli, 20, id="every command ends in words"),
    ],
)
def test_whatever_comes_in(make: Make, check: Check, inputs: int) -> None:
    failed: list[str] = []
    for number in range(inputs):
        data = make(Random(number))
        try:
            check(data)
        except Exception as error:
            failed.append(f"Random({number}): {type(error).__name__}: {str(error)[:200]}")
    assert not failed, "\n".join(failed)


DEEP = '{"a":' + "[" * 5_000 + "]" * 5_000 + "}"
FOUND: list[tuple[Check, bytes]] = [
    (oracles.check_conversation, said(user("go"), assistant("", ToolCall("c", "read", DEEP)), result("c", "x"))),
    (oracles.check_payload, over("gemini", contents={"": ""})),
    (oracles.check_payload, over("gemini", contents=[{}], tools="u")),
    (oracles.check_payload, over("gemini", contents=[{}], tools=[{"functionDeclarations": "["}])),
    (oracles.check_payload, over("gemini", contents=[{"parts": [{"functionCall": {"id": {}}}]}])),
    (
        oracles.check_import,
        b'{"timestamp":Infinity,"type":"response_item","payload":{"type":"message","role":"user","content":[]}}',
    ),
    (oracles.check_import, b'{"sessionId":"","projectHash":""}\n{"id":"9","type":"gemini","content":[{}]}'),
    (oracles.check_text, b"1" * 5_000),
    (oracles.check_text, "event:²".encode()),
    (
        oracles.check_import,
        b'{"messages":[{"role":"user","content":"\\ud83d"}],"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    ),
]


@pytest.mark.parametrize(
    ("check", "data"), FOUND, ids=[f"{check.__name__} {at}" for at, (check, _) in enumerate(FOUND)]
)
def test_what_broke_something_once_breaks_it_no_more(check: Check, data: bytes) -> None:
    check(data)


def test_glued_records_in_front_of_a_lone_carriage_return_come_apart() -> None:
    oracles.check_doctor(b'{"role":"tool"}{"role":"","content":""}\r')


def test_the_same_seed_makes_the_same_input() -> None:
    for make in (fuzzing.transcript, fuzzing.told, fuzzing.spoken, fuzzing.payload, fuzzing.text):
        assert [make(Random(number)) for number in range(20)] == [make(Random(number)) for number in range(20)]


# -- the checks see what they are there for

ORPHANS = [
    (
        "openai-chat",
        {"messages": [{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "x", "content": "b"}]},
    ),
    ("openai-responses", {"input": [{"type": "function_call_output", "call_id": "x", "output": "b"}]}),
    ("openai-responses", {"input": [{"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}]}),
    ("gemini", {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}]}),
    ("gemini", {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]}),
]


@pytest.mark.parametrize(("name", "payload"), ORPHANS)
def test_a_broken_pair_is_seen_on_every_wire(name: str, payload: dict[str, object]) -> None:
    assert broken_pairs(by_name(name), payload)


def test_a_preview_that_counts_wrong_is_seen() -> None:
    text = "\n".join(map(str, range(100)))
    with pytest.raises(AssertionError, match="of 101"):
        oracles.check_ranges(text, "0\n… lines 2-99 of 101 not shown …\n99", "text")
