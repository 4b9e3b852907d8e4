"""PAIR in every way to run a compaction: no call is parted from its result, in the request, in the record, and in what
a summary model is given."""

from __future__ import annotations

import re
from typing import Any

import pytest
from scenes import EVERY_WIRE, check, checked_on_all, classes, lines_of, pair, pairs_of, result_ids, text_of
from tellers import checked_ask, honest, telling, words_of
from turns import conversation, errors, turns
from ways import TOLD, WAYS, Way, lived, policy_for

from foldmark import Session
from foldmark.asking import Ask, Reply
from foldmark.events import Event, ToolCall, Usage, assistant, result, user
from foldmark.tokens import count
from foldmark.wire import gemini, openai_chat
from wire_pairs import broken_pairs

SEQ = re.compile(r"^\[event:(\d+) ", re.MULTILINE)
TOOLS = [{"name": "read", "description": "Reads it.", "parameters": {"type": "object", "properties": {}}}]


def sides(session: Session, inside: set[int]) -> dict[str, set[bool]]:
    """call id -> on which side of a set of events its call and its result stand."""
    found: dict[str, set[bool]] = {}
    for event in session.store.log(session.key):
        ids = [call.id for call in event.calls] + ([event.result.call_id] if event.result else [])
        for call_id in ids:
            found.setdefault(call_id, set()).add(event.seq in inside)
    return found


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_told_and_what_is_kept_are_both_closed_under_pairs(way: str, told: str, store: Any) -> None:
    """S-PAIR-04: three user turns of twelve calls with their results and an answer each, compacted in the middle of the
    fourth: no id is told as a call and kept as a result, or the other way round."""
    one = lived(way, store, told)
    for turn in range(3):
        one.record(user(f"Turn {turn}: read on."))
        one.record(*pairs_of(12, 200, start=turn * 20, say="I decided to read on."), assistant(f"Turn {turn} is done."))
    one.record(user("Turn 3: read on."), *pairs_of(2, 200, start=90))
    report = one.compacted()
    assert report.outcome == "applied"
    covered = {seq for seq, status in classes(one.session).items() if status in ("covered", "kept")}
    split = sides(one.session, covered)
    assert len(split) == 38
    assert all(len(side) == 1 for side in split.values()), "a pair is torn at the boundary"
    assert {True} in split.values()
    assert len(one.model.asks) == int(told == "model")
    for ask in one.model.asks:
        checked_ask(ask)
        given = {int(seq) for seq in SEQ.findall(words_of(ask))}
        assert given <= covered
        assert all(len(side) == 1 for side in sides(one.session, given).values()), "a pair is torn in what is told"
    for request in checked_on_all(one.session):
        ids = result_ids(request.payload())
        assert len(ids) == len(set(ids))


QUESTION = (
    "Which of the two retries charged the card twice, and since which release? Please name the commit, the file and "
    "the line."
)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
@pytest.mark.parametrize("way", WAYS)
def test_the_newest_real_question_stands_verbatim_before_the_second_call(way: str, wire: Any, told: str) -> None:
    """S-PAIR-11: system text of 200 tokens, a question of 30, a call and a result of 6,000, room for 5,000: before the
    second call of the run, compacted or not, the question is in the conversation, whole."""
    assert 25 <= count(QUESTION) <= 35
    policy = policy_for(way, window=6_200, budget={"output_reserve": 1_000})
    one = lived(way, None, told, policy=policy)
    one.record(user(QUESTION), *pair(1, 6_000))
    system = "Rule. " * 100
    for step in range(2, 6):
        request = one.session.request(system=system, wire=wire)
        check(request)
        assert request.ceiling <= 5_200
        assert any(QUESTION in text_of({"one": each}) for each in conversation(request.payload()))
        if way in ("caller", "tool"):
            one.compacted()
        elif one.worker.backlog().dirty:
            one.clock.advance(60.0)
            one.worker.drain()
        check(one.session.request(system=system, wire=wire))
        one.record(*pair(step, 1_500))


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_waits_for_an_approval_at_the_end_is_not_covered_and_its_answer_finds_it(
    way: str, told: str, store: Any
) -> None:
    """S-PAIR-12: `approve#7` waits, and a compaction is made meanwhile: the call stays raw, no model is told of it, and
    the late answer is its result on every wire."""
    one = lived(way, store, told)
    one.record(user("Refund it."), *pairs_of(40, 200, say="I decided to read on."))
    waiting = assistant("May I?", ToolCall("approve7", "request_approval", '{"what":"refund 30 EUR"}'))
    one.record(waiting)
    report = one.compacted()
    assert report.outcome == "applied"
    assert classes(one.session)[82] == "raw"
    assert all("approve7" not in words_of(ask) and "[event:82" not in words_of(ask) for ask in one.model.asks)
    one.record(result("approve7", "approved by Kim"))
    for request in checked_on_all(one.session):
        assert result_ids(request.payload())[-1] == "approve7"


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_an_approval_that_comes_behind_twelve_messages_is_read_and_breaks_nothing(
    way: str, told: str, store: Any
) -> None:
    """S-PAIR-12: twelve chat messages between call and answer, with compactions before and behind it: every request is
    valid, and the answer is shown with the name of what it answers."""
    one = lived(way, store, told)
    one.record(user("Refund it."), *pairs_of(40, 200, say="I decided to read on."))
    one.record(assistant("May I?", ToolCall("approve7", "request_approval", '{"what":"refund 30 EUR"}')))
    for number in range(6):
        one.record(user(f"Small talk {number}."), assistant(f"Yes, {number}."))
    one.record(*pairs_of(1, 60, start=90))
    assert one.compacted().outcome == "applied"
    one.record(result("approve7", "approved by Kim on Tuesday"), *pairs_of(1, 60, start=91))
    for request in checked_on_all(one.session):
        assert "approved by Kim on Tuesday" in text_of(request.payload())
        assert "request_approval" in text_of(request.payload())


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_waits_for_an_approval_is_not_covered_behind_twelve_messages_either(way: str, store: Any) -> None:
    """S-PAIR-12: two compactions with the call waiting behind twelve chat messages: it is raw all the time, until its
    answer is there; then it may go."""
    budget = {"landing_tokens": 8_000, "trigger_tokens": 12_000, "nothing_below": 6_000}
    one = lived(way, store, policy=policy_for(way, budget=budget))
    one.record(user("Refund it."), *pairs_of(80, 200, say="I decided to read on."))
    one.record(assistant("May I?", ToolCall("approve7", "request_approval", '{"what":"refund 30 EUR"}')))
    for number in range(6):
        one.record(user(f"Small talk {number}."), assistant(lines_of(500, f"talk{number}")))
    one.record(*pairs_of(1, 60, start=90))
    assert one.compacted().outcome == "applied"
    assert classes(one.session)[162] == "raw"
    one.record(result("approve7", "approved by Kim on Tuesday"), *pairs_of(60, 200, start=100))
    assert one.compacted().outcome == "applied"
    assert classes(one.session)[162] == "covered"
    checked_on_all(one.session)


def parallel(number: int) -> list[Event]:
    """A step with the calls p and q, and both results."""
    calls = [ToolCall(f"{name}{number}", "read", f'{{"path":"{name}{number}.py"}}') for name in "pq"]
    return [
        assistant(f"I decided on step {number}.", *calls),
        *(result(one.id, lines_of(90, one.id), name="read") for one in calls),
    ]


def notes(ask: Ask) -> Reply:
    """An answer to either sort of request."""
    if ask.mode == "standalone":
        return honest(ask)
    text = "## decisions\n- I decided on step 3.\n## current_work\n- I decided on step 9."
    return Reply(text=text, usage=Usage(input=ask.tokens))


@pytest.mark.parametrize("fork", [False, True], ids=["alone", "a fork"])
@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
@pytest.mark.parametrize("way", WAYS)
def test_a_summary_request_has_no_tool_blocks_or_brings_its_tool_list(way: str, wire: Any, fork: bool) -> None:
    """S-PAIR-14, S-PAIR-20: parallel calls p and q with their results: what a model is asked, by whomever, is plain
    text, or a fork of the parent's request with every pair and the tools; a strict provider takes either."""
    one = Way(way, None, notes, fork=fork, window=200_000)
    agent = Session("s", store=one.store, policy=policy_for("caller"))
    one.record(user("Find the leak."), *(event for number in range(30) for event in parallel(number)))
    agent.request(system="You are careful.", tools=TOOLS, wire=wire)
    one.session.describe(system="You are careful.", tools=TOOLS)
    one.record(*parallel(30))
    report = one.compacted()
    assert (report.outcome, report.mode) == ("applied", "fork" if fork else "standalone")
    [ask] = one.model.asks
    if not fork:
        checked_ask(ask)
        return
    payload = ask.payload()
    assert ask.wire == wire.NAME
    assert wire.validate(payload) == []
    # Gemini takes words behind function responses only in a turn of their own (see foldmark.wire.appending).
    own = f"{len(turns(payload)) - 1}: user follows user" if wire is gemini else ""
    assert [found for found in errors(payload, wire.NAME) if found != own] == []
    assert broken_pairs(wire, payload) == []
    assert payload["tools"], "tool blocks need their list"


@pytest.mark.parametrize("refused", [TimeoutError(), Reply(text="12 messages were summarised."), Reply(text="")])
@pytest.mark.parametrize("way", WAYS)
def test_a_fallback_summary_is_reported_as_degraded(way: str, refused: Any, store: Any) -> None:
    """S-PAIR-14: the provider refuses, or a bare count of messages comes back: never `applied`, and the record is the
    whole one of code."""
    one = Way(way, store, refused)
    one.record(user("Find the leak. Never touch the schema."), *(event for n in range(30) for event in parallel(n)))
    report = one.compacted()
    assert report.outcome == "degraded"
    assert report.failure or report.reasons
    assert one.session.control.attempts()[-1].outcome == "degraded"
    (made,) = one.session.control.history()
    assert "12 messages" not in made.text
    assert "Never touch the schema." in made.text
    assert "p9.py" in made.text


def test_these_checks_can_fail() -> None:
    session, model = telling(honest)
    session.record(user("Go."), *pairs_of(3))
    assert {True, False} in sides(session, {2}).values()
    assert not model.asks
    assert errors({"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}, openai_chat.NAME)
