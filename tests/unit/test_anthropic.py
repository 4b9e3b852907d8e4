"""The Anthropic wire: blocks in, alternating roles with results first out."""

from __future__ import annotations

import json
from itertools import pairwise
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
from foldmark.wire import anthropic as wire

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "eHh4"}


def codes(payload: dict[str, Any], **options: Any) -> list[str]:
    return [problem.code for problem in wire.validate(payload, **options)]


def messages(*events: Event) -> list[dict[str, Any]]:
    return wire.write("", [], events)["messages"]


def test_a_user_message_with_results_and_text_gives_tool_events_then_the_user() -> None:
    found = wire.read(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [{"type": "text", "text": "two"}],
                    "is_error": True,
                },
                {"type": "text", "text": "and now?"},
            ],
        }
    )
    assert found == [result("a", "one"), result("b", "two", is_error=True), user("and now?")]


def test_inputs_become_compact_json_in_the_order_they_arrived() -> None:
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {"b": [1, 2.5], "a": "é"}}
    (event,) = wire.read({"role": "assistant", "content": [block]})
    assert event.calls == (ToolCall("a", "f", '{"b":[1,2.5],"a":"é"}'),)


def test_thinking_is_kept_whole_and_goes_back_byte_equal() -> None:
    blocks = [THINKING, REDACTED, {"type": "tool_use", "id": "a", "name": "f", "input": {}}]
    (event,) = wire.read({"role": "assistant", "content": blocks})
    assert event.parts[:2] == (Reasoning("hm", "anthropic", THINKING), Reasoning("", "anthropic", REDACTED))
    assert messages(user("go"), event, result("a", "x"))[1]["content"] == blocks


def test_a_reply_adds_up_fresh_cached_and_newly_cached_input() -> None:
    (event,) = wire.read(
        {
            "role": "assistant",
            "model": "m",
            "stop_reason": "max_tokens",
            "content": [{"type": "text", "text": "ok"}],
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 200,
                "cache_creation_input_tokens": 30,
                "output_tokens": 5,
            },
        }
    )
    assert event.usage is not None
    assert (event.usage.input, event.usage.cache_read, event.usage.cache_write) == (240, 200, 30)
    assert event.meta == {"stop": "max_tokens"}


def test_cache_marks_are_no_part_of_what_is_kept() -> None:
    block = {
        "type": "document",
        "source": {"type": "text", "data": "x"},
        "cache_control": {"type": "ephemeral"},
    }
    (event,) = wire.read({"role": "user", "content": [block]})
    assert event.parts == (Opaque("anthropic", {"type": "document", "source": {"type": "text", "data": "x"}}),)


def test_unknown_blocks_are_kept_with_one_warning_a_type() -> None:
    novel = {"type": "hologram", "data": 1}
    found = wire.read_messages([{"role": "user", "content": [novel, novel]}])
    assert found.events[0].parts == (Opaque("anthropic", novel),) * 2
    assert found.warnings == ("blocks of type 'hologram' are kept whole and not read",)


def test_the_system_text_is_read_from_text_or_blocks() -> None:
    assert wire.read_messages([], system="a").system == "a"
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert wire.read_messages([], system=blocks).system == "a\n\nb"


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"role": "tool", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": {"a": 1}}, "messages[0].content"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "messages[0].content[0].tool_use_id"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}, "messages[0].content[0].name"),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": 3}]},
            "messages[0].content[0].input",
        ),
        ({"role": "user", "content": [{"type": "image"}]}, "messages[0].content[0].source"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_its_place(message: Any, path: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.read_messages([message])
    assert caught.value.path == path


def test_roles_alternate_and_results_come_first_in_call_order() -> None:
    out = messages(
        user("go"),
        user("quickly"),
        assistant("", ToolCall("a", "f"), ToolCall("b", "f")),
        result("b", "second"),
        user("by the way"),
        result("a", "first"),
        assistant("done"),
    )
    assert [message["role"] for message in out] == ["user", "assistant", "user", "assistant"]
    assert [block.get("tool_use_id") or block["text"] for block in out[2]["content"]] == [
        "a",
        "b",
        "by the way",
    ]
    assert codes({"messages": out}) == []


def test_the_first_message_is_the_users_even_when_the_events_begin_with_the_assistant() -> None:
    out = messages(assistant("hello"), user("hi"))
    assert [message["role"] for message in out] == ["user", "assistant", "user"]


def test_blank_texts_and_empty_events_write_nothing() -> None:
    out = messages(user("go"), assistant(" \n"), control("x", {"y": 1}), user("\t"))
    assert out == [{"role": "user", "content": [{"type": "text", "text": "go"}]}]


def test_text_that_ends_an_assistant_message_loses_its_trailing_space() -> None:
    out = messages(user("go"), assistant("look:\n\n", ToolCall("a", "f")), result("a", "x"), assistant("done. \n"))
    assert out[1]["content"][0]["text"] == "look:\n\n"
    assert out[3]["content"][0]["text"] == "done."


def test_an_id_that_comes_back_in_a_later_step_gets_a_number_on_both_sides() -> None:
    step = assistant("", ToolCall("a", "f"))
    out = messages(user("go"), step, result("a", "1"), step, result("a", "2"), step, result("a", "3"))
    pairs = [(m["content"][0].get("id") or m["content"][0].get("tool_use_id")) for m in out[1:]]
    assert pairs == ["a", "a", "a_2", "a_2", "a_3", "a_3"]
    assert codes({"messages": out}) == []


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ('{"a":1}', {"a": 1}),
        ("", {}),
        ("[1]", {"_raw": "[1]"}),
        ('{"path": "a', {"_raw": '{"path": "a'}),
        ('{"a":"\\ud83d"}', {"a": "�"}),
    ],
)
def test_arguments_become_an_object_whatever_they_are(arguments: str, written: dict[str, Any]) -> None:
    assert messages(user("go"), assistant("", ToolCall("a", "f", arguments)))[1]["content"][0]["input"] == written


def test_thinking_of_another_provider_or_without_signature_is_left_out_and_reported() -> None:
    parts = (
        Reasoning("x", "openai", {"reasoning_content": "x"}),
        Reasoning("y", "anthropic", {"type": "thinking", "thinking": "y"}),
        Text("said"),
    )
    event = Event(role="assistant", origin="agent", parts=parts)
    assert messages(user("go"), event)[1]["content"] == [{"type": "text", "text": "said"}]
    assert wire.lost([event]) == ["1 x reasoning of openai", "1 x reasoning of anthropic"]


def test_a_step_that_was_cut_off_while_thinking_writes_nothing() -> None:
    event = Event(role="assistant", origin="agent", parts=(Reasoning("hm", "anthropic", THINKING),))
    assert len(messages(user("go"), event, user("again"))) == 1


def test_images_of_results_stay_inside_them() -> None:
    picture = Image(media_type="image/png", data="AAAA")
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "taken", images=(picture,)),))
    out = messages(user("go"), assistant("", ToolCall("a", "f")), shown)
    assert [block["type"] for block in out[2]["content"][0]["content"]] == ["text", "image"]
    assert wire.read(out[2])[0].result == shown.result


def test_ids_of_other_providers_get_a_safe_spelling_and_never_meet() -> None:
    events = [
        user("go"),
        assistant("", ToolCall("a.b", "f:0"), ToolCall("a:b", "f:0")),
        result("a:b", "2"),
        result("a.b", "1"),
    ]
    payload = wire.write("", [{"name": "f"}], events)
    ids = [block["id"] for block in payload["messages"][1]["content"]]
    assert len(set(ids)) == 2
    assert [block["content"] for block in payload["messages"][2]["content"]] == ["1", "2"]
    assert codes(payload, suspected=True) == []


def test_a_late_system_event_is_written_as_the_users_text() -> None:
    late = Event(role="system", origin="injected", parts=(Text("It is noon."),))
    assert messages(user("go"), late)[0]["content"][1] == {"type": "text", "text": "It is noon."}


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
        for block in message["content"]:
            block["cache_control"] = {"type": "ephemeral"}
        message["content"].append({"type": "text", "text": "added"})
    assert json.dumps(wire.write("s", [], events)) == before


def test_the_payload_holds_model_limit_system_and_tools_in_the_form_of_the_api() -> None:
    openai_shaped = {
        "type": "function",
        "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}},
    }
    server = {"type": "web_search_20250305", "name": "web_search"}
    payload = wire.write("sys", [openai_shaped, server], [user("hi")], model="m", max_output=9)
    assert payload == {
        "model": "m",
        "max_tokens": 9,
        "tools": [{"name": "f", "description": "F.", "input_schema": {"type": "object"}}, server],
        "system": "sys",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
GO = {"role": "user", "content": "go"}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


def step(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def answers(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


WORDS = {"type": "text", "text": "x"}


def shown(*images: Image, is_error: bool = False) -> list[Event]:
    seen = Event(role="tool", origin="tool", parts=(ToolResult("a", "boom", is_error=is_error, images=images),))
    return [user("go"), assistant("", ToolCall("a", "f")), seen]


def test_a_failed_result_that_shows_images_goes_without_its_error_mark() -> None:
    png = Image(media_type="image/png", data="AAAA")
    for events, marked in ((shown(png, is_error=True), False), (shown(is_error=True), True)):
        payload = wire.write("", TOOLS, events)
        assert ("is_error" in payload["messages"][2]["content"][0]) == marked
        assert codes(payload) == []
        assert wire.lost(events) == ([] if marked else ["1 x error mark of a result"])


def test_an_image_that_is_too_large_becomes_a_line_that_says_so() -> None:
    events = shown(Image(media_type="image/png", data="A" * (5 * 1024 * 1024 + 4)))
    payload = wire.write("", TOOLS, events)
    assert payload["messages"][2]["content"][0]["content"] == (
        "boom\n[an image of 3,932,163 bytes is too large to be sent here]"
    )
    assert codes(payload) == []
    assert wire.lost(events) == ["1 x image that cannot be sent"]


def test_a_signed_compaction_behind_other_content_is_said_to_be_lost() -> None:
    block = {"type": "compaction", "content": "x", "signature": "c2ln"}
    found = wire.read_messages([step(block), GO]).events
    assert wire.lost(found) == []
    assert wire.lost([user("before"), *found]) == ["1 x compaction behind other content"]


def test_a_valid_conversation_with_signed_thinking_has_no_problem() -> None:
    payload = {
        "thinking": {"type": "enabled"},
        "tools": TOOLS,
        "messages": [GO, step(THINKING, WORDS, USE), answers(ANSWER, WORDS)],
    }
    assert codes(payload, suspected=True) == []


def test_a_known_prefix_is_not_looked_at_again_but_its_ids_and_open_calls_are() -> None:
    bad = {"role": "user", "content": ""}
    known = [bad, step(USE), answers(ANSWER)]
    again = [step(USE), answers(ANSWER)]
    assert codes({"messages": [*known, step(WORDS), GO]}, known_prefix=3) == []
    assert codes({"messages": [*known, *again]}, known_prefix=3) == ["duplicate_call_id"]
    assert codes({"messages": [bad, step(USE), GO]}, known_prefix=2) == ["missing_result"]


# -- blocks that go out as they came, or not at all

SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
ASKED = {"type": "mcp_tool_use", "id": "m", "name": "f", "server_name": "x", "input": {}}
GIVEN = {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": False, "content": []}
CALL = ToolCall("a", "f")


def acted(*parts: Any) -> Event:
    """An assistant event of calls, words and blocks (thinking among them)."""
    return Event(role="assistant", origin="agent", parts=tuple(map(_part, parts)))


def _part(given: Any) -> Any:
    if isinstance(given, str):
        return Text(given)
    if not isinstance(given, dict):
        return given
    return Reasoning("hm", "anthropic", given) if given in (THINKING, REDACTED) else Opaque("anthropic", given)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
@pytest.mark.parametrize(
    "raw",
    [
        *({}, {"type": None}, {"type": ""}, {"type": {}}, {"": 1}, {"type": "document", "source": 1}),
        *({"type": "image_url"}, {"type": "tool_use"}, {"type": "tool_result"}, {"type": "thinking"}, {"type": "text"}),
    ],
    ids=repr,
)
def test_a_block_that_would_be_refused_is_never_written_and_is_said_to_be_lost(role: Any, raw: dict[str, Any]) -> None:
    held: tuple[Any, ...] = (ToolResult("a", "ok"),) if role == "tool" else (Text("x"),)
    event = Event(role=role, origin="user", parts=(*held, Opaque("anthropic", raw)))
    events = [user("go"), assistant("", CALL), event] if role == "tool" else [user("go"), event]
    bare = [*events[:-1], Event(role=role, origin="user", parts=held)]
    assert messages(*events) == messages(*bare)
    (line,) = wire.lost(events)
    assert line.endswith("block that would be refused")


WAITING = [
    # what stands between the words of the user, and what of it goes out, by the types of its blocks
    ([acted(SEARCH, FOUND, "yes")], [["server_tool_use", "web_search_tool_result", "text"]]),
    ([acted(ASKED, GIVEN, "yes")], [["mcp_tool_use", "mcp_tool_result", "text"]]),
    ([acted("no", SEARCH)], [["text"]]),
    ([acted(FOUND, "no")], [["text"]]),
    ([acted(FOUND, SEARCH, "no")], [["text"]]),
    ([acted(SEARCH, ASKED, GIVEN, "no")], [["mcp_tool_use", "mcp_tool_result", "text"]]),
    ([acted(SEARCH)], []),
    ([acted(THINKING, SEARCH)], []),
    ([acted(THINKING, "no ", SEARCH)], [["thinking", "text"]]),
    ([acted(SEARCH), acted(FOUND, "yes")], [["server_tool_use", "web_search_tool_result", "text"]]),
    ([acted(SEARCH), injected("wait"), acted(FOUND, "no")], [["text"]]),
    # a call of the client beside it: the server waits until its results came
    (
        [acted(SEARCH, CALL), result("a", "ok"), acted(FOUND, "yes")],
        [["server_tool_use", "tool_use"], ["web_search_tool_result", "text"]],
    ),
    ([acted(SEARCH, CALL), result("a", "ok"), injected("note"), acted(FOUND, "no")], [["tool_use"], ["text"]]),
    ([acted(SEARCH, CALL), result("a", "ok"), acted("no")], [["tool_use"], ["text"]]),
    ([acted(SEARCH, CALL), result("a", "ok")], [["tool_use"]]),
]


@pytest.mark.parametrize(("between", "kinds"), WAITING)
def test_what_a_tool_of_the_server_was_asked_and_gave_goes_out_together_or_not_at_all(
    between: list[Event], kinds: list[list[str]]
) -> None:
    events = [user("go"), *between, user("on")]
    payload = wire.write("", [], events)
    steps = [message["content"] for message in payload["messages"] if message["role"] == "assistant"]
    assert [[block["type"] for block in blocks] for blocks in steps] == kinds
    roles = [message["role"] for message in payload["messages"]]
    assert all(before != after for before, after in pairwise(roles))
    refused = {"server_result", "server_orphan", "thinking_last", "empty_content"}
    assert not refused & set(codes(payload, suspected=True))
    whole = [part for event in between for part in event.parts if isinstance(part, (Opaque, Reasoning))]
    gone = len(whole) - sum(kind not in ("text", "tool_use") for step_kinds in kinds for kind in step_kinds)
    assert sum(int(line.split(" x ")[0]) for line in wire.lost(events)) == gone


@pytest.mark.parametrize(("between", "kinds"), WAITING)
def test_a_request_in_the_middle_of_what_a_server_does_is_valid_and_remembered_as_it_was(
    between: list[Event], kinds: list[list[str]]
) -> None:
    events = [user("go"), assistant("first"), user("and"), *between, user("on"), assistant("end"), user("more")]
    for length in range(1, len(events) + 1):
        warm = wire.write("", [], events[:length])
        copies = [Event(role=e.role, origin=e.origin, parts=e.parts, meta={"copy": str(length)}) for e in events]
        assert warm == wire.write("", [], copies[:length])
        assert "server_result" not in codes(warm)


def test_what_waits_for_the_client_stays_in_front_of_its_results() -> None:
    begun = [user("go"), acted(SEARCH, CALL), result("a", "ok")]
    first, then = wire.write("", [], begun), wire.write("", [], [*begun, acted(FOUND, "yes"), user("on")])
    assert first["messages"][1]["content"][0] == SEARCH
    assert then["messages"][:3] == first["messages"]


@pytest.mark.parametrize(
    "raw",
    [
        *({"type": "thinking", "signature": "c2ln"}, {"type": "thinking", "thinking": 1, "signature": "c2ln"}),
        *({"type": "redacted_thinking"}, {"type": "dream", "signature": "c2ln"}, {"signature": "c2ln"}),
    ],
)
def test_thinking_that_is_not_whole_does_not_go_back(raw: dict[str, Any]) -> None:
    event = Event(role="assistant", origin="agent", parts=(Reasoning("hm", "anthropic", raw), Text("x")))
    assert messages(user("go"), event)[1]["content"] == [{"type": "text", "text": "x"}]
    assert wire.lost([event]) == ["1 x reasoning of anthropic"]


def test_a_text_that_is_no_longer_the_one_its_block_was_kept_with_goes_out_as_text() -> None:
    for raw in ({"type": "text"}, {"type": "text", "text": "other", "citations": []}):
        event = Event(role="assistant", origin="agent", parts=(Text("x", raw=raw),))
        assert messages(user("go"), event)[1]["content"] == [{"type": "text", "text": "x"}]
