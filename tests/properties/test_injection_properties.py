"""Wherever the checkpoint stands and however it is framed: nothing behind the boundary is trimmed unsaid, the prefix
stays, and our own text never comes in as somebody's words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session
from foldmark.events import Event, ToolCall, assistant, control, injected, result, user
from foldmark.render import TAG
from foldmark.wire import VARIANTS, WIRES, openai_chat
from making import long_session
from wire_pairs import broken_pairs

ALL = [*WIRES, *VARIANTS]
FRAME = "(kept by the host; the talk below wins)"


def framed(text: str) -> str:
    return f"{FRAME}\n{text}"


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
kinds = st.sampled_from(
    ["talk", "talk", "talk", "user", "say", "call", "call", "batch", "lost", "orphan", "note", "control", "long"]
)
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
            "talk": [user(f"Ask {number}."), assistant(f"Noted {number}.")],
            "user": [user(f"Question {number}: {body[:400]}")],
            "long": [user(f"Long question {number}: {body}")],
            "say": [assistant(f"Answer {number}. {body}")],
            "note": [injected(f"[notice {number}] {body[:200]}")],
            "control": [control("change", {"n": number})],
            "orphan": [result(f"ghost{number}", body)],
        }.get(kind, [assistant(f"Step {number}.", *calls), *answers])
    return out


def session(layout: Mapping[str, Any], **options: Any) -> Session:
    ticks = itertools.count(1_000, 5)
    base = {"budget": {"target_tokens": 1_200, "output_reserve": 0}, "admission": {"limit_tokens": 300}}
    policy = Policy.coding(layout=layout, **{**base, **options})
    return Session("s", store=MemoryStore(), policy=policy, clock=lambda: float(next(ticks)))


def chunks(events: list[Event], size: int) -> list[list[Event]]:
    return [events[at : at + size] for at in range(0, len(events), size)]


@given(
    logs,
    st.integers(1, 9),
    layouts,
    st.sampled_from(ALL),
    st.sampled_from([4_000, 64_000]),
    st.sampled_from(["inline", "manual"]),
)
def test_no_event_behind_the_boundary_is_trimmed_unless_it_is_demoted_or_fit_names_it(
    story: list[tuple[str, int]], size: int, layout: dict[str, Any], wire: Any, window: int, run: str
) -> None:
    made = session(layout, window=window, run=run)
    for number, chunk in enumerate(chunks(told(story), size)):
        made.record(*chunk)
        if number == 2:
            made.compact(force=True)
        request = made.request(wire=wire, system="Be exact.")
        view = made.store.view(made.key)
        boundary = view.checkpoint.boundary if view.checkpoint else 0
        shown = {message.seq for message in request.messages if message.seq}
        changes = {change.seq: change for change in request.report.changes}
        behind = [event for event in made.store.log(made.key) if event.seq > boundary and event.role != "control"]
        for event in behind:
            said = changes.get(event.seq)
            assert event.seq in shown or (said and said.reason.startswith("fit: ")), f"event {event.seq} is gone unsaid"
            if said and said.status == "left_out":
                assert request.report.epoch
        assert broken_pairs(wire, request.payload()) == []


@pytest.mark.parametrize("checkpoint", ["user", "system"])
def test_a_tail_of_any_length_stands_whole_behind_the_boundary(checkpoint: str) -> None:
    """There is no limit of history beside the budget: 2,000 messages behind a boundary are 2,000 messages."""
    made = session({"checkpoint": checkpoint}, run="manual", cleanup={"demote": False, "duplicates": False})
    made.record(*long_session(40))
    assert made.compact(force=True, window=64_000).outcome == "applied"
    boundary = made.control.history()[-1].boundary
    made.record(*(each for n in range(1_000) for each in (user(f"Ask {n}."), assistant(f"Say {n}."))))
    request = made.request(window=1_000_000)
    log = made.store.log(made.key)
    assert [message.seq for message in request.messages if message.seq > boundary] == [
        event.seq for event in log if event.seq > boundary
    ]
    assert not request.report.changes


@given(logs, st.integers(1, 5), layouts)
def test_the_stable_part_stands_in_front_of_the_next_request_or_the_report_says_why_not(
    story: list[tuple[str, int]], size: int, layout: dict[str, Any]
) -> None:
    made = session(layout, window=9_000)
    last: list[str] = []
    for chunk in chunks(told(story), size):
        made.record(*chunk)
        request = made.request(wire=openai_chat, system="Be exact.")
        shown = [request.system, *(repr(message.parts) for message in request.messages[: request.stable])]
        if shown[: len(last)] != last:
            assert request.report.epoch, "the prefix changed and no epoch is named"
        waits = any(message.role == "tool" and not message.seq for message in request.messages)
        last = [] if waits else shown  # a marker gives way to the result that it stands for


@settings(max_examples=40)
@given(
    story=st.lists(st.tuples(st.sampled_from(["say", "call", "ask"]), st.integers(1, 60)), min_size=3, max_size=14),
    layout=layouts,
    wire=st.sampled_from(ALL),
    force=st.integers(1, 3),
)
def test_what_we_wrote_comes_back_and_never_becomes_anybodys_words(
    story: list[tuple[str, int]], layout: dict[str, Any], wire: Any, force: int
) -> None:
    """S-PAIR-08, for callers who own the list, in every place and framing."""
    made = session({**layout, "state_bar": False}, window=32_000)
    made.record(user("Begin."), assistant("I begin. " * 400), user("Which ledger?"), assistant("The second."))
    made.record(user("Why?"))
    count = 5
    for number, (kind, size) in enumerate(story, 1):
        if number % force == 0:
            made.compact(force=True)
        payload = made.request(wire=wire, system="Be exact.").payload()
        call = ToolCall(f"c{number}", "read", json.dumps({"path": f"f{number}.py"}))
        body = "\n".join(f"row {line} of {number}" for line in range(size))
        new = {
            "say": [assistant(f"Answer {number}. {body}"), user(f"And {number}?")],
            "ask": [assistant(f"Answer {number}."), user(f"Ask {number}: {body}"), assistant("Ok."), user("Why?")],
            "call": [assistant(f"Step {number}.", call), result(call.id, body, name="read")],
        }[kind]
        more = wire.write("", (), [user("x"), *new])[wire.MESSAGES][1:]
        found = made.follow([*payload[wire.MESSAGES], *more], wire=wire, system=_system(payload))
        count += len(new)
        assert found.forked_at is None
        assert [event.text for event in found.new] == [event.text for event in new]
        assert len(made.store.log(made.key)) == count, "something of ours was recorded"
        assert made.system == "Be exact."
    assert not [event for event in made.store.log(made.key) if TAG in event.text or FRAME in event.text]


def _system(payload: Mapping[str, Any]) -> str:
    held = payload.get("system") or payload.get("instructions") or payload.get("systemInstruction")
    if isinstance(held, Mapping):
        return "".join(part["text"] for part in held["parts"])
    return str(held or payload["messages"][0]["content"])
