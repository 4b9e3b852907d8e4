"""PAIR and CACHE with models: the summary request is itself a valid request, alone or as a fork of the parent's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scenes import EVERY_WIRE, RAW, checked, pairs_of, text_of
from tellers import checked_ask, honest, said, telling
from turns import conversation, errors, goes_on

from foldmark import Policy, Reply, Session, Usage
from foldmark.drafts import payload_bytes
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.summarizer import Limits
from foldmark.wire import openai_chat
from wire_pairs import broken_pairs

POLICY = Policy.coding(budget={"trigger_tokens": 40_000, "landing_tokens": 3_000}, admission=RAW)
TOOLS = [{"name": "read", "description": "Reads it.", "parameters": {"type": "object", "properties": {}}}]
SYSTEM = "You are careful. " * 50


def parallel(number: int) -> list[Event]:
    """A step with two calls and their results."""
    calls = [ToolCall(f"{name}{number}", "read", json.dumps({"path": f"{name}{number}.py"})) for name in "pq"]
    return [
        assistant(f"I decided on step {number}.", *calls),
        *(result(one.id, "row " * 90, name="read") for one in calls),
    ]


def fork_notes(ask: Any) -> Reply:
    """An answer to a fork: headings and lines, no refs."""
    return Reply(
        text="## decisions\n- I decided on step 3.\n## current_work\n- I decided on step 9.",
        usage=Usage(input=ask.tokens),
    )


@pytest.mark.parametrize("fork", [False, True])
@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_a_summary_request_of_parallel_calls_is_well_formed_on_every_wire(wire: Any, fork: bool) -> None:
    """S-PAIR-14, S-PAIR-20: calls p and q and both results: the request is plain text, or a fork with every pair and
    the tool list; a strict provider takes it."""
    session, model = telling(fork_notes if fork else honest, policy=POLICY, fork=fork, window=200_000)
    session.record(user("Find the leak."), *(event for number in range(40) for event in parallel(number)))
    checked(session, wire, system=SYSTEM, tools=TOOLS, window=128_000)
    session.record(assistant("Done."), user("And now?"))
    report = session.compact(force=True, window=128_000)
    assert report.outcome == "applied"
    [ask] = model.asks
    if not fork:
        checked_ask(ask)
        assert len(said(ask)) > 10
        return
    payload = ask.payload()
    assert (ask.mode, ask.wire) == ("fork", wire.NAME)
    assert wire.validate(payload) == []
    assert errors(payload, wire.NAME) == []
    assert broken_pairs(wire, payload) == []
    assert payload["tools"], "tool blocks need their list"


@pytest.mark.parametrize("refused", [TimeoutError(), Reply(text="12 messages were summarised.")])
def test_a_fallback_is_reported_as_degraded_and_is_no_trivial_count(refused: Any) -> None:
    """S-PAIR-14: the provider refuses, or a bare count of messages comes back: degraded, with the reason, and the
    record is code's whole one."""
    session, _ = telling(refused, policy=POLICY)
    session.record(user("Find the leak. Never touch the schema."), *(e for n in range(60) for e in parallel(n)))
    report = session.compact(force=True, window=128_000)
    assert report.outcome == "degraded"
    assert report.calls[0].failure
    text = session.control.history()[-1].text
    assert "12 messages" not in text
    assert "Never touch the schema." in text
    assert "p9.py" in text


def test_a_result_without_its_call_breaks_no_summary_request() -> None:
    """S-PAIR-20: orphans, unanswered calls and results that come twice are words like all others."""
    session, model = telling(honest, policy=POLICY)
    session.record(user("Go."), result("ghost", "an orphan's words"), *parallel(1)[:2], assistant("I decided to wait."))
    session.record(*parallel(1)[1:], *parallel(1)[1:], *pairs_of(40, 200), user("And?"))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    assert "an orphan's words" in checked_ask(model.asks[0])


@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_a_fork_is_the_parent_request_with_one_message_behind_it(wire: Any) -> None:
    """S-CACHE-02: same system, tools, settings and model, byte-equal prefix, one instruction more; what it read from
    the cache is compared with the parent."""
    session, model = telling(fork_notes, policy=POLICY, fork=True, window=200_000)
    session.record(user("Find the leak."), *(event for number in range(40) for event in parallel(number)))
    parent = checked(session, wire, system=SYSTEM, tools=TOOLS, window=128_000, max_output=4_000)
    before = parent.payload(model="scripted")
    session.record(assistant("I read them all.", usage=Usage(input=parent.tokens.total, cache_read=100)))
    going_out = session.peek(wire).payload(model="scripted")
    report = session.compact(force=True, window=128_000)
    [ask] = model.asks
    body = ask.payload()
    assert report.mode == "fork"
    assert goes_on(before, body), "what the provider has in its cache comes first, byte for byte"
    assert goes_on(going_out, body)
    more = len(conversation(body)) - len(conversation(going_out))
    assert more in (0, 1), "one message, or one block in the last one"
    assert text_of(body).count("Pause the task here") == 1
    assert payload_bytes({"tools": body["tools"]}) == payload_bytes({"tools": before["tools"]})
    assert report.cache
    assert all(item.refs for item in session.control.history()[-1].narrative), "code finds the events"


def test_without_a_parent_a_fork_is_asked_standalone_with_the_reason() -> None:
    """S-CACHE-02: a parent that cannot be cloned (a prefix that changed, no room, decoration that fails): plain text,
    and the report says why."""

    def ready(**options: Any) -> tuple[Session, Any]:
        session, model = telling(honest, policy=POLICY, fork=True, window=200_000, **options)
        session.record(user("Find the leak."), *(event for number in range(40) for event in parallel(number)))
        return session, model

    def broken(body: Any) -> Any:
        raise KeyError("no such field")

    changed, asked = ready()
    checked(changed, system=SYSTEM, window=128_000)
    changed.describe(system="Another one.")
    roomless, unasked = ready(limits=Limits(output_tokens=120_000))
    checked(roomless, window=128_000)
    undecorated, plain = ready(decorate=broken)
    checked(undecorated, window=128_000)
    for session, model, why in ((changed, asked, "static prefix changed"), (roomless, unasked, "would not fit"),
                                (undecorated, plain, "decorate raised")):  # fmt: skip
        session.record(assistant("Done."), user("And now?"))
        report = session.compact(force=True, window=128_000)
        assert (report.outcome, report.mode) == ("applied", "standalone")
        assert any(why in warning for warning in report.warnings), report.warnings
        checked_ask(model.asks[0])


def test_a_fork_that_fails_is_followed_by_a_standalone_request() -> None:
    """S-CACHE-02: what the parent's model cannot answer as a fork (it goes on with the task) is asked for as plain
    text."""
    goes_on_with_it = Reply(text="", calls=("read",), finish="tool_calls")
    session, model = telling(goes_on_with_it, honest, policy=POLICY, fork=True, window=200_000)
    session.record(user("Find the leak."), *(event for number in range(40) for event in parallel(number)))
    checked(session, openai_chat, system=SYSTEM, tools=TOOLS, window=128_000)
    session.record(assistant("Done."), user("And now?"))
    report = session.compact(force=True, window=128_000)
    assert [ask.mode for ask in model.asks] == ["fork", "standalone"]
    assert report.outcome == "applied"
