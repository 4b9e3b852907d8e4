"""Random accidents to good transcripts of every format: the copy works, mending is done once, nothing whole is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from damage import FORMATS, NAMES, TOOL, claude_code, damaged, lines, steps
from hypothesis import given
from hypothesis import strategies as st

from foldmark import doctor, importers
from foldmark.doctor.talk import NO_RESULT
from foldmark.wire import by_name
from pairs import pair_errors

each_format = pytest.mark.parametrize("name", FORMATS)
stories = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=5).map(steps)

BEYOND_REPAIR = {"no_session_meta", "no_messages", "unreadable"}
"""What nobody can make up: the head of a rollout, and a file that holds no message (any more)."""


@each_format
@given(story=stories)
def test_a_good_transcript_has_no_problem_but_a_run_that_is_not_over(name: str, story: Any) -> None:
    found = doctor.examine(FORMATS[name](story), format=NAMES[name])
    assert {problem.code for problem in found.problems} <= {"missing_result"}
    if not story[-1].calls or name in ("anthropic lines", "anthropic request", "gemini"):
        assert found.problems == ()


@each_format
@given(story=stories, seed=st.integers(0, 10_000), times=st.integers(1, 4))
def test_after_any_accident_the_copy_has_no_known_problem_and_mending_it_again_changes_nothing(
    name: str, story: Any, seed: int, times: int
) -> None:
    data = damaged(FORMATS[name](story), seed, times)
    if not any(mark in data for mark in (b'"role"', b'"type"')):
        return
    made = doctor.repair(data, format=NAMES[name])
    errors = {problem.code for problem in made.after.problems if problem.severity == "error"}
    assert errors <= BEYOND_REPAIR or not made.after.records
    if made.after.records:
        again = doctor.repair(made.data, format=NAMES[name])
        assert (again.data, again.changes) == (made.data, ())


@each_format
@given(story=stories, seed=st.integers(0, 10_000))
def test_every_text_that_is_whole_is_in_the_copy(name: str, story: Any, seed: int) -> None:
    """Rows lost, doubled, moved or swapped: what is still in the file is still said, in text or as a result."""
    data = damaged(FORMATS[name](story), seed, 3, inside=False)
    made = doctor.repair(data, format=NAMES[name])
    there = set(re.findall(rb"question q\w+|step s\w+|result of r\w+", data))
    assert {text for text in there if text not in made.data} == set()


@each_format
@given(story=stories, seed=st.integers(0, 10_000), times=st.integers(1, 3))
def test_what_is_changed_was_found_and_what_is_found_is_known_to_be_bad(
    name: str, story: Any, seed: int, times: int
) -> None:
    data = damaged(FORMATS[name](story), seed, times)
    if not any(mark in data for mark in (b'"role"', b'"type"')):
        return
    found = doctor.examine(data, format=NAMES[name])
    made = doctor.repair(data, found)
    if found.problems == ():
        assert (made.data, made.changes) == (data, ())
    if made.changes:
        assert found.problems
    assert all(problem.advice and problem.path for problem in found.problems)


@given(story=stories, seed=st.integers(0, 10_000), times=st.integers(1, 3))
def test_the_copy_of_a_session_can_be_imported_and_sent(story: Any, seed: int, times: int) -> None:
    """Resuming reads the chain of parents: it leads from the newest row to a first one, and pairs hold on it."""
    made = doctor.repair(damaged(lines(claude_code(story)), seed, times), format="claude-code")
    rows = [json.loads(line) for line in made.data.splitlines() if line.strip()]
    known = {row["uuid"]: row for row in rows if isinstance(row.get("uuid"), str) and row["uuid"]}
    assert all(_way_back(row, known) for row in known.values())
    if made.after.records and any("message" in row for row in rows):
        (imported,) = importers.read(made.data, format="claude-code")
        if imported.events:
            payload = by_name("anthropic").write("", [], imported.events)
            assert by_name("anthropic").validate(payload) == [] or not payload["messages"]


def _way_back(row: dict[str, Any], known: dict[str, dict[str, Any]]) -> list[str]:
    """The uuids from a row back to the first of its line."""
    seen: list[str] = [row["uuid"]]
    while row.get("parentUuid"):
        row = known[row["parentUuid"]]
        assert row["uuid"] not in seen
        seen.append(row["uuid"])
    return seen


# -- the cases of the field, by their sentences


def chat(*rows: dict[str, Any]) -> bytes:
    return lines([{"role": "user", "content": "Go."}, *rows])


def calls(*ids: str, arguments: str = "{}") -> dict[str, Any]:
    made = [{"id": key, "type": "function", "function": {"name": "read", "arguments": arguments}} for key in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(key: str, text: str = "words") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": text}


PAIR_CASES = {
    "S-PAIR-01: a tail that starts inside a batch of results": chat(result("a"), result("b"), calls("c"), result("c")),
    "S-PAIR-02: a result taken out of the middle": chat(calls("a", "b"), result("b"), calls("c"), result("c")),
    "S-PAIR-03: a list that opens with a result": lines([result("a"), {"role": "user", "content": "Go."}]),
    "S-PAIR-06: the last result was trimmed": chat(calls("a"), result("a"), calls("b")),
    "S-PAIR-10: the same result twice": chat(calls("a"), result("a"), result("a")),
    "S-PAIR-12: an approval that came late": chat(calls("a"), {"role": "user", "content": "Wait."}, result("a", "yes")),
    "S-PAIR-18: a result in front of its call": chat(result("a"), calls("a")),
    "S-PAIR-19: a call that was interrupted": chat(calls("a"), {"role": "user", "content": "Please continue."}),
    "H-12242: arguments cut to 200 characters": chat(calls("a", arguments='{"path": "x", "con'), result("a")),
}


@pytest.mark.parametrize("case", PAIR_CASES)
def test_broken_pairs_of_the_field_are_found_and_mended(case: str) -> None:
    found = doctor.examine(PAIR_CASES[case])
    assert not found.ok
    made = doctor.repair(PAIR_CASES[case])
    rows = [json.loads(line) for line in made.data.splitlines()]
    assert pair_errors({"messages": rows}) == []
    assert by_name("openai-chat").validate({"messages": rows}) == []


def test_a_late_result_is_moved_and_no_marker_is_invented_for_it() -> None:
    made = doctor.repair(PAIR_CASES["S-PAIR-12: an approval that came late"])
    assert NO_RESULT.encode() not in made.data
    assert [json.loads(line)["role"] for line in made.data.splitlines()] == ["user", "assistant", "tool", "user"]


def test_edited_thinking_leaves_whole_or_stays_byte_equal() -> None:
    """S-THINK-01: of two texts under one signature one was edited; blocks nobody doubts keep every byte."""
    good = {"type": "thinking", "thinking": "A long thought \u00e9", "signature": "c2lnMQ=="}
    edited = {"type": "thinking", "thinking": "A long", "signature": "c2lnMQ=="}
    fine = {"type": "thinking", "thinking": "Another", "signature": "c2lnMg=="}
    text = {"type": "text", "text": "so"}
    rows = []
    for block in (good, edited, fine):
        rows += [{"role": "user", "content": "go"}, {"role": "assistant", "content": [block, text]}]
    made = doctor.repair(lines([*rows, {"role": "user", "content": "end"}]))
    kept = [json.loads(line) for line in made.data.splitlines()]
    blocks = [block for row in kept if row["role"] == "assistant" for block in row["content"]]
    assert blocks == [text, text, fine, text]


def test_dirty_thinking_is_left_out_and_never_cleaned() -> None:
    """S-THINK-01 and S-UNI-02: a signature over text with a lone surrogate cannot be kept by cleaning the text."""
    block = {"type": "thinking", "thinking": "half \ud83d", "signature": "c2ln"}
    rows = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [block, {"type": "text", "text": "b"}]}]
    made = doctor.repair(lines(rows))
    assert b"thinking" not in made.data
    assert [change.code for change in made.changes] == ["unencodable"]


def test_reasoning_that_leaves_takes_the_ids_with_it_that_ask_for_it() -> None:
    """S-THINK-02: an item id that is kept without its reasoning is refused."""
    rows = [
        {"type": "message", "role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "a\ud83d"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
    ]
    made = doctor.repair(json.dumps(rows).encode())
    assert [row.get("id") for row in json.loads(made.data)] == [None, None]


@pytest.mark.parametrize("dirt", ["\ud83d", "\udc00x", "a\x00b"])
@pytest.mark.parametrize("place", ["result", "text", "arguments"])
def test_characters_that_cannot_be_sent_are_replaced_wherever_they_stand(dirt: str, place: str) -> None:
    """S-UNI-01, S-UNI-02: lone surrogates and NUL; the rest of the text stays."""
    rows = [calls("a", arguments=json.dumps({"x": dirt if place == "arguments" else ""}, ensure_ascii=False))]
    rows += [result("a", f"before {dirt} after" if place == "result" else "words")]
    rows += [{"role": "user", "content": f"before {dirt} after" if place == "text" else "words"}]
    made = doctor.repair(chat(*rows))
    made.data.decode()
    kept = [json.loads(line) for line in made.data.splitlines()]
    found = by_name("openai-chat").validate({"messages": kept}, suspected=True)
    assert [problem for problem in found if problem.code in ("nul", "unencodable", "arguments_json")] == []
    if place != "arguments":
        assert b"before" in made.data
        assert b"after" in made.data


def test_a_file_that_was_overwritten_by_zeros_gives_what_is_left() -> None:
    """DUR: after a crash the end of the file is filled with bytes of value 0."""
    data = FORMATS["claude code"](steps([(1, False, True), (1, False, False)]))
    made = doctor.repair(data + b"\x00" * 4_096)
    assert made.data == data
    assert made.rejected.strip(b"\x00") == b""
    assert [change.code for change in made.changes] == ["nul_bytes"]


def test_tools_and_other_members_of_a_request_stay_as_they_are() -> None:
    data = FORMATS["anthropic request"](steps([(2, True, True)]))
    cut = data.replace(b'"tool_result"', b'"text"', 1).replace(b'"content": "result', b'"text": "result', 1)
    value = json.loads(doctor.repair(cut).data)
    assert (value["model"], value["tools"]) == ("m", [TOOL])
