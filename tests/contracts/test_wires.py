"""What every wire promises: reading what was written is identity, payloads are valid, refusals are predicted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from foldmark import wire as wires
from foldmark.errors import PolicyError
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, ToolResult, assistant, result, user
from foldmark.wire import WIRES, Wire, neutral_tools, tools_of_calls
from refused import CLEAN, EXACT, INEXACT

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
    return wire.read_payload(payload)


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
def test_messages_read_one_by_one_say_what_the_whole_list_says(wire: Wire) -> None:
    payload = wire.write("", [], CONVERSATION)
    one_by_one = [event for message in payload[wire.MESSAGES] for event in wire.read(message)]
    whole = read_back(wire, payload).events
    if wire is not wires.openai_responses:  # there a step is several items
        assert len(one_by_one) == len(whole)
    for what in ("text", "calls", "result"):
        found = [[x for x in (getattr(event, what) for event in events) if x] for events in (one_by_one, whole)]
        if what == "result":  # a result alone does not know its tool's name
            found = [[(x.call_id, x.text) for x in side] for side in found]
        if what == "calls":
            found = [[call for calls in side for call in calls] for side in found]
        assert found[0] == found[1]


@each_wire
def test_the_payload_of_a_conversation_has_no_problem_at_all(wire: Wire) -> None:
    payload = wire.write("s", tools_of_calls(CONVERSATION), CONVERSATION)
    assert wire.validate(payload, suspected=True) == []


@each_wire
def test_nothing_in_gives_no_message_out(wire: Wire) -> None:
    for events in ([], [user("")]):
        assert wire.write("", [], events) == {wire.MESSAGES: []}
    assert wire.validate({wire.MESSAGES: []})[0].code == "no_messages"


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


def rows(tables: Mapping[str, Any]) -> list[Any]:
    named = [(name, *row) for name, table in tables.items() for row in table]
    return [pytest.param(*row, id=f"{row[0]} {row[1]}") for row in named]


@pytest.mark.parametrize(("name", "code", "payload"), rows(EXACT))
def test_each_row_of_the_table_breaks_its_rule_and_no_other(name: str, code: str, payload: dict[str, Any]) -> None:
    wire = wires.by_name(name)
    found = wire.validate(payload, suspected=True)
    assert {problem.code for problem in found} == {code}
    known = {rule.code for rule in wire.RULES if rule.certainty == "known"}
    assert wire.validate(payload) == (found if code in known else [])


@pytest.mark.parametrize(("name", "code", "payload"), rows(INEXACT))
def test_each_row_of_the_table_breaks_its_rule_and_perhaps_another(
    name: str, code: str, payload: dict[str, Any]
) -> None:
    assert code in {problem.code for problem in wires.by_name(name).validate(payload, suspected=True)}


@each_wire
def test_every_rule_has_a_row_in_the_table_a_source_and_a_date(wire: Wire) -> None:
    table = [*EXACT.get(wire.NAME, []), *INEXACT.get(wire.NAME, [])]
    assert {rule.code for rule in wire.RULES} == {code for code, _ in table}
    assert all(re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", rule.seen) for rule in wire.RULES)


@each_wire
def test_the_page_about_wires_lists_every_rule(wire: Wire) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "wires.md").read_text(encoding="utf-8")
    rows = [f"| `{r.code}` | {r.certainty} | {r.source.replace('|', chr(92) + '|')} | {r.seen} |" for r in wire.RULES]
    section = page.partition(f"\n### {wire.NAME}\n")[2].partition("\n### ")[0].split("\n")
    assert [row for row in rows if row not in section] == [], "these rows are missing in docs/explanation/wires.md"


@pytest.mark.parametrize(
    ("name", "payload"), [(name, payload) for name, payloads in CLEAN.items() for payload in payloads]
)
def test_a_payload_that_breaks_no_rule_has_no_problem(name: str, payload: dict[str, Any]) -> None:
    assert wires.by_name(name).validate(payload, suspected=True) == []


@each_wire
def test_a_request_that_goes_on_begins_with_the_same_bytes(wire: Wire) -> None:
    texts = [
        json.dumps(wire.write("s", [], CONVERSATION[:length])[wire.MESSAGES], ensure_ascii=False)
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
    found = wire.validate(payload, suspected=True)
    # Chat completions takes images from users only, so there they follow behind the result.
    assert [problem.code for problem in found] == (["role_order"] if wire is wires.openai_chat else [])


def test_wires_are_found_by_name() -> None:
    assert [wires.by_name(wire.NAME) for wire in WIRES] == list(WIRES)
    with pytest.raises(PolicyError, match="openai-chat, anthropic, openai-responses"):
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
