"""Doctor's words and its copy agree: advice, the list of changes and their places, thinking that is asked to leave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from data import shared
from foldmark import doctor

Rows = list[dict[str, Any]]
SEALED = "AAAA"


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def paths(data: bytes, **options: Any) -> dict[str, str]:
    return {problem.path: problem.code for problem in doctor.examine(data, **options).problems}


def changes(made: doctor.Repair) -> dict[str, str]:
    return {change.path: change.code for change in made.changes}


def record(key: str, parent: str | None, role: str, content: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"parentUuid": parent, "isSidechain": False, "type": role, "message": message, "uuid": key, "sessionId": "s"}


def use(key: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": "read", "input": {}}


def result(key: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": f"of {key}"}


def thought(signature: str = SEALED) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


# -- the tree


SWAPPED = [
    record("a", None, "user", "go"),
    record("c", "b", "assistant", [use("t2")]),
    record("b", "lost", "assistant", [use("t1")]),
    record("d", "c", "user", [result("t1"), result("t2")]),
]


def test_joining_a_line_never_makes_a_circle_that_the_file_does_not_hold() -> None:
    found = paths(lines(SWAPPED), format="claude-code")
    assert found == {"line 3": "parent_missing", "line 2": "row_order"}
    made = doctor.repair(lines(SWAPPED), format="claude-code")
    rows = [json.loads(line) for line in made.data.splitlines()]
    assert [(row["uuid"], row["parentUuid"]) for row in rows] == [("a", None), ("b", "a"), ("c", "b"), ("d", "c")]
    assert made.after.problems == ()


@pytest.mark.parametrize("lost", [("b",), ("b", "d"), ("a", "c"), ("a", "b", "c", "d", "e")])
def test_lines_in_any_order_are_joined_without_a_circle(lost: tuple[str, ...]) -> None:
    keys = "abcde"
    rows = [
        record(key, f"lost-{key}" if key in lost else keys[at - 1] if at else None, "user", f"words {key}")
        for at, key in enumerate(keys)
    ]
    for order in (rows, rows[::-1], [*rows[1::2], *rows[::2]], [*rows[::2], *rows[1::2]]):
        assert "parent_loop" not in paths(lines(order), format="claude-code").values()
        assert doctor.repair(lines(order), format="claude-code").after.problems == ()


def test_a_circle_of_the_file_is_still_said_beside_a_lost_parent() -> None:
    rows = [record("a", None, "user", "go"), record("b", "c", "user", "1"), record("c", "b", "user", "2")]
    made = doctor.repair(lines([*rows, record("d", "lost", "user", "3")]), format="claude-code")
    assert set(changes(made).values()) == {"parent_missing", "parent_loop"}
    assert made.after.problems == ()


def test_a_result_in_front_of_its_call_is_an_error_and_the_move_names_the_line() -> None:
    rows = [
        record("a", None, "user", "go"),
        record("c", "b", "user", [result("t")]),
        record("b", "a", "assistant", [use("t")]),
    ]
    found = doctor.examine(lines(rows), format="claude-code")
    assert [(one.path, one.code, one.severity) for one in found.problems] == [("line 2", "result_before_call", "error")]
    made = doctor.repair(lines(rows), format="claude-code")
    assert [one.message for one in made.changes] == ["moved behind line 3"]
    assert made.after.problems == ()


def test_a_result_in_front_of_its_call_is_one_too_when_another_row_stands_between() -> None:
    rows = [
        record("a", None, "user", "go"),
        record("d", "c", "user", [result("t")]),
        record("b", "a", "assistant", [use("t")]),
        record("c", "b", "assistant", [use("u")]),
        record("e", "d", "user", [result("u")]),
    ]
    assert paths(lines(rows), format="claude-code") == {"line 2": "result_before_call"}


def test_a_real_session_with_a_lost_and_two_swapped_lines_gets_its_calls_in_their_order() -> None:
    given = shared("data/trajectories/claude-code/5c0375b4.jsonl").read_bytes().splitlines(keepends=True)
    data = b"".join([*given[:10], given[12], given[11], *given[13:]])
    assert "parent_loop" not in paths(data).values()
    made = doctor.repair(data)
    assert made.after.ok

    def calls(lines: list[bytes]) -> list[str]:
        contents = [json.loads(line).get("message", {}).get("content") for line in lines]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        return [block["id"] for block in blocks if block["type"] == "tool_use"]

    assert calls(made.data.splitlines()) == calls([*given[:10], *given[11:]])


# -- a list without a place for system text


TALK: Rows = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [use("t")]}]
WITH_SYSTEM: Rows = [{"role": "system", "content": "be kind"}, *TALK, {"role": "user", "content": [result("t")]}]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (dump({"messages": WITH_SYSTEM}), "messages[0].role"),
        (dump(WITH_SYSTEM), "[0].role"),
        (lines(WITH_SYSTEM), "line 1 role"),
    ],
)
def test_system_text_in_front_is_the_same_problem_in_every_form(data: bytes, path: str) -> None:
    found = doctor.examine(data)
    assert [(one.path, one.code, one.severity) for one in found.problems] == [(path, "system_placement", "error")]


@pytest.mark.parametrize("data", [dump(WITH_SYSTEM), lines(WITH_SYSTEM)])
def test_a_bare_list_has_no_place_for_system_text_and_doctor_says_so(data: bytes) -> None:
    (problem,) = doctor.examine(data).problems
    assert "has no place for it" in problem.message
    assert "--repair" not in problem.advice
    made = doctor.repair(data)
    assert (made.data, made.changes, made.after.ok) == (data, (), False)


# -- thinking


@pytest.mark.parametrize("signature", ["not base64!", "AAAA=A", "AAA==", "AAAA…"])
def test_a_signature_that_is_no_base64_is_suspected(signature: str) -> None:
    step = {"role": "assistant", "content": [thought(signature), {"type": "text", "text": "ok"}]}
    found = doctor.examine(dump({"messages": [TALK[0], step]}), format="anthropic-messages")
    assert [(one.code, one.severity) for one in found.problems] == [("thinking_suspect", "warning")]
    assert "--without-thinking" in found.problems[0].advice


@pytest.mark.parametrize("signature", ["AAAA", "AAA=", "AA==", "AA", "a+/b", "a-_b"])
def test_base64_of_either_spelling_is_no_suspicion(signature: str) -> None:
    step = {"role": "assistant", "content": [thought(signature), {"type": "text", "text": "ok"}]}
    assert doctor.examine(dump({"messages": [TALK[0], step]}), format="anthropic-messages").problems == ()


def rollout(items: Rows) -> Rows:
    meta = {"id": "x", "timestamp": "t", "cwd": "/w", "originator": "o", "cli_version": "1"}
    return [
        {"type": "session_meta", "payload": meta},
        *({"type": "response_item", "payload": item} for item in items),
    ]


ITEMS: Rows = [
    {"type": "message", "role": "user", "content": "go"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "x"},
]
BLOCKS = [thought(), {"type": "redacted_thinking", "data": "AAAA"}, use("t")]
CHAT_STEP = {"role": "assistant", "content": "ok", "reasoning_content": "hm", "thinking_blocks": [thought()]}
THOUGHTS = [{"text": "hm", "thought": True}, {"text": "ok"}]
THINKING = {
    "anthropic-messages": dump({"messages": [TALK[0], {"role": "assistant", "content": BLOCKS}, WITH_SYSTEM[-1]]}),
    "claude-code": lines(
        [
            record("a", None, "user", "go"),
            record("b", "a", "assistant", [thought()]),
            record("c", "b", "assistant", [use("t")]),
            record("d", "c", "user", [result("t")]),
        ]
    ),
    "codex": lines(rollout(ITEMS)),
    "openai-items": dump({"input": ITEMS}),
    "openai-messages": dump({"messages": [TALK[0], CHAT_STEP]}),
    "gemini-contents": dump(
        {"contents": [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": THOUGHTS}]}
    ),
}


@pytest.mark.parametrize("format", THINKING)
def test_thinking_leaves_whole_when_asked_and_each_block_is_listed(format: str) -> None:
    data = THINKING[format]
    untouched = doctor.repair(data, format=format)
    assert (untouched.data, untouched.changes) == (data, ())
    made = doctor.repair(data, format=format, without_thinking=True)
    assert made.after.problems == ()
    for word in (b"thinking", b"reasoning", b"signature", b'"hm"', b"rs_1", b"fc_1"):
        assert word not in made.data, word
    assert b"go" in made.data or b"hi" in made.data
    assert "without_thinking" in changes(made).values()
    again = doctor.repair(made.data, format=format, without_thinking=True)
    assert (again.data, again.changes) == (made.data, ())


def test_thinking_of_a_line_that_a_rewind_left_leaves_too() -> None:
    rows = [record("a", None, "user", "go"), record("b", "a", "assistant", [thought(), use("dead")])]
    data = lines([*rows, record("c", "a", "user", "so")])
    made = doctor.repair(data, format="claude-code", without_thinking=True)
    assert changes(made) == {"line 2 message.content[0]": "without_thinking"}
    assert b"AAAA" not in made.data


# -- changes


def test_a_change_is_at_its_place_in_the_file_that_was_read() -> None:
    step = {"role": "assistant", "content": [{**thought(), "signature": ""}, {"type": "text", "text": "so"}, use("t")]}
    data = dump([TALK[0], step, {"role": "user", "content": "and?"}])
    made = doctor.repair(data, format="anthropic-messages")
    assert changes(made) == {"[1].content[0].signature": "signature", "[1].content[2]": "missing_result"}


def test_a_result_that_goes_to_the_front_is_at_its_place_in_the_file_that_was_read() -> None:
    step = {"role": "assistant", "content": [use("t"), use("u")]}
    answer = {"role": "user", "content": [{"type": "text", "text": "so"}, result("t"), result("z")]}
    made = doctor.repair(dump([TALK[0], step, answer]), format="anthropic-messages")
    assert changes(made)["[2].content[1]"] == "result_order"
    assert made.after.problems == ()


def test_a_message_that_leaves_with_its_only_block_is_listed() -> None:
    step = {"role": "assistant", "content": [{**thought(), "signature": ""}]}
    data = dump([TALK[0], step, {"role": "user", "content": "and?"}])
    made = doctor.repair(data, format="anthropic-messages")
    assert changes(made) == {"[1].content[0].signature": "signature", "[1]": "empty_content"}
    assert json.loads(made.data) == [TALK[0], {"role": "user", "content": "and?"}]


@pytest.mark.parametrize(
    "data",
    [
        b'{"model": "m", "tools": [], "messages": [{"role": "user", "content": "hi"}]}',
        b'{"tools": [ ] ,\n "tool_choice": "auto", "messages": [{"role": "user", "content": "hi"}], "model": "m"}',
        b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [], "tool_choice": "auto"}\n',
        b'{"tool_choice": "auto", "messages": [{"role": "user", "content": "hi"}], "model": "m", "tools": []}',
    ],
)
def test_an_empty_list_of_tools_is_left_out_with_the_choice_among_them(data: bytes) -> None:
    assert paths(data) == {"tools": "empty_tools"}
    made = doctor.repair(data)
    assert json.loads(made.data) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert (set(changes(made).values()), made.after.problems) == ({"empty_tools"}, ())


# -- advice


def _failed(kind: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    return {**result("t"), "is_error": True, "content": [{"type": kind, "source": source}]}


FIXABLE = {
    "tool_name": dump([TALK[0], {"role": "assistant", "content": [{**use("t"), "name": "a b"}]}, WITH_SYSTEM[-1]]),
    "thinking_last": dump([TALK[0], {"role": "assistant", "content": [{"type": "text", "text": "x"}, thought()]}]),
    "error_content": dump([*TALK, {"role": "user", "content": [_failed("image")]}]),
    "result_order": dump([*TALK, {"role": "user", "content": [{"type": "text", "text": "x"}, result("t")]}]),
    "duplicate_call_id": dump([TALK[0], {"role": "assistant", "content": [use("t"), use("t")]}, WITH_SYSTEM[-1]]),
}


@pytest.mark.parametrize("code", FIXABLE)
def test_advice_says_in_a_clause_what_the_repair_does(code: str) -> None:
    data = FIXABLE[code]
    advice = {one.code: one.advice for one in doctor.examine(data, format="anthropic-messages").problems}
    assert "`--repair OUT`" in advice[code]
    assert "mends it" not in advice[code]
    assert "where the message is written" not in advice[code]
    assert doctor.repair(data, format="anthropic-messages").after.ok


def test_advice_on_an_id_that_stands_twice_speaks_of_both_ways_out() -> None:
    found = doctor.examine(FIXABLE["duplicate_call_id"], format="anthropic-messages").problems
    (advice,) = [one.advice for one in found if one.code == "duplicate_call_id"]
    assert "id of its own" in advice
    assert "left out" in advice


def test_what_no_mend_can_change_is_not_promised() -> None:
    tool = {"type": "function", "function": {"name": "a b", "parameters": {"type": "object"}}}
    data = dump({"model": "m", "tools": [tool], "messages": [{"role": "user", "content": "hi"}]})
    (problem,) = doctor.examine(data).problems
    assert (problem.code, "--repair" in problem.advice) == ("tool_name", False)


# -- rollouts without a head


ROLLOUT = "rollout-2026-11-20T10-00-00-0199a213-81c0-7800-8aa1-bbab2a035a53.jsonl"


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("stamp", [{}, {"timestamp": "2026-11-20T10:00:03.000Z"}])
def test_a_rollout_without_its_head_gets_one_from_its_name_and_a_turn_context(at: int, stamp: dict[str, str]) -> None:
    rows: Rows = [{**stamp, "type": "response_item", "payload": item} for item in (ITEMS[0], ITEMS[0])]
    rows.insert(at, {**stamp, "type": "turn_context", "payload": {"cwd": "/home/u/proj"}})
    made = doctor.repair(lines(rows), name=ROLLOUT)
    head = json.loads(made.data.splitlines()[0])
    assert head["payload"]["id"] == "0199a213-81c0-7800-8aa1-bbab2a035a53"
    assert head["payload"]["cwd"] == "/home/u/proj"
    assert head["timestamp"] == (stamp.get("timestamp") or "2026-11-20T10:00:00.000Z")
    assert made.after.problems == ()
