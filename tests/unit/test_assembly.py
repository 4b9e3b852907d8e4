"""A request is put together in order, with whole tool pairs and refs, and says what it repaired."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.assembly import IN_SYSTEM, NO_RESULT, NOT_SHOWN, assemble, checkpoint_message, head_tokens, repair
from foldmark.checkpoint import Checkpoint
from foldmark.drafts import cost, static_tokens
from foldmark.events import (
    Artifact,
    Event,
    Image,
    Reasoning,
    Text,
    ToolCall,
    assistant,
    control,
    injected,
    result,
    user,
)
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


def blank(_: str) -> str:
    return ""


def framed(text: str) -> str:
    return f"Long ago, says the host: {text}"


@pytest.mark.parametrize("tail", [[], [user("  ")], [assistant("Yes.")], [control("change", {"n": 1})]])
def test_a_checkpoint_in_the_system_text_leaves_a_user_message_to_begin_with(tail: list[Event]) -> None:
    """S-PAIR-16: whatever the tail is, there is a conversation, and it does not begin with the assistant."""
    draft = assemble(checkpoint(), (), numbered(*tail), "SYSTEM", (), Layout(checkpoint="system"))
    assert (draft.messages[0].role, draft.messages[0].origin, draft.messages[0].text) == ("user", "injected", IN_SYSTEM)
    assert draft.head == 1


@pytest.mark.parametrize(
    "tail", [[user("Hi")], [injected("[note]")], [Event(role="user", parts=(Image(url="https://e.org/a"),))]]
)
def test_a_tail_that_begins_with_a_user_message_needs_no_opening(tail: list[Event]) -> None:
    draft = assemble(checkpoint(), (), numbered(*tail), "", (), Layout(checkpoint="system"))
    assert (draft.head, len(draft.messages), draft.system) == (0, 1, "CHECKPOINT")


def test_framed_text_stands_where_the_checkpoint_stands() -> None:
    tail = numbered(user("Go on"))
    in_user = assemble(checkpoint(), (), tail, "SYSTEM", (), Layout(format=framed))
    in_system = assemble(checkpoint(), (), tail, "SYSTEM", (), Layout(checkpoint="system", format=framed))
    assert in_user.messages[0].text == "Long ago, says the host: CHECKPOINT"
    assert in_system.system == "SYSTEM\n\nLong ago, says the host: CHECKPOINT"


@pytest.mark.parametrize("place", ["user", "system"])
def test_where_the_framing_is_empty_the_kept_ones_stand_alone_and_nothing_else_is_shown(place: str) -> None:
    kept = numbered(assistant("The port is 8443."), user("Fix it"))
    layout = Layout(checkpoint=place, format=blank)  # type: ignore[arg-type]
    draft = assemble(checkpoint(kept=(1, 2)), kept, numbered(assistant("Yes.")), "SYSTEM", (), layout)
    assert draft.system == "SYSTEM"
    assert [message.text for message in draft.messages] == [
        "Pinned, from assistant (event:1), verbatim:\nThe port is 8443.",
        "Fix it",
        "Yes.",
    ]
    assert draft.messages[1] == kept[1], "the user's own message, not a quotation"
    bare = assemble(checkpoint(), (), numbered(assistant("Yes.")), "", (), layout)
    assert [message.text for message in bare.messages] == [NOT_SHOWN, "Yes."]
    assert bare.system == ""


@pytest.mark.parametrize("function", [None, framed, blank])
@pytest.mark.parametrize("place", ["user", "system"])
def test_the_head_is_counted_as_it_is_shown(place: str, function: object) -> None:
    kept = numbered(user("Fix it"))
    layout = Layout(checkpoint=place, format=function)  # type: ignore[arg-type]
    draft = assemble(checkpoint(kept=(1,)), kept, numbered(assistant("Yes.")), "SYSTEM", (), layout)
    shown = static_tokens(draft.system, ()) - static_tokens("SYSTEM", ()) + cost(draft.messages[: draft.head])
    counted = head_tokens(checkpoint(kept=(1,)), kept, layout, numbered(assistant("Yes.")), 9)
    assert counted == pytest.approx(shown, abs=1)  # the blank line between


def test_two_framings_of_one_checkpoint_are_told_apart_by_their_id() -> None:
    ids = {checkpoint_message(checkpoint(), (), Layout(format=one)).id for one in (None, framed, str.lower)}
    assert len(ids) == 3
    assert "checkpoint:1" in ids


def test_a_kept_step_is_quoted_without_its_thinking_and_a_kept_result_with_its_images() -> None:
    image = Image(media_type="image/png", data="iVBORw0KGgo=")
    thought = Reasoning("hmm", "anthropic", {"type": "thinking", "thinking": "hmm", "signature": "s"})
    step = Event(role="assistant", origin="agent", parts=(thought, Text("Look."), ToolCall("c", "shot", "{}")))
    kept = numbered(step, result("c", "a screen", name="shot", images=(image,)))
    parts = checkpoint_message(checkpoint(kept=(1, 2)), kept).parts
    assert not [part for part in parts if isinstance(part, Reasoning)]
    assert parts[-2:] == (Text("a screen"), image)
    alone = assemble(checkpoint(kept=(1, 2)), kept, (), "", (), Layout(checkpoint="system")).messages
    assert [message.role for message in alone] == ["user", "user"]
    assert alone[1].parts[-1] == image
