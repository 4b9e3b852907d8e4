"""RACE and DUR with models: what happens while a model thinks, and where it is interrupted."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from scenes import RAW, checked, classes, pairs_of, text_of
from tellers import honest, telling

from foldmark import Policy, Session
from foldmark.asking import Ask
from foldmark.events import Event, assistant, user
from foldmark.wire import openai_chat
from waiting import LONG

POLICY = Policy.coding(budget={"target_tokens": 3_000}, admission=RAW)


def meanwhile(session: Session, *events: Event) -> None:
    """Another thread records while the model thinks."""
    thread = threading.Thread(target=lambda: session.record(*events))
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive(), "a model that thinks keeps others from recording"


def test_a_stale_partial_answer_stands_behind_the_boundary_and_is_no_summary(store: Any) -> None:
    """S-RACE-01: a streamed answer is committed while the summary is being made: raw, behind the boundary, in no
    record; its end comes after the compaction, in order."""

    def slow(ask: Ask) -> Any:
        meanwhile(session, assistant("Half an answer about flamingo_rows, and"))
        return honest(ask)

    session, model = telling(slow, policy=POLICY, store=store)
    session.record(user("Go."), *pairs_of(20, 200, say="I decided to read it."), user("What of the rows?"))
    report = session.compact(force=True, window=128_000)
    assert (report.outcome, len(model.asks)) == ("applied", 1)
    session.record(assistant("its other half."), user("Thanks."))
    log = session.store.log(session.key)
    half = next(event for event in log if event.text.startswith("Half an answer"))
    assert half.seq > report.boundary
    assert "flamingo_rows" not in session.control.history()[-1].text
    assert classes(session)[half.seq] == "raw"
    text = text_of(checked(session, window=128_000).payload())
    assert text.index("Half an answer") < text.index("its other half.") < text.index("Thanks.")


def test_messages_that_come_during_a_summary_cancel_nothing_and_are_delivered_once_in_order(store: Any) -> None:
    """S-RACE-03: three messages, one for each part that the model is asked: the compaction is applied and each message
    stands once behind it."""

    def slow(ask: Ask) -> Any:
        meanwhile(session, user(f"Message {len(model.asks)} of a hurried user."))
        return honest(ask)

    session, model = telling(slow, policy=POLICY, store=store, window=3_000)
    session.record(user("Go."), *pairs_of(60, 200, say="I decided to read it."))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    assert len(model.asks) >= 3
    text = text_of(checked(session, window=128_000).payload())
    said = [f"Message {number} of a hurried user." for number in range(1, len(model.asks) + 1)]
    assert [text.count(one) for one in said] == [1] * len(said)
    places = [text.index(one) for one in said]
    assert places == sorted(places)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_at_any_call_loses_no_event_and_no_earlier_compaction(
    interrupt: type[BaseException], store: Any
) -> None:
    """S-DUR-02: two good compactions, then an interrupt at the first, second, third call and so on of a later one: the
    log and the two records are as they were, and the next attempt goes through."""
    session, model = telling(honest, policy=POLICY, store=store, window=3_000)
    session.record(user("Go."))
    for turn in range(2):
        session.record(*pairs_of(16, 200, start=turn * 20, say=f"I decided on {turn}."), user(f"Next {turn}?"))
        assert session.compact(force=True, window=128_000).outcome == "applied"
    session.record(*pairs_of(60, 200, start=100, say="I decided to go on."), user("And now?"))
    log, records = session.store.log(session.key), session.control.history()
    before = session.peek(openai_chat).payload()
    points = 0
    while True:
        model.asks.clear()
        model.script = [*[honest] * points, interrupt()]
        if points >= 8:
            break
        try:
            session.compact(force=True, window=128_000)
        except interrupt:
            points += 1
        else:
            break
        assert session.store.log(session.key) == log
        assert session.control.history() == records
        assert session.peek(openai_chat).payload() == before
    assert points >= 3
    model.script = [honest]
    assert session.compact(force=True, window=128_000).outcome in ("applied", "ineffective")
    assert session.control.history()[:2] == records
