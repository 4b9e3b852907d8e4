"""LOOP as one property: turn after turn, one attempt at most, each gain real, and nothing happens without news."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, applied, fresh, pairs_of
from stories import Move, happens, moves

from foldmark import BudgetExceeded, Policy, PolicyError
from foldmark.drafts import payload_bytes
from foldmark.events import ToolCall, user
from foldmark.wire import WIRES, openai_chat

TRAFFIC: list[Move] = [("call", 700), ("user", 1)] * 20
READS: list[Move] = [("call", 2_000)] * 20
GIANT: list[Move] = [("user", 1), ("say", 12_000), *[("call", 40)] * 20]
INJECTED: list[Move] = [("call", 700), ("note", 1)] * 16


@settings(max_examples=25)
@given(
    story=moves,
    window=st.sampled_from([4_000, 8_192, 20_000, 40_000]),
    max_output=st.sampled_from([None, 1_000]),
    static=st.sampled_from([0, 0, 1_500]),
    trigger=st.sampled_from([3_000, 10_000, 48_000]),
    share=st.sampled_from([0.0, 0.35, 0.9]),
    wire=st.sampled_from(WIRES),
)
@example(TRAFFIC, 8_192, None, 3_400, 3_000, 0.2, WIRES[0]).via("S-LOOP-01: the prefix alone is near the trigger")
@example([("user", 1)], 40_000, 32_000, 0, 48_000, 0.2, WIRES[0]).via("S-LOOP-02: the reserve eats the window")
@example(INJECTED, 20_000, None, 0, 10_000, 0.2, WIRES[1]).via("S-LOOP-03: something is injected behind each")
@example(TRAFFIC, 40_000, None, 0, 3_000, 0.9, WIRES[2]).via("S-LOOP-04: it lands just under the trigger")
@example(GIANT, 20_000, None, 0, 3_000, 0.2, WIRES[3]).via("S-LOOP-04, S-LOOP-05: nothing can be removed")
@example(READS, 8_192, 1_000, 0, 48_000, 0.9, WIRES[0]).via("S-LOOP-06: the tail is as large as the window")
@example(READS, 4_000, None, 0, 48_000, 0.0, WIRES[1]).via("S-LOOP-08: over the limit there is a way down")
def test_a_turn_compacts_once_at_most_and_never_again_without_news(
    story: list[Move], window: int, max_output: int | None, static: int, trigger: int, share: float, wire: object
) -> None:
    budget = {"trigger_tokens": trigger, "nothing_below": 1_000, "landing_tokens": trigger // 2}
    session = fresh(Policy.coding(window=window, budget=budget, tail={"share": share}, admission=RAW))
    session.record(user("Begin."))
    waiting: list[ToolCall] = []
    for number, (what, size) in enumerate(story, 1):
        events, waits = happens(what, size, number, waiting)
        waiting += waits
        session.record(*events)
        tried, done = len(session.store.view(session.key).attempts), applied(session)
        with suppress(BudgetExceeded, PolicyError):
            request = session.request(wire=wire, system="word " * static, max_output=max_output)
            attempts = session.store.view(session.key).attempts[tried:]
            assert len(attempts) <= 1, "one attempt a turn"
            if request.report.outcome == "applied":
                assert attempts[0].after < attempts[0].before
                repairs = 45 * len(request.report.warnings)  # a repaired pair costs some words that no report counts
                assert request.tokens.total <= attempts[0].after + repairs
            again = session.request(wire=wire, system="word " * static, max_output=max_output)
            assert applied(session) == done + (request.report.outcome == "applied"), "compacted again without news"
            assert payload_bytes(again.payload()) == payload_bytes(request.payload())
    attempts = session.store.view(session.key).attempts
    vain = [attempt for attempt in attempts if attempt.outcome != "applied"]
    assert len(vain) <= 3 + len(story) // 4, [attempt.outcome for attempt in attempts]


def test_the_property_of_this_file_does_compact() -> None:
    budget = {"trigger_tokens": 3_000, "nothing_below": 1_000, "landing_tokens": 1_500}
    session = fresh(Policy.coding(window=40_000, budget=budget, admission=RAW))
    session.record(user("Begin."), *pairs_of(30, 150), user("On."))
    session.request(wire=openai_chat)
    assert applied(session) == 1
