"""A request is put together in order, with whole tool pairs and refs, and says what it repaired."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.assembly import NO_RESULT, assemble, checkpoint_message, repair
from foldmark.checkpoint import Checkpoint
from foldmark.events import Artifact, Event, Text, ToolCall, assistant, control, result, user
from foldmark.policy import Layout
from foldmark.reports import Change
from making import numbered, tool_round


def kinds(events: list[Event]) -> list[str]:
    return [f"{event.role}:{event.result.call_id}" if event.result else event.role for event in events]


def checkpoint(**fields: object) -> Checkpoint:
    values: dict[str, object] = {"version": 1, "boundary": 9, "text": "CHECKPOINT", "tokens": 2}
    return Checkpoint(**{**values, **fields})  # type: ignore[arg-type]


def test_a_whole_conversation_passes_unchanged() -> None:
    events = numbered(user("hi"), *tool_round(1), assistant("done"))
    assert repair(events) == (events, [])


def test_a_call_without_a_result_gets_a_marker_that_invents_nothing() -> None:
    out, warnings = repair(numbered(user("hi"), assistant("", ToolCall("c1", "run", "{}")), user("and?")))
    assert kinds(out) == ["user", "assistant", "tool:c1", "user"]
    assert out[2].text == NO_RESULT
    assert len(warnings) == 1
    assert "c1" in warnings[0]


def test_of_a_parallel_batch_only_the_missing_results_get_markers() -> None:
    batch = assistant("", *(ToolCall(f"c{n}", "run", "{}") for n in range(1, 4)))
    out, _ = repair(numbered(user("hi"), batch, result("c2", "two"), assistant("next")))
    assert kinds(out) == ["user", "assistant", "tool:c2", "tool:c1", "tool:c3", "assistant"]


def test_a_note_between_a_call_and_its_result_moves_behind_the_result() -> None:
    events = numbered(user("hi"), assistant("", ToolCall("a", "run", "{}")), user("note"), result("a", "out"))
    out, warnings = repair(events)
    assert kinds(out) == ["user", "assistant", "tool:a", "user"]
    assert not warnings


def test_a_result_whose_call_is_not_shown_becomes_text_that_names_the_call() -> None:
    out, warnings = repair(numbered(result("gone", "forty two"), assistant("ok")))
    assert kinds(out) == ["user", "assistant"]
    assert not out[0].is_user
    assert "gone" in out[0].text
    assert "forty two" in out[0].text
    assert warnings


def test_a_late_result_is_written_where_it_arrives() -> None:
    events = numbered(
        user("hi"), assistant("", ToolCall("a", "run", "{}")), assistant("moving on"), result("a", "late")
    )
    out, _ = repair(events)
    assert kinds(out) == ["user", "assistant", "tool:a", "assistant", "user"]
    assert out[2].text == NO_RESULT
    assert "late" in out[4].text


def test_a_second_result_for_the_same_call_is_never_sent_as_a_result() -> None:
    events = numbered(user("hi"), assistant("", ToolCall("a", "run", "{}")), result("a", "one"), result("a", "two"))
    out, _ = repair(events)
    assert [event.result.call_id for event in out if event.result] == ["a"]
    assert "two" in out[-1].text


def test_two_calls_of_one_step_with_the_same_id_take_a_result_each() -> None:
    step = assistant("", ToolCall("a", "run", "{}"), ToolCall("a", "run", "{}"))
    out, warnings = repair(numbered(user("hi"), step, result("a", "one"), result("a", "two"), result("a", "three")))
    assert kinds(out) == ["user", "assistant", "tool:a", "tool:a_1", "user"]
    assert [call.id for call in out[1].calls] == ["a", "a_1"]
    assert "three" in out[-1].text
    assert len(warnings) == 1


def test_calls_without_an_id_get_one_and_their_results_follow_by_position() -> None:
    step = assistant("", ToolCall("", "run", "{}"), ToolCall("", "read", "{}"))
    out, warnings = repair(numbered(user("hi"), step, result("", "one"), result("", "two")))
    ids = [call.id for call in out[1].calls]
    assert all(ids)
    assert len(set(ids)) == 2
    assert [event.result.call_id for event in out if event.result] == ids
    assert not warnings


def test_the_checkpoint_stands_before_the_tail_in_one_user_message_with_the_current_request() -> None:
    kept = numbered(user("Fix it, please"))
    tail = numbered(user("x"), *tool_round(1))[1:]
    draft = assemble(checkpoint(kept=(1,)), kept, tail, "SYSTEM", (), Layout())
    first = draft.messages[0]
    assert (draft.system, draft.head, first.role, first.origin) == ("SYSTEM", 1, "user", "injected")
    assert [part.text for part in first.parts if isinstance(part, Text)] == [
        "CHECKPOINT",
        "Current request (event:1), verbatim:",
        "Fix it, please",
    ]
    assert kinds(list(draft.messages)) == ["user", "assistant", "tool:c1"]


def test_in_system_layout_the_conversation_still_begins_with_a_user_message() -> None:
    tail = numbered(user("x"), *tool_round(1))[1:]
    without = assemble(checkpoint(), (), tail, "SYSTEM", (), Layout(checkpoint="system"))
    assert without.system == "SYSTEM\n\nCHECKPOINT"
    assert without.messages[0].role == "user"
    assert not without.messages[0].is_user
    kept = numbered(user("Fix it"))
    with_request = assemble(checkpoint(), kept, tail, "", (), Layout(checkpoint="system"))
    assert with_request.messages[0].text == "Fix it"


def test_a_pinned_assistant_message_is_quoted_as_reference() -> None:
    pinned, request = numbered(assistant("The port is 8443."), user("Go on"))
    text = checkpoint_message(checkpoint(), [pinned, request]).text
    assert "Pinned, from assistant (event:1), verbatim:\nThe port is 8443." in text
    assert text.endswith("Current request (event:2), verbatim:\nGo on")


def test_a_preview_names_its_artifact_and_what_can_be_done_with_it() -> None:
    found = numbered(user("x"), *tool_round(1, "head of the log"))
    part = msgspec.structs.replace(found[2].parts[0], artifact=Artifact("ab" * 32, 90_000, 1_200, "log"))
    found[2] = msgspec.structs.replace(found[2], parts=(part,))
    text = assemble(None, (), found, "", (), Layout()).messages[2].text
    assert text.startswith("head of the log\n")
    for word in ("artifact:3", "1,200 lines", "90,000 bytes", "grep", "read_lines", "head", "tail"):
        assert word in text


def test_a_demoted_result_says_where_the_whole_is_and_its_tokens_are_true() -> None:
    found = numbered(user("x"), *tool_round(1, "[read a.py: 40 lines]"))
    draft = assemble(None, (), found, "", (), Layout(), changes=[Change(3, "demoted", "old", 400, 8)])
    assert draft.messages[2].text == "[read a.py: 40 lines] [whole: event:3]"
    assert draft.messages[2].tokens > found[2].tokens


def test_control_records_are_never_shown() -> None:
    draft = assemble(None, (), numbered(user("hi"), control("model_change", {"m": 1})), "", (), Layout())
    assert kinds(list(draft.messages)) == ["user"]


@pytest.mark.parametrize("bar", ["", "[State] - todo: x"])
def test_the_state_bar_is_an_ephemeral_suffix(bar: str) -> None:
    draft = assemble(None, (), numbered(user("hi")), "", (), Layout(), bar=bar)
    assert draft.suffix == bool(bar)
    assert draft.messages[-1].text == (bar or "hi")
