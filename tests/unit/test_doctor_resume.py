"""Doctor looks at what an agent resumes with: the live line of a session, the new history of a rollout."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from foldmark import doctor
from foldmark.doctor.talk import NO_RESULT
from foldmark.errors import PolicyError, WireError

Rows = list[dict[str, Any]]


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def paths(data: bytes, **options: Any) -> dict[str, str]:
    return {problem.path: problem.code for problem in doctor.examine(data, **options).problems}


# -- Claude Code


def record(key: str, parent: str | None, role: str, content: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"parentUuid": parent, "isSidechain": False, "type": role, "message": message, "uuid": key, "sessionId": "s"}


def use(key: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": key, "name": "read", "input": {}}]


def test_a_call_on_a_line_that_a_rewind_left_is_dead_and_no_problem() -> None:
    rows = [record("a", None, "user", "go"), record("b", "a", "assistant", use("dead")), record("c", "a", "user", "so")]
    data = lines([*rows, record("d", "c", "assistant", [{"type": "text", "text": "done"}])])
    assert paths(data, format="claude-code") == {}
    made = doctor.repair(data, format="claude-code")
    assert (made.data, made.changes) == (data, ())


def test_the_line_with_the_newest_message_is_the_one_that_is_resumed() -> None:
    rows = [record("a", None, "user", "go"), record("c", "a", "user", "so"), record("b", "a", "assistant", use("live"))]
    assert paths(lines(rows), format="claude-code") == {"line 3 message.content[0]": "missing_result"}


def test_a_session_of_many_lines_in_any_order_is_read_without_depth() -> None:
    rows = [record(f"u{at}", f"u{at - 1}" if at else None, "user", f"words {at}") for at in range(1_500)]
    found = doctor.examine(lines(rows[::-1]), format="claude-code")
    assert {problem.code for problem in found.problems} == {"row_order"}
    made = doctor.repair(lines(rows[::-1]), format="claude-code")
    assert made.after.problems == ()
    assert made.data == lines(rows)


def test_rows_behind_a_uuid_that_stands_twice_go_with_the_nearest() -> None:
    rows = [record("a", None, "user", "one")]
    for word in ("two", "three"):
        rows += [record("a", None, "user", word), record(f"after {word}", "a", "assistant", [])]
        rows[-1]["message"]["content"] = [{"type": "text", "text": word}]
    kept = [json.loads(line) for line in doctor.repair(lines(rows), format="claude-code").data.splitlines()]
    assert [kept[2]["parentUuid"], kept[4]["parentUuid"]] == [kept[1]["uuid"], kept[3]["uuid"]]


# -- Codex

HEAD = {"timestamp": "t0", "type": "session_meta", "payload": {"id": "x", "cwd": "/garden"}}


def item(payload: Any) -> dict[str, Any]:
    return {"timestamp": "t1", "type": "response_item", "payload": payload}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def call(key: str) -> dict[str, Any]:
    return {"type": "function_call", "name": "read", "arguments": "{}", "call_id": key}


def output(key: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": key, "output": "words"}


def compacted(*history: Any) -> dict[str, Any]:
    return {"timestamp": "t2", "type": "compacted", "payload": {"message": "m", "replacement_history": [*history]}}


def test_the_new_history_of_a_rollout_is_examined_and_mended_in_its_line() -> None:
    data = lines([HEAD, item(said("old")), compacted(said("go"), output("lost"), call("open")), item(said("on"))])
    assert paths(data) == {
        "line 3 payload.replacement_history[1]": "orphan_result",
        "line 3 payload.replacement_history[2]": "missing_result",
    }
    made = doctor.repair(data)
    assert made.after.problems == ()
    kept = [json.loads(line) for line in made.data.splitlines()]
    history = kept[2]["payload"]["replacement_history"]
    assert [one["type"] for one in history] == ["message", "message", "function_call", "function_call_output"]
    assert history[-1]["output"] == NO_RESULT
    before = data.splitlines()
    assert [made.data.splitlines()[at] for at in (0, 1, 3)] == [before[0], before[1], before[3]]
    assert (made.after.records, len(kept)) == (4, 4)


def test_a_call_of_the_new_history_may_be_answered_behind_it() -> None:
    data = lines([HEAD, compacted(said("go"), call("c")), item(output("c"))])
    assert paths(data) == {}
    assert doctor.repair(data).data == data


@pytest.mark.parametrize("odd", [None, 5, "words", {"type": []}, {"type": "ghost_snapshot"}, []])
def test_anything_may_stand_in_a_new_history(odd: Any) -> None:
    made = doctor.repair(lines([HEAD, compacted(odd, said("go")), item(said("on"))]))
    assert made.after.ok
    assert doctor.repair(made.data).data == made.data


TURN = {"timestamp": "t1", "type": "turn_context", "payload": {"cwd": "/garden", "model": "m"}}


def test_a_lost_head_is_made_of_what_the_file_and_its_name_say() -> None:
    key = "0198f00d-0000-7000-8000-00000000abcd"
    data = lines([TURN, item(said("go"))])
    made = doctor.repair(data, name=f"rollout-2026-01-01T10-00-00-{key}.jsonl")
    head = json.loads(made.data.splitlines()[0])
    assert (head["type"], head["timestamp"]) == ("session_meta", "t1")
    assert (head["payload"]["id"], head["payload"]["cwd"]) == (key, "/garden")
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} == set(head["payload"])
    assert made.data.endswith(data)
    assert made.after.problems == ()
    unnamed = [json.loads(doctor.repair(data).data.splitlines()[0])["payload"]["id"] for _ in range(2)]
    assert unnamed[0] == unnamed[1] == str(uuid.UUID(unnamed[0]))


def test_a_rollout_that_names_no_folder_cannot_be_resumed_and_says_why() -> None:
    (problem,) = doctor.examine(lines([item(said("go"))])).problems
    assert (problem.code, problem.severity) == ("no_session_meta", "error")
    assert "no turn_context" in problem.message
    assert "another copy" in problem.advice


# -- message lists


def test_results_without_calls_are_quoted_in_their_order() -> None:
    rows = [{"role": "tool", "tool_call_id": f"c{at}", "content": f"words {at}."} for at in range(4)]
    made = doctor.repair(lines([{"role": "user", "content": "go"}, *rows]))
    kept = [json.loads(line)["content"] for line in made.data.splitlines()]
    assert [text[-8:] for text in kept[1:]] == [f"words {at}." for at in range(4)]


def test_any_number_of_call_turns_behind_each_other_get_their_results() -> None:
    call_turn = {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]}
    data = json.dumps({"contents": [{"role": "user", "parts": [{"text": "go"}]}, *([call_turn] * 9)]}).encode()
    made = doctor.repair(data)
    assert made.after.ok
    kept = json.loads(made.data)["contents"]
    assert [turn["role"] for turn in kept] == ["user", *["model", "user"] * 9]


def test_one_id_for_all_calls_of_a_long_run_is_told_apart() -> None:
    calls = [{"id": "x", "type": "function", "function": {"name": "read", "arguments": "{}"}}] * 500
    rows = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    made = doctor.repair(lines([*rows, *[{"role": "tool", "tool_call_id": "x", "content": "w"}] * 500]))
    kept = [json.loads(line) for line in made.data.splitlines()]
    asked = [one["id"] for one in kept[1]["tool_calls"]]
    assert asked == ["x", *(f"x_{number}" for number in range(2, 501))]
    assert [one["tool_call_id"] for one in kept[2:]] == asked


def test_a_document_that_breaks_off_between_two_records_is_said_to_break_off() -> None:
    for data in (b'[{"role":"user","content":"go"}', b'{"messages":[{"role":"user","content":"go"}'):
        assert list(paths(data).values()) == ["truncated"]
        made = doctor.repair(data)
        assert [change.code for change in made.changes] == ["truncated"]
        assert (made.after.problems, made.rejected) == ((), b"")
        json.loads(made.data)


# -- sizes


def test_a_size_that_is_refused_names_the_command_with_its_numbers() -> None:
    data = lines([{"role": "user", "content": "many different words here " * 9_000}])
    advice = {one.code: one.advice for one in doctor.examine(data, window=30_000).problems}
    assert "foldmark compact FILE --window 30000 --target 7500 --out next.json" in advice["window"]
    assert "foldmark compact FILE --target 7500 --out next.json" in advice["oversize_item"]
    advice = {one.code: one.advice for one in doctor.examine(data).problems}
    assert "--target 32000" in advice["oversize_item"]


@pytest.mark.parametrize(
    "data",
    [
        b'[{"type": []}]',
        b'{"messages": [{"type": []}]}',
        b'{"timestamp":"t","type":"response_item","payload":{"type":{"total_tokens":1530}}}',
        b'{"role":"tool"}{"role":"","content":""}\r',
        b'{"role":"","content":""}{"type":""}\r',
        b'null\n{"role": "user", "content": "go"}',
        b'null\n{"record_type": "state"}',
        b'{"messages":[{"role":"user","content":"go"},null]}',
        b'{"contents":[{"role":"user","parts":[{"text":"go"}]},null]}',
    ],
)
def test_odd_types_and_line_ends_are_mended_or_refused_in_words(data: bytes) -> None:
    try:
        made = doctor.repair(data)
    except (PolicyError, WireError):
        return
    assert {one.code for one in made.after.problems} & {"glued_lines", "shape"} == set()
    assert not made.data.strip() or doctor.repair(made.data).data == made.data
