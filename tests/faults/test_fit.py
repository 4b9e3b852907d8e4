"""FIT: what goes out is measured whole and fits, or an error says line by line why not."""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import EVERY_WIRE, RAW, checked, checked_on_all, fresh, lines_of, pair, pairs_of, text_of

from foldmark import BudgetExceeded, Policy, PolicyError, SQLiteStore, Usage
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, ToolResult, assistant, result, user
from foldmark.wire import openai_chat, overflow

NO_CLEANUP = {"demote": False, "superseded": False, "duplicates": False}


def test_one_file_read_of_367_kb_is_admitted_by_its_preview(store: Any) -> None:
    """S-FIT-03: usage jumps by one result: the next request fits and every byte of the body can be opened."""
    body = "\n".join(f"{n:5}\tdef charge_{n}(card): return ledger.post(card, {n * 7})" for n in range(7_889))
    assert len(body) > 367_000
    session = fresh(Policy.coding(), store)
    session.record(user("Read it."), *pairs_of(20, 4_000))
    before = checked(session, window=200_000).tokens.total
    seq = session.record(
        assistant("", ToolCall("big", "read", '{"path":"pay.py"}')), result("big", body, name="read")
    ).seq
    after = checked(session, window=200_000)
    assert after.tokens.total < before + 2_000
    assert f"artifact:{seq}" in text_of(after.payload())
    [artifact] = session.load(f"event:{seq}").events[0].artifacts
    assert session.artifacts.read("local", artifact.sha256) == body.encode()
    assert session.load(f"artifact:{seq}#L4001-4001").text.rstrip("\n") == body.split("\n")[4_000]


def test_a_history_of_nothing_but_tool_traffic_can_be_compacted() -> None:
    """S-FIT-04: one user message and sixty pairs, over the room: demoted or covered, and it fits."""
    session = fresh(Policy.coding(admission=RAW))
    session.record(user("Find the leak."), *pairs_of(60, 700))
    for request in checked_on_all(session, window=32_000):
        assert "Find the leak." in text_of(request.payload())
    assert session.peek().tokens.total < 16_000
    session.record(*pairs_of(60, 700, start=100))
    assert session.compact(force=True).outcome == "applied"
    for request in checked_on_all(session, window=32_000):
        assert "Find the leak." in text_of(request.payload())


@pytest.mark.parametrize(
    ("window", "text", "schemas", "max_output"),
    [
        (256_000, 194_895, 10_398, 51_200),
        (200_000, 198_227, 0, 20_000),
        (20_000, 13_000, 2_000, 4_096),
    ],
)
def test_output_reserve_and_schemas_count_for_the_cap(window: int, text: int, schemas: int, max_output: int) -> None:
    """S-FIT-05: these sums pass the window by a few hundred tokens; each must compact though the trigger is far."""
    policy = Policy.coding(admission=RAW, cleanup=NO_CLEANUP, budget={"trigger_tokens": 10_000_000})
    session = fresh(policy)
    session.record(user("Go on."), *pairs_of(20, text // 20))
    tool = {"name": "t", "description": "word " * schemas, "parameters": {"type": "object", "properties": {}}}
    session.describe(tools=[tool] if schemas else [])
    report = session.compact(window=window, max_output=max_output)
    assert (report.outcome, report.trigger) == ("applied", "cap")
    checked(session, window=window, max_output=max_output)


@pytest.mark.parametrize("max_output", [8_000, 9_500, 20_000])
def test_a_budget_that_leaves_nothing_is_an_error_before_anything_is_sent(max_output: int) -> None:
    """S-FIT-05: a reserve that eats the window is named, with the numbers."""
    session = fresh(Policy.coding())
    session.record(user("hi"))
    with pytest.raises(PolicyError, match=f"{max_output:,} are reserved"):
        session.request(window=10_000, max_output=max_output)


@pytest.mark.parametrize("old_usage", [0, 60_000, 900])
def test_a_switch_to_a_smaller_window_is_measured_anew(old_usage: int) -> None:
    """S-FIT-06: a history made under a large window fits a small one; usage from before the switch changes nothing."""
    session = fresh(Policy.coding(admission=RAW, cleanup=NO_CLEANUP, budget={"trigger_tokens": 10_000_000}))
    session.record(user("Find the leak."), *pairs_of(60, 900))
    assert checked(session, window=1_000_000).tokens.total > 50_000
    if old_usage:
        session.record(assistant("So far so good.", usage=Usage(input=old_usage)))
    request = checked(session, window=20_000)
    assert request.report.outcome == "applied"
    assert request.tokens.total < 20_000


@pytest.mark.parametrize("results", [0, 1, 2])
def test_reducing_by_results_works_with_none_and_with_one(results: int) -> None:
    """S-FIT-08: no result at all and exactly one are no special cases; without any the error is truthful."""
    session = fresh(Policy.coding(window=6_000, admission={**RAW, "user_words_tokens": 1_000_000}, run="manual"))
    session.record(user("Go."), *(e for n in range(results) for e in pair(n, 5_000)))
    if results:
        for request in checked_on_all(session, max_output=900):
            assert any(change.status in ("demoted", "left_out") for change in request.report.changes)
    else:
        session.record(user("word " * 5_500))
        with pytest.raises(BudgetExceeded) as raised:
            session.request(max_output=900)
        assert "result" not in str(raised.value)


def picture(number: int, size: int = 60_000) -> str:
    return b64encode(Random(number).randbytes(size)).decode()


def shot(number: int) -> list[Event]:
    call = ToolCall(f"s{number}", "screenshot", "{}")
    image = Image(media_type="image/png", data=picture(number))
    return [
        assistant("", call),
        Event(role="tool", origin="tool", parts=(ToolResult(call.id, f"shot {number}", images=(image,)),)),
    ]


def test_images_are_not_multiplied_by_compactions(tmp_path: Path) -> None:
    """S-FIT-10: thirty screenshots and ten compactions: old ones are placeholders, the file grows with new content."""
    with_few, with_many = SQLiteStore(tmp_path / "few.db"), SQLiteStore(tmp_path / "many.db")
    policy = Policy.coding(budget={"target_tokens": 8_000})
    few, many = fresh(policy, with_few), fresh(policy, with_many)
    for number in range(30):
        for session in (few, many):
            session.record(*([user("Look.")] if not number else []), *shot(number))
        if number % 3 == 2:
            assert many.compact(force=True, window=128_000).outcome in ("applied", "ineffective")
    few.compact(force=True, window=128_000)
    assert len(many.control.history()) >= 8
    request = checked(many, window=128_000)
    payload = json.dumps(request.payload())
    assert [number for number in range(30) if picture(number)[:200] in payload] == list(range(27, 30)) or len(
        payload
    ) < 400_000
    assert picture(0)[:200] not in payload
    for made in (with_few, with_many):
        made.close()
    sizes = [
        sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file() and name in str(f)) for name in ("few", "many")
    ]
    assert sizes[1] < sizes[0] * 1.2


def test_the_same_image_is_stored_once(tmp_path: Path) -> None:
    """S-FIT-10: an image that comes ten times takes the place of one."""
    sizes = []
    for times in (1, 10):
        store = SQLiteStore(tmp_path / f"{times}.db")
        session = fresh(Policy.coding(), store)
        for _ in range(times):
            session.record(
                Event(
                    role="user",
                    origin="user",
                    parts=(Text("look"), Image(media_type="image/png", data=picture(1, 200_000))),
                )
            )
        store.close()
        sizes.append(sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file() and f"/{times}.db" in str(f)))
    assert sizes[1] < 2 * sizes[0]


@pytest.mark.parametrize("preset", [Policy.coding, Policy.chat])
def test_start_up_instructions_stand_once_however_often_they_are_supplied(preset: Any) -> None:
    """S-FIT-11: the rules come with every list and every request; after five compactions they stand once."""
    rules = "RULES OF THE HOUSE. " + " ".join(f"Rule {n} binds." for n in range(300))
    session = fresh(preset(admission=RAW, budget={"target_tokens": 6_000}))
    messages: list[dict[str, Any]] = [{"role": "system", "content": rules}, {"role": "user", "content": "Begin."}]
    for turn in range(5):
        for number in range(8):
            messages += openai_chat.write("", [], pair(turn * 10 + number, 900))["messages"]
        session.follow(messages, wire=openai_chat)
        assert session.compact(force=True, window=128_000).outcome == "applied"
        payload = checked(session, system=rules, window=128_000).payload()
        assert text_of(payload).count("RULES OF THE HOUSE.") == 1
        assert payload["messages"][0]["content"].startswith(rules)


OVERFLOWS = [
    ("prompt is too long: 210123 tokens > 200000 maximum", 200_000, 210_123),
    (
        "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, "
        "decrease input length or `max_tokens`",
        200_000,
        None,
    ),
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens.",
        128_000,
        130_512,
    ),
    (
        "This model's maximum context length is 8192 tokens, however you requested 8210 tokens "
        "(7186 in your prompt; 1024 for the completion).",
        8_192,
        8_210,
    ),
    (
        "This endpoint's maximum context length is 163840 tokens. However, you requested about 170001 tokens "
        "(150000 of text input, 20001 in the output).",
        163_840,
        170_001,
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 281337 tokens. "
        "Please reduce the length of the messages.",
        272_000,
        281_337,
    ),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    ("The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).", 1_048_576, 1_048_577),
    ("This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072, 140_000),
    ("Input is too long for requested model.", None, None),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`",
        4_096,
        4_000,
    ),
    ("the request exceeds the available context size, try increasing it", None, None),
    ("Please reduce the length of the messages or completion.", None, None),
    ("context_length_exceeded", None, None),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32_768,
        40_000,
    ),
    ("request (9000 tokens) exceeds the available context size (8192 tokens)", 8_192, 9_000),
]


@pytest.mark.parametrize(("text", "limit", "size"), OVERFLOWS)
@pytest.mark.parametrize("shape", ["text", "body"])
def test_the_overflow_answers_of_providers_are_recognised(
    text: str, limit: int | None, size: int | None, shape: str
) -> None:
    """S-FIT-12: real wordings, with the numbers where they are given."""
    error: Any = text if shape == "text" else {"error": {"message": text, "type": "invalid_request_error"}}
    found = overflow(error)
    assert found is not None
    assert found.limit == limit
    assert size is None or found.size == size


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for gpt on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
        "You exceeded your current quota, please check your plan and billing details.",
        "Incorrect API key provided.",
        "We could not parse the JSON body of your request.",
        "The server is overloaded.",
        "Invalid type for 'messages[3].content': expected string.",
        "model `x` does not exist",
        "max_tokens must be at least 1",
        "messages: at least one message is required",
        "tool_use ids were found without tool_result blocks immediately after",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    ],
)
def test_look_alikes_are_no_overflow(text: str) -> None:
    """S-FIT-12: rate limits, quotas, bad JSON and bad keys never start a recovery."""
    assert overflow({"error": {"message": text}}) is None


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_in_a_small_window_the_last_result_is_shrunk_first(wire: Any) -> None:
    """S-FIT-13: 8,192 with 4,096 for the answer, 412 of system and 7,417 of last message: a preview, not a dead end."""
    session = fresh(Policy.coding(admission=RAW))
    session.record(user("Read it."), *pair(1, 7_000))
    request = checked(session, wire, system="Be brief. " * 137, window=8_192, max_output=4_096)
    assert "Read it." in text_of(request.payload())
    assert [change.status for change in request.report.changes] == ["demoted"]
    assert "event:3" in text_of(request.payload())


def test_in_a_small_window_words_that_cannot_shrink_raise_with_a_table() -> None:
    """S-FIT-13: the error holds the arithmetic, and the lines add up to what is missing."""
    session = fresh(Policy.coding(admission={"user_words_tokens": 100_000}))
    session.record(user("word " * 7_000))
    with pytest.raises(BudgetExceeded) as raised:
        session.request(system="Be brief. " * 137, window=8_192, max_output=4_096)
    lines = dict(raised.value.lines)
    assert (
        lines["context window"] + lines["- reserved for the answer"] + lines["- safety margin"]
        == lines["= room for the whole request"]
    )
    assert -lines["- newest round"] > lines["= room for the whole request"]


@pytest.mark.parametrize("usage", [None, Usage(), Usage(input=10)])
def test_the_trigger_works_on_what_is_assembled_whatever_the_provider_reports(usage: Usage | None) -> None:
    """S-FIT-15: usage missing or senseless, growth by a search result, a limit under the window."""
    session = fresh(
        Policy.coding(admission=RAW, cleanup=NO_CLEANUP, budget={"trigger_tokens": 20_000, "landing_tokens": 6_000})
    )
    session.record(user("Go."))
    for number in range(60):
        session.record(*pair(number, 600, name="memory_search"), assistant("Noted.", usage=usage))
        checked(session, window=1_000_000)
        assert session.peek().tokens.total < 22_000
    assert session.control.history()


content = st.sampled_from(["text", "reasoning", "arguments", "result", "image", "paste"])


def test_a_huge_call_whose_result_nobody_read_is_not_torn_from_it() -> None:
    """S-FIT-13, S-PAIR-09: call and result go or stay together; what cannot fit raises with the arithmetic."""
    session = fresh(Policy.coding())
    call = ToolCall("h", "write", json.dumps({"path": "a", "content": "word " * 40_000}))
    session.record(user("Begin."), assistant("", call), result("h", "ok"), user("Now?"))
    with suppress(BudgetExceeded):
        checked_on_all(session, window=32_000)


@settings(max_examples=20)
@given(content, st.integers(0, 3))
def test_one_huge_item_of_any_kind_fits_or_raises(kind: str, later: int) -> None:
    """S-FIT-02 without a model: every kind of part is either made smaller or named by the error."""
    huge = "a long word of nothing in particular " * 6_000
    session = fresh(Policy.coding())
    made = {
        "text": [assistant(huge)],
        "reasoning": [Event(role="assistant", origin="agent", parts=(Reasoning(huge), Text("ok")))],
        "arguments": [
            assistant("", ToolCall("h", "write", json.dumps({"path": "a", "content": huge}))),
            result("h", "ok"),
            assistant("Written."),
        ],
        "result": [assistant("", ToolCall("h", "read", "{}")), result("h", huge)],
        "image": [
            Event(role="user", origin="user", parts=(Text("look"), Image(media_type="image/png", data=picture(1))))
        ],
        "paste": [user(huge)],
    }[kind]
    session.record(
        user("Begin."),
        *made,
        *(e for n in range(later) for e in (user(f"More {n}."), assistant(lines_of(30)))),
        user("Now?"),
    )
    shown = 0
    with suppress(BudgetExceeded):
        for request in checked_on_all(session, window=32_000):
            assert "Now?" in text_of(request.payload())
            shown += 1
    assert shown == len(EVERY_WIRE) or later == 0
