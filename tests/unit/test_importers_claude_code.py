"""The Claude Code importer on a made-up session: lines, forks, side chains, rows the program wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import ToolCall
from foldmark.importers import Imported
from foldmark.importers.claude_code_rows import is_written_by_program

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "claude-code.jsonl"


@pytest.fixture(scope="module")
def imported() -> Imported:
    return importers.read(SAMPLE.read_bytes())[0]


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLE.read_text().splitlines()]


def read(records: list[dict[str, Any]]) -> Imported:
    return importers.read("\n".join(json.dumps(record) for record in records).encode())[0]


def test_the_session_has_the_id_of_the_file(imported: Imported) -> None:
    assert (imported.session, imported.wire) == ("garden-session", "anthropic")


def test_lines_of_one_api_message_are_one_step_with_the_last_usage(imported: Imported) -> None:
    step = next(event for event in imported.events if event.role == "assistant")
    assert step.text == "I look in two places."
    assert [call.name for call in step.calls] == ["Read", "Task"]
    assert step.usage is not None
    assert (step.usage.input, step.usage.cache_read, step.usage.output) == (100, 90, 40)
    assert step.model == "claude-made-up"


def test_a_parallel_result_beside_the_path_belongs_to_the_main_line(imported: Imported) -> None:
    answered = [event.result.call_id for event in imported.events if event.result]
    assert answered == ["toolu_1", "toolu_2"]


def test_only_the_users_own_words_are_the_users(imported: Imported) -> None:
    said = [event.text for event in imported.events if event.is_user]
    assert said == ["Plan the beds. Never touch bed 3.", "Sow bed 1."]


def test_reminders_meta_rows_commands_and_compactions_are_injected(imported: Imported) -> None:
    notes = [event.text for event in imported.events if event.role == "user" and not event.is_user]
    assert [note.split()[0] for note in notes] == [
        "<command-name>/clear</command-name>",
        "Notes",
        "<system-reminder>Be",
        "Conversation",
        "This",
    ]


def test_a_compaction_goes_on_from_its_logical_parent(imported: Imported) -> None:
    foreign = [event.meta["foreign"] for event in imported.events if "foreign" in event.meta]
    assert foreign == ["compact_boundary", "compact_summary"]
    assert "Three beds, 42 seeds." in [event.text for event in imported.events]


def test_the_way_not_taken_is_a_fork_behind_what_it_shares(imported: Imported) -> None:
    fork = next(child for child in imported.children if child.kind == "fork")
    assert [event.text for event in fork.imported.events] == ["Buy more seeds.", "How many?"]
    assert imported.events[fork.at - 1].text == "Three beds, 42 seeds."


def test_a_side_chain_is_a_child_of_the_call_that_gave_its_prompt(imported: Imported) -> None:
    child = next(child for child in imported.children if child.kind == "child")
    assert child.call_id == "toolu_2"
    assert child.imported.events[1].calls == (ToolCall("toolu_s", "Bash", '{"command":"wc -l seeds"}'),)
    assert child.imported.events[-1].text == "There are 42."


def test_records_without_a_message_are_control_events_where_they_stood(imported: Imported) -> None:
    kinds = [event.meta["control"] for event in imported.events if event.role == "control"]
    assert kinds == ["summary", "weather-report", "weather-report"]
    assert imported.warnings == (
        "2 record(s) of unknown type 'weather-report' are kept as control events and never sent",
    )


def test_times_are_unix_seconds(imported: Imported) -> None:
    assert imported.events[1].time == 1772359201.0


def test_the_newest_message_decides_which_way_is_the_main_line() -> None:
    later = {
        **rows()[15],
        "uuid": "b3",
        "parentUuid": "b2",
        "message": {**rows()[15]["message"], "id": "msg_b3"},
    }
    found = read([*rows(), later])
    said = [event.text for event in found.events if event.role == "user"]
    assert "Buy more seeds." in said
    assert "Sow bed 1." not in said
    fork = next(child for child in found.children if child.kind == "fork")
    assert [event.text for event in fork.imported.events][-1] == "Sown."


def test_a_side_chain_that_nobody_started_is_kept_and_said() -> None:
    lone = [
        {**row, "message": {"role": "user", "content": "Other."}} if row.get("uuid") == "s1" else row for row in rows()
    ]
    found = read(lone)
    child = next(child for child in found.children if child.kind == "child")
    assert child.call_id == ""
    assert any("no call says that it started" in line for line in found.warnings)


def test_a_file_of_one_sub_agent_is_a_session_of_its_own() -> None:
    chain = [{**row, "agentId": "agent7"} for row in rows() if row.get("isSidechain")]
    found = read(chain)
    assert (found.session, len(found.events), found.children) == ("agent7", 4, ())


def test_a_sub_agent_is_linked_by_the_id_that_its_result_reports() -> None:
    linked = []
    for row in rows():
        if row.get("isSidechain"):
            row["agentId"] = "agent7"
        if row.get("uuid") == "s1":
            row["message"] = {"role": "user", "content": "Another prompt."}
        if row.get("uuid") == "r2":
            row["toolUseResult"] = {"agentId": "agent7"}
        linked.append(row)
    child = next(child for child in read(linked).children if child.kind == "child")
    assert (child.call_id, child.imported.session) == ("toolu_2", "agent7")


def test_a_repeated_record_is_taken_once_and_said() -> None:
    found = read([*rows(), rows()[-1]])
    assert any("repeats the record a9" in line for line in found.warnings)
    assert found.events == importers.read(SAMPLE.read_bytes())[0].events


def test_an_api_error_was_never_said_by_the_model() -> None:
    error = {**rows()[-1], "uuid": "x", "parentUuid": "a9", "isApiErrorMessage": True}
    error["message"] = {**error["message"], "id": "msg_x"}
    assert read([*rows(), error]).events[-1].meta == {"control": "api-error"}


def test_a_message_that_cannot_be_read_names_line_and_field() -> None:
    broken = rows()
    broken[7]["message"]["content"] = [{"type": "tool_result"}]
    with pytest.raises(WireError) as caught:
        read(broken)
    assert caught.value.path == "line 8 message.content[0].tool_use_id"
    del broken[7]["message"]
    with pytest.raises(WireError) as caught:
        read(broken)
    assert caught.value.path == "line 8 message"


@pytest.mark.parametrize(
    ("text", "by_program"),
    [
        ("<system-reminder>x</system-reminder>", True),
        ("<local-command-stdout>x</local-command-stdout>", True),
        ("[Request interrupted by user]", True),
        ("Caveat: The messages below were generated by the user while running local commands.", True),
        ("<command-name>/compact</command-name><command-args></command-args>", True),
        ("<command-name>/build</command-name><command-args>a shed</command-args>", False),
        ("<div> is broken", False),
        ("Please read <system-reminder>", False),
    ],
)
def test_texts_of_the_program_are_told_from_the_users(text: str, by_program: bool) -> None:
    assert is_written_by_program(text) is by_program


def all_texts(imported: Imported) -> list[str]:
    texts = [event.text for event in imported.events]
    return texts + [text for child in imported.children for text in all_texts(child.imported)]


@pytest.mark.parametrize("lost", range(len(SAMPLE.read_text().splitlines())))
def test_a_lost_line_costs_that_line_and_never_what_stands_before_it(lost: int) -> None:
    """The beginning of a session must not become a way not taken because one record in the middle is gone."""
    whole = read(rows())
    left = read([row for at, row in enumerate(rows()) if at != lost])
    first = next(event for event in whole.events if event.is_user)
    if first.text not in json.dumps(rows()[lost]):
        assert any(event.text == first.text for event in left.events)
    assert len(left.events) >= len(whole.events) - 6 or lost == len(rows()) - 1


def test_a_lost_parent_is_said_with_what_to_do() -> None:
    records = rows()
    at = next(n for n, row in enumerate(records) if row.get("parentUuid") and n > 3 and not row.get("isSidechain"))
    records[at] = {**records[at], "parentUuid": "gone"}
    assert any("foldmark doctor" in line for line in read(records).warnings)


def test_two_records_of_one_id_with_other_content_are_both_kept() -> None:
    records = rows()
    at = next(n for n, row in enumerate(records) if row.get("type") == "user" and not row.get("isSidechain"))
    other = {**records[at], "message": {**records[at]["message"], "content": "Words of another record."}}
    found = read([*records[: at + 1], other, *records[at + 1 :]])
    assert "Words of another record." in all_texts(found)
    assert any("has other content" in line for line in found.warnings)
    again = read([*records[: at + 1], records[at], *records[at + 1 :]])
    assert all_texts(again) == all_texts(read(records))
