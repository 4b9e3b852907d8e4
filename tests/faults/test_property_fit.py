"""FIT as one property: every request fits, measured again on the payload, or the error's arithmetic says why not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, fresh, lines_of, pair, pairs_of
from stories import SYSTEM, moves, told
from turns import errors, strings

from foldmark import BudgetExceeded, Policy, PolicyError
from foldmark.events import Event, Reasoning, Text, ToolCall, assistant, result, user
from foldmark.media_prices import difference
from foldmark.tokens import count
from foldmark.wire import WIRES

HUGE = "a long word of nothing in particular "
PICTURE = told([("image", 1)])
KINDS = ("words", "own words", "reasoning", "arguments", "result", "unread result", "two results", "notes")


def huge(kind: str, tokens: int) -> list[Event]:
    """One item of a kind that costs about so many tokens."""
    text = HUGE * (tokens // 6 + 1)
    write, read = ToolCall("h", "write", json.dumps({"path": "a", "content": text})), ToolCall("h", "read", "{}")
    thought = Reasoning(text, "anthropic", {"type": "thinking", "thinking": text, "signature": "c2ln"})
    return {
        "words": [user(text)],
        "own words": [assistant(text)],
        "reasoning": [Event(role="assistant", origin="agent", parts=(thought, Text("ok")))],
        "arguments": [assistant("", write), result("h", "ok"), assistant("Written.")],
        "result": [assistant("", read), result("h", text), assistant("Read.")],
        "unread result": [assistant("", read), result("h", text)],
        "two results": [assistant("", read, ToolCall("i", "read", "{}")), result("h", text), result("i", text)],
        "notes": [user(f"Note {n}.") for n in range(tokens // 8)],
    }[kind]


def tool_of(tokens: int) -> list[dict[str, Any]]:
    if not tokens:
        return []
    return [{"name": "t", "description": "word " * tokens, "parameters": {"type": "object", "properties": {}}}]


@settings(max_examples=50)
@given(
    story=moves.map(told),
    kind=st.sampled_from(KINDS),
    item=st.sampled_from([10, 900, 3_000, 7_000, 20_000]),
    window=st.sampled_from([3_000, 4_096, 8_192, 16_000, 200_000]),
    max_output=st.sampled_from([None, 0, 500, 4_096, 16_000]),
    system=st.sampled_from([0, 400, 6_000]),
    schemas=st.sampled_from([0, 700]),
    is_raw=st.booleans(),
    run=st.sampled_from(["inline", "manual"]),
    wire=st.sampled_from(WIRES),
)
@example(pairs_of(3), "result", 130_000, 200_000, 20_000, 0, 0, False, "inline", WIRES[0]).via("S-FIT-03: 91K to 464K")
@example(pairs_of(60, 700), "result", 10, 32_000, None, 0, 0, True, "manual", WIRES[0]).via("S-FIT-04: only traffic")
@example(pairs_of(20, 700), "result", 10, 20_000, 4_096, 0, 2_000, True, "inline", WIRES[1]).via("S-FIT-05: reserves")
@example(pairs_of(60, 900), "result", 10, 20_000, None, 0, 0, True, "inline", WIRES[2]).via("S-FIT-06: small window")
@example([], "unread result", 7_000, 8_192, 4_096, 412, 0, True, "inline", WIRES[3]).via("S-FIT-13: a small window")
@example([], "words", 7_417, 8_192, 4_096, 412, 0, True, "inline", WIRES[0]).via("S-FIT-13: words do not shrink")
@example(pairs_of(40, 1_500), "result", 10, 110_000, None, 6_000, 20_000, True, "inline", WIRES[0]).via("S-COUNT-05")
@example(PICTURE, "words", 10, 3_000, None, 0, 0, False, "inline", WIRES[0]).via("S-COUNT-03: a price above ours")
@example(pairs_of(4), "notes", 4_000, 4_096, 500, 0, 0, True, "manual", WIRES[1]).via("S-LOSS-08, many unanswered")
def test_a_request_fits_or_the_error_counts_what_is_too_much(
    story: list[Event], kind: str, item: int, window: int, max_output: int | None, system: int, schemas: int,
    is_raw: bool, run: Any, wire: Any,
) -> None:  # fmt: skip
    admission = {**RAW, "user_words_tokens": 1_000_000} if is_raw else {}
    session = fresh(Policy.coding(run=run, admission=admission))
    session.record(user("Begin."), *story[: len(story) // 2], *huge(kind, item), *story[len(story) // 2 :])
    before = session.store.log(session.key)
    options: dict[str, Any] = {"system": "word " * system, "tools": tool_of(schemas), "window": window}
    try:
        request = session.request(wire=wire, max_output=max_output, **options)
    except PolicyError as error:
        reserve = max_output or min(16_000, window * 0.12)
        assert 0.85 * (window - reserve) - system - schemas < 2_100, "there was room enough"
        assert f"{window:,}" in str(error)  # noqa: PT017 - the third end is a request
    except BudgetExceeded as error:
        lines = dict(error.lines)
        room = lines["= room for the whole request"]
        assert room == lines["context window"] + lines["- reserved for the answer"] + lines["- safety margin"]
        names = list(lines)
        used = names[names.index("= room for the whole request") + 1 :]
        assert room + sum(lines[name] for name in used) < 0, "what is counted is not too much"
    else:
        payload = request.payload()
        assert errors(payload, wire.NAME) == []
        sent = count("\n".join(strings(payload))) + (max_output or 0)
        assert sent <= window, "counted again on what goes out"
        assert request.tokens.total <= request.ceiling <= window - (max_output or 0)
        gone = {change.seq for change in request.report.changes if change.status == "left_out"}
        covered = set(range(1, request.report.boundary + 1))
        silent = {event.seq for event in before if event.role == "control"}
        shown = {event.seq for event in request.messages if event.seq}
        assert shown | gone | covered | silent == {event.seq for event in before}, "something went without a word"
    assert session.store.log(session.key) == before


@settings(max_examples=25)
@given(
    story=moves.map(told),
    near=st.integers(-900, 40),
    max_output=st.sampled_from([100, 4_096]),
    place=st.sampled_from(["user", "system"]),
    is_compacted=st.booleans(),
    wire=st.sampled_from(WIRES),
)
@example(pairs_of(6, 700), 0, 100, "user", False, WIRES[0]).via("S-PAIR-06, S-COUNT-14: exactly the budget")
@example(pairs_of(6, 700), -1, 100, "user", False, WIRES[1]).via("S-FIT-05: a few tokens too many")
@example(pairs_of(12, 700), -1, 4_096, "system", True, WIRES[2]).via("S-COUNT-14: with a record in the system text")
def test_at_the_edge_of_the_room_what_fits_stays_and_one_token_more_gives_way(
    story: list[Event], near: int, max_output: int, place: str, is_compacted: bool, wire: Any
) -> None:
    policy = Policy.coding(run="manual", admission=RAW, layout={"checkpoint": place}, budget={"target_tokens": 3_000})
    session = fresh(policy)
    session.record(user("Begin."), *story)
    if is_compacted:
        session.compact(force=True, window=1_000_000)
    whole = session.request(wire=wire, system=SYSTEM, window=1_000_000, max_output=max_output)
    images = difference(whole.messages, wire.NAME)
    wanted = whole.tokens.total + images + near
    margin = max(512, round((wanted + max_output) / 0.97 * 0.03))
    try:
        request = session.request(wire=wire, window=wanted + max_output + margin, max_output=max_output)
    except (BudgetExceeded, PolicyError):
        assert near < 0 or whole.tokens.total < 3_000
        return
    assert abs(request.ceiling - wanted) <= 1
    assert request.tokens.total + difference(request.messages, wire.NAME) <= request.ceiling
    if near > 1:
        assert request.payload() == whole.payload()


def test_the_property_of_this_file_meets_all_three_ends() -> None:
    """A request, BudgetExceeded and PolicyError are all reached by it."""
    session = fresh(Policy.coding(admission={**RAW, "user_words_tokens": 1_000_000}))
    session.record(user("Begin."), *pair(1), user(lines_of(7_000)))
    assert session.request(window=200_000).tokens.total > 5_000
    with pytest.raises(BudgetExceeded):
        session.request(window=4_096)
    with pytest.raises(PolicyError):
        session.request(window=4_096, max_output=4_000)
