"""Random conversations over both wires: whatever is written is valid, clean, stable and independent of
memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import Event, Image, Reasoning, Text, ToolCall, ToolResult, control
from foldmark.wire import WIRES, Wire, anthropic_writing, openai_writing, tools_of_calls
from foldmark.wire.grouping import Writer
from foldmark.wire.plain import clean_text

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
@pytest.mark.parametrize("module", [openai_writing, anthropic_writing], ids=["openai-chat", "anthropic"])
def test_what_was_written_before_never_shows_in_what_is_written_now(
    module: Any, lists: list[list[Event]], cuts: list[int]
) -> None:
    def fresh() -> Writer[Any]:
        return Writer(module._form, module._extend, module._fresh)

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
    for known in range(1, len(payload["messages"]) + 1):
        later = [p for p in whole if any(p.path.startswith(f"messages[{at}]") for at in range(known, 99))]
        found = wire.validate(payload, known, suspected=True)
        assert [problem for problem in found if problem in later] == later


@each_wire
@given(events=rounds())
def test_reading_what_was_written_keeps_calls_results_and_their_order(wire: Wire, events: list[Event]) -> None:
    payload = wire.write("", [], events)
    found = wire.read_messages(payload["messages"]).events
    assert len([call for event in found for call in event.calls]) == len([c for e in events for c in e.calls])
    assert len([e for e in found if e.role == "tool"]) == len([e for e in events if e.role == "tool"])
    assert json.dumps(wire.write("", [], found)) == json.dumps(payload)


@given(text=st.text(alphabet=st.characters(), max_size=40) | dirty)
def test_clean_text_changes_only_what_cannot_go_out(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert "\x00" not in clean
    if clean != text:
        assert "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)
