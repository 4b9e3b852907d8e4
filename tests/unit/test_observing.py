"""What a reply teaches: state in, state out."""

from __future__ import annotations

import pytest

from foldmark import Usage, assistant, user
from foldmark.drafts import Request, Sizes
from foldmark.events import Event
from foldmark.observing import Sent, observed, reply_in
from foldmark.reports import Report
from foldmark.store import Awaited, Frame, Key, ScopeState
from foldmark.wire import openai_chat

FRAME = Frame(window=100_000, model="m")


def sent(size: int = 20_000, *, version: int = 0) -> Sent:
    report = Report(outcome="not_due", version=version)
    made = Request(
        system="", messages=(), tools=(), tokens=Sizes(tail=size), report=report, wire=openai_chat, ceiling=90_000,
        stable=0,
    )  # fmt: skip
    return Sent(FRAME, made)


def reply(usage: Usage | None = None) -> Event:
    return assistant("Done.", usage=usage, model="m-2026")


def test_the_first_answer_that_the_scope_sees_is_the_reply() -> None:
    mine = assistant("mine", scope="main")
    theirs = assistant("a sub-agent's", scope="helper")
    events = [user("Go on."), theirs, mine, assistant("later")]
    assert reply_in(events, Key(session="s", scope="main", sees="exact")) is mine
    assert reply_in(events, Key(session="s")) is theirs
    assert reply_in([user("Go on.")], Key(session="s")) is None


@pytest.mark.parametrize("usage", [None, Usage(output=5)], ids=["silent", "no input"])
def test_a_reply_that_reports_no_input_teaches_nothing(usage: Usage | None) -> None:
    state = ScopeState(awaited=Awaited(10_000, 20_000))
    assert observed(state, sent(version=3), reply(usage), None) is state


def test_the_reported_size_is_a_sample_for_the_model_that_the_request_was_made_for() -> None:
    new = observed(ScopeState(), sent(20_000), reply(Usage(input=22_000)), None)
    assert list(new.usages) == ["openai-chat m"]
    assert new.correction(FRAME).factor == pytest.approx(1.1)
    assert (new.model, new.last_usage) == ("m-2026", Usage(input=22_000))


def test_a_limit_that_the_request_passed_was_wrong() -> None:
    state = ScopeState(limits={"openai-chat m": 21_000})
    assert observed(state, sent(), reply(Usage(input=22_000)), None).limits == {}


def test_cache_reads_are_watched_once_a_request() -> None:
    state = ScopeState(frame=FRAME, awaited=Awaited(18_000, 20_000), last_usage=Usage(input=18_000, cache_read=1))
    new = observed(state, sent(), reply(Usage(input=20_000, cache_read=0)), None)
    assert {cause: miss.tokens for cause, miss in new.misses.items()} == {"unknown": 18_000}
    assert observed(new, sent(), reply(Usage(input=20_000)), None).misses == new.misses


def test_only_the_first_request_after_a_compaction_says_what_it_came_to() -> None:
    first = observed(ScopeState(), sent(version=2), reply(Usage(input=20_000)), None)
    again = observed(first, sent(version=2), reply(Usage(input=25_000)), None)
    assert (first.reported, again.reported) == ((2, 20_000), (2, 20_000))
    assert observed(again, sent(version=3), reply(Usage(input=9_000)), None).reported == (3, 9_000)
    assert observed(again, sent(version=0), reply(Usage(input=9_000)), None).reported == (2, 20_000)
