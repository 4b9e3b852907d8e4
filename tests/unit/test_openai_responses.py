"""The OpenAI Responses wire: every kind of item in, items that the provider takes out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
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
    injected,
    result,
    user,
)
from foldmark.wire import anthropic, openai_chat, responses_writing
from foldmark.wire import openai_responses as wire

PNG = "data:image/png;base64,iVBORw0KGgo="
ASKED = {"type": "message", "role": "user", "content": "Go."}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Look first."}],
    "encrypted_content": "gAAAA",
}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
}
CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"a": 1}',
    "status": "completed",
}
ANSWERED = {"type": "function_call_output", "call_id": "call_1", "output": "one"}

# One call of every kind with its answer, as the provider and its clients write them.
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "function": (CALLED, ANSWERED),
    "function of a namespace": ({**CALLED, "namespace": "files", "caller": {"type": "direct"}}, ANSWERED),
    "custom": (
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "patch", "input": "*** Begin\n+a"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "Done."},
    ),
    "custom with a picture": (
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "draw", "input": ""},
        {
            "type": "custom_tool_call_output",
            "call_id": "c",
            "output": [
                {"type": "input_text", "text": "Seen."},
                {"type": "input_image", "image_url": PNG, "detail": "low"},
                {"type": "input_file", "file_id": "file-1"},
            ],
        },
    ),
    "local shell": (
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "call_id": "c",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls", "-l"], "env": {}},
        },
        {"type": "local_shell_call_output", "call_id": "c", "output": "a\nb"},
    ),
    "local shell known by its id": (
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": [], "env": {}}},
        {"type": "local_shell_call_output", "id": "c", "output": "a"},
    ),
    "local shell with a function's output": (
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "function_call_output", "call_id": "c", "output": "a"},
    ),
    "shell": (
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "c",
            "action": {"commands": ["make", "x"]},
            "status": "completed",
        },
        {
            "type": "shell_call_output",
            "call_id": "c",
            "max_output_length": 4096,
            "output": [
                {"stdout": "made\n", "stderr": "warning", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "no x", "outcome": {"type": "exit", "exit_code": 2}},
            ],
        },
    ),
    "patch": (
        {
            "type": "apply_patch_call",
            "id": "apc_1",
            "call_id": "c",
            "status": "completed",
            "operation": {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b"},
        },
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "No such line."},
    ),
    "computer": (
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "c",
            "action": {"type": "click", "x": 1, "y": 2, "button": "left"},
            "pending_safety_checks": [{"id": "s1"}],
            "status": "completed",
        },
        {
            "type": "computer_call_output",
            "call_id": "c",
            "acknowledged_safety_checks": [{"id": "s1"}],
            "output": {"type": "computer_screenshot", "image_url": PNG},
        },
    ),
    "computer with a stored picture": (
        {"type": "computer_call", "id": "cu_1", "call_id": "c", "actions": [{"type": "screenshot"}]},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "file_id": "f-1"}},
    ),
    "tool search": (
        {"type": "tool_search_call", "id": "tsc_1", "call_id": "c", "execution": "client", "arguments": {"q": "x"}},
        {
            "type": "tool_search_output",
            "call_id": "c",
            "execution": "client",
            "tools": [{"type": "function", "name": "x"}],
        },
    ),
}
HOSTED: list[dict[str, Any]] = [
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"], "results": []},
    {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "k"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBOR"},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "n", "arguments": "{}", "output": "o"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"},
    {"type": "tool_search_call", "id": "tsc_1", "execution": "server", "arguments": {}, "status": "completed"},
]


def items(*events: Event) -> list[dict[str, Any]]:
    return wire.write("", [], events)["input"]


def read(*given: dict[str, Any]) -> tuple[Event, ...]:
    return wire.read_messages(list(given)).events


def codes(given: list[dict[str, Any]], suspected: bool = False, **payload: Any) -> list[str]:
    return [problem.code for problem in wire.validate({"input": given, **payload}, suspected=suspected)]


# -- items in, the same items out


@pytest.mark.parametrize("pair", PAIRS.values(), ids=list(PAIRS))
def test_a_call_of_any_kind_and_its_answer_go_back_as_they_came(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    given = [ASKED, THOUGHT, *pair]
    found = read(*given)
    assert [event.role for event in found] == ["user", "assistant", "tool"]
    assert [call.id for call in found[1].calls] == [found[2].result.call_id]  # type: ignore[union-attr]
    json.loads(found[1].calls[0].arguments)
    assert items(*found) == given
    assert codes(items(*found), suspected=True) == []


@pytest.mark.parametrize("pair", PAIRS.values(), ids=list(PAIRS))
@pytest.mark.parametrize("text", ["[patch: 3 lines changed]", ""])
def test_a_call_of_any_kind_stays_a_pair_when_its_answer_becomes_a_line_of_words(
    pair: tuple[dict[str, Any], dict[str, Any]], text: str
) -> None:
    asked, step, answer = read(ASKED, *pair)
    held = answer.result
    assert held is not None
    shown = msgspec.structs.replace(answer, parts=(ToolResult(held.call_id, text, is_error=held.is_error),))
    marker = Event(role="tool", origin="injected", parts=(ToolResult(held.call_id, text),))
    for one in (shown, marker):
        written = items(asked, step, one)
        assert codes(written, suspected=True) == []
        assert text in json.dumps(written[2], ensure_ascii=False)
        assert items(*read(*written)) == written


@pytest.mark.parametrize("item", HOSTED, ids=lambda item: str(item["type"]))
def test_what_the_providers_own_tools_did_is_carried_whole(item: dict[str, Any]) -> None:
    found = wire.read_messages([ASKED, THOUGHT, item, {**SAID, "id": "msg_2"}])
    assert found.events[1].parts[1] == Opaque("openai-responses", item)
    assert found.warnings == ()
    assert items(*found.events)[2] == item


def test_a_type_that_nobody_knows_is_kept_whole_with_one_warning() -> None:
    found = wire.read_messages([ASKED, {"type": "dream_call", "id": "d"}, {"type": "dream_call", "id": "e"}, SAID])
    assert found.warnings == ("items of type 'dream_call' are kept whole and not read",)
    assert items(*found.events)[1] == {"type": "dream_call", "id": "d"}


def test_a_reference_cannot_be_read_and_is_said_to_be_one() -> None:
    found = wire.read_messages([ASKED, {"id": "msg_9"}, {"type": "item_reference", "id": "rs_8"}])
    assert found.warnings == ("items of type 'item_reference' are kept whole and not read",)
    assert [item["id"] for item in items(*found.events)[1:]] == ["msg_9", "rs_8"]
    assert {item["type"] for item in items(*found.events)[1:]} == {"item_reference"}


def test_null_fields_and_those_of_sdks_are_left_out() -> None:
    said = {**SAID, "phase": None, "content": [{**SAID["content"][0], "parsed": None, "logprobs": None}]}  # type: ignore[index]
    assert items(*read(THOUGHT | {"content": None}, said, {**CALLED, "parsed_arguments": {"a": 1}}, ANSWERED)) == [
        THOUGHT,
        SAID,
        CALLED,
        ANSWERED,
    ]


# -- which items are one step


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, **fields}


def call(number: int) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"}


def output(number: int) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": "x"}


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ([THOUGHT, SAID, call(1), call(2), output(1), output(2)], [4]),
        ([THOUGHT, SAID], [2]),
        ([message("a"), message("b")], [1, 1]),
        ([THOUGHT, message("a"), {**THOUGHT, "id": "rs_2"}, message("b")], [2, 2]),
        ([message("a", phase="commentary"), message("b", phase="final_answer")], [2]),
        ([call(1), message("a"), output(1)], [2]),
        ([message("a"), call(1), message("b"), call(2), output(1), output(2)], [4]),
        ([call(1), output(1), call(2), output(2)], [1, 1]),
        ([HOSTED[0], message("a"), HOSTED[1], message("b")], [2, 2]),
    ],
)
def test_items_of_the_model_that_stand_together_are_one_step(given: list[dict[str, Any]], steps: list[int]) -> None:
    found = read(*given)
    assert [len(event.parts) for event in found if event.role == "assistant"] == steps
    assert read(*items(*found)) == found


@pytest.mark.parametrize(
    "events",
    [
        [assistant("a"), assistant("b"), assistant("c")],
        [assistant("a"), assistant("b", ToolCall("1", "f")), result("1", "x"), assistant("c")],
    ],
)
def test_steps_with_words_that_follow_each_other_read_back_as_they_are(events: list[Event]) -> None:
    assert [(event.role, event.text, len(event.calls)) for event in read(*items(*events))] == [
        (event.role, event.text, len(event.calls)) for event in events
    ]


def test_texts_of_one_message_go_back_as_one() -> None:
    blocks = [{"type": "output_text", "text": text, "annotations": []} for text in "ab"]
    said = {**SAID, "content": [*blocks, {"type": "refusal", "refusal": "No."}]}
    (event,) = read(THOUGHT, said)
    assert [part.text for part in event.parts[1:]] == ["a", "b", "No."]  # type: ignore[union-attr]
    assert items(event) == [THOUGHT, said]
    assert {"type": "refusal", "refusal": "No."} in openai_chat.write("", [], [event])["messages"][0]["content"]


# -- whole responses


def response(**fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 90},
        "output_tokens": 7,
        "total_tokens": 107,
    }
    return {"object": "response", "model": "m-1", "status": "completed", "usage": usage, "output": [], **fields}


def test_a_response_is_one_event_with_its_usage() -> None:
    (event,) = wire.read(response(output=[THOUGHT, SAID, CALLED]))
    assert (event.model, event.provider, event.text) == ("m-1", "openai-responses", "I look.")
    assert event.usage is not None
    assert (event.usage.input, event.usage.cache_read, event.usage.output) == (100, 90, 7)
    assert "stop" not in event.meta


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "failed"}, "failed"),
    ],
)
def test_an_early_stop_is_noted(fields: dict[str, Any], stop: str) -> None:
    for held in ([THOUGHT, SAID], []):
        assert wire.read(response(output=held, **fields))[-1].meta["stop"] == stop


def test_a_compacted_response_gives_its_messages_and_the_block() -> None:
    found = wire.read({"object": "response.compaction", "output": [ASKED, HOSTED[6]]})
    assert [event.role for event in found] == ["user", "assistant"]
    assert items(*found) == [ASKED, HOSTED[6]]


def test_text_instead_of_items_is_the_users() -> None:
    assert wire.read_payload({"input": "Hello.", "instructions": "Be brief."}) == wire.read_messages(
        [{"role": "user", "content": [{"type": "input_text", "text": "Hello."}]}], "Be brief."
    )


def test_system_and_developer_messages_in_front_are_the_system_text() -> None:
    found = wire.read_messages(
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "system", "content": [{"type": "input_text", "text": "Be kind."}]},
            ASKED,
            {"role": "system", "content": "It is noon."},
        ]
    )
    assert found.system == "Be brief.\n\nBe kind."
    assert [event.role for event in found.events] == ["user", "system"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ([3], "input[0]"),
        ([{}], "input[0].type"),
        ([{"role": "tool", "content": "x"}], "input[0].role"),
        ([{**CALLED, "call_id": ""}], "input[0].call_id"),
        ([ASKED, {**CALLED, "name": None}], "input[1].name"),
        ([{"role": "user", "content": [{"text": "x"}]}], "input[0].content[0].type"),
        ([{"role": "user", "content": 5}], "input[0].content"),
    ],
)
def test_what_cannot_be_read_names_its_place(given: list[Any], path: str) -> None:
    with pytest.raises(WireError) as error:
        wire.read_messages(given)
    assert error.value.path == path


# -- reasoning and ids


def ids(given: list[dict[str, Any]]) -> list[str]:
    return [item.get("id", "") for item in given]


def test_reasoning_stands_before_its_item_and_both_keep_their_ids() -> None:
    given = [ASKED, THOUGHT, SAID, CALLED, ANSWERED]
    assert items(*read(*given)) == given


def test_without_its_reasoning_an_item_goes_without_its_id() -> None:
    found = list(read(ASKED, THOUGHT, SAID, CALLED, ANSWERED))
    found[1] = msgspec.structs.replace(found[1], parts=found[1].parts[1:])
    written = items(*found)
    assert ids(written) == ["", "", "", ""]
    assert written[1] == message("I look.")
    assert codes(written, suspected=True) == []


def test_what_a_hosted_tool_did_leaves_with_its_reasoning() -> None:
    (step,) = read(THOUGHT, HOSTED[0], SAID)
    assert ids(items(step)) == ["rs_1", "ws_1", "msg_1"]
    bare = msgspec.structs.replace(step, parts=step.parts[1:])
    assert items(bare) == [message("I look.")]
    assert (wire.lost([step]), wire.lost([bare])) == ([], ["1 x web_search_call item without its reasoning"])
    (step,) = read(HOSTED[0], SAID)
    assert items(step) == [HOSTED[0], message("I look.")]


@pytest.mark.parametrize("following", [[], [ASKED], [{**THOUGHT, "id": "rs_2"}]])
def test_reasoning_with_nothing_behind_it_is_left_out(following: list[dict[str, Any]]) -> None:
    written = items(*read(ASKED, THOUGHT, *following))
    assert [item for item in written if item["type"] == "reasoning"] == []
    assert wire.lost(read(ASKED, THOUGHT, *following))[0].endswith("x reasoning of openai-responses")


def test_reasoning_goes_back_only_with_something_to_go_by() -> None:
    bare = {"type": "reasoning", "summary": []}
    for fields in ({"encrypted_content": "g"}, {"content": [{"type": "reasoning_text", "text": "hm"}]}, {"id": "rs_1"}):
        assert items(*read({**bare, **fields}, SAID))[0] == {**bare, **fields}
    for fields in ({}, {"id": "call_1"}, {"encrypted_content": "a\x00"}, {"id": "rs_" + "x" * 70}):
        (step,) = read({**bare, **fields}, SAID)
        assert items(step) == [message("I look.")]
        assert wire.lost([step]) == ["1 x reasoning of openai-responses"]


def test_ids_that_the_provider_would_refuse_are_left_out() -> None:
    wrong = [{**SAID, "id": "x"}, {**CALLED, "id": "toolu_1"}]
    assert ids(items(*read(THOUGHT, *wrong, ANSWERED))) == ["rs_1", "", "", ""]


def test_an_id_stands_once_in_a_request() -> None:
    step = [THOUGHT, SAID, CALLED, ANSWERED]
    written = items(*read(ASKED, *step, ASKED, *step))
    assert [one for one in ids(written) if one] == ["rs_1", "msg_1", "fc_1"]
    assert [item["call_id"] for item in written if "call_id" in item] == ["call_1"] * 2 + ["call_1_2"] * 2
    assert codes(written, suspected=True) == []


def test_an_approval_goes_only_behind_its_request() -> None:
    request = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"}
    approval = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    found = read(ASKED, THOUGHT, request, approval)
    assert [event.role for event in found] == ["user", "assistant", "user"]
    assert items(*found) == [ASKED, THOUGHT, request, approval]
    assert items(found[0], found[2]) == [ASKED]
    assert wire.lost([found[0], found[2]]) == ["1 x mcp_approval_response item without its other half"]
    assert wire.lost(found) == []


def test_what_a_program_put_out_goes_only_behind_the_program() -> None:
    program = {"type": "program", "id": "prog_1", "call_id": "p", "code": "1"}
    output = {"type": "program_output", "id": "out_1", "call_id": "p", "result": "1"}
    together = read(ASKED, program, output, SAID)
    assert [item.get("type") for item in items(*together)][1:3] == ["program", "program_output"]
    alone = read(ASKED, output, {**SAID, "id": None})
    assert [item["type"] for item in items(*alone)] == ["message", "message"]
    assert wire.lost(alone) == ["1 x program_output item without its reasoning"]


@pytest.mark.parametrize(
    "raw",
    [
        *({"type": "function_call", "id": "fc_1"}, {"type": "function_call_output"}, {"type": "message"}),
        *({"type": "reasoning"}, {"type": "compaction", "encrypted_content": 1}, {"type": "output_text", "text": "x"}),
        {"type": "web_search_call", "id": 1},
    ],
    ids=repr,
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_an_item_that_would_be_refused_is_never_written_and_is_said(role: Any, raw: dict[str, Any]) -> None:
    event = Event(role=role, origin="injected", parts=(Opaque("openai-responses", raw),))
    assert [item.get("type") for item in items(user("go"), event)] in (["message"], ["message", "message"])
    assert raw not in items(user("go"), event)
    assert codes(items(user("go"), event)) == []
    (line,) = wire.lost([user("go"), event])
    assert line == f"1 x {raw['type']} block that cannot stand there"


def test_notes_of_the_wire_that_are_not_of_its_writing_are_not_read() -> None:
    for note in ("{", "[]", '{"calls":[]}', '{"calls":{"a":1}}', "[" * 5_000 + "]" * 5_000):
        event = assistant("", ToolCall("a", "f"), meta={"openai-responses": note})
        assert items(user("go"), event)[1]["type"] == "function_call"


# -- writing


def test_the_system_text_are_the_instructions() -> None:
    payload = wire.write("Be brief.", [], [user("hi")], model="m", max_output=100)
    assert list(payload) == ["model", "max_output_tokens", "instructions", "input"]


def test_functions_are_flat_and_say_whether_they_are_strict() -> None:
    schema = {"type": "object", "properties": {}}
    payload = wire.write("", [{"name": "f", "description": "F.", "parameters": schema}], [user("hi")])
    assert payload["tools"] == [
        {"type": "function", "name": "f", "description": "F.", "parameters": schema, "strict": False}
    ]
    found = wire.read_payload(payload).tools
    assert found == ({"name": "f", "description": "F.", "parameters": schema},)
    assert openai_chat.write("", found, [])["tools"][0]["function"]["name"] == "f"


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search_2025_08_26"},
        {"type": "custom", "name": "patch", "format": {"type": "text"}},
        {"type": "mcp", "server_label": "s", "server_url": "https://example.org"},
    ],
)
def test_tools_of_its_own_go_to_this_provider_only(tool: dict[str, Any]) -> None:
    found = wire.read_payload({"input": "x", "tools": [tool]}).tools
    assert wire.write("", found, [])["tools"] == [tool]
    assert "tools" not in openai_chat.write("", found, [])
    assert "tools" not in anthropic.write("", found, [])


def test_results_stand_in_call_order_with_their_images() -> None:
    seen = Event(
        role="tool",
        origin="tool",
        parts=(ToolResult("a", "see", images=(Image(media_type="image/png", data="AAAA"),)),),
    )
    written = items(user("go"), assistant("", ToolCall("a", "f"), ToolCall("b", "f")), result("b", "2"), seen)
    assert [item["call_id"] for item in written[3:]] == ["a", "b"]
    assert [block["type"] for block in written[3]["output"]] == ["input_text", "input_image"]


def test_long_ids_and_strange_names_get_a_spelling_that_is_taken() -> None:
    written = items(assistant("", ToolCall("x" * 80, "a.b")), result("x" * 80, "1"))
    assert len(written[0]["call_id"]) == 64
    assert written[0]["call_id"] == written[1]["call_id"]
    assert codes(written, suspected=True) == []


def test_what_cannot_go_is_named() -> None:
    png, bmp = Image(media_type="image/png", data="A"), Image(media_type="image/bmp", data="A")
    events = [
        Event(role="assistant", origin="agent", parts=(Reasoning("x", "anthropic", {}), png)),
        Event(role="user", origin="user", parts=(bmp, Opaque("anthropic", {"type": "document"}))),
        result("a", "boom", is_error=True),
    ]
    assert wire.lost(events) == [
        "1 x reasoning of anthropic",
        "1 x image of type image/png",
        "1 x image of type image/bmp",
        "1 x document block of anthropic",
        "1 x error mark of a result",
    ]


def test_an_opaque_item_among_words_is_named_and_an_item_of_its_own_goes_alone() -> None:
    update = Opaque("openai-responses", {"type": "configuration_update", "reasoning": {"effort": "low"}})
    alone = Event(role="user", origin="injected", parts=(update,))
    assert items(alone) == [update.raw]
    among = Event(role="user", origin="injected", parts=(Text("Pinned:"), update))
    assert items(among)[0]["content"][1]["text"] == "[a configuration_update block is left out]"
    assert items(injected("")) == []
    nameless = Opaque("openai-responses", {"x": 1})
    assert items(Event(role="assistant", origin="agent", parts=(nameless,))) == []


def test_a_caller_may_change_what_it_was_given() -> None:
    events = read(ASKED, THOUGHT, SAID, CALLED, ANSWERED)
    before = json.dumps(items(*events))
    for item in items(*events):
        item["marked"] = True
        for value in item.values():
            if isinstance(value, list):
                value[0]["marked"] = True
    assert json.dumps(items(*events)) == before


def test_ids_of_the_wire_never_make_two_events_of_one() -> None:
    one, two = read(THOUGHT, SAID, CALLED)[0], read(THOUGHT, {**SAID, "id": "msg_7"}, {**CALLED, "id": "fc_7"})[0]
    assert [part for part in one.parts if isinstance(part, ToolCall)] == list(two.calls)
    assert responses_writing.about(one) != responses_writing.about(two)
