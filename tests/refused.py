"""One table of what each provider refuses: (rule, a small payload that breaks that rule and no other). Gemini's stands
in its own unit test."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

Row = tuple[str, dict[str, Any]]
LONG = "x" * 65
PNG, BMP = "data:image/png;base64,AAAA", "data:image/bmp;base64,Qk0="
DIRTY: list[tuple[str, str]] = [("unencodable", "\ud83d"), ("nul", "a\x00")]


def said(text: Any, role: str = "user", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **fields}


GO, YES = said("go"), said("yes", "assistant")

# -- chat completions

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "ok"}


def chat(*messages: Any, **payload: Any) -> dict[str, Any]:
    return {"messages": list(messages), **payload}


def asks(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**ASKS, "tool_calls": list(calls), **fields}


def calling(**function: Any) -> dict[str, Any]:
    return asks({**CALL, "function": {"name": "f", "arguments": "{}", **function}})


def function(name: str = "f", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields}}


def shown(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


CHAT: list[Row] = [
    ("no_messages", chat()),
    ("shape", chat("hello")),
    ("shape", chat(said({"text": "x"}))),
    ("shape", chat(said(["x"]))),
    ("role", chat(GO, said("x", "robot"))),
    ("developer_role", chat(said("x", "developer"), GO)),
    ("message_name", chat(said("x", name="Ada Lovelace"))),
    ("orphan_result", chat(GO, ANSWER)),
    ("orphan_result", chat(GO, ASKS, ANSWER, YES, ANSWER)),
    ("missing_result", chat(GO, ASKS, GO)),
    ("duplicate_result", chat(GO, ASKS, ANSWER, ANSWER)),
    ("duplicate_call_id", chat(GO, asks(CALL, CALL), ANSWER)),
    ("call_id", chat(GO, asks({**CALL, "id": "x" * 41}), {**ANSWER, "tool_call_id": "x" * 41})),
    ("call_shape", chat(GO, asks({"id": "a", "type": "function"}), ANSWER)),
    ("tool_name", chat(GO, calling(name="a.b"), ANSWER)),
    ("tool_name", chat(GO, tools=[function("a b")])),
    ("tool_shape", chat(GO, tools=[{"type": "function", "name": "f"}])),
    ("duplicate_tool", chat(GO, tools=[function(), function()])),
    ("too_many_tools", chat(GO, tools=[function(f"f{number}") for number in range(129)])),
    ("empty_tools", chat(GO, tools=[])),
    ("tool_choice", chat(GO, tool_choice="auto")),
    ("tool_description", chat(GO, tools=[function(description="x" * 1025)])),
    ("schema_type", chat(GO, tools=[function(parameters={"properties": {}})])),
    ("arguments_type", chat(GO, calling(arguments={}), ANSWER)),
    ("arguments_json", chat(GO, calling(arguments='{"a'), ANSWER)),
    ("empty_calls", chat(GO, said("x", "assistant", tool_calls=[]), GO)),
    ("empty_content", chat(said(None))),
    ("empty_content", chat(GO, said(None, "assistant"), GO)),
    ("blank_content", chat(said(" "))),
    ("content_type", chat(said([{"type": "input_text", "text": "x"}]))),
    ("unknown_field", chat(said("x", _source="disk"))),
    ("unknown_field", chat(GO, said("x", "assistant", reasoning_content="hm"), GO)),
    ("image_type", chat(said([shown(BMP)]))),
    ("image_role", chat(GO, ASKS, {**ANSWER, "content": [shown(PNG)]})),
    ("too_many_images", chat(said([shown(PNG)] * 6))),
    ("system_placement", chat(GO, said("x", "system"))),
    ("role_order", chat(GO, GO)),
    ("role_order", chat(GO, ASKS, ANSWER, GO)),
    ("no_user", chat(said("Be brief.", "system"))),
    ("ends_with_assistant", chat(GO, YES)),
    *((code, chat(said(text))) for code, text in DIRTY),
]
CHAT_INEXACT: list[Row] = [
    # A field that strict servers do not know is what others miss elsewhere.
    ("reasoning_missing", chat(GO, {**ASKS, "reasoning_content": "hm"}, ANSWER, ASKS, ANSWER)),
]

# -- Messages

USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
WORDS = {"type": "text", "text": "x"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
COMPACTION = {"type": "compaction", "content": "x", "encrypted_content": "x", "signature": "c2ln"}
FIVE, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]
ON = {"type": "enabled", "budget_tokens": 2048}


def step(*blocks: dict[str, Any]) -> dict[str, Any]:
    return said(list(blocks), "assistant")


def given(*blocks: dict[str, Any]) -> dict[str, Any]:
    return said(list(blocks))


def with_tools(*messages: Any, **payload: Any) -> dict[str, Any]:
    return {"tools": TOOLS, "messages": list(messages), **payload}


def schema(**fields: Any) -> dict[str, Any]:
    return chat(GO, tools=[{"name": "f", "input_schema": {"type": "object", **fields}}])


def image(data: str = "AAAA", kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


MESSAGES: list[Row] = [
    ("no_messages", chat()),
    ("shape", chat("hello")),
    ("shape", chat(said({"text": "x"}))),
    ("shape", chat(said(["x"]))),
    ("role", chat(said("x", "tool"))),
    ("system_placement", chat(said("x", "system"), GO)),
    ("first_user", chat(YES, GO)),
    ("role_order", chat(GO, GO)),
    ("orphan_result", with_tools(given(RESULT))),
    ("orphan_result", with_tools(GO, step(USE), given(RESULT), YES, given(RESULT))),
    ("missing_result", with_tools(GO, step(USE), GO)),
    ("duplicate_result", with_tools(GO, step(USE), given(RESULT, RESULT))),
    ("result_order", with_tools(GO, step(USE), given(WORDS, RESULT))),
    ("error_content", with_tools(GO, step(USE), given({**RESULT, "is_error": True, "content": [image()]}))),
    ("server_result", chat(GO, step(SEARCH), GO)),
    ("server_result", with_tools(GO, step(SEARCH, USE), given(RESULT, WORDS))),
    ("server_result", with_tools(GO, step(SEARCH, USE), given(RESULT), step(WORDS), GO)),
    ("server_orphan", chat(GO, step(FOUND, WORDS), GO)),
    ("server_orphan", chat(GO, step(SEARCH, FOUND, WORDS), GO, step(FOUND, WORDS), GO)),
    ("duplicate_call_id", with_tools(GO, step(USE), given(RESULT), step(USE), given(RESULT))),
    ("call_id", with_tools(GO, step({**USE, "id": "a.b"}), given({**RESULT, "tool_use_id": "a.b"}))),
    ("tool_name", with_tools(GO, step({**USE, "name": "a.b"}), given(RESULT))),
    ("tool_name", chat(GO, tools=[{"name": "x" * 129, "input_schema": {"type": "object"}}])),
    ("duplicate_tool", chat(GO, tools=TOOLS * 2)),
    ("tools_missing", chat(GO, step(USE), given(RESULT))),
    ("tool_choice", chat(GO, tool_choice={"type": "auto"})),
    ("schema_type", chat(GO, tools=[{"name": "f", "input_schema": {}}])),
    ("schema_union", schema(anyOf=[{"required": ["a"]}])),
    ("schema_key", schema(properties={"a b": {}})),
    ("input_type", with_tools(GO, step({**USE, "input": "{}"}), given(RESULT))),
    ("block_type", chat(given(shown(PNG)))),
    ("block_role", chat(given(THINKING, WORDS))),
    ("unknown_field", chat(said("x", name="Ada"))),
    ("signature", chat(GO, step({"type": "thinking", "thinking": "x"}, WORDS), GO)),
    ("thinking_first", with_tools(GO, step(USE), given(RESULT), thinking=ON)),
    ("thinking_order", chat(GO, step(WORDS, THINKING, WORDS), GO)),
    ("thinking_last", chat(GO, step(THINKING), GO)),
    ("thinking_budget", chat(GO, thinking={"type": "enabled", "budget_tokens": 1000}, max_tokens=4000)),
    ("thinking_budget", chat(GO, thinking=ON, max_tokens=2048)),
    ("thinking_choice", with_tools(GO, thinking=ON, tool_choice={"type": "any"})),
    ("compaction_first", chat(GO, step(COMPACTION), GO)),
    ("too_many_marks", chat(given(*[{**WORDS, "cache_control": FIVE}] * 5))),
    ("mark_place", chat(GO, step({**THINKING, "cache_control": FIVE}, WORDS), GO)),
    ("mark_order", chat(given({**WORDS, "cache_control": FIVE}, {**WORDS, "cache_control": HOUR}))),
    ("empty_content", chat(given())),
    ("blank_text", chat(given({"type": "text", "text": " "}))),
    ("blank_text", chat(GO, system=[{"type": "text", "text": ""}])),
    ("system_type", chat(GO, system={"text": "x"})),
    ("image_type", chat(given(image(kind="image/bmp")))),
    ("image_type", with_tools(GO, step(USE), given({**RESULT, "content": [image(kind="image/bmp")]}))),
    ("image_size", chat(given(image("A" * (5 * 1024 * 1024 + 4))))),
    ("too_many_images", chat(given(*[image()] * 21))),
    ("prefill", chat(GO, YES)),
    *((code, chat(said(text))) for code, text in DIRTY),
]
MESSAGES_INEXACT: list[Row] = [
    # Only what the assistant said last can end in white space, and newer models refuse that it stands there at all.
    ("trailing_space", chat(GO, step({"type": "text", "text": "x "}))),
    # What stands on the wrong side answers nothing there.
    ("block_role", with_tools(GO, step(RESULT, WORDS), GO)),
]

# -- Responses

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
MADE = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "ok"}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": "yes"}


def sent(*items: Any, **payload: Any) -> dict[str, Any]:
    return {"input": list(items), **payload}


def flat(name: str = "f") -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}


RESPONSES: list[Row] = [
    ("no_messages", sent()),
    ("shape", sent("hello")),
    ("shape", sent(said(["x"]))),
    ("shape", sent({"content": "x"})),
    ("shape", sent(MADE, {**OUTPUT, "output": ["x"]})),
    ("role", sent(said("x", "tool"))),
    ("item_type", sent(GO, {"type": "dream_call"})),
    ("orphan_result", sent(GO, OUTPUT)),
    ("missing_result", sent(GO, MADE)),
    ("duplicate_result", sent(GO, MADE, OUTPUT, OUTPUT)),
    ("duplicate_call_id", sent(GO, MADE, MADE, OUTPUT)),
    ("output_kind", sent(GO, MADE, {**OUTPUT, "type": "custom_tool_call_output"})),
    ("output_missing", sent(GO, MADE, {**OUTPUT, "output": None})),
    ("call_id", sent(GO, {**MADE, "call_id": LONG}, {**OUTPUT, "call_id": LONG})),
    ("item_id", sent(GO, THOUGHT, {**MADE, "id": "toolu_1"}, OUTPUT)),
    ("item_id", sent(GO, {**THOUGHT, "id": "rs_" + LONG}, MADE, OUTPUT)),
    ("item_id", sent(GO, {**THOUGHT, "id": "rs_1_"}, MADE, OUTPUT)),
    ("duplicate_item", sent(GO, THOUGHT, MESSAGE, GO, {**THOUGHT, "id": "rs_2"}, MESSAGE)),
    ("reasoning_last", sent(GO, THOUGHT)),
    ("reasoning_last", sent(GO, THOUGHT, GO)),
    ("reasoning_run", sent(GO, THOUGHT, {**THOUGHT, "id": "rs_2"}, MESSAGE)),
    ("reasoning_gone", sent(GO, MESSAGE)),
    ("not_stored", sent(GO, {**THOUGHT, "encrypted_content": None}, MESSAGE, store=False)),
    ("not_stored", sent(GO, {"type": "item_reference", "id": "rs_1"}, store=False)),
    ("summary_missing", sent(GO, {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, MESSAGE)),
    ("compaction", sent(GO, {"type": "compaction", "id": "cmp_1"})),
    ("tool_name", sent(GO, {**MADE, "name": "a.b"}, OUTPUT)),
    ("tool_name", sent(GO, tools=[flat(LONG)])),
    ("tool_shape", sent(GO, tools=[function()])),
    ("duplicate_tool", sent(GO, tools=[flat(), flat()])),
    ("too_many_tools", sent(GO, tools=[flat(f"f{number}") for number in range(129)])),
    ("arguments_type", sent(GO, {**MADE, "arguments": {}}, OUTPUT)),
    ("arguments_json", sent(GO, {**MADE, "arguments": '{"a'}, OUTPUT)),
    ("content_type", sent(said([{"type": "output_text", "text": "x"}]))),
    ("content_type", sent(said([{"type": "input_text", "text": "x"}], "assistant"))),
    ("empty_content", sent(said(None))),
    ("blank_content", sent(said(" "))),
    ("blank_content", sent(said([]))),
    ("image_type", sent(said([{"type": "input_image", "image_url": BMP}]))),
    ("image_type", sent(GO, MADE, {**OUTPUT, "output": [{"type": "input_image", "image_url": BMP}]})),
    ("unknown_field", sent(said("x", "assistant", tool_calls=[]))),
    ("unknown_field", sent(said([{"type": "input_text", "text": "x", "cache_control": FIVE}]))),
    ("instructions", sent(GO, instructions=["x"])),
    ("max_output", sent(GO, max_output_tokens=8)),
    *((code, sent(said(text))) for code, text in DIRTY),
]

_GEMINI = run_path(str(Path(__file__).resolve().parent / "unit" / "test_gemini.py"))

EXACT: dict[str, list[Row]] = {
    "openai-chat": CHAT,
    "anthropic": MESSAGES,
    "openai-responses": RESPONSES,
    "gemini": _GEMINI["REFUSED"],
}
INEXACT: dict[str, list[Row]] = {
    "openai-chat": CHAT_INEXACT,
    "anthropic": MESSAGES_INEXACT,
    "gemini": _GEMINI["REFUSED_FOR_MORE"],
}
CLEAN: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [chat(said("x", "system"), GO, ASKS, ANSWER), chat(GO, YES, said([shown(PNG)]), tools=[function()])],
    "anthropic": [
        with_tools(GO, step(THINKING, WORDS, USE), given(RESULT, WORDS), thinking=ON, max_tokens=4096),
        chat(step(COMPACTION), GO),
        chat(GO, step(WORDS, SEARCH, FOUND, WORDS), GO),
        with_tools(GO, step(SEARCH, USE), given(RESULT)),
        with_tools(GO, step(SEARCH, USE), given(RESULT), step(FOUND, WORDS), GO),
    ],
    "openai-responses": [
        sent(GO, THOUGHT, MESSAGE, {**MADE, "id": "fc_1"}, OUTPUT, tools=[flat()], store=False, instructions="x"),
        {"input": "Hello."},
        {"input": [OUTPUT], "previous_response_id": "resp_1"},
    ],
}
