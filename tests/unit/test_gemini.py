"""The Gemini wire: contents in either spelling in, valid turns out, signatures on the part they came with."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from data import shared
from foldmark import Policy, Session
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
    result,
    user,
)
from foldmark.wire import gemini as wire
from foldmark.wire import gemini_turns, gemini_writing, neutral_tools
from foldmark.wire.gemini_reading import text_of_response
from foldmark.wire.gemini_schema import gemini_tools, in_place, read_tools
from foldmark.wire.grouping import Writer

SIGNED = {"functionCall": {"name": "look", "args": {"bed": 1}}, "thoughtSignature": "c2ln"}


def codes(payload: dict[str, Any], **options: Any) -> list[str]:
    return [problem.code for problem in wire.validate(payload, **options)]


def contents(*events: Event, **options: Any) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = wire.write("", [], events, **options)["contents"]
    return written


def spoken(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def step(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def made(name: str, call_id: str = "", **args: Any) -> dict[str, Any]:
    return {"functionCall": {**({"id": call_id} if call_id else {}), "name": name, "args": args}}


def answered(name: str, call_id: str = "", **response: Any) -> dict[str, Any]:
    return {"functionResponse": {**({"id": call_id} if call_id else {}), "name": name, "response": response}}


# -- reading


def test_both_spellings_say_the_same() -> None:
    rest = [
        step({"functionCall": {"name": "f", "args": {"file_path": "a"}}, "thoughtSignature": "+/8="}),
        spoken({"functionResponse": {"name": "f", "response": {"row_count": 1}}}),
        spoken({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
    ]
    sdk = [
        step({"function_call": {"name": "f", "args": {"file_path": "a"}}, "thought_signature": b"\xfb\xff"}),
        spoken({"function_response": {"name": "f", "response": {"row_count": 1}, "will_continue": None}}),
        spoken({"inline_data": {"mime_type": "image/png", "data": b"\0\0\0"}, "text": None}),
    ]
    assert wire.read_messages(sdk) == wire.read_messages(rest)


def test_sdk_objects_are_read_as_the_dicts_that_arrived() -> None:
    held = SimpleNamespace(model_dump=lambda **_: {"role": "model", "parts": [{"text": "hi"}]})
    assert wire.read(held) == wire.read({"role": "model", "parts": [{"text": "hi"}]})


def test_a_reply_gives_usage_model_and_why_it_stopped() -> None:
    (event,) = wire.read(
        {
            "candidates": [{"content": step({"text": "ok"}), "finishReason": "MAX_TOKENS"}],
            "usageMetadata": {
                "promptTokenCount": 38_196,
                "cachedContentTokenCount": 38_153,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 7,
            },
            "modelVersion": "gemini-x",
        }
    )
    assert event.usage is not None
    assert (event.usage.input, event.usage.cache_read, event.usage.output) == (38_196, 38_153, 12)
    assert (event.model, event.meta, event.text) == ("gemini-x", {"stop": "MAX_TOKENS"}, "ok")


def test_a_reply_without_a_candidate_says_why() -> None:
    with pytest.raises(WireError, match="SAFETY"):
        wire.read({"promptFeedback": {"blockReason": "SAFETY"}})
    (event,) = wire.read({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]})
    assert (event.parts, event.meta) == ((), {"stop": "MALFORMED_FUNCTION_CALL"})


def test_a_user_content_with_responses_and_text_gives_tool_events_then_the_user() -> None:
    found = wire.read(spoken(answered("f", "1", output="one"), answered("f", "2", error="two"), {"text": "and now?"}))
    assert found == [
        result("1", "one", name="f"),
        result("2", "two", name="f", is_error=True),
        user("and now?"),
    ]


def test_calls_without_ids_are_named_after_their_place_and_pair_in_order() -> None:
    talk = [
        step(made("f", n=1), made("g"), made("f", n=2)),
        spoken(answered("f", output="1"), answered("f", output="2"), answered("g", output="3")),
    ]
    calls, *results = wire.read_messages(talk).events
    assert [call.id for call in calls.calls] == ["f_1", "g_1", "f_2"]
    assert [(e.result.call_id, e.text) for e in results if e.result] == [("f_1", "1"), ("f_2", "2"), ("g_1", "3")]
    assert [event for content in talk for event in wire.read(content)] == [calls, *results]


def test_responses_find_their_calls_when_only_one_side_has_ids_or_they_come_one_by_one() -> None:
    one_by_one = [step(made("f"), made("f")), spoken(answered("f", output="1")), spoken(answered("f", output="2"))]
    bare = [step(made("f", "x"), made("f", "y")), spoken(answered("f", output="1"), answered("f", output="2"))]
    extra = [step(made("f")), spoken(answered("f", "minted", output="1"))]
    for talk, expected in ((one_by_one, ["f_1", "f_2"]), (bare, ["x", "y"]), (extra, ["f_1"])):
        found = wire.read_messages(talk).events
        assert [call.id for event in found for call in event.calls] == expected
        assert [event.result.call_id for event in found if event.result] == expected


def test_the_system_text_is_read_from_text_content_or_parts() -> None:
    for system in ("a\n\nb", {"parts": [{"text": "a"}, {"text": "b"}]}, [{"text": "a"}, "b"]):
        assert wire.read_messages([], system=system).system == "a\n\nb"
    payload = {"system_instruction": {"parts": [{"text": "s"}]}, "contents": "hello"}
    found = wire.read_payload(payload)
    assert (found.system, found.events) == ("s", (user("hello"),))


def test_media_are_images_where_others_could_take_them_and_whole_parts_else() -> None:
    whole = [
        {"inlineData": {"mimeType": "audio/wav", "data": "UklG"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/a.pdf"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/x"}},
        {"fileData": {"fileUri": "https://www.youtube.com/watch?v=x"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "mediaResolution": {"level": "LOW"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
    ]
    images = [
        ({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, Image(media_type="image/png", data="AAAA")),
        ({"fileData": {"mimeType": "image/png", "fileUri": "https://x/a.png?b=1"}}, Image(url="https://x/a.png?b=1")),
        (
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://x/a"}},
            Image(media_type="image/webp", url="https://x/a"),
        ),
    ]
    found = wire.read_messages([spoken(*whole, *(part for part, _ in images))])
    assert found.events[0].parts == (*(Opaque("gemini", part) for part in whole), *(image for _, image in images))
    assert found.warnings == ()
    assert contents(*found.events) == [spoken(*whole, *(part for part, _ in images))]


def test_unknown_parts_are_kept_with_one_warning_a_kind() -> None:
    novel = {"hologram": {"data": 1}}
    found = wire.read_messages([spoken(novel, novel)])
    assert found.events[0].parts == (Opaque("gemini", novel),) * 2
    assert found.warnings == ("parts of type 'hologram' are kept whole and not read",)


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({"role": "assistant", "parts": []}, "contents[0].role"),
        (7, "contents[0]"),
        (spoken() | {"parts": 3}, "contents[0].parts"),
        (step({"functionCall": {"args": {}}}), "contents[0].parts[0].functionCall.name"),
        (step({"functionCall": {"name": "f", "args": 3}}), "contents[0].parts[0].functionCall.args"),
        (
            spoken({"functionResponse": {"name": "f", "response": "x"}}),
            "contents[0].parts[0].functionResponse.response",
        ),
        (step({"text": 3}), "contents[0].parts[0].text"),
        (spoken({"functionCall": 3}), "contents[0].parts[0].functionCall"),
        (spoken({"inlineData": "x", "partMetadata": {}}), "contents[0].parts[0].inlineData"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_its_place(content: Any, path: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.read_messages([content])
    assert caught.value.path == path


# -- thoughts and signatures


def test_a_signature_stands_before_its_call_and_goes_back_onto_it() -> None:
    talk = [
        spoken({"text": "go"}),
        step({"text": "hm", "thought": True}, {"text": "I look."}, SIGNED, made("look", bed=2)),
        spoken(answered("look", output="a"), answered("look", output="b")),
    ]
    found = wire.read_messages(talk).events
    assert found[1].parts == (
        Reasoning("hm", "gemini", {"text": "hm", "thought": True}),
        Text("I look."),
        Reasoning("", "gemini", {"thoughtSignature": "c2ln"}),
        ToolCall("look_1", "look", '{"bed":1}'),
        ToolCall("look_2", "look", '{"bed":2}'),
    )
    assert contents(*found) == talk
    assert wire.lost(found) == []


def test_signatures_on_text_and_on_an_empty_part_go_back_as_they_came() -> None:
    talk = [spoken({"text": "go"}), step({"text": "Yes.", "thoughtSignature": "YQ=="}), spoken({"text": "and?"})]
    talk += [step({"text": "No."}, {"text": "", "thoughtSignature": "Yg=="}), spoken({"text": "why?"})]
    found = wire.read_messages(talk).events
    assert found[1].text == "Yes."
    assert contents(*found) == talk
    assert codes({"contents": talk}, suspected=True) == []


def test_a_payload_stays_valid_when_every_thought_is_removed() -> None:
    talk = [spoken({"text": "go"}), step(SIGNED), spoken(answered("look", output="a"))]
    bare = [
        Event(
            role=e.role, origin=e.origin, parts=tuple(p for p in e.parts if not isinstance(p, Reasoning)), meta=e.meta
        )
        for e in wire.read_messages(talk).events
    ]
    assert contents(*bare)[1] == step({"functionCall": SIGNED["functionCall"]})
    assert codes({"contents": contents(*bare)}, suspected=True) == []


def test_a_signature_whose_call_is_gone_or_that_cannot_go_whole_is_left_out_and_reported() -> None:
    lonely = Event(role="assistant", parts=(Text("x"), Reasoning("", "gemini", {"thoughtSignature": "YQ=="})))
    dirty = Event(role="assistant", parts=(Reasoning("", "gemini", {"thoughtSignature": "\ud83d"}), ToolCall("a", "f")))
    for event in (lonely, dirty):
        assert "thoughtSignature" not in json.dumps(contents(user("go"), event))
        assert wire.lost([event]) == ["1 x reasoning of gemini"]


def test_a_step_that_was_cut_off_while_thinking_writes_nothing() -> None:
    event = wire.read(step({"text": "hm", "thought": True}))[0]
    assert contents(user("go"), event, user("again")) == [spoken({"text": "go"}, {"text": "again"})]


def test_text_that_was_changed_loses_its_signature() -> None:
    event = Event(role="assistant", parts=(Text("short", raw={"text": "long", "thoughtSignature": "YQ=="}),))
    assert contents(user("go"), event)[1] == step({"text": "short"})


@settings(max_examples=20)
@given(st.lists(st.sampled_from([40, 4_000]), min_size=2, max_size=8), st.integers(1, 3))
def test_in_every_request_a_signature_is_on_its_own_part_or_gone(sizes: list[int], turns: int) -> None:
    session = Session("s", policy=Policy.coding(budget={"target_tokens": 1_500}, window=20_000), clock=lambda: 1_000.0)
    known: list[dict[str, Any]] = []
    for turn in range(turns):
        session.record(user(f"Question {turn}?"))
        for at, size in enumerate(sizes):
            signed = {**made("read", n=turn * 100 + at), "thoughtSignature": f"{turn}{at}" * (size // 2)}
            known.append(signed)
            session.record(*wire.read(step({"text": "hm", "thought": True}, signed, made("read", n=-1))))
            session.record(*wire.read(spoken(answered("read", output="row " * size), answered("read", output="x"))))
            parts = [part for content in session.request(wire=wire).payload()["contents"] for part in content["parts"]]
            assert all(part in known for part in parts if "thoughtSignature" in part)
            assert signed in parts, "the newest step keeps its signature"
        session.record(assistant("Done."))


# -- writing


def test_responses_stand_first_in_call_order_and_words_behind_them() -> None:
    out = contents(
        user("go"),
        user("quickly"),
        assistant("", ToolCall("a", "f"), ToolCall("b", "g")),
        result("b", "second"),
        user("by the way"),
        result("a", "first"),
        assistant("done"),
    )
    assert [content["role"] for content in out] == ["user", "model", "user", "model"]
    assert out[2] == spoken(
        answered("f", "a", output="first"), answered("g", "b", output="second"), {"text": "by the way"}
    )
    assert codes({"contents": out}) == []


def test_a_conversation_that_begins_with_the_model_gets_an_opening() -> None:
    out = contents(assistant("hello"), user("hi"))
    assert out == [spoken({"text": wire.OPENING}), step({"text": "hello"}), spoken({"text": "hi"})]


def test_blank_texts_and_empty_events_write_nothing() -> None:
    out = contents(user("go"), assistant(" \n"), control("x", {"y": 1}), user("\t"))
    assert out == [spoken({"text": "go"})]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [('{"a":1}', {"a": 1}), ("", {}), ("[1]", {"_raw": "[1]"}), ('{"a', {"_raw": '{"a'})],
)
def test_arguments_become_an_object_whatever_they_are(arguments: str, written: dict[str, Any]) -> None:
    out = contents(user("go"), assistant("", ToolCall("a", "f", arguments)))
    assert out[1]["parts"][0]["functionCall"]["args"] == written


def test_steps_that_become_one_turn_keep_their_calls_apart() -> None:
    first = assistant("", ToolCall("f_1", "f", '{"n":1}'))
    second = assistant("", ToolCall("f_1", "f", '{"n":2}'))
    out = contents(user("go"), first, second, result("f_1", "1"), result("f_1", "2"))
    ids = [part["functionCall"].get("id", "") for part in out[1]["parts"]]
    assert ids == [part["functionResponse"].get("id", "") for part in out[2]["parts"]] == ["", "f_1_2"]
    assert codes({"contents": out}, suspected=True) == []


def test_responses_follow_their_calls_when_an_id_comes_twice_in_a_turn() -> None:
    first = assistant("", ToolCall("a", "f"), ToolCall("b", "g"))
    out = contents(user("go"), first, assistant("", ToolCall("a", "f")), *[result(i, n) for i, n in ("a1", "b2", "a3")])
    assert [part["functionResponse"]["response"]["output"] for part in out[2]["parts"]] == ["1", "2", "3"]
    assert [part["functionResponse"]["id"] for part in out[2]["parts"]] == ["a", "b", "a_2"]


def test_a_result_that_stands_apart_never_passes_for_the_answer_of_another_call() -> None:
    out = contents(user("go"), assistant("", ToolCall("a", "f")), result("f_1", "late", name="f"))
    assert [event.result.call_id for event in wire.read_messages(out).events if event.result] == ["f_1"]


def test_names_of_other_providers_get_a_safe_spelling_on_both_sides() -> None:
    out = contents(
        user("go"), assistant("", ToolCall("a", "läs bok"), ToolCall("b", "1")), result("a", "x"), result("b", "y")
    )
    names = [part["functionCall"]["name"] for part in out[1]["parts"]]
    assert names == [part["functionResponse"]["name"] for part in out[2]["parts"]]
    assert len(set(names)) == 2
    assert codes({"contents": out}, suspected=True) == []


def test_images_and_other_media_of_results_stay_inside_them() -> None:
    pdf = {"inlineData": {"mimeType": "application/pdf", "data": "JVBE"}}
    picture = Image(media_type="image/png", data="AAAA")
    shown = Event(
        role="tool", origin="tool", parts=(ToolResult("a", "taken", "f", images=(picture,)), Opaque("gemini", pdf))
    )
    out = contents(user("go"), assistant("", ToolCall("a", "f")), shown)
    assert out[2]["parts"][0]["functionResponse"]["parts"][1] == pdf
    assert wire.read(out[2]) == [shown]


def test_older_models_get_no_ids_and_media_behind_the_responses() -> None:
    picture = Image(media_type="image/png", data="AAAA")
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "taken", "f", images=(picture,)),))
    talk = [
        user("go"),
        assistant("", ToolCall("a", "f"), ToolCall("b", "f")),
        shown,
        result("b", "x", name="f"),
        user("?"),
    ]
    payload = wire.write("", [], talk, model="gemini-2.5-pro")
    assert payload["contents"][1:] == [
        step(made("f"), made("f")),
        spoken(answered("f", output="taken"), answered("f", output="x")),
        spoken(
            {"text": "[media of the result of f]"},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            {"text": "?"},
        ),
    ]
    assert codes(payload) == []
    for model in ("gemini-3-pro", "gemini-pro-latest", None):
        assert wire.write("", [], talk, model=model)["contents"][1] == step(made("f", "a"), made("f", "b"))


def test_images_that_gemini_refuses_are_named_and_reported() -> None:
    event = Event(
        role="user", origin="user", parts=(Image(media_type="image/gif", data="R0lG"), Image(url="https://x/a.gif"))
    )
    assert contents(event) == [
        spoken(*[{"text": f"[an image of type {kind} cannot be sent here]"} for kind in ("image/gif", "unknown")])
    ]
    assert wire.lost([event]) == ["2 x image of type image/gif"]


def test_an_image_of_a_result_that_only_others_take_is_reported() -> None:
    shown = Event(
        role="tool",
        origin="tool",
        parts=(ToolResult("a", "taken", "f", images=(Image(media_type="image/gif", data="R0lG"),)),),
    )
    assert "R0lG" not in str(contents(user("go"), assistant("", ToolCall("a", "f")), shown))
    assert wire.lost([shown]) == ["1 x image that cannot be sent"]


def test_blocks_of_other_providers_are_left_out_and_reported() -> None:
    event = Event(role="user", origin="user", parts=(Text("see"), Opaque("anthropic", {"type": "document"})))
    assert contents(event) == [spoken({"text": "see"}, {"text": "[a document block of another provider is left out]"})]
    assert wire.lost([event]) == ["1 x document block of anthropic"]


def test_a_part_that_was_kept_in_the_other_spelling_goes_out_in_this_one() -> None:
    event = Event(role="user", origin="user", parts=(Opaque("gemini", {"file_data": {"file_uri": "gs://b/a"}}),))
    assert contents(event) == [spoken({"fileData": {"fileUri": "gs://b/a"}})]


@pytest.mark.parametrize(
    "raw",
    [
        *({}, {"hologram": {}}, {"text": 5}, {"fileData": "x"}, {"fileData": {}, "inlineData": {}}),
        *({"inlineData": {}}, {"inlineData": {"mimeType": "audio/wav", "data": "data:audio/wav;base64,AA"}}),
        *({"functionCall": {"name": "f"}}, {"functionResponse": {"name": "f", "response": {}}}),
    ],
)
def test_a_part_that_would_be_refused_for_its_data_is_left_out_and_said(raw: dict[str, Any]) -> None:
    part = Opaque("gemini", raw)
    for role in ("user", "assistant"):
        event = Event(role=role, origin="user", parts=(Text("go"), part))  # type: ignore[arg-type]
        assert contents(event)[-1]["parts"] == [{"text": "go"}]
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "x"), part))
    answered = contents(user("go"), assistant("", ToolCall("a", "f")), shown)[-1]["parts"][0]
    assert "parts" not in answered["functionResponse"]
    assert wire.lost([event]) == ["1 x part without data that we know"]


def test_changing_a_payload_does_not_change_the_next_one() -> None:
    events = [user("go"), assistant("on it", ToolCall("a", "f")), result("a", "x"), assistant("done"), user("more")]
    first = wire.write("s", [], events)
    before = json.dumps(first)
    for content in first["contents"]:
        for part in content["parts"]:
            for held in part.values():
                if isinstance(held, dict):
                    held["id"] = "changed"
        content["parts"].append({"text": "added"})
    assert json.dumps(wire.write("s", [], events)) == before


def test_the_payload_holds_model_limit_system_and_tools_in_the_form_of_the_api() -> None:
    tools = [
        {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}},
        {"googleSearch": {}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    assert wire.write("sys", tools, [user("hi")], model="m", max_output=9) == {
        "model": "m",
        "generationConfig": {"maxOutputTokens": 9},
        "tools": [
            {"functionDeclarations": [{"name": "f", "description": "F.", "parametersJsonSchema": {"type": "object"}}]},
            {"googleSearch": {}},
        ],
        "systemInstruction": {"parts": [{"text": "sys"}]},
        "contents": [spoken({"text": "hi"})],
    }


# -- responses are objects


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
responses = st.one_of(
    st.dictionaries(st.sampled_from(["output", "error", "result", "$ref"]), json_values, max_size=3),
    st.builds(
        lambda key, text: {key: text},
        st.sampled_from(["output", "error"]),
        st.text(max_size=12) | json_values.map(lambda value: json.dumps(value, separators=(",", ":"))),
    ),
)


def asks(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [spoken({"text": "go"}), step(made("f")), spoken(*parts)]


@given(responses)
def test_a_response_object_comes_back_as_it_was(response: dict[str, Any]) -> None:
    assume("\\u0000" not in json.dumps(response) and "$ref" not in json.dumps(response))
    talk = asks(answered("f", **response))
    assert contents(*wire.read_messages(talk).events) == talk


@given(st.text(max_size=12) | json_values.map(json.dumps), st.booleans())
def test_a_result_text_comes_back_as_it_was(text: str, is_error: bool) -> None:
    text = text.replace("\x00", "")
    events = [user("go"), assistant("", ToolCall("a", "f")), result("a", text, name="f", is_error=is_error)]
    assert list(wire.read_messages(contents(*events)).events[2:]) == events[2:]


def test_an_object_of_its_own_that_was_shortened_or_names_strange_media_goes_out_as_text() -> None:
    event = wire.read(spoken(answered("f", "a", rows=[1, 2])))[0]
    assert (event.text, event.meta) == ('{"rows":[1,2]}', {"response": "object"})
    short = Event(role="tool", parts=(ToolResult("a", "2 rows", "f"),), meta=event.meta)
    ref = Event(role="tool", parts=(ToolResult("a", '{"$ref":"#/x"}', "f"),), meta=event.meta)
    for one, text in ((short, "2 rows"), (ref, '{"$ref":"#/x"}')):
        assert contents(one) == [spoken(answered("f", "a", output=text))]


def test_an_object_may_name_the_media_that_came_with_it() -> None:
    media = {"inlineData": {"mimeType": "image/png", "data": "AAAA", "displayName": "a.png"}}
    part = answered("f", image={"$ref": "a.png"})
    part["functionResponse"]["parts"] = [media]
    talk = asks(part)
    assert contents(*wire.read_messages(talk).events) == talk


def test_an_error_object_is_an_error() -> None:
    assert text_of_response({"error": {"code": 5}}) == ('{"error":{"code":5}}', True, True)
    assert text_of_response({"output": "x", "error": "y"})[1] is False


# -- tools


def test_tools_in_geminis_shape_become_neutral_and_go_back() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": False}
    given = [
        {"functionDeclarations": [{"name": "f", "description": "F.", "parametersJsonSchema": schema}]},
        {"googleSearch": {}},
    ]
    neutral = read_tools(given)
    assert neutral == [
        {"name": "f", "description": "F.", "parameters": schema},
        {"name": "googleSearch", "provider": "gemini", "raw": {"googleSearch": {}}},
    ]
    assert gemini_tools(neutral) == gemini_tools(given) == given
    assert neutral_tools(neutral) == neutral


def test_the_older_schema_is_read_as_json_schema() -> None:
    older = {
        "type": "OBJECT",
        "properties": {"any_of": {"type": "ARRAY", "items": {"type": "STRING", "nullable": True}, "min_items": 1}},
    }
    (tool,) = read_tools([{"function_declarations": [{"name": "f", "parameters": older}]}])
    assert tool["parameters"] == {
        "type": "object",
        "properties": {"any_of": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1}},
    }


def test_references_inside_a_schema_are_put_in_place() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/P", "description": "mine"},
            "b": {"type": "array", "items": {"$ref": "#/$defs/P"}},
        },
        "$defs": {"P": {"type": "object", "description": "a point", "properties": {"x": {"type": "number"}}}},
    }
    point = schema["$defs"]["P"]  # type: ignore[index]
    assert in_place(schema) == {
        "type": "object",
        "properties": {"a": {**point, "description": "mine"}, "b": {"type": "array", "items": point}},
    }
    payload = wire.write("", [{"name": "f", "parameters": schema}], [user("go")])
    assert codes(payload, suspected=True) == []


@pytest.mark.parametrize("ref", ["#/$defs/T", "#/$defs/none", "https://example.org/s.json"])
def test_a_reference_that_leads_back_or_nowhere_stays(ref: str) -> None:
    schema = {
        "type": "object",
        "properties": {"t": {"$ref": ref}},
        "$defs": {"T": {"properties": {"t": {"$ref": "#/$defs/T"}}}},
    }
    out = in_place(schema)
    assert "$ref" in json.dumps(out["properties"])
    assert out["$defs"]


# -- random conversations in Gemini's own shape


names = st.sampled_from(["f", "g", "f_1"])
signature = st.sampled_from([{}, {}, {"thoughtSignature": "c2ln"}])
said = st.sampled_from(["a", "b\n", " c"])


@st.composite
def talks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Valid contents as a client holds them: ids or none, signatures anywhere, media, objects as responses."""
    out = [spoken({"text": draw(said)})]
    for _ in range(draw(st.integers(0, 4))):
        has_ids = draw(st.booleans())
        parts: list[dict[str, Any]] = [{"text": "hm", "thought": True}] if draw(st.booleans()) else []
        parts += [{"text": draw(said), **draw(signature)} for _ in range(draw(st.integers(0, 2)))]
        called = draw(st.lists(names, max_size=3))
        ids = [f"id{len(out)}{at}" if has_ids else "" for at in range(len(called))]
        parts += [{**made(name, one, n=1), **draw(signature)} for name, one in zip(called, ids, strict=True)]
        parts += [{"text": "", "thoughtSignature": "ZW5k"}] if draw(st.booleans()) else []
        if not called and not any(part.get("text") and not part.get("thought") for part in parts):
            parts.append({"text": "well"})
        words = [{"text": draw(said)} for _ in range(draw(st.integers(0 if called else 1, 2)))]
        bodies = st.sampled_from(
            [{"output": "x"}, {"error": "x"}, {"rows": [1]}, {"output": '{"a":1}'}, {}, {"error": {}}]
        )
        out += [
            step(*parts),
            spoken(*(answered(n, one, **draw(bodies)) for n, one in zip(called, ids, strict=True)), *words),
        ]
    return out


@given(talks())
def test_what_a_client_holds_comes_back_as_it_was(talk: list[dict[str, Any]]) -> None:
    assert contents(*wire.read_messages(talk).events) == talk
    assert codes({"contents": talk}) == []


@given(talks())
def test_each_content_read_for_itself_gives_the_events_of_the_whole_list(talk: list[dict[str, Any]]) -> None:
    assert [event for content in talk for event in wire.read(content)] == list(wire.read_messages(talk).events)


@given(st.lists(talks(), min_size=2, max_size=3), st.lists(st.integers(0, 9), min_size=3, max_size=5))
def test_what_was_written_before_never_shows_in_what_is_written_now(
    given_talks: list[list[dict[str, Any]]], cuts: list[int]
) -> None:
    def cold() -> Writer[Any]:
        return Writer(gemini_writing._form, gemini_turns.extend, gemini_turns.fresh, may_grow=gemini_writing.may_grow)

    warm = cold()
    lists = [list(wire.read_messages(talk).events) for talk in given_talks]
    for at, cut in enumerate(cuts):
        mine, other = lists[at % len(lists)], lists[(at + 1) % len(lists)]
        for events in (mine[:cut], mine, mine[:cut] + other[cut:]):
            assert warm.messages(events) == cold().messages(events)


@given(talks())
def test_a_growing_conversation_keeps_its_first_bytes(talk: list[dict[str, Any]]) -> None:
    events = wire.read_messages(talk).events
    cuts = [at for at, event in enumerate(events) if event.role == "assistant"]
    texts = [json.dumps(contents(*events[:cut])) for cut in cuts if cut] + [json.dumps(contents(*events))]
    for shorter, longer in itertools.pairwise(texts):
        assert longer.startswith(shorter.removesuffix("]"))


@given(talks(), st.integers(0, 9))
def test_a_known_prefix_hides_nothing_behind_it(talk: list[dict[str, Any]], gone: int) -> None:
    broken = [content for at, content in enumerate(talk) if at != gone] or talk
    whole = wire.validate({"contents": broken}, suspected=True)
    for known in range(1, len(broken) + 1):
        later = [p for p in whole if any(p.path.startswith(f"contents[{at}]") for at in range(known, 99))]
        found = wire.validate({"contents": broken}, known, suspected=True)
        assert [problem for problem in found if problem in later] == later


# -- what is refused


CALL = made("f", "a")
ANSWER = answered("f", "a", output="ok")
GO = spoken({"text": "go"})
YES = step({"text": "yes"})
GIF = {"inlineData": {"mimeType": "image/gif", "data": "R0lG"}}
PNG = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
NAMED = {"id": "a", "name": "f"}
WITHOUT_ID = {"name": "f", "response": {}}


def tools(**declaration: Any) -> dict[str, Any]:
    return {"contents": [GO], "tools": [{"functionDeclarations": [{"name": "f", **declaration}]}]}


def parameters(**schema: Any) -> dict[str, Any]:
    return tools(parameters={"type": "object", "properties": {"a": schema}})


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("no_messages", {"contents": []}),
    ("shape", {"contents": ["hello"]}),
    ("shape", {"contents": [{"role": "user", "parts": {"text": "x"}}]}),
    ("shape", {"contents": [spoken({"text": ["x"]})]}),
    ("shape", {"contents": [GO, step({"functionCall": "f"})]}),
    ("shape", {"contents": [spoken({"functionResponse": {"name": "f", "parts": ["x"]}})]}),
    ("shape", {"contents": {"role": "user"}}),
    ("shape", {"contents": [{"role": ["user"], "parts": [{"text": "x"}]}]}),
    ("shape", {"contents": [GO, step({"functionCall": {"name": "f", "id": []}}), spoken({"functionResponse": {}})]}),
    ("shape", {"contents": [GO], "tools": "x"}),
    ("shape", {"contents": [GO], "tools": [1]}),
    ("shape", {"contents": [GO], "tools": [{"functionDeclarations": [[]]}]}),
    ("shape", {"contents": [GO], "tools": [{"functionDeclarations": [{"parameters": {"required": [{}]}}]}]}),
    ("role", {"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}),
    ("empty_content", {"contents": [spoken()]}),
    ("empty_part", {"contents": [spoken({})]}),
    ("empty_part", {"contents": [GO, step({"thoughtSignature": "c2ln"}), GO]}),
    ("part_data", {"contents": [GO, step({**CALL, "text": "x"}), spoken(ANSWER)]}),
    ("blank_text", {"contents": [spoken({"text": ""})]}),
    ("blank_text", {"contents": [GO], "systemInstruction": {"parts": [{"text": ""}]}}),
    ("orphan_result", {"contents": [spoken(ANSWER)]}),
    ("orphan_result", {"contents": [GO, step(CALL), spoken(ANSWER), YES, spoken(ANSWER)]}),
    ("missing_result", {"contents": [GO, step(CALL), GO]}),
    ("result_count", {"contents": [GO, step(CALL, made("f", "b")), spoken(ANSWER)]}),
    ("result_count", {"contents": [GO, step(CALL), spoken(ANSWER, ANSWER)]}),
    ("result_id", {"contents": [GO, step(CALL), spoken(answered("f", "b", output=""))]}),
    ("result_name", {"contents": [GO, step(CALL), spoken(answered("g", "a", output=""))]}),
    ("response_only", {"contents": [GO, step(CALL, CALL), spoken(ANSWER, ANSWER, {"text": "x"})]}),
    ("part_role", {"contents": [spoken({"text": "hm", "thought": True}, {"text": "x"})]}),
    ("args_type", {"contents": [GO, step({"functionCall": {"name": "f", "args": "{}"}}), spoken(answered("f"))]}),
    ("response_type", {"contents": [GO, step(CALL), spoken({"functionResponse": {**NAMED, "response": "x"}})]}),
    ("response_ref", {"contents": [GO, step(CALL), spoken(answered("f", "a", schema={"$ref": "#/$defs/x"}))]}),
    (
        "response_parts",
        {
            "model": "gemini-2.5-flash",
            "contents": [GO, step(made("f")), spoken({"functionResponse": {**WITHOUT_ID, "parts": [PNG]}})],
        },
    ),
    ("call_ids", {"model": "models/gemini-2.0-flash", "contents": [GO, step(CALL), spoken(ANSWER)]}),
    ("signature", {"model": "gemini-3-pro", "contents": [GO, step(CALL), spoken(ANSWER)]}),
    ("signature", {"contents": [GO, step(SIGNED), spoken(answered("look")), step(CALL), spoken(ANSWER)]}),
    ("media_type", {"contents": [spoken(GIF)]}),
    ("media_type", {"contents": [spoken({"inlineData": {"data": "AAAA"}})]}),
    ("base64", {"contents": [spoken({"inlineData": {"mimeType": "image/png", "data": "data:image/png;base64,AAAA"}})]}),
    ("first_user", {"contents": [YES, GO]}),
    ("role_order", {"contents": [GO, GO]}),
    ("last_turn", {"contents": [GO, YES]}),
    ("system_type", {"contents": [GO], "systemInstruction": "be brief"}),
    ("system_type", {"contents": [GO], "systemInstruction": {"parts": [GIF]}}),
    ("tool_name", {"contents": [GO, step(made("a b")), spoken(answered("a b"))]}),
    ("tool_name", tools(name="1st")),
    ("tool_name", tools(name="x" * 129)),
    ("tool_name_style", tools(name="x" * 65)),
    ("duplicate_tool", {"contents": [GO], "tools": [{"functionDeclarations": [{"name": "f"}]}] * 2}),
    ("tool_mix", {"contents": [GO], "tools": [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]}),
    ("two_schemas", tools(parameters={"type": "object"}, parametersJsonSchema={"type": "object"})),
    ("schema_object", tools(parametersJsonSchema={"type": "string"})),
    ("schema_object", tools(parameters={"properties": {}})),
    ("schema_field", parameters(type="string", const="x")),
    ("schema_field", tools(parameters={"type": "object", "$schema": "x"})),
    ("schema_field", tools(parameters={"type": "object", "additionalProperties": False})),
    ("schema_type", parameters(type=["string", "null"])),
    ("schema_enum", parameters(type="integer", enum=[1, 2])),
    ("schema_items", parameters(type="array")),
    ("schema_items", parameters(anyOf=[{"type": "ARRAY"}])),
    ("schema_properties", parameters(type="string", properties={})),
    ("schema_required", parameters(type="array", items={"type": "object", "required": ["x"]})),
    ("schema_ref", tools(parametersJsonSchema={"type": "object", "items": {"$ref": "#/x", "type": "string"}})),
    ("unencodable", {"contents": [spoken({"text": "\ud83d"})]}),
    ("nul", {"contents": [spoken({"text": "a\x00"})]}),
]  # fmt: skip
REFUSED_FOR_MORE: list[tuple[str, dict[str, Any]]] = [
    # What stands in the wrong place breaks the order of roles too, or leaves something else without its place.
    ("orphan_result", {"contents": [GO, step(CALL), spoken(ANSWER), spoken(ANSWER)]}),
    ("missing_result", {"contents": [GO, step(CALL)]}),
    ("call_placement", {"contents": [step(CALL), spoken(ANSWER)]}),
    ("call_placement", {"contents": [GO, YES, step(CALL), spoken(ANSWER)]}),
    ("part_role", {"contents": [GO, step(ANSWER), GO]}),
]
"""`tests/refused.py` takes both tables: the first breaks one rule a row and no other."""


def test_signatures_are_asked_for_in_the_current_turn_only_and_on_the_first_call_only() -> None:
    old = [GO, step(CALL), spoken(ANSWER), YES]
    now = [GO, step(SIGNED, made("look", bed=2)), spoken(answered("look"), answered("look"))]
    assert codes({"model": "gemini-3-pro", "contents": [*old, *now]}, suspected=True) == []
    assert codes({"contents": [GO, step(CALL), spoken(ANSWER)]}, suspected=True) == []


def test_a_known_prefix_is_not_looked_at_again_but_its_open_calls_are() -> None:
    bad = spoken({"text": ""})
    assert codes({"contents": [bad, step(CALL), spoken(ANSWER), YES, GO]}, known_prefix=3) == []
    assert codes({"contents": [bad, step(CALL), GO]}, known_prefix=2) == ["missing_result"]
    assert codes({"contents": [bad, step(CALL), spoken(ANSWER, ANSWER)]}, known_prefix=2) == ["result_count"]


# -- real recordings


def test_recorded_replies_of_a_tool_loop_go_back_as_they_came() -> None:
    path = shared("data/trajectories/gemini-cli/browser-agent.persistent-session.responses")
    signed = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        chunks = json.loads(line)["response"]
        for chunk in chunks:
            (event,) = wire.read(chunk)
            assert event.usage is not None
            assert event.usage.input >= event.usage.cache_read
        whole = step(*(part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]))
        said = [part for part in whole["parts"] if part != {"text": ""}]
        signed += sum("thoughtSignature" in part for part in said)
        assert contents(GO_EVENT, *wire.read(whole))[1:] == [step(*said)]
    assert signed > 10


GO_EVENT = user("go")


def test_a_recorded_session_with_calls_without_ids_keeps_its_pairs() -> None:
    path = shared("data/trajectories/adk/flow_complex_spark.session.json")
    recorded = [event["content"] for event in json.loads(path.read_text(encoding="utf-8"))["events"]]
    found = wire.read_messages(recorded).events
    calls = [call.id for event in found for call in event.calls]
    assert calls
    assert [event.result.call_id for event in found if event.result] == calls
    payload = wire.write("", [], found)
    assert codes(payload) == []
    assert wire.read_messages(payload["contents"]).events[: len(found)][0] == found[0]
