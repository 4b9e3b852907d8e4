"""FIT with models: what a summary model is given fits its own window, whatever the history, and what it did not see is
said."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, checked, checked_on_all, lines_of, pair, pairs_of, text_of
from tellers import checked_ask, honest, shown, telling

from foldmark import Policy, Usage
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, ToolResult, assistant, injected, result, user
from foldmark.summarizer import Limits
from foldmark.tokens import count
from foldmark.wire import openai_chat

NO_CLEANUP = {"demote": False, "superseded": False, "duplicates": False}
WHOLE = Policy.coding(admission={**RAW, "user_words_tokens": 1_000_000}, cleanup=NO_CLEANUP)


class TooLong(Exception):
    status_code = 400


REFUSED = TooLong("This model's maximum context length is 2048 tokens. However, your messages resulted in 5000 tokens.")
UNSAID = TooLong("prompt is too long")


@settings(max_examples=9)
@given(
    window=st.sampled_from([500, 1_500, 4_096, 16_000]),
    output=st.sampled_from([64, 2_000]),
    share=st.sampled_from([0.3, 1.0]),
    rounds=st.integers(12, 70),
    size=st.sampled_from([40, 400, 3_000]),
    refusal=st.sampled_from([None, REFUSED, UNSAID]),
    schema=st.booleans(),
)
@example(121_600, 2_000, 1.0, 30, 4_000, None, True).via("S-FIT-01: the same model, 117,322 tokens of history")
@example(4_096, 2_000, 1.0, 40, 700, UNSAID, True).via("S-FIT-01: the same body again after a refusal")
@example(1_500, 64, 0.3, 12, 40, REFUSED, False).via("S-FIT-01: a learned limit")
def test_a_summary_request_fits_its_model_whatever_the_history(
    window: int, output: int, share: float, rounds: int, size: int, refusal: Any, schema: bool
) -> None:
    """S-FIT-01: every part fits, prompt and answer counted; after a refusal no body is sent a second time."""
    limits = Limits(output_tokens=output, input_share=share)
    session, model = telling(refusal or honest, policy=WHOLE, window=window, schema=schema, limits=limits)
    session.record(user("Find the leak."), *pairs_of(rounds, size), user("And now?"))
    report = session.compact(force=True, window=1_000_000)
    assert report.outcome in ("applied", "degraded", "ineffective")
    bodies = [ask.prompt for ask in model.asks]
    assert len(bodies) == len(set(bodies)), "the same body twice"
    for ask in model.asks:
        checked_ask(ask)
    assert not refusal or len(model.asks) <= 2
    assert refusal or report.coverage == 1.0 or window < 2_000


HUGE = "a long word of nothing in particular " * 6_000
KINDS: dict[str, list[Event]] = {
    "words": [user(HUGE)],
    "own words": [assistant(HUGE)],
    "notes": [injected(HUGE)],
    "thinking": [Event(role="assistant", origin="agent", parts=(Reasoning(HUGE), Text("ok")))],
    "arguments": [assistant("", ToolCall("h", "write", '{"path": "a", "content": "' + HUGE + '"}')), result("h", "ok")],
    "strange arguments": [assistant("", ToolCall("h", HUGE[:60_000], HUGE)), result("h", "ok")],
    "a result": [assistant("", ToolCall("h", "read", "{}")), result("h", HUGE)],
    "one line": [assistant("", ToolCall("h", "read", "{}")), result("h", "x" * 400_000)],
    "an image": [
        assistant("", ToolCall("h", "shot", "{}")),
        Event(
            role="tool", origin="tool",
            parts=(ToolResult("h", "shot", images=(Image(media_type="image/png", data="iVBORw0KGgo=" * 20_000),)),),
        ),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_content_has_a_cap_in_what_a_model_is_given(kind: str) -> None:
    """S-FIT-02: one huge item of any kind, twice: no request passes the model's window, and the item leaves room for
    the others."""
    session, model = telling(honest, policy=WHOLE, window=6_000)
    session.record(
        user("Begin."), *pairs_of(4, 200, say="I decided to begin."), *KINDS[kind], *pairs_of(4, 200, start=9)
    )
    session.record(*pairs_of(60, 500, start=20), user("And now?"))
    assert session.compact(force=True, window=1_000_000).outcome in ("applied", "degraded")
    assert model.asks
    for ask in model.asks:
        checked_ask(ask)
    records = "\n".join(shown(ask)[1] for ask in model.asks)
    assert "I decided to begin." in records
    assert records.count("a long word of nothing in particular") <= 1_400
    assert "iVBORw0KGgoiVBORw0KGgo" not in records


def test_a_history_of_nothing_but_tool_traffic_is_told_of() -> None:
    """S-FIT-04: one user message and sixty pairs: the model is asked, and every record of the covered range is
    shown."""
    session, model = telling(honest, policy=WHOLE, window=9_000)
    session.record(user("Find the leak."), *pairs_of(60, 700, say=""))
    requests = checked_on_all(session, window=32_000)
    assert all("Find the leak." in text_of(request.payload()) for request in requests)
    assert (requests[0].report.outcome, requests[0].report.coverage) == ("applied", 1.0)
    records = "\n".join(shown(ask)[1] for ask in model.asks)
    seqs = {int(seq) for seq in re.findall(r"^\[event:(\d+) ", records, re.MULTILINE)}
    first = session.control.history()[0].boundary
    assert seqs >= set(range(1, first + 1)), "no record is left out unseen"


@pytest.mark.parametrize("old_usage", [0, 60_000, 900])
def test_a_switch_to_a_smaller_window_is_told_in_parts_before_the_next_request(old_usage: int) -> None:
    """S-FIT-06: a history of 50K made under a window of a million; the next request goes to 20K, and the small model
    writes the summary itself: several parts, each within its window; the usage from before changes nothing."""
    policy = WHOLE.replace(budget={"trigger_tokens": 10_000_000})
    session, model = telling(honest, policy=policy, window=8_000)
    session.record(user("Find the leak. Never touch the schema."), *pairs_of(60, 900))
    assert checked(session, window=1_000_000).tokens.total > 50_000
    if old_usage:
        session.record(assistant("So far so good.", usage=Usage(input=old_usage)))
    request = checked(session, window=20_000)
    assert request.report.outcome == "applied"
    assert request.tokens.total < 20_000
    assert len(model.asks) > 1
    assert [ask.part for ask in model.asks] == list(range(1, len(model.asks) + 1))
    for ask in model.asks:
        checked_ask(ask)
    assert request.report.coverage == 1.0


def test_the_summarisers_room_comes_from_its_own_window() -> None:
    """S-FIT-07: the agent has a window of 12K, the summariser one of 200K: it reads 40K of history in one request."""
    session, model = telling(honest, policy=WHOLE, window=200_000)
    session.record(user("Find the leak."), *(event for n in range(60) for event in said_at_length(n)))
    plan = session.control.plan(force=True, window=12_000)
    assert plan.asks
    assert (plan.window, plan.asks.window) == (12_000, 200_000)
    request = checked(session, window=12_000)
    assert request.tokens.total < 12_000
    assert [(ask.part, ask.parts) for ask in model.asks] == [(1, 1)]
    assert model.asks[0].tokens > 30_000
    assert request.report.calls[0].tokens == model.asks[0].tokens, "the report shows what it was given"


def said_at_length(number: int) -> list[Event]:
    """A turn of some 700 tokens in the agent's own words."""
    return [user(f"Question {number}?"), assistant(f"Answer {number}: " + lines_of(700, f"a{number}"))]


@pytest.mark.parametrize("results", [0, 1])
def test_a_session_with_no_result_or_one_is_told_like_any_other(results: int) -> None:
    """S-FIT-08 (a), (b): nothing is said of results where there are none, and one is no special case."""
    session, model = telling(honest, policy=WHOLE, window=9_000)
    session.record(user("Go."), *(event for number in range(results) for event in pair(number, 4_000)))
    session.record(*(event for number in range(20) for event in said_at_length(number)))
    assert session.compact(force=True, window=64_000).outcome == "applied"
    records = "\n".join(shown(ask)[1] for ask in model.asks)
    assert len(re.findall(r"^\[event:\d+ result of read", records, re.MULTILINE)) == results


def test_a_backlog_of_five_hundred_pairs_goes_in_bounded_groups_and_a_failed_one_undoes_no_other() -> None:
    """S-FIT-08 (c), S-FIT-09: sixteen parts at most, the fifth fails: what four told is kept, and what nobody read is
    named in the report, stays in the log and opens."""
    script: list[Any] = [honest, honest, honest, honest, TimeoutError()]
    session, model = telling(*script, policy=WHOLE, window=6_000)
    session.record(user("Go."))
    for number in range(500):
        session.record(*pair(number, 60, say=f"I decided that row {number} belongs to ledger {number}."))
    report = session.compact(force=True, window=400_000)
    assert (report.outcome, len(model.asks)) == ("degraded", 5)
    assert all(ask.parts <= 16 for ask in model.asks)
    for ask in model.asks:
        checked_ask(ask)
    assert 0.1 < report.coverage < 0.6
    seen = re.findall(r"^\[event:(\d+) ", shown(model.asks[3])[1], re.MULTILINE)
    [said] = [warning for warning in report.warnings if "were told by no model" in warning]
    first, last = map(int, re.findall(r"event:(\d+)", said))
    assert first == int(seen[-1]) + 1
    assert last == report.boundary
    assert f"{report.coverage:.0%}" in said
    assert session.load(f"event:{first}").events[0].text
    assert session.search(f"ledger {499}")
    told = session.control.history()[-1].narrative
    assert told
    assert all(ref < first for item in told for ref in item.refs)


def test_coverage_is_never_silent() -> None:
    """S-FIT-09: whatever the model reads, the share is in the report, and a share below one is a warning and no
    success."""
    for script, coverage in (([honest], 1.0), ([TimeoutError()], 0.0), ([honest, TimeoutError()], None)):
        session, _ = telling(*script, policy=WHOLE, window=3_000)
        session.record(user("Go."), *pairs_of(60, 400, say="I decided to go on."))
        report = session.compact(force=True, window=400_000)
        assert report.coverage == coverage or (coverage is None and 0 < report.coverage < 1)
        assert (report.outcome == "applied") == (report.coverage == 1.0)
        assert any("no model" in warning for warning in report.warnings) == (report.coverage < 1.0)


def test_what_was_summarised_is_not_read_again_at_each_turn() -> None:
    """S-FIT-14: forty turns of 500 tokens at a small limit: input of the next summary is the notes and what is new, so
    that the whole is linear in the turns."""
    policy = Policy.coding(budget={"target_tokens": 2_000}, admission=RAW, cleanup=NO_CLEANUP)
    session, model = telling(honest, policy=policy, window=32_000)
    session.record(user("Go."))
    totals = []
    for number in range(80):
        session.record(*pair(number, 500, say=f"I decided that row {number} is right."), user(f"Next {number}?"))
        session.request(wire=openai_chat, window=128_000)
        totals.append(sum(count(shown(ask)[1]) for ask in model.asks))
    made = len(session.control.history())
    assert made >= 8
    assert totals[79] <= 2.4 * totals[39] + 500, "twice the turns, twice the input"
    told = [seq for ask in model.asks for seq in re.findall(r"^\[event:(\d+) agent\]", shown(ask)[1], re.MULTILINE)]
    assert len(told) == len(set(told)), "an event is told twice"
    assert all(earlier.boundary < later.boundary for earlier, later in pairwise(session.control.history()))


def test_the_refusals_of_this_file_are_heard() -> None:
    session, model = telling(REFUSED, policy=WHOLE, window=6_000)
    session.record(user("Go."), *pairs_of(60, 400))
    assert {call.failure for call in session.compact(force=True, window=400_000).calls} == {"too_long"}
    assert len(model.asks) == 2
