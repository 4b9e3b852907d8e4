"""The OpenAI chat wire: every shape of content in, a payload that the provider takes out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldmark.errors import WireError
from foldmark.events import (
    Event,
    Image,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    control,
    injected,
    result,
    user,
)
from foldmark.wire import openai_chat as wire

PNG = "iVBORw0KGgo="


class Dumped:
    """Stands for an SDK object: data behind `model_dump`."""

    def __init__(self, **data: Any) -> None:
        self.data = data

    def model_dump(self, exclude_unset: bool = False) -> dict[str, Any]:
        return dict(self.data)


def codes(payload: dict[str, Any], **options: Any) -> list[str]:
    return [problem.code for problem in wire.validate(payload, **options)]


def messages(*events: Event) -> list[dict[str, Any]]:
    return wire.write("", [], events)["messages"]


def test_text_content_becomes_one_text_part() -> None:
    assert wire.read({"role": "user", "content": "hello"}) == [user("hello")]


def test_null_content_beside_calls_gives_only_the_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
    (event,) = wire.read({"role": "assistant", "content": None, "tool_calls": [call]})
    assert event.parts == (ToolCall("c1", "read", '{"a": 1}'),)


def test_arguments_are_kept_exactly_as_they_arrived() -> None:
    text = '{ "b":1,\n "a" : [1.0, "\\ud83d"] }'
    call = {"id": "c1", "function": {"name": "read", "arguments": text}}
    (event,) = wire.read({"role": "assistant", "tool_calls": [call]})
    assert event.calls[0].arguments == text


def test_arguments_that_arrive_as_an_object_become_compact_json() -> None:
    call = {"id": "c1", "function": {"name": "read", "arguments": {"b": 1, "a": "é"}}}
    (event,) = wire.read({"role": "assistant", "tool_calls": [call]})
    assert event.calls[0].arguments == '{"b":1,"a":"é"}'


def test_images_by_address_and_by_data_are_told_apart() -> None:
    (event,) = wire.read(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            ],
        }
    )
    assert event.parts == (
        Image(url="https://example.org/a.png", detail="low"),
        Image(media_type="image/png", data=PNG),
    )


def test_audio_and_files_are_carried_whole() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    file = {"type": "file", "file": {"file_id": "f1"}}
    (event,) = wire.read({"role": "user", "content": [audio, file]})
    assert event.parts == (Opaque("openai", audio), Opaque("openai", file))
    assert messages(event)[0]["content"] == [audio, file]


def test_a_refusal_is_text_that_goes_back_as_a_refusal() -> None:
    (event,) = wire.read({"role": "assistant", "content": None, "refusal": "No."})
    assert event.text == "No."
    assert messages(event) == [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]


def test_a_legacy_function_call_and_its_result_are_a_pair() -> None:
    found = wire.read_messages(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "there"},
        ]
    ).events
    assert found[0].calls[0].id == found[1].result.call_id == "function_look"  # type: ignore[union-attr]
    assert codes(wire.write("", [], [user("go"), *found])) == []


def test_developer_and_system_messages_in_front_are_the_system_text() -> None:
    found = wire.read_messages(
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
            {"role": "user", "content": "hi"},
            {"role": "system", "content": "It is noon."},
        ]
    )
    assert found.system == "Be brief.\n\nBe kind."
    assert [event.role for event in found.events] == ["user", "system"]
    assert found.events[1].origin == "injected"


def test_a_completion_gives_usage_with_cached_tokens_inside_the_input() -> None:
    reply = Dumped(
        model="gpt-x",
        choices=[Dumped(message=Dumped(role="assistant", content="ok"), finish_reason="length")],
        usage=Dumped(prompt_tokens=100, completion_tokens=7, prompt_tokens_details=Dumped(cached_tokens=60)),
    )
    (event,) = wire.read(reply)
    assert (event.text, event.model, event.provider) == ("ok", "gpt-x", "openai")
    assert event.usage is not None
    assert (event.usage.input, event.usage.output, event.usage.cache_read) == (100, 7, 60)
    assert event.meta == {"stop": "length"}


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"role": "robot", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": 5}, "messages[0].content"),
        ({"role": "user", "content": [{"text": "x"}]}, "messages[0].content[0].type"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "messages[0].tool_calls[0].function"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": 3}}]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        ("hello", "messages[0]"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_its_place(message: Any, path: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.read_messages([message])
    assert caught.value.path == path


def test_a_reply_without_choices_is_an_error() -> None:
    with pytest.raises(WireError) as caught:
        wire.read({"choices": []})
    assert caught.value.path == "choices"


def test_results_are_written_directly_after_their_assistant_in_call_order() -> None:
    out = messages(
        user("go"),
        assistant("", ToolCall("a", "f"), ToolCall("b", "f")),
        result("b", "second"),
        injected("a note that came between"),
        result("a", "first"),
        user("next"),
    )
    assert [(m["role"], m.get("tool_call_id") or m["content"]) for m in out[2:]] == [
        ("tool", "a"),
        ("tool", "b"),
        ("user", "a note that came between"),
        ("user", "next"),
    ]


def test_content_is_null_when_there_are_only_calls() -> None:
    assert messages(user("go"), assistant("", ToolCall("a", "f")))[1]["content"] is None


def test_events_with_nothing_to_say_write_nothing() -> None:
    empty = Event(role="assistant", origin="agent")
    out = messages(user("go"), empty, user(""), control("note", {"x": 1}), assistant("done"))
    assert [m["content"] for m in out] == ["go", "done"]


def test_two_assistant_events_with_an_unanswered_call_between_are_one_message() -> None:
    out = messages(
        user("go"),
        assistant("one", ToolCall("a", "f")),
        assistant("two", ToolCall("b", "f")),
        result("a", "x"),
        result("b", "y"),
    )
    assert out[1]["content"] == "one\n\ntwo"
    assert [call["id"] for call in out[1]["tool_calls"]] == ["a", "b"]
    assert codes({"messages": out}) == []


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        ("[1]", "[1]"),
        ('{"path": "a', '{"_raw":"{\\"path\\": \\"a"}'),
        ('{"a": NaN}', '{"_raw":"{\\"a\\": NaN}"}'),
        ('{"a": "\\ud83d"}', '{"a": "\\ud83d"}'),
    ],
)
def test_arguments_are_untouched_when_they_are_json_and_wrapped_when_not(arguments: str, written: str) -> None:
    out = messages(user("go"), assistant("", ToolCall("a", "f", arguments)))
    assert out[1]["tool_calls"][0]["function"]["arguments"] == written
    json.loads(written)


def test_an_empty_result_is_written_in_words() -> None:
    assert messages(user("go"), assistant("", ToolCall("a", "f")), result("a", ""))[2]["content"] == "(no output)"


def test_images_of_a_result_follow_in_a_user_message_that_names_the_call() -> None:
    picture = Image(media_type="image/png", data=PNG)
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "taken", images=(picture,)),))
    out = messages(user("go"), assistant("", ToolCall("a", "f"), ToolCall("b", "f")), shown, result("b", "x"))
    assert [m["role"] for m in out] == ["user", "assistant", "tool", "tool", "user"]
    assert "1 image(s) of this result follow" in out[2]["content"]
    assert out[4]["content"][0]["text"] == "[image(s) of the tool result a]"
    assert out[4]["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    assert codes({"messages": out}) == []


def test_an_image_that_no_provider_takes_is_named_instead() -> None:
    event = Event(role="user", origin="user", parts=(Image(media_type="image/bmp", data="Qk0="),))
    assert messages(event)[0]["content"] == "[an image of type image/bmp cannot be sent here]"
    assert wire.lost([event]) == ["1 x image of type image/bmp"]


def test_reasoning_goes_back_as_it_came_to_its_own_provider_only() -> None:
    own = wire.read({"role": "assistant", "content": "a", "reasoning_content": "because"})[0]
    foreign = Event(
        role="assistant",
        origin="agent",
        parts=(Reasoning("hm", "anthropic", {"type": "thinking", "signature": "s"}), Text("b")),
    )
    out = messages(user("go"), own, user("and"), foreign)
    assert out[1] == {"role": "assistant", "content": "a", "reasoning_content": "because"}
    assert out[3] == {"role": "assistant", "content": "b"}
    assert wire.lost([own, foreign]) == ["1 x reasoning of anthropic"]


def test_long_ids_and_odd_names_get_a_safe_spelling_on_both_sides_of_the_pair() -> None:
    long = "call_" + "x" * 60
    payload = wire.write("", [], [user("go"), assistant("", ToolCall(long, "files.read:0")), result(long, "ok")])
    call = payload["messages"][1]["tool_calls"][0]
    assert len(call["id"]) == 40
    assert payload["messages"][2]["tool_call_id"] == call["id"]
    assert call["function"]["name"].startswith("files_read_0_")
    assert codes(payload) == []


def test_dirty_text_leaves_as_clean_utf8() -> None:
    events = [
        user("a\ud83d b\x00 c"),
        assistant("", ToolCall("x\ud83d", "f", '{"a":"\ud83d"}')),
        result("x\ud83d", "\udc00"),
    ]
    payload = wire.write("s\ud83d", [{"name": "f", "description": "\ud83d"}], events)
    json.dumps(payload, ensure_ascii=False).encode()
    assert payload["messages"][1]["content"] == "a� b� c"
    assert codes(payload, suspected=True) == []


def test_surrogate_halves_that_belong_together_are_joined() -> None:
    assert messages(user("\ud83d\ude00"))[0]["content"] == "😀"


def test_the_payload_holds_model_limit_and_tools_in_the_form_of_the_api() -> None:
    anthropic_shaped = {"name": "g", "description": "G.", "input_schema": {"type": "object"}}
    payload = wire.write("sys", [{"name": "f"}, anthropic_shaped], [user("hi")], model="m", max_output=9)
    assert payload == {
        "model": "m",
        "max_completion_tokens": 9,
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
            },
            {
                "type": "function",
                "function": {"name": "g", "description": "G.", "parameters": {"type": "object"}},
            },
        ],
        "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "hi"}],
    }


def test_changing_a_payload_does_not_change_the_next_one() -> None:
    events = [
        user("go"),
        assistant("on it", ToolCall("a", "f")),
        result("a", "x"),
        assistant("done"),
        user("more"),
    ]
    first = wire.write("s", [], events)
    before = json.dumps(first)
    for message in first["messages"]:
        message["content"] = "changed"
        for call in message.get("tool_calls", []):
            call["function"]["name"] = "changed"
    assert json.dumps(wire.write("s", [], events)) == before


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
GO = {"role": "user", "content": "go"}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "ok"}


def test_the_error_mark_of_a_result_is_said_to_be_lost() -> None:
    assert wire.lost([result("a", "boom", is_error=True), result("b", "ok")]) == ["1 x error mark of a result"]


def test_a_schema_without_a_type_is_said_to_be_an_object() -> None:
    payload = wire.write("", [{"name": "f", "parameters": {"properties": {}}}], [user("hi")])
    assert payload["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert codes(payload) == []


def test_what_is_only_suspected_is_reported_when_asked_for() -> None:
    payload = {"messages": [GO, {"role": "assistant", "content": "x"}]}
    assert codes(payload) == []
    assert codes(payload, suspected=True) == ["ends_with_assistant"]


def test_a_known_prefix_is_not_looked_at_again_but_its_open_round_is() -> None:
    bad = {"role": "user", "content": None}
    assert codes({"messages": [bad, ASKS, ANSWER, GO]}, known_prefix=2) == []
    assert codes({"messages": [bad, ASKS, GO]}, known_prefix=2) == ["missing_result"]
    assert codes({"messages": [bad, ASKS, ANSWER, ANSWER]}, known_prefix=3, suspected=True) == ["duplicate_result"]
