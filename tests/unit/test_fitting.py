"""Fit is the last resort: it demotes, then drops, then shrinks, says so, and never takes what must stay."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from foldmark.assembly import assemble
from foldmark.budget import room
from foldmark.drafts import Request, cost, static_tokens
from foldmark.errors import BudgetExceeded
from foldmark.events import Event, Image, Text, ToolCall, assistant, result, user
from foldmark.fitting import fit
from foldmark.policy import Budget, Layout, Policy
from foldmark.reports import Report
from foldmark.store import Frame
from foldmark.wire import openai_chat
from making import long_session, numbered, tool_round

POLICY = Policy(budget=Budget(output_reserve=0))


def fitted(events: list[Event], window: int, system: str = "") -> Request:
    draft = assemble(None, (), events, system, (), Layout())
    space = room(Frame(window=window), POLICY)
    return fit(draft, space, openai_chat, Report(outcome="not_due"))


def test_what_fits_is_left_alone() -> None:
    events = numbered(*long_session(5))
    made = fitted(events, 100_000)
    assert list(made.messages) == events
    assert (made.report.epoch, made.report.changes, made.tokens.total) == ("", (), cost(events))


def test_older_results_go_first_as_outcome_lines() -> None:
    events = numbered(*long_session(20))
    made = fitted(events, round(cost(events) * 0.9))
    assert made.tokens.total <= made.ceiling
    demoted = [change.seq for change in made.report.changes if change.status == "demoted"]
    assert demoted == sorted(demoted)
    assert demoted[0] == 3
    assert len(made.messages) == len(events)
    assert "[whole: event:3]" in made.messages[2].text


def test_then_the_oldest_whole_rounds_are_left_out_and_named() -> None:
    events = numbered(*long_session(120, 10))
    made = fitted(events, 4_500)
    left_out = [change.seq for change in made.report.changes if change.status == "left_out"]
    assert left_out
    assert made.report.epoch == "fit"
    assert made.report.warnings
    assert made.tokens.total <= made.ceiling
    shown = {event.seq for event in made.messages}
    assert shown | set(left_out) == {event.seq for event in events}
    assert not shown & set(left_out)
    assert made.payload()["messages"]


def test_the_users_older_words_go_after_everything_that_can_be_opened_again() -> None:
    """A rule of the first message is gone with its round though it costs a few tokens: it must be the last to go."""
    rule = "Never touch the schema."
    body = "\n".join(f"row {n} of the answer, value {n * 7}" for n in range(300))
    loop = [event for n in range(20) for event in tool_round(n, body)]
    events = numbered(user(f"Begin. {rule}"), assistant("I will."), *loop, user("And now?"), *tool_round(99, body))
    made = fitted(events, 3_000)
    assert rule in made.messages[0].text
    assert {change.status for change in made.report.changes} == {"left_out", "demoted"}
    words = [user(f"Question {n}: " + "why is it so? " * 100) for n in range(20)]
    made = fitted(numbered(user(rule), *words, assistant("Because."), user("Why?")), 4_000)
    assert made.messages[-1].text == "Why?"
    assert made.tokens.total <= made.ceiling
    [warning] = made.report.warnings
    assert warning.startswith(f"{len(made.report.changes)} events were left out")


def test_the_users_own_request_and_the_unread_results_always_stay() -> None:
    events = numbered(*long_session(120, 10, ask="The one thing I want."))
    made = fitted(events, 5_000)
    texts = [event.text for event in made.messages]
    assert "The one thing I want." in texts
    assert made.messages[-1].result is not None
    assert made.messages[-1].result.call_id == "c120"


def test_a_giant_newest_result_is_shrunk_to_a_preview_before_giving_up() -> None:
    body = "\n".join(f"row {n} of the giant answer, value {n * 7}" for n in range(3_000))
    events = numbered(user("Read it."), assistant("", ToolCall("c1", "run", "{}")), result("c1", body))
    made = fitted(events, 8_000)
    assert made.tokens.total <= made.ceiling
    assert "event:3" in made.messages[-1].text
    assert made.messages[0].text == "Read it."


def test_what_cannot_fit_raises_with_the_arithmetic() -> None:
    events = numbered(user("word " * 9_000))
    with pytest.raises(BudgetExceeded) as caught:
        fitted(events, 8_000)
    labels = dict(caught.value.lines)
    assert labels["context window"] == 8_000
    assert "= room for the whole request" in labels
    assert "7,488 are allowed" in str(caught.value)


def test_a_checkpoint_in_the_system_text_counts_as_checkpoint_and_the_arithmetic_adds_up() -> None:
    rules, record = "Be careful.", "<foldmark-checkpoint> " + "what was done " * 800 + "</foldmark-checkpoint>"
    space = room(Frame(window=8_000, static_tokens=static_tokens(rules, ())), POLICY)
    for words, fits in ((10, True), (5_500, False)):
        draft = assemble(None, (), numbered(user("word " * words)), f"{rules}\n\n{record}", (), Layout())
        if fits:
            made = fit(draft, space, openai_chat, Report(outcome="not_due"))
            assert made.tokens.static == static_tokens(rules, ())
            assert 2_400 < made.tokens.checkpoint < 2_500
            continue
        with pytest.raises(BudgetExceeded) as caught:
            fit(draft, space, openai_chat, Report(outcome="not_due"))
        lines = dict(caught.value.lines)
        used = ("- system text and tool schemas", "- checkpoint and kept messages", "- newest round")
        assert lines["= room for the whole request"] + sum(lines[name] for name in used) < 0


def test_images_stand_in_the_arithmetic_at_the_price_of_the_provider_that_refuses_them() -> None:
    """Three photos of 1,600 tokens each by the neutral price: the error said that less was too much."""
    photo = Image(media_type="image/png", data="eA==")
    events = numbered(Event(role="user", origin="user", parts=(Text("see"), photo, photo, photo)))
    draft = assemble(None, (), events, "", (), Layout())
    neutral = cost(events)
    space = room(Frame(window=neutral + 700, wire="openai-chat"), POLICY)
    assert neutral + space.extra(draft.messages) > space.ceiling >= neutral
    with pytest.raises(BudgetExceeded, match=f"takes {neutral + space.extra(draft.messages):,} tokens") as caught:
        fit(draft, space, openai_chat, Report(outcome="not_due"))
    assert caught.value.lines[-1] == ("- images, at this provider's prices", -space.extra(draft.messages))


def test_exactly_the_budget_fits_and_one_more_does_not() -> None:
    events = numbered(*long_session(4))
    draft = assemble(None, (), events, "", (), Layout())
    total = cost(events)
    for ceiling, changed in ((total, False), (total - 1, True)):
        space = SimpleNamespace(
            ceiling=ceiling, reserve=0, static=0, lines=tuple, extra=lambda _messages: 0, bound_thinking=False
        )
        made = fit(draft, space, openai_chat, Report(outcome="not_due"))  # type: ignore[arg-type]
        assert bool(made.report.changes) is changed


def test_parallel_results_stay_whole_whatever_is_dropped() -> None:
    events: list[Event] = [user("go")]
    for number in range(30):
        calls = [ToolCall(f"c{number}_{n}", "read", "{}") for n in range(3)]
        events += [assistant("", *calls), *(result(c.id, f"text {number} " * 30) for c in calls)]
    made = fitted(numbered(*events, *tool_round(99)), 3_000)
    assert not [p for p in openai_chat.validate(made.payload()) if p.certainty == "known"]


def test_where_call_ids_come_again_only_the_round_that_needs_it_is_protected() -> None:
    """Some servers number the calls of every step anew: an id names the last call in front of a result, no other."""
    steps = []
    for number in range(12):
        call = ToolCall("call_0", "read_file", f'{{"path":"src/part{number}.py"}}')
        body = "".join(f"def work_{line}():\n    return {line}\n" for line in range(150))
        steps += [assistant(f"Part {number}.", call), result("call_0", body, name="read_file")]
    events = numbered(user("Read all."), *steps)
    made = fitted(events, round(cost(events) * 0.8))
    assert {change.reason for change in made.report.changes} == {"fit: older result as its outcome"}
    assert [change.seq for change in made.report.changes] == [3, 5, 7, 9, 11][: len(made.report.changes)]
    assert made.messages[2].text == "300 lines [whole: event:3]"
    assert made.messages[-1].text == events[-1].text
