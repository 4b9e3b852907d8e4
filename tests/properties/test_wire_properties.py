"""Random conversations over every wire: whatever is written is valid, clean, stable and independent of
memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.events import Event, Image, Reasoning, Text, ToolCall, ToolResult, control
from foldmark.wire import (
    WIRES,
    Wire,
    anthropic_writing,
    by_name,
    openai_responses,
    openai_writing,
    responses_writing,
    tools_of_calls,
)
from foldmark.wire.grouping import Writer
from foldmark.wire.plain import clean_text
from refused import EXACT, INEXACT

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)

words = st.text(max_size=12)
dirty = st.one_of(words, st.sampled_from(["\ud83d", "a\udc00b", "\x00", " ", "\n", "👩‍🌾", ""]))
call_ids = st.sampled_from(["a", "b", "c", "a.b", "a:b", "x" * 70, "\ud83d"])
names = st.sampled_from(["read", "files.read:0", "n" * 64, "läs"])
arguments = st.sampled_from(["{}", "", '{"a":1}', '{"a', "[1]", '{"a":"\\ud83d"}', '{"b":"\ud83d"}', "NaN", "null"])
images = st.sampled_from(
    [
        Image(media_type="image/png", data="AAAA"),
        Image(media_type="image/bmp", data="Qk0="),
        Image(url="https://x"),
    ]
)
reasoning = st.sampled_from(
    [
        Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
        Reasoning("", "anthropic", {"type": "redacted_thinking", "data": "eHh4"}),
        Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm"}),
        Reasoning("hm", "openai", {"reasoning_content": "hm"}),
        Reasoning("hm", "openai-responses", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        *(
            Reasoning("hm", "openai-responses", {"type": "reasoning", "id": name, "summary": []})
            for name in ("rs_1", "rs_2", "bad id")
        ),
        Reasoning("hm", "somebody", {"x": 1}),
    ]
)


@st.composite
def rounds(draw: st.DrawFn) -> list[Event]:
    """Whole rounds: each call is answered before the next assistant step, in any order, with other things
    between."""
    events: list[Event] = []
    for _ in range(draw(st.integers(0, 4))):
        events += draw(st.lists(speech(), max_size=2))
        ids = draw(st.lists(call_ids, max_size=3, unique=True))
        parts: list[Any] = draw(st.lists(reasoning, max_size=1))
        parts += [Text(text) for text in draw(st.lists(dirty, max_size=2))]
        parts += [ToolCall(call_id, draw(names), draw(arguments)) for call_id in ids]
        events.append(Event(role="assistant", origin="agent", parts=tuple(parts)))
        answers: list[Event] = [draw(answer(call_id)) for call_id in ids]
        events += draw(st.permutations([*answers, *draw(st.lists(speech(), max_size=1))]))
    return [*events, draw(speech())]


@st.composite
def speech(draw: st.DrawFn) -> Event:
    if draw(st.integers(0, 5)) == 0:
        return control("note", {"x": draw(dirty)})
    parts: list[Any] = [Text(text) for text in draw(st.lists(dirty, min_size=1, max_size=2))]
    parts += draw(st.lists(images, max_size=1))
    return Event(role="user", origin="user", parts=tuple(parts))


@st.composite
def answer(draw: st.DrawFn, call_id: str) -> Event:
    shown = tuple(draw(st.lists(images, max_size=1)))
    part = ToolResult(call_id, draw(dirty), is_error=draw(st.booleans()), images=shown)
    return Event(role="tool", origin="tool", parts=(part,))


@each_wire
@given(events=rounds())
def test_whole_rounds_give_a_payload_without_a_known_problem(wire: Wire, events: list[Event]) -> None:
    payload = wire.write("s", tools_of_calls(events), events)
    assert [problem for problem in wire.validate(payload) if problem.code != "no_messages"] == []


@each_wire
@given(events=rounds())
def test_every_payload_encodes_to_strict_utf8_without_nul(wire: Wire, events: list[Event]) -> None:
    text = json.dumps(wire.write("s\ud83d", [], events), ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode()


@each_wire
@given(events=rounds())
def test_the_same_events_give_the_same_bytes_and_equal_copies_too(wire: Wire, events: list[Event]) -> None:
    first = json.dumps(wire.write("s", [], events))
    copies = [Event(role=e.role, origin=e.origin, parts=e.parts, meta=e.meta) for e in events]
    assert json.dumps(wire.write("s", [], copies)) == first == json.dumps(wire.write("s", [], events))


@given(
    lists=st.lists(rounds(), min_size=2, max_size=4),
    cuts=st.lists(st.integers(0, 12), min_size=4, max_size=8),
)
@pytest.mark.parametrize(
    "module",
    [openai_writing, anthropic_writing, responses_writing],
    ids=["openai-chat", "anthropic", "openai-responses"],
)
def test_what_was_written_before_never_shows_in_what_is_written_now(
    module: Any, lists: list[list[Event]], cuts: list[int]
) -> None:
    def fresh() -> Writer[Any]:
        return Writer(module._form, module._extend, module._fresh, may_grow=module._WRITER._may_grow)

    warm = fresh()
    for events in variants(lists, cuts):
        assert warm.messages(events) == fresh().messages(events)


def variants(lists: list[list[Event]], cuts: list[int]) -> Iterator[list[Event]]:
    """Lists that share heads: grown, cut, and continued with the end of another one."""
    for at, cut in enumerate(cuts):
        mine, other = lists[at % len(lists)], lists[(at + 1) % len(lists)]
        yield mine[:cut]
        yield mine
        yield mine[:cut] + other[cut:]


@each_wire
@given(events=rounds())
def test_a_known_prefix_hides_nothing_behind_it(wire: Wire, events: list[Event]) -> None:
    payload = wire.write("", [], events)
    whole = wire.validate(payload, suspected=True)
    for known in range(1, len(payload[wire.MESSAGES]) + 1):
        later = [p for p in whole if any(p.path.startswith(f"{wire.MESSAGES}[{at}]") for at in range(known, 99))]
        found = wire.validate(payload, known, suspected=True)
        assert [problem for problem in found if problem in later] == later


@each_wire
@given(events=rounds())
def test_reading_what_was_written_keeps_calls_results_and_their_order(wire: Wire, events: list[Event]) -> None:
    payload = wire.write("", [], events)
    found = wire.read_payload(payload).events
    assert len([call for event in found for call in event.calls]) == len([c for e in events for c in e.calls])
    assert len([e for e in found if e.role == "tool"]) == len([e for e in events if e.role == "tool"])
    assert json.dumps(wire.write("", [], found)) == json.dumps(payload)


# -- payloads that callers changed

ROWS = [(name, payload) for table in (EXACT, INEXACT) for name, rows in table.items() for _, payload in rows]
JUNK = [None, 0, 1.5, True, "", "x", [], {}, ["x"], {"type": "text"}, [None], [[]], {"a": 1}]


@given(row=st.sampled_from(ROWS), junk=st.sampled_from(JUNK), data=st.data())
@settings(max_examples=400)
def test_no_validator_trips_over_a_value_of_a_wrong_type(row: tuple[str, Any], junk: Any, data: st.DataObject) -> None:
    name, payload = row
    changed = _replaced(payload, data.draw(st.sampled_from(list(_paths(payload))[:200])), junk)
    for problem in by_name(name).validate(changed, suspected=True):
        assert problem.path
        assert problem.message


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a payload."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    out = value.copy()
    out[path[0]] = _replaced(value[path[0]], path[1:], new)
    return out


# -- items of the Responses API, in any order that the model may give them

CALLED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "function_call", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "output": "x"}),
    ({"type": "custom_tool_call", "name": "p", "input": "+a"}, {"type": "custom_tool_call_output", "output": "x"}),
    (
        {"type": "shell_call", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "timeout"}}]},
    ),
    (
        {"type": "apply_patch_call", "status": "completed", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "apply_patch_call_output", "status": "completed"},
    ),
]


@st.composite
def responses(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Steps of several items, each with ids or without, and the answers in any order."""
    items: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            items.append({"type": "message", "role": "user", "content": "go"})
        answers: list[dict[str, Any]] = []
        for at, kind in enumerate(draw(st.lists(st.sampled_from(["rs", "msg", "fc", "ws"]), max_size=6))):
            name = f"{number}{at}"
            if kind == "rs":
                item = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
            elif kind == "msg":
                phase = draw(st.sampled_from([{}, {"phase": "commentary"}]))
                item = {"type": "message", "role": "assistant", "content": f"say {name}", **phase}
            elif kind == "ws":
                item = {"type": "web_search_call", "action": {}}
            else:
                call, answer = draw(st.sampled_from(CALLED))
                item = {**call, "call_id": name}
                answers.append({**answer, "call_id": name})
            prefix = {"custom_tool_call": "ctc"}.get(item["type"], kind)
            items.append({**item, "id": f"{prefix}_{name}"} if draw(st.booleans()) else item)
        items += draw(st.permutations(answers))
    return items


@given(items=responses())
def test_items_that_were_read_and_written_are_the_same_when_read_again(items: list[dict[str, Any]]) -> None:
    first = openai_responses.read_messages(items)
    payload = openai_responses.write("", [], first.events)
    again = openai_responses.read_messages(payload["input"])
    assert openai_responses.write("", [], again.events) == payload
    assert [p for p in openai_responses.validate(payload) if p.code != "no_messages"] == []
    said = [item for item in items if item["type"] not in ("reasoning", "web_search_call")]
    written = [item for item in payload["input"] if item["type"] not in ("reasoning", "web_search_call")]
    assert sorted(item["type"] for item in written) == sorted(item["type"] for item in said)
    texts = [[item["content"] for item in side if item["type"] == "message"] for side in (said, written)]
    assert len(texts[0]) == len(texts[1])


@given(items=responses())
def test_a_list_of_items_that_goes_on_begins_with_the_same_items(items: list[dict[str, Any]]) -> None:
    events = openai_responses.read_messages(items).events
    whole = openai_responses.write("", [], events)["input"]
    for length in range(1, len(events)):
        # A step whose calls are still answered may grow; what stands before it may not change.
        if events[length].role == "assistant" and not any(event.calls for event in events[length - 1 : length]):
            part = openai_responses.write("", [], events[:length])["input"]
            assert whole[: len(part)] == part


# -- from any wire to any other

each_pair = pytest.mark.parametrize(("source", "target"), list(permutations(WIRES, 2)), ids=lambda wire: wire.NAME)
plain_words = st.text(alphabet="ab äé漢 .", min_size=1, max_size=8).filter(str.strip).map(str.strip)
pictures = st.builds(Image, media_type=st.just("image/png"), data=st.sampled_from(["AAAA", "BBBB", "CCCC"]))


@st.composite
def conversations(draw: st.DrawFn) -> list[Event]:
    """Conversations that every provider could have had: ids are new each time, every call is answered."""
    events: list[Event] = []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        parts: list[Any] = [Text(draw(plain_words)), *draw(st.lists(pictures, max_size=1))]
        events.append(Event(role="user", origin="user", parts=tuple(parts)))
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"call_{number + more}" for more in range(draw(st.integers(1, 3)))]
            number += len(ids)
            parts = [*draw(st.lists(reasoning, max_size=1)), *map(Text, draw(st.lists(plain_words, max_size=1)))]
            parts += [ToolCall(call_id, draw(st.sampled_from(["read", "run"])), '{"a":1}') for call_id in ids]
            events.append(Event(role="assistant", origin="agent", parts=tuple(parts)))
            events += draw(st.permutations([draw(outcome(call_id)) for call_id in ids]))
        events.append(Event(role="assistant", origin="agent", parts=(Text(draw(plain_words)),)))
    return [*events, Event(role="user", origin="user", parts=(Text(draw(plain_words)),))]


@st.composite
def outcome(draw: st.DrawFn, call_id: str) -> Event:
    shown = tuple(draw(st.lists(pictures, max_size=1)))
    part = ToolResult(call_id, draw(plain_words), is_error=draw(st.booleans()), images=shown)
    return Event(role="tool", origin="tool", parts=(part,))


def told(events: Sequence[Event]) -> dict[str, Any]:
    """What a conversation says, whatever wire it came over: words by speaker, calls, which call each result answers
    (ids may be spelled anew), and images. Notes that wires put in brackets are their own words."""
    calls = [call for event in events for call in event.calls]
    place = {call.id: at for at, call in enumerate(calls)}
    results = sorted((place[held.call_id], held) for event in events if (held := event.result))
    speech = [part for event in events if event.role == "user" for part in event.parts]
    return {
        "user": [part.text for part in speech if isinstance(part, Text) and not part.text.startswith("[")],
        "agent": "".join(event.text for event in events if event.role == "assistant").replace("\n", ""),
        "calls": [(call.name, json.loads(call.arguments)) for call in calls],
        "results": [(at, held.text.partition("\n[")[0]) for at, held in results],
        "errors": [at for at, held in results if held.is_error],
        "images": sorted(
            [part.data for part in speech if isinstance(part, Image)]
            + [image.data for _, held in results for image in held.images]
        ),
    }


@each_pair
@settings(max_examples=30)
@given(events=conversations())
def test_what_one_wire_read_goes_over_any_other_or_is_said_to_be_lost(
    source: Wire, target: Wire, events: list[Event]
) -> None:
    read = source.read_payload(source.write("s", [], events)).events
    payload = target.write("s", tools_of_calls(read), read)
    assert target.validate(payload) == []
    arrived = target.read_payload(payload)
    before, after, lost = told(read), told(arrived.events), " ".join(target.lost(read))
    if "error mark" in lost:
        assert set(after.pop("errors")) < set(before.pop("errors"))
    assert after == before
    for event in read:
        for part in event.parts:
            if isinstance(part, Reasoning) and part.raw is not None and part.raw not in _blocks_of(payload):
                assert f"reasoning of {part.provider}" in lost
    assert json.dumps(target.write("s", arrived.tools, arrived.events)) == json.dumps(payload)


def _blocks_of(value: Any) -> list[Any]:
    """Every object inside a payload, to look for a block byte by byte."""
    if isinstance(value, dict):
        return [value, *(found for inner in value.values() for found in _blocks_of(inner))]
    return [found for inner in value for found in _blocks_of(inner)] if isinstance(value, list) else []


@each_wire
@given(events=rounds())
def test_reasoning_goes_out_whole_or_not_at_all(wire: Wire, events: list[Event]) -> None:
    held = [part for event in events for part in event.parts if isinstance(part, Reasoning) and part.raw]
    whole = [part.raw for part in held if part.provider in (wire.NAME, "anthropic", "openai-responses")]
    written = _blocks_of(wire.write("", [], events))
    gone = [part for part in held if part.raw not in written and part.provider in (wire.NAME, "anthropic")]
    assert bool(gone) <= any("reasoning" in line for line in wire.lost(events))
    for block in written:
        if block.get("type") in ("thinking", "redacted_thinking", "reasoning"):
            assert block in whole


@given(text=st.text(alphabet=st.characters(), max_size=40) | dirty)
def test_clean_text_changes_only_what_cannot_go_out(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert "\x00" not in clean
    if clean != text:
        assert "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)
