"""Recall in the prompt: the overview stands with the checkpoint and moves with it alone; what is brought before a turn
is the same for the whole turn, changes nothing in front of it, and never comes in as somebody's words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session
from foldmark.drafts import cost, payload_bytes, static_tokens
from foldmark.events import Event, ToolCall, assistant, control, injected, result, user
from foldmark.overview import HEADING
from foldmark.preloading import END
from foldmark.wire import VARIANTS, WIRES, openai_chat
from wire_pairs import broken_pairs

ALL = [*WIRES, *VARIANTS]
TOOLS = [{"name": name, "description": "", "parameters": {}} for name in ("session_search", "session_load")]


def framed(text: str) -> str:
    return f"(kept by the host)\n{text}"


def nothing(_: str) -> str:
    return ""


layouts = st.sampled_from(
    [
        {"checkpoint": place, "merge": merge, "format": function, "state_bar": bar}
        for place in ("user", "system")
        for merge in (True, False)
        for function in (None, framed, nothing)
        for bar in (False, True)
    ]
)
recalls = st.sampled_from(
    [
        {"overview_tokens": overview, "preload_tokens": preload, "preload_where": where}
        for overview, preload in ((60, 0), (300, 0), (0, 200), (60, 200))
        for where in ("covered", "user")
    ]
)
kinds = st.sampled_from(["talk", "talk", "talk", "user", "say", "call", "batch", "lost", "orphan", "note", "control"])
logs = st.lists(st.tuples(kinds, st.sampled_from([1, 20, 60])), min_size=16, max_size=40)


def told(story: list[tuple[str, int]]) -> list[Event]:
    """The events of a story: words, parallel calls, lost and orphan results, notices, control records."""
    out = [user("Begin.")]
    for number, (kind, size) in enumerate(story, 1):
        body = "\n".join(f"row {line} of step {number}: value_{number}_{line}" for line in range(size))
        calls = [ToolCall(f"c{number}_{at}", "read", json.dumps({"path": f"f{number}_{at}.py"})) for at in range(3)]
        calls = calls if kind == "batch" else calls[:1]
        answers = [] if kind == "lost" else [result(each.id, body, name="read") for each in reversed(calls)]
        out += {
            "talk": [user(f"Ask {number} of value_{number // 2}_0."), assistant(f"Noted {number}.")],
            "user": [user(f"Question {number}: {body[:400]}")],
            "say": [assistant(f"Answer {number}. {body}")],
            "note": [injected(f"[notice {number}] {body[:200]}")],
            "control": [control("change", {"n": number})],
            "orphan": [result(f"ghost{number}", body)],
        }.get(kind, [assistant(f"Step {number}.", *calls), *answers])
    return out


def session(layout: Mapping[str, Any], recall: Mapping[str, Any], **options: Any) -> Session:
    ticks = itertools.count(1_000, 5)
    base: dict[str, Any] = {
        "budget": {"target_tokens": 1_500, "output_reserve": 0},
        "admission": {"limit_tokens": 300},
        "recall": recall,
    }
    policy = Policy.coding(layout=layout, **{**base, **options})
    return Session("s", store=MemoryStore(), policy=policy, clock=lambda: float(next(ticks)))


def chunks(events: list[Event], size: int) -> list[list[Event]]:
    return [events[at : at + size] for at in range(0, len(events), size)]


@settings(max_examples=40)
@given(logs, st.integers(1, 5), layouts, recalls)
def test_the_stable_part_stands_in_front_of_the_next_request_unless_a_break_is_named(
    story: list[tuple[str, int]], size: int, layout: dict[str, Any], recall: dict[str, Any]
) -> None:
    made = session(layout, recall, window=9_000)
    last: list[str] = []
    for chunk in chunks(told(story), size):
        made.record(*chunk)
        request = made.request(wire=openai_chat, system="Be exact.", tools=TOOLS)
        shown = [request.system, *(repr(message.parts) for message in request.messages[: request.stable])]
        if shown[: len(last)] != last:
            assert request.report.epoch, "the prefix changed and no epoch is named"
        waits = any(message.role == "tool" and not message.seq for message in request.messages)
        last = [] if waits else shown  # a marker gives way to the result that it stands for


@settings(max_examples=40)
@given(logs, st.integers(2, 9), layouts, recalls, st.sampled_from(ALL), st.sampled_from([5_000, 64_000]))
def test_what_goes_out_is_valid_and_its_parts_are_what_it_weighs(
    story: list[tuple[str, int]], size: int, layout: dict[str, Any], recall: dict[str, Any], wire: Any, window: int
) -> None:
    made = session(layout, recall, window=window)
    for number, chunk in enumerate(chunks(told(story), size)):
        made.record(*chunk)
        if number == 2:
            made.compact(force=True)
        request = made.request(wire=wire, system="Be exact.", tools=TOOLS)
        assert broken_pairs(wire, request.payload()) == []
        sizes = request.tokens
        whole = static_tokens(request.system, request.tools) + cost(request.messages)
        assert whole <= sizes.total <= whole + 4, "a merged message counts as two"
        assert sizes.total <= request.ceiling
        assert sizes.preloaded <= recall["preload_tokens"] + 4, "with its message"
        frame = 120 if layout["format"] is nothing else 1  # head and foot of the record, else a break in front of it
        assert sizes.overview <= recall["overview_tokens"] + frame
        assert bool(sizes.preloaded) == bool(request.report.preloaded)
        text = request.system + "\n".join(message.text for message in request.messages)
        assert (HEADING in text or "can be recalled" in text) == bool(sizes.overview)
        assert (END in text) == bool(sizes.preloaded)


@settings(max_examples=40)
@given(logs, st.integers(2, 9), layouts, st.sampled_from(ALL))
def test_what_is_brought_changes_nothing_in_front_of_it(
    story: list[tuple[str, int]], size: int, layout: dict[str, Any], wire: Any
) -> None:
    made = session(layout, {"preload_tokens": 250}, window=64_000)
    off = made.policy.replace(recall={"preload_tokens": 0})
    for number, chunk in enumerate(chunks(told(story), size)):
        made.record(*chunk)
        if number == 2:
            made.compact(force=True)
        without = made.request(wire=wire, system="Be exact.", tools=TOOLS, policy=off)
        with_it = made.request(wire=wire, system="Be exact.", tools=TOOLS)
        assert with_it.system == without.system
        assert with_it.messages[: with_it.stable] == without.messages[: without.stable]
        assert with_it.without_preload().messages == without.messages
        assert payload_bytes(with_it.without_preload().payload()) == payload_bytes(without.payload())


@settings(max_examples=40)
@given(logs, st.integers(1, 9), st.sampled_from(["covered", "user"]))
def test_what_is_brought_stays_the_same_until_the_user_speaks_or_more_is_covered(
    story: list[tuple[str, int]], size: int, where: str
) -> None:
    made = session({}, {"preload_tokens": 250, "preload_where": where}, window=64_000)
    last: tuple[int, int, list[str]] | None = None
    for chunk in chunks(told(story), size):
        made.record(*chunk)
        request = made.request(wire=openai_chat)
        newest = max(event.seq for event in made.store.log(made.key) if event.is_user)
        brought = [message.text for message in request.messages[request.stable :]]
        now = (newest, request.report.version, brought)
        if last and last[:2] == now[:2]:
            assert now == last
        last = now


@settings(max_examples=40)
@given(
    story=st.lists(st.tuples(st.sampled_from(["say", "call", "ask"]), st.integers(1, 60)), min_size=3, max_size=14),
    layout=layouts,
    wire=st.sampled_from(ALL),
    force=st.integers(1, 3),
    overview=st.sampled_from([0, 60, 300]),
)
def test_what_we_wrote_comes_back_and_is_never_recorded(
    story: list[tuple[str, int]], layout: dict[str, Any], wire: Any, force: int, overview: int
) -> None:
    """S-PAIR-08, for callers who own the list."""
    recall = {"overview_tokens": overview, "preload_tokens": 250}
    made = session({**layout, "state_bar": False}, recall, window=32_000)
    made.record(user("Begin with the ledger."), assistant("I begin. " * 400), user("Which ledger?"))
    made.record(assistant("The second ledger."), user("Why?"))
    many, brought = 5, 0
    for number, (kind, size) in enumerate(story, 1):
        if number % force == 0:
            made.compact(force=True)
        request = made.request(wire=wire, system="Be exact.")
        payload, brought = request.payload(), brought + bool(request.report.preloaded)
        call = ToolCall(f"c{number}", "read", json.dumps({"path": f"f{number}.py"}))
        body = "\n".join(f"row {line} of {number}" for line in range(size))
        new = {
            "say": [assistant(f"Answer {number}. {body}"), user(f"And the ledger of row {number}?")],
            "ask": [assistant(f"Answer {number}."), user(f"Ask {number}: {body}"), assistant("Ok."), user("Ledger?")],
            "call": [assistant(f"Step {number}.", call), result(call.id, body, name="read")],
        }[kind]
        more = wire.write("", (), [user("x"), *new])[wire.MESSAGES][1:]
        found = made.follow([*payload[wire.MESSAGES], *more], wire=wire, system=_system(payload))
        many += len(new)
        assert found.forked_at is None
        assert [event.text for event in found.new] == [event.text for event in new]
        assert len(made.store.log(made.key)) == many, "something of ours was recorded"
        assert made.system == "Be exact."
    assert not [event for event in made.store.log(made.key) if HEADING in event.text or END in event.text]


def _system(payload: Mapping[str, Any]) -> str:
    held = payload.get("system") or payload.get("instructions") or payload.get("systemInstruction")
    if isinstance(held, Mapping):
        return "".join(part["text"] for part in held["parts"])
    return str(held or payload["messages"][0]["content"])
