"""Doctor on broken transcripts of our own: what it finds, where, and what the working copy has differently."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldmark import doctor, importers
from foldmark.doctor.lines import read_line
from foldmark.doctor.pairing import match
from foldmark.doctor.rows import Row
from foldmark.doctor.sheet import open_sheet
from foldmark.doctor.spans import open_list
from foldmark.doctor.talk import NO_RESULT, Unit
from foldmark.errors import PolicyError, WireError
from foldmark.wire import by_name

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
BROKEN = SAMPLES / "broken"

Rows = list[dict[str, Any]]


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def codes(data: bytes, **options: Any) -> list[str]:
    return [problem.code for problem in doctor.examine(data, **options).problems]


def places(data: bytes) -> dict[str, str]:
    """Path of the first problem of each code."""
    found: dict[str, str] = {}
    for problem in doctor.examine(data).problems:
        found.setdefault(problem.code, problem.path)
    return found


def mended(data: bytes) -> Any:
    """The working copy, checked: nothing known is wrong with it, and mending it again changes nothing."""
    made = doctor.repair(data)
    assert made.after.ok, made.after.problems
    again = doctor.repair(made.data)
    assert (again.data, again.changes) == (made.data, ())
    text = made.data.decode()
    return json.loads(text) if text.lstrip()[:1] == "[" or text[:2] == "{\n" else [*map(json.loads, text.splitlines())]


# -- samples: every kind in its format

EXPECTED = {
    "claude-code.jsonl": {
        "truncated": "line 12",
        "duplicate_record": "line 9",
        "parent_missing": "line 10",
        "signature": "line 2 message.content[0].signature",
        "orphan_result": "line 8 message.content[0]",
        "missing_result": "line 5 message.content[0]",
        "blank_text": "line 11 message.content[0]",
    },
    "codex.jsonl": {
        "arguments_json": "line 5 payload.arguments",
        "duplicate_call_id": "line 10 payload",
        "orphan_result": "line 8 payload",
        "missing_result": "line 5 payload",
        "reasoning_last": "line 12 payload",
    },
    "chat.json": {
        "unencodable": "messages[8].content",
        "arguments_json": "messages[2].tool_calls[0].function.arguments",
        "arguments_type": "messages[2].tool_calls[1].function.arguments",
        "orphan_result": "messages[7]",
        "duplicate_result": "messages[4]",
        "split_result": "messages[6]",
        "missing_result": "messages[2].tool_calls[2]",
    },
    "anthropic.json": {
        "thinking_edited": "messages[2].content[0]",
        "input_type": "messages[0].content[3].input",
        "duplicate_call_id": "messages[2].content[1]",
        "duplicate_result": "messages[1].content[2]",
        "missing_result": "messages[0].content[3]",
        "result_order": "messages[1].content[1]",
        "blank_text": "messages[3].content[1]",
        "first_user": "messages[0]",
    },
    "items.json": {"split_result": "input[1]", "missing_result": "input[3]"},
    "gemini.json": {
        "missing_result": "contents[1].parts[1]",
        "result_count": "contents[2]",
        "blank_text": "contents[3].parts[0]",
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_problem_of_a_broken_sample_is_found_in_its_place(name: str) -> None:
    assert places((BROKEN / name).read_bytes()) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_copy_of_a_broken_sample_works_and_the_list_names_every_kind(name: str) -> None:
    data = (BROKEN / name).read_bytes()
    made = doctor.repair(data)
    mended(data)
    explained = {"result_count"}  # goes with the results that are added
    assert {change.code for change in made.changes} >= set(EXPECTED[name]) - explained
    assert all(change.path and change.message for change in made.changes)


GOOD = ["claude-code.jsonl", "codex.jsonl", "codex-old.jsonl", "openai.json", "openai.jsonl", "anthropic.json"]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_transcript_is_left_byte_for_byte(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    made = doctor.repair(data)
    assert doctor.examine(data).problems == ()
    assert (made.data, made.changes, made.rejected) == (data, (), b"")


def test_every_code_of_the_samples_says_what_to_do() -> None:
    for name in EXPECTED:
        for problem in doctor.examine((BROKEN / name).read_bytes()).problems:
            assert len(problem.advice) > 15
            assert problem.severity in ("error", "warning")


# -- files and their bytes


def test_rows_that_nothing_is_wrong_with_keep_their_bytes() -> None:
    odd = b'{"role" :"user",  "content":"caf\\u00e9 \xf0\x9f\x8c\xb1", "x":1.0}\r\n\n'
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    data = odd + lines([{"role": "assistant", "content": None, "tool_calls": [call]}]) + odd.strip()
    made = doctor.repair(data)
    assert made.data.startswith(odd)
    assert made.data.splitlines()[-1] == odd.strip()
    assert NO_RESULT in made.data.decode()


def test_a_document_keeps_its_head_its_indent_and_its_other_rows() -> None:
    data = (BROKEN / "chat.json").read_text()
    copy = doctor.repair(data.encode()).data.decode()
    head = data[: data.index('"tool_calls"')]
    assert copy.startswith(head)
    assert copy.endswith(data[-6:])
    assert '\n    {\n      "role": "tool",\n' in copy


@pytest.mark.parametrize(
    ("text", "count", "rest"),
    [
        ('[{"a":1}, {"b":2}]', 2, ""),
        ('[{"a":1}, {"b":', 1, ', {"b":'),
        (' { "x": [1], "messages" : [ {"a":1} ] , "tools": [] }', 1, ""),
        ('{"messages": [{"a":1}', 1, ""),
        ('{"messages": []}', 0, ""),
        ('[{"a":1},]', 1, ",]"),
    ],
)
def test_a_document_comes_apart_and_together(text: str, count: int, rest: str) -> None:
    opened = open_list(text)
    assert opened is not None
    assert (len(opened.elements), opened.rest) == (count, rest)
    if not rest and text.rstrip()[-1] in "]}" and not text.endswith("1}"):
        body = ",".join(element.lead + element.raw for element in opened.elements)
        assert opened.head + body + opened.tail == text


def test_a_document_that_breaks_off_is_closed_and_its_end_is_saved() -> None:
    whole = json.dumps({"messages": [{"role": "user", "content": f"word {n}"} for n in range(3)]}, indent=1)
    made = doctor.repair(whole[:-30].encode())
    assert [row["content"] for row in json.loads(made.data)["messages"]] == ["word 0", "word 1"]
    assert whole[:-30].encode().endswith(made.rejected)
    assert b"role" in made.rejected


@pytest.mark.parametrize(
    ("line", "code", "kept"),
    [
        ('{"role":"user","content":"a"}', "", 1),
        ('{"role":"user","content":"a"}{"role":"user","content":"b"}', "glued_lines", 2),
        ('{"role":"assi{"role":"user","content":"b"}', "glued_lines", 1),
        ('{"role":"user","content":"a', "bad_line", 0),
        ('\x00\x00{"role":"user","content":"a"}', "nul_bytes", 1),
        ("\x00\x00\x00", "nul_bytes", 0),
        ('{"role":"user","content":"a\tb"}', "control_characters", 1),
        ("[" * 5_000, "too_deep", 0),
        ('{"x":' + "[" * 150 + "]" * 150 + "}", "too_deep", 0),
    ],
)
def test_a_damaged_line_gives_what_is_whole_in_it(line: str, code: str, kept: int) -> None:
    read = read_line(line)
    assert (read.code if kept or read.code != "too_deep" else "too_deep", len(read.records)) == (code, kept)
    assert kept or read.lost == line


def test_lines_that_cannot_be_read_are_left_out_and_saved() -> None:
    good = {"role": "user", "content": "hello"}
    made = doctor.repair(lines([good]) + b'{"role": "us\xff\n' + lines([good]) + b'{"role": "assist')
    assert made.data == lines([good, good])
    assert made.rejected == b'{"role": "us\xff\n{"role": "assist'
    assert [change.code for change in made.changes] == ["bad_line", "truncated"]


def test_bytes_that_are_not_utf8_become_the_replacement_character() -> None:
    made = doctor.repair(b'{"role":"user","content":"caf\xe9"}\n{"role":"user","content":"caf\xc3\xa9"}\n')
    assert made.data.decode().splitlines() == [
        '{"role":"user","content":"caf\ufffd"}',
        '{"role":"user","content":"caf\u00e9"}',
    ]


def test_a_number_that_is_no_json_becomes_null() -> None:
    rows = mended(b'{"role":"user","content":"x","score":NaN}\n{"role":"user","content":"y"}\n')
    assert rows[0]["score"] is None


def test_utf16_and_a_byte_order_mark_are_read() -> None:
    row = '{"role":"user","content":"x"}\n'
    assert "encoding" in codes(row.encode("utf-16"))
    assert doctor.repair(row.encode("utf-16")).data == row.encode()
    marked = b"\xef\xbb\xbf" + row.encode()
    assert doctor.repair(marked).data == marked


@pytest.mark.parametrize("data", [b"", b" \n", b"\x00" * 40, b"\x89PNG\r\n\x1a\n\x00\x00", b"just words", b"[" * 9_000])
def test_what_is_no_transcript_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(WireError) as raised:
        doctor.examine(data, name="x.json")
    assert "x.json" in str(raised.value)


# -- pairs


def unit(kind: Any, call_id: str, step: int, *, is_due: bool = False) -> Unit:
    made = Unit(kind, "", {}, Row("", "", {}), holder=None, number=0)
    made.call_id, made.step, made.is_due = call_id, step, is_due
    return made


def test_a_result_in_its_place_is_taken_before_one_that_stands_elsewhere() -> None:
    call, early, due = unit("call", "a", 1), unit("result", "a", 0), unit("result", "a", 1, is_due=True)
    found = match([early, call, due], needs_place=True)
    assert found.answers == {0: due}
    assert [result for result, _ in found.doubled] == [early]


def test_one_id_in_two_steps_pairs_each_call_with_its_own_result() -> None:
    first, second = unit("call", "a", 0), unit("call", "a", 1)
    r1, r2 = unit("result", "a", 0, is_due=True), unit("result", "a", 1, is_due=True)
    assert match([first, r1, second, r2], needs_place=True).answers == {0: r1, 1: r2}
    assert match([first, second, r1, r2], needs_place=False).answers == {0: r1, 1: r2}


def chat_call(key: Any, arguments: Any = "{}", name: str = "f") -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_result_without_an_id_belongs_to_the_one_open_call() -> None:
    rows = mended(
        lines(
            [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": None, "tool_calls": [chat_call("c")]},
                {"role": "tool", "content": "words"},
            ]
        )
    )
    assert rows[2] == {"role": "tool", "content": "words", "tool_call_id": "c"}


def test_ids_that_stand_twice_in_a_step_are_told_apart_together_with_their_results() -> None:
    rows = mended(
        lines(
            [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [chat_call("c", '{"n":1}'), chat_call("c", '{"n":2}')],
                },
                {"role": "tool", "tool_call_id": "c", "content": "one"},
                {"role": "tool", "tool_call_id": "c", "content": "two"},
            ]
        )
    )
    ids = [call["id"] for call in rows[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [(row["tool_call_id"], row["content"]) for row in rows[2:]] == [(ids[0], "one"), (ids[1], "two")]


def test_an_id_that_comes_again_in_a_later_step_is_a_warning_for_chat_and_renamed() -> None:
    step = [{"role": "assistant", "content": None, "tool_calls": [chat_call("c")]}]
    step += [{"role": "tool", "tool_call_id": "c", "content": "words"}]
    data = lines([{"role": "user", "content": "go"}, *step, *step])
    (problem,) = doctor.examine(data).problems
    assert (problem.code, problem.severity) == ("repeated_call_id", "warning")
    assert mended(data)[4]["tool_call_id"] == "c_2"


def test_a_second_result_that_differs_stays_as_text_and_an_equal_one_goes() -> None:
    rows = mended((BROKEN / "chat.json").read_bytes())["messages"]
    said = [row["content"] for row in rows if row["role"] == "user"]
    assert any("second, different result of call c1" in text and text.endswith("43") for text in said)
    anthropic = json.dumps(mended((BROKEN / "anthropic.json").read_bytes()))
    assert anthropic.count('"42"') == 1


def test_an_orphan_is_quoted_behind_the_results_so_that_they_stay_together() -> None:
    rows = mended((BROKEN / "chat.json").read_bytes())["messages"]
    roles = [row["role"] for row in rows]
    assert roles[2:6] == ["assistant", "tool", "tool", "tool"]
    assert any("(zz)" in str(row["content"]) and "who asked for this?" in str(row["content"]) for row in rows)


def test_a_call_that_never_returned_gets_a_result_that_says_so() -> None:
    rows = mended((BROKEN / "chat.json").read_bytes())["messages"]
    assert {"role": "tool", "tool_call_id": "c3", "content": NO_RESULT} in rows
    blocks = [b for row in mended((BROKEN / "anthropic.json").read_bytes())["messages"] for b in row["content"]]
    assert {"type": "tool_result", "tool_use_id": "t2", "content": NO_RESULT, "is_error": True} in blocks


def test_arguments_that_are_cut_are_wrapped_and_not_guessed() -> None:
    calls = mended((BROKEN / "chat.json").read_bytes())["messages"][2]["tool_calls"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"_raw": '{"what": "se'}
    assert json.loads(calls[1]["function"]["arguments"]) == {"what": "beds"}


def test_images_of_results_go_to_a_user_message_behind_them() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    rows = mended(
        lines(
            [
                {"role": "user", "content": "look"},
                {"role": "assistant", "content": None, "tool_calls": [chat_call("a"), chat_call("b")]},
                {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "seen"}, image]},
                {"role": "tool", "tool_call_id": "b", "content": "two"},
            ]
        )
    )
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "tool", "user"]
    assert image in rows[4]["content"]


@pytest.mark.parametrize(
    "row",
    [
        {"role": "user", "content": 5},
        {"role": "user", "content": ["a", {"type": "text", "text": "b"}]},
        {"role": "user", "content": {"type": "text", "text": "b"}},
        {"role": "stranger", "content": "b"},
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://x"}]},
        {"role": "assistant", "content": "b", "tool_calls": chat_call("c")},
        {"role": "assistant", "content": "b", "tool_calls": []},
        {"role": "assistant", "content": "b", "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}]},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "b", "tool_calls": [chat_call({"odd": 1})]},
        {"role": "user", "content": "b", "name": "a b"},
    ],
)
def test_odd_shapes_are_found_and_mended(row: dict[str, Any]) -> None:
    data = lines([{"role": "user", "content": "go"}, row, {"role": "user", "content": "end"}])
    assert not doctor.examine(data).ok
    mended(data)


# -- Claude Code


def claude(*kinds: tuple[str, Any], **fields: Any) -> Rows:
    rows: Rows = []
    for at, (kind, content) in enumerate(kinds):
        head = {"parentUuid": f"u{at - 1}" if at else None, "isSidechain": False, "cwd": "/g", "sessionId": "s"}
        message = {"role": kind, "content": content, **({"id": f"m{at}"} if kind == "assistant" else {})}
        rows.append({**head, "version": "1", "type": kind, "message": message, "uuid": f"u{at}", "timestamp": f"t{at}"})
    return rows


USE = [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]
RESULT = [{"type": "tool_result", "tool_use_id": "t1", "content": "words"}]


def test_a_new_row_of_a_session_stands_in_the_chain_with_the_fields_of_its_neighbour() -> None:
    data = lines(claude(("user", "go"), ("assistant", USE), ("user", "again")))
    rows = mended(data)
    new = rows[2]
    assert new["parentUuid"] == "u1"
    assert rows[3]["parentUuid"] == new["uuid"]
    assert {key: new[key] for key in ("cwd", "sessionId", "version", "timestamp", "isSidechain")} == {
        "cwd": "/g", "sessionId": "s", "version": "1", "timestamp": "t1", "isSidechain": False,
    }  # fmt: skip
    assert new["message"]["content"][0]["content"] == NO_RESULT
    assert doctor.repair(data).data == doctor.repair(data).data


def test_lines_of_one_api_message_and_results_beside_the_path_are_no_problem() -> None:
    assert doctor.examine((SAMPLES / "claude-code.jsonl").read_bytes()).problems == ()


@pytest.mark.parametrize(
    ("code", "damage"),
    [
        ("parent_missing", lambda rows: rows[2].update(parentUuid="gone")),
        ("parent_missing", lambda rows: rows[1].update(parentUuid=None)),
        ("parent_loop", lambda rows: rows[0].update(parentUuid="u2")),
        ("parent_loop", lambda rows: rows[1].update(parentUuid="u1")),
        ("duplicate_record", lambda rows: rows.insert(2, dict(rows[1]))),
        ("duplicate_uuid", lambda rows: rows[2].update(uuid="u1")),
        ("missing_uuid", lambda rows: rows[1].pop("uuid")),
        ("result_before_call", lambda rows: rows.insert(1, rows.pop(2))),
        ("row_order", lambda rows: rows.insert(2, rows.pop(3))),
        ("sidechain", lambda rows: rows[1].update(isSidechain=True)),
        ("role", lambda rows: rows[1]["message"].update(role="user")),
        ("shape", lambda rows: rows[1].pop("message")),
    ],
)
def test_every_break_of_the_tree_is_found_and_the_copy_is_one_line(code: str, damage: Callable[[Rows], Any]) -> None:
    rows = claude(("user", "go"), ("assistant", USE), ("user", RESULT), ("assistant", [{"type": "text", "text": "b"}]))
    damage(rows)
    assert code in codes(lines(rows))
    copy = mended(lines(rows))
    main = [row for row in copy if not row["isSidechain"]]
    assert [row["parentUuid"] for row in main[1:]] == [row["uuid"] for row in main[:-1]]


def test_importing_the_copy_gives_the_same_events_elsewhere() -> None:
    data = (BROKEN / "claude-code.jsonl").read_bytes()
    events = importers.read(doctor.repair(data).data)[0].events
    said = "\n".join(event.text for event in events)
    for words in ("Water the beds", "I look at both.", "bed 1: dry", "Bed 1 is dry.", "a result from nowhere", "gate?"):
        assert words in said
    assert [event.result.call_id for event in events if event.result] == ["toolu_1", "toolu_2", "toolu_3"]
    payload = by_name("anthropic").write("", [], events)
    assert by_name("anthropic").validate(payload) == []


def test_what_stands_before_a_compaction_is_a_conversation_of_its_own() -> None:
    rows = claude(("user", "go"), ("assistant", [{"type": "text", "text": "b"}]))
    boundary = {**rows[0], "type": "system", "subtype": "compact_boundary", "uuid": "b", "logicalParentUuid": "u1"}
    del boundary["message"]
    rest = claude(("user", "summary"), ("assistant", [{"type": "text", "text": "c"}]))
    rest[0].update(uuid="v0", parentUuid="b")
    rest[1].update(uuid="v1", parentUuid="v0")
    assert codes(lines([*rows, boundary, *rest])) == []
    boundary["logicalParentUuid"] = "gone"
    assert codes(lines([*rows, boundary, *rest])) == ["boundary_parent"]


def test_refusals_in_a_session_are_named_and_not_sent() -> None:
    rows = claude(("user", "go"), ("assistant", [{"type": "text", "text": "Prompt is too long"}]))
    rows[1]["isApiErrorMessage"] = True
    (problem,) = doctor.examine(lines(rows)).problems
    assert (problem.code, problem.severity) == ("api_error", "warning")
    assert "Prompt is too long" in problem.message


# -- Codex


def test_an_output_is_put_right_behind_its_call_as_a_line_of_the_rollout() -> None:
    rows = mended((BROKEN / "codex.jsonl").read_bytes())
    at = next(n for n, row in enumerate(rows) if row["payload"].get("call_id") == "call_2")
    assert rows[at + 1] == {
        "timestamp": rows[at]["timestamp"],
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "call_2", "output": NO_RESULT},
    }
    assert (rows[0]["type"], rows[0]["payload"]["id"]) == ("session_meta", "garden-rollout")


def test_a_rollout_without_its_head_says_that_nobody_can_make_it_up() -> None:
    data = b"\n".join((BROKEN / "codex.jsonl").read_bytes().splitlines()[1:])
    made = doctor.repair(data, format="codex")
    assert [problem.code for problem in made.after.problems] == ["no_session_meta"]
    assert not made.after.ok


def test_what_a_compaction_of_a_rollout_replaced_is_not_asked_for_results() -> None:
    rows = [json.loads(line) for line in (SAMPLES / "codex.jsonl").read_text().splitlines()]
    head, item = rows[0], next(row for row in rows if row["payload"].get("type") == "function_call_output")
    cut = {"timestamp": "t", "type": "compacted", "payload": {"message": "what was said"}}
    user = {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "go"}]}}  # fmt: skip
    assert codes(lines([head, user, cut, item])) == ["orphan_result"]


# -- sizes and repeats


def test_an_image_over_the_limit_is_found_and_a_note_takes_its_place() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * (5 * 1024**2 + 4)}
    data = lines([{"role": "user", "content": [{"type": "image", "source": source}]}])
    (problem,) = doctor.examine(data).problems
    assert (problem.path, problem.code) == ("line 1 content[0]", "image_size")
    assert "too large to be sent" in mended(data)[0]["content"][0]["text"]


def test_a_giant_item_and_a_full_window_are_warned_of() -> None:
    data = lines([{"role": "user", "content": "many different words here " * 9_000}])
    assert codes(data) == ["oversize_item"]
    assert codes(data, window=200_000) == ["oversize_item"]
    assert codes(data, window=42_000) == ["oversize_item", "window_near"]
    found = doctor.examine(data, window=30_000)
    assert [problem.code for problem in found.problems] == ["oversize_item", "window"]
    assert not found.ok


def test_a_log_may_be_longer_than_a_request_and_a_request_may_not() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 5_000_000}
    rows = [{"role": "user", "content": [{"type": "image", "source": source}] * 7}]
    (warning,) = doctor.examine(lines(rows)).problems
    assert (warning.code, warning.severity) == ("long_session", "warning")
    (error,) = doctor.examine(json.dumps({"model": "m", "messages": rows}).encode()).problems
    assert (error.code, error.severity) == ("request_size", "error")


def test_a_text_longer_than_the_api_takes_is_an_error() -> None:
    assert "string_size" in codes(lines([{"role": "user", "content": "x" * 10_485_761}]))


def test_a_call_that_gives_the_same_again_and_again_is_named_once() -> None:
    rows: Rows = [{"role": "user", "content": "go"}]
    for number in range(8):
        rows.append({"role": "assistant", "content": None, "tool_calls": [chat_call(f"c{number}")]})
        rows.append({"role": "tool", "tool_call_id": f"c{number}", "content": "nothing new"})
    (problem,) = doctor.examine(lines(rows)).problems
    assert (problem.code, problem.path) == ("repeated_call", "line 16 tool_calls[0]")
    assert "8 times" in problem.message
    assert codes(lines(rows[:7])) == []


def test_a_text_that_is_put_in_each_turn_is_named_once() -> None:
    reminder = "Remember the rules of the garden. " * 12
    rows = [{"role": role, "content": text} for role, text in [("user", reminder), ("assistant", "yes")] * 3]
    assert codes(lines(rows)) == ["repeated_text"]
    assert codes(lines(rows[:4])) == []


def test_summaries_that_quote_their_predecessors_are_seen_to_nest() -> None:
    summary, rows = "What was said so far. " * 20, []
    for number in range(4):
        summary = f"Summary {number}. Before: {summary}"
        rows += [{"role": "user", "content": summary}, {"role": "assistant", "content": f"step {number}"}]
    found = doctor.examine(lines(rows)).problems
    assert [problem.code for problem in found] == ["nested_summary"]
    assert "3 levels" in found[0].message
    assert codes(lines(rows[:4])) == []


# -- formats without a writer


def test_other_formats_are_examined_and_a_repair_names_the_writers_and_the_way_out() -> None:
    data = (SAMPLES / "pi.jsonl").read_bytes()
    assert doctor.examine(data).format == "pi"
    with pytest.raises(PolicyError) as raised:
        doctor.repair(data)
    assert all(name in str(raised.value) for name in ("pi", *doctor.TALKS, "foldmark compact"))


def test_a_broken_line_of_another_format_is_named_and_the_rest_is_examined() -> None:
    whole = (SAMPLES / "pi.jsonl").read_bytes().splitlines()
    found = doctor.examine(b"\n".join([*whole[:3], b'{"type": "mess', *whole[3:]]))
    assert (found.format, found.problems[0].path, found.problems[0].code) == ("pi", "line 4", "bad_line")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PolicyError) as raised:
        doctor.examine(b"[]", format="klingon")
    assert "claude-code" in str(raised.value)


def test_a_sheet_moves_and_drops_rows_without_touching_others() -> None:
    sheet = open_sheet(b'{"a":1}\n{"a":2}\n{"a":3}', "x")
    first, second, third = sheet.rows
    sheet.move_after(first, third)
    sheet.drop(second)
    assert sheet.bytes() == b'{"a":3}\n{"a":1}\n'
