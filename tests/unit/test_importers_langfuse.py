"""The importer of Langfuse traces: one conversation from what every generation repeats, in every framework's shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import Event, Reasoning, ToolCall, Usage, assistant, chained, result, user
from foldmark.importers import Imported

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
Row = dict[str, Any]


def sample() -> Imported:
    (imported,) = importers.read((SAMPLES / "langfuse.json").read_bytes())
    return imported


# A conversation in the shapes of the frameworks: what is said, in our terms, and how each writes it.


class Said(msgspec.Struct, frozen=True):
    """A step of a made-up conversation: `calls` are (name, arguments, what came back)."""

    words: str
    calls: tuple[tuple[str, dict[str, Any], str], ...] = ()


Conversation = list[tuple[str, list[Said]]]
"""Turns: what the user says, and the steps that answer it. The last step of a turn makes no call."""


def openai_rows(event: Event) -> list[Row]:
    if event.result is not None:
        return [{"role": "tool", "tool_call_id": event.result.call_id, "content": event.result.text}]
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in event.calls
    ]
    return [{"role": event.role, "content": event.text, **({"tool_calls": calls} if calls else {})}]


def anthropic_rows(event: Event) -> list[Row]:
    if event.result is not None:
        block = {"type": "tool_result", "tool_use_id": event.result.call_id, "content": event.result.text}
        return [{"role": "user", "content": [block]}]
    blocks: list[Row] = [{"type": "text", "text": event.text}] if event.text else []
    blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": json.loads(c.arguments)} for c in event.calls]
    return [{"role": event.role, "content": blocks}]


def convention_rows(event: Event) -> list[Row]:
    if event.result is not None:
        part = {"type": "tool_call_response", "id": event.result.call_id, "result": event.result.text}
        return [{"role": "tool", "parts": [part]}]
    parts: list[Row] = [{"type": "text", "content": event.text}] if event.text else []
    parts += [
        {"type": "tool_call", "id": c.id, "name": c.name, "arguments": json.loads(c.arguments)} for c in event.calls
    ]
    return [{"role": event.role, "parts": parts}]


def gemini_rows(event: Event) -> list[Row]:
    if event.result is not None:
        response = {"name": event.result.name, "response": {"result": event.result.text}}
        return [{"role": "user", "parts": [{"functionResponse": response}]}]
    parts: list[Row] = [{"text": event.text}] if event.text else []
    parts += [{"functionCall": {"name": c.name, "args": json.loads(c.arguments)}} for c in event.calls]
    return [{"role": "model" if event.role == "assistant" else "user", "parts": parts}]


def responses_rows(event: Event) -> list[Row]:
    if event.result is not None:
        return [{"type": "function_call_output", "call_id": event.result.call_id, "output": event.result.text}]
    if event.role == "user":
        return [{"role": "user", "content": event.text}]
    texts = [{"type": "output_text", "text": event.text, "annotations": []}]
    rows: list[Row] = [{"type": "message", "role": "assistant", "content": texts}] if event.text else []
    return rows + [
        {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments} for c in event.calls
    ]


def langchain_rows(event: Event) -> list[Row]:
    kind, fields = "HumanMessage", {"content": event.text}
    if event.result is not None:
        kind, fields = "ToolMessage", {"content": event.result.text, "tool_call_id": event.result.call_id}
    elif event.role == "assistant":
        calls = [{"name": c.name, "args": json.loads(c.arguments), "id": c.id} for c in event.calls]
        kind, fields = "AIMessage", {"content": event.text, "tool_calls": calls}
    return [{"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", kind], "kwargs": fields}]


SHAPES: dict[str, Callable[[Event], list[Row]]] = {
    "openai": openai_rows,
    "anthropic": anthropic_rows,
    "gen_ai": convention_rows,
    "gemini": gemini_rows,
    "responses": responses_rows,
    "langchain": langchain_rows,
}


def told(conversation: Conversation) -> list[Event]:
    events: list[Event] = []
    for words, steps in conversation:
        events.append(user(words))
        for step in steps:
            made = sum(len(event.calls) for event in events)
            calls = [
                ToolCall(f"call_{made + at}", name, json.dumps(given))
                for at, (name, given, _) in enumerate(step.calls, 1)
            ]
            events.append(assistant(step.words, *calls))
            events += [result(c.id, text, name=c.name) for c, (_, _, text) in zip(calls, step.calls, strict=True)]
    return events


def observation(key: str, at: int, kind: str = "GENERATION", **fields: Any) -> Row:
    time = f"2026-03-01T08:{at // 60:02d}:{at % 60:02d}.000Z"
    row = {"id": key, "traceId": "t", "type": kind, "name": key, "startTime": time, "endTime": time, **fields}
    return {
        name: json.dumps(v) if name in ("input", "output") and not isinstance(v, str) else v for name, v in row.items()
    }


def traced(events: list[Event], shape: Callable[[Event], list[Row]], *, wrap: str = "") -> list[Row]:
    """One generation for every step, its input all that came before it."""
    rows: list[Row] = []
    for at, event in enumerate(events):
        if event.role == "assistant":
            before: Any = [row for earlier in events[:at] for row in shape(earlier)]
            reply: Any = shape(event)
            reply = {"object": "response", "output": reply} if shape is responses_rows else reply
            reply = reply[0] if isinstance(reply, list) and len(reply) == 1 else reply
            rows.append(observation(f"g{at}", at, input={wrap: before} if wrap else before, output=reply))
    return rows


def trace(rows: list[Row]) -> bytes:
    return json.dumps({"trace": {"id": "t"}, "observations": rows}).encode()


def plain(events: tuple[Event, ...] | list[Event]) -> list[Any]:
    """What was said, called and answered: ids as the place of the call, so that shapes without ids compare."""
    order: dict[str, int] = {}
    out: list[Any] = []
    for event in events:
        if event.result is not None:
            out.append(("result", order[event.result.call_id], event.result.text))
            continue
        for call in event.calls:
            order[call.id] = len(order)
        out.append((event.role, event.text, [(call.name, json.loads(call.arguments)) for call in event.calls]))
    return out


WORDS = st.sampled_from(["yes", "look", "go on", "Ünïcode 🌱", "a\nb"])
CALLS = st.tuples(st.sampled_from(["dig", "read"]), st.fixed_dictionaries({"bed": st.integers(1, 2)}), WORDS)
STEPS = st.builds(Said, WORDS, st.lists(CALLS, min_size=1, max_size=3).map(tuple))
TURNS = st.tuples(WORDS, st.tuples(st.lists(STEPS, max_size=3), WORDS).map(lambda pair: [*pair[0], Said(pair[1])]))
CONVERSATIONS = st.lists(TURNS, min_size=1, max_size=3)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@given(conversation=CONVERSATIONS)
def test_a_conversation_is_rebuilt_once_from_generations_that_repeat_it(shape: Any, conversation: Conversation) -> None:
    events = told(conversation)
    (imported,) = importers.read(trace(traced(events, shape)))
    assert plain(imported.events) == plain(events)
    assert not imported.children


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@given(conversation=CONVERSATIONS, data=st.data())
def test_a_grown_trace_goes_on_where_the_shorter_one_ended(shape: Any, conversation: Conversation, data: Any) -> None:
    rows = traced(told(conversation), shape)
    cut = data.draw(st.integers(1, len(rows)))
    before, after = (chained(importers.read(trace(part))[0].events) for part in (rows[:cut], rows))
    assert [event.chain for event in after[: len(before)]] == [event.chain for event in before]


@given(conversation=CONVERSATIONS, data=st.data())
def test_the_order_of_observations_in_the_file_makes_no_difference(conversation: Conversation, data: Any) -> None:
    rows = traced(told(conversation), openai_rows)
    mixed = data.draw(st.permutations(rows))
    assert importers.read(trace(list(mixed)))[0].events == importers.read(trace(rows))[0].events


@pytest.mark.parametrize("value", [[{"page": 1}], {"page": 1}, [1, 2], ["a"]])
def test_an_input_that_is_no_message_is_left_out_and_said(value: Any) -> None:
    (imported,) = importers.read(trace([observation("g", 0, input=value, output="ok")]))
    assert [event.text for event in imported.events] == ["ok"]
    assert any("hold no messages" in line for line in imported.warnings)


@pytest.mark.parametrize("wrap", ["messages", "contents", "input"])
def test_messages_are_found_inside_the_request_that_holds_them(wrap: str) -> None:
    events = told([("go", [Said("I look.", (("read", {"bed": 1}, "dry"),)), Said("Dry.")])])
    shape = gemini_rows if wrap == "contents" else openai_rows
    (imported,) = importers.read(trace(traced(events, shape, wrap=wrap)))
    assert plain(imported.events) == plain(events)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_results_that_no_message_holds_come_from_the_tools(shape: Any) -> None:
    step = Said("Both.", (("read", {"bed": 1}, "dry"), ("read", {"bed": 2}, "wet")))
    events = told([("go", [step])])
    rows = traced(events, shape)
    # The second call's tool ran first: arguments tell which is which.
    rows.append(observation("x", 5, "TOOL", name="read", input={"bed": 2}, output="wet"))
    rows.append(observation("y", 6, "SPAN", name="read", input={"bed": 1}, output="dry"))
    (imported,) = importers.read(trace(rows))
    assert sorted(map(str, plain(imported.events))) == sorted(map(str, plain(events)))


def test_a_tool_that_failed_gives_an_error_with_the_words_of_the_trace() -> None:
    (child,) = sample().children
    (failed,) = [event.result for event in child.imported.events if event.result]
    assert (failed.name, failed.text, failed.is_error) == ("soil_book", "page 7 is torn", True)


def test_a_call_whose_tool_shows_no_result_stays_unanswered() -> None:
    rows = traced(told([("go", [Said("", (("dig", {"bed": 1}, ""),))])]), openai_rows)
    rows.append(observation("x", 5, "TOOL", name="dig", input={"bed": 1}))
    (imported,) = importers.read(trace(rows))
    assert [event.result for event in imported.events if event.result] == []


def test_an_agent_that_ran_inside_a_tool_is_a_child_of_the_call() -> None:
    imported = sample()
    assert (imported.session, imported.system) == ("trace-garden", "You plan gardens.")
    (child,) = imported.children
    assert (child.kind, child.call_id, child.imported.system) == ("child", "c2", "You know soils.")
    assert [event.text for event in child.imported.events] == ["What grows in clay?", "", "page 7 is torn", "Beans."]


def test_an_agent_beside_another_is_a_session_of_its_own_and_one_inside_it_a_child() -> None:
    ask = [{"role": "user", "content": "one"}]
    other = [{"role": "user", "content": "two"}]
    said = {"role": "assistant", "content": "ok"}
    rows = [
        observation("a", 0, "AGENT"),
        observation("g1", 1, parentObservationId="a", input=ask, output=said),
        observation("b", 2, "AGENT", parentObservationId="a"),
        observation("g2", 3, parentObservationId="b", input=other, output=said),
    ]
    (imported,) = importers.read(trace(rows))
    assert [(child.kind, child.call_id) for child in imported.children] == [("child", "")]
    rows[2].pop("parentObservationId")
    assert [each.session for each in importers.read(trace(rows))] == ["t", "t-g2"]


def test_an_answer_given_anew_is_a_fork() -> None:
    ask = [{"role": "user", "content": "one"}]
    rows = [observation(f"g{at}", at, input=ask, output={"role": "assistant", "content": str(at)}) for at in (1, 2)]
    (imported,) = importers.read(trace(rows))
    (fork,) = imported.children
    assert (fork.kind, fork.at, plain(fork.imported.events)) == ("fork", 1, [("assistant", "2", [])])


def test_a_history_whose_front_was_summarised_goes_on_in_its_session() -> None:
    events = told([("one", [Said("1")]), ("two", [Said("2")]), ("three", [Said("3")])])
    rows = traced(events, openai_rows)
    kept = [row for event in events[2:5] for row in openai_rows(event)]
    rows[2] = observation(
        "g5", 5, input=[{"role": "user", "content": "So far: one."}, *kept], output=openai_rows(events[5])[0]
    )
    (imported,) = importers.read(trace(rows))
    assert [event.text for event in imported.events] == ["one", "1", "two", "2", "So far: one.", "three", "3"]


def test_a_message_that_a_framework_leaves_out_is_not_missed() -> None:
    """The call of the second step is not in the third's input, and the result there names no call."""
    events = told([("go", [Said("", (("read", {"bed": 1}, "dry"),)), Said("Dry.")])])
    rows = traced(events, openai_rows)
    rows[1]["input"] = json.dumps([openai_rows(events[0])[0], {"role": "tool", "content": "dry"}])
    (imported,) = importers.read(trace(rows))
    assert plain(imported.events) == plain(events)


def test_an_id_that_comes_back_gets_a_number() -> None:
    step = Said("", (("read", {"bed": 1}, "dry"),))
    events = told([("go", [step, step, Said("Dry.")])])
    renamed = json.loads(trace(traced(events, convention_rows)).replace(b"call_2", b"call_1"))
    (imported,) = importers.read(json.dumps(renamed).encode())
    assert [call.id for event in imported.events for call in event.calls] == ["call_1", "call_1-2"]
    assert plain(imported.events) == plain(events)


def test_a_step_written_as_text_is_a_call_and_its_result() -> None:
    words = (
        'Thought: Look it up.\nFunction Name: Search\nFunction Input: {"q": "clay"}\nFunction Output: beans\nand peas'
    )
    ask = [{"role": "user", "text": "go"}, {"role": "assistant", "text": words}]
    (imported,) = importers.read(trace([observation("g", 0, input=ask, output="Beans.")]))
    assert plain(imported.events) == [
        ("user", "go", []),
        ("assistant", "Look it up.", [("Search", {"q": "clay"})]),
        ("result", 0, "beans\nand peas"),
        ("assistant", "Beans.", []),
    ]


def test_a_tools_name_in_place_of_the_role_is_its_result_and_any_other_name_is_kept_and_said() -> None:
    events = told([("go", [Said("", (("read", {"bed": 1}, "dry"),)), Said("Dry.")])])
    rows = traced(events, openai_rows)
    ask = json.loads(rows[1]["input"])
    ask[2] = {"role": "read", "content": "dry"}
    rows[1]["input"] = json.dumps([*ask, {"role": "critic", "content": "meh"}])
    (imported,) = importers.read(trace(rows))
    assert plain([event for event in imported.events if event.role != "control"]) == plain(events)
    assert any("role critic" in line for line in imported.warnings)


def test_messages_written_as_attributes_are_read_when_the_input_holds_none() -> None:
    prefix = "llm.input_messages"
    attributes = {
        f"{prefix}.0.message.role": "system",
        f"{prefix}.0.message.content": "You dig.",
        f"{prefix}.10.message.role": "tool",
        f"{prefix}.10.message.content": "done",
        f"{prefix}.1.message.role": "user",
        f"{prefix}.1.message.content": "go",
        f"{prefix}.2.message.role": "assistant",
        f"{prefix}.2.message.tool_calls.0.tool_call.function.name": "dig",
        f"{prefix}.2.message.tool_calls.0.tool_call.function.arguments": '{"bed": 1}',
    }
    rows = [
        observation("g", 0, input={"messages": ["role='user'"]}, output="Dug.", metadata={"attributes": attributes})
    ]
    (imported,) = importers.read(trace(rows))
    assert imported.system == "You dig."
    assert plain(imported.events)[1:] == [
        ("assistant", "", [("dig", {"bed": 1})]),
        ("result", 0, "done"),
        ("assistant", "Dug.", []),
    ]


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ({"usageDetails": {"input": 50, "output": 12}}, Usage(50, 12)),
        ({"usageDetails": {"input": 40, "input_cached_tokens": 60, "output": 9}}, Usage(100, 9, 60)),
        (
            {"usageDetails": {"input": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 1}},
            Usage(13, 0, 7, 1),
        ),
        ({"usageDetails": {"input": 55, "prompt_details.cache_read": 5, "output": 2}}, Usage(55, 2, 5)),
        ({"usageDetails": {"input": 1, "output": 35, "output_reasoning": 64}}, Usage(1, 99)),
        ({"usageDetails": {}}, None),
    ],
)
def test_usage_is_the_whole_prompt_and_all_output(fields: Row, usage: Usage | None) -> None:
    rows = [observation("g", 0, input=[{"role": "user", "content": "go"}], output="ok", model="m", **fields)]
    step = importers.read(trace(rows))[0].events[-1]
    assert (step.usage, step.model, step.time) == (usage, "m", 1772352000.0)


def test_usage_of_the_reply_itself_goes_before_what_was_counted_later() -> None:
    reply = {
        "choices": [{"message": {"role": "assistant", "content": "ok"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    rows = [observation("g", 0, input=[{"role": "user", "content": "go"}], output=reply, usageDetails={"input": 99})]
    assert importers.read(trace(rows))[0].events[-1].usage == Usage(3, 1)


def test_tools_come_from_wherever_the_framework_lists_them() -> None:
    schema = {"type": "object", "properties": {"bed": {"type": "integer"}}}
    ask = [{"role": "user", "content": "go"}]
    listed: list[Row] = [
        {
            "input": {
                "messages": ask,
                "tools": [{"type": "function", "function": {"name": "dig", "parameters": schema}}],
            }
        },
        {
            "input": ask,
            "metadata": {
                "attributes": {"gen_ai.tool.definitions": json.dumps([{"name": "dig", "parameters": schema}])}
            },
        },
        {
            "input": ask,
            "metadata": {
                "attributes": {
                    "model_request_parameters": {"function_tools": [{"name": "dig", "parameters_json_schema": schema}]}
                }
            },
        },
    ]
    for fields in listed:
        (imported,) = importers.read(trace([observation("g", 0, output="ok", **fields)]))
        assert [(tool["name"], tool["parameters"]) for tool in imported.tools] == [("dig", schema)]


def test_reasoning_of_the_conventions_stays_whole() -> None:
    part = {"type": "reasoning", "content": "hm", "signature": "s"}
    rows = [
        observation(
            "g", 0, input="go", output=[{"role": "assistant", "parts": [part, {"type": "text", "content": "ok"}]}]
        )
    ]
    assert importers.read(trace(rows))[0].events[-1].parts[0] == Reasoning("hm", "gen_ai", part)


def test_a_generation_traced_twice_is_read_once() -> None:
    rows = [
        observation("g", 0, input=[{"role": "user", "content": "go"}], output="ok"),
        observation("inner", 1, parentObservationId="g", input="user: go", output="ok"),
    ]
    (imported,) = importers.read(trace(rows))
    assert len(imported.events) == 2
    assert "traced again" in imported.warnings[0]


def test_outputs_without_a_readable_input_go_on_with_the_step_before() -> None:
    rows = [
        observation("root", 0, "SPAN", input={"prompt": "go", "system": "You dig."}),
        observation(
            "g1", 1, parentObservationId="root", input={"content": "role"}, output={"role": "assistant", "content": "1"}
        ),
        observation(
            "g2", 2, parentObservationId="root", input={"content": "role"}, output={"role": "assistant", "content": "2"}
        ),
    ]
    (imported,) = importers.read(trace(rows))
    assert imported.system == "You dig."
    assert [event.text for event in imported.events] == ["go", "1", "2"]
    assert any("hold no messages" in line for line in imported.warnings)


def test_an_agent_that_a_tool_started_does_not_take_over_the_instructions_of_the_one_above() -> None:
    ask = [{"role": "user", "content": "What grows?"}]
    rows = [
        observation("root", 0, "SPAN", input={"prompt": "go", "system": "You dig."}),
        observation(
            "g1", 1, parentObservationId="root", input="go", output=openai_rows(assistant("", ToolCall("c", "ask")))[0]
        ),
        observation("tool", 2, "TOOL", name="ask", parentObservationId="root"),
        observation("g2", 3, parentObservationId="tool", input=ask, output="Beans."),
    ]
    (imported,) = importers.read(trace(rows))
    (child,) = imported.children
    assert (imported.system, child.imported.system, child.call_id) == ("You dig.", "", "c")


def test_a_failed_generation_and_an_unknown_observation_are_control_events() -> None:
    imported = sample()
    kinds = [event.meta["control"] for event in imported.events if event.role == "control"]
    assert kinds == ["generation failed", "observation MOON_PHASE"]
    assert any("unknown type" in line for line in imported.warnings)
    with pytest.raises(WireError, match="strict") as caught:
        importers.read((SAMPLES / "langfuse.json").read_bytes(), strict=True)
    assert caught.value.path == "observations[11]"


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"id": ""}, "observations[1].id"),
        ({"startTime": "soon"}, "observations[1].startTime"),
        ({"input": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {}}]}]}, "observations[1].input[0]"),
        ({"output": {"choices": [{"message": {"role": "assistant", "content": 3}}]}}, "choices[0].message.content"),
    ],
)
def test_an_observation_that_cannot_be_read_names_its_place(row: Row, path: str) -> None:
    good = observation("g", 0, input="go", output="ok")
    with pytest.raises(WireError) as caught:
        importers.read(trace([good, {**observation("bad", 1), **row}]))
    assert caught.value.path.startswith(path)


def test_a_trace_without_a_generation_holds_nothing_to_import() -> None:
    with pytest.raises(WireError, match="nothing to import"):
        importers.read(trace([observation("s", 0, "SPAN", input="x")]))


KEYS = st.sampled_from(
    [
        *["role", "content", "parts", "type", "text", "tool_calls", "id", "function", "name", "arguments", "output"],
        *["messages", "choices", "message", "candidates", "object", "lc", "kwargs", "usage", "tools", "attributes"],
        *["tool_call_id", "functionCall", "functionResponse", "system", "input", "prompt", "contents", "call_id"],
        *["llm.input_messages.0.message.role", "pydantic_ai.all_messages", "gen_ai.tool.definitions", "level"],
    ]
)
SCALARS = st.sampled_from(
    [None, True, 3, "", "x", "user", "assistant", "tool", "system", "text", "function_call", "response", "ERROR", "{}"]
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
ROWS = st.fixed_dictionaries(
    {"type": st.sampled_from(["GENERATION", "TOOL", "AGENT", "SPAN", "ODD"]), "name": st.sampled_from(["x", "read"])},
    optional=dict.fromkeys(("input", "output", "metadata", "usageDetails", "level", "parentObservationId"), VALUES),
)


@given(rows=st.lists(ROWS, min_size=1, max_size=4), holder=VALUES)
def test_any_values_give_whole_pairs_or_an_error_in_words(rows: list[Row], holder: Any) -> None:
    found = [{**observation(f"o{at}", at), **row} for at, row in enumerate(rows)]
    try:
        sessions = importers.read(json.dumps({"trace": holder, "observations": found}).encode(), format="langfuse")
    except WireError:
        return
    for imported in sessions:
        made = {call.id for event in imported.events for call in event.calls}
        assert {event.result.call_id for event in imported.events if event.result} <= made
