"""LOOP with models: no turn asks twice, failures are counted, and what a model writes never makes a session larger."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scenes import EVERY_WIRE, RAW, applied, checked, checked_on_all, pair, pairs_of, text_of
from tellers import checked_ask, honest, quoting, telling, told, twice

from foldmark import BudgetExceeded, Policy, PolicyError, Session, SQLiteStore, Usage
from foldmark.events import assistant, injected, user
from foldmark.summarizer import Limits
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.tokens import count
from foldmark.wire import openai_chat

UNTOUCHED = {"demote": False, "superseded": False, "duplicates": False}
RULES = "\n".join(f"Rule {n}: name things for what they are, case {n}." for n in range(3_200))


def test_a_static_prefix_above_the_trigger_costs_no_call_and_one_above_the_cap_is_named() -> None:
    """S-LOOP-01: twenty turns with 60K or 138K of rules, above the trigger: no attempt, no call; with more rules than
    the window takes, a typed error that names them, and still no call."""
    session, model = telling(honest, policy=Policy.coding())
    session.record(user("Hello."))
    for number in range(20):
        session.record(*pair(number, 300))
        large, larger = ("Always write the test first. " * times for times in (10_000, 23_000))
        warned = checked(session, system=large, window=200_000).report.warnings
        assert any("static prefix alone" in warning for warning in warned), "60K, and the trigger is at 48K"
        checked(session, system=larger, window=200_000)
    for _ in range(3):
        with pytest.raises(PolicyError, match="static prefix"):
            session.request(system="Always write the test first. " * 29_000, window=200_000)
    assert (applied(session), len(session.store.view(session.key).attempts), model.asks) == (0, 0, [])


def test_what_the_host_reads_again_is_part_of_the_landing_and_starts_no_second_summary() -> None:
    """S-LOOP-03: window 100K, 45K of rules injected behind every compaction: landing and rules stay under the trigger,
    and no second call comes in the same turn."""
    policy = Policy.coding(window=100_000, cleanup=UNTOUCHED, expected={"reinjected_tokens": count(RULES)})
    session, model = telling(honest, policy=policy)
    session.record(user("Begin."))
    turns = 0
    for number in range(60):
        session.record(*pair(number, 1_500))
        asked = len(model.asks)
        request = checked(session)
        if request.report.outcome != "applied":
            assert len(model.asks) == asked
            continue
        turns += 1
        session.record(injected(RULES))
        due_at, _ = session.next_compaction()
        again = session.request(wire=openai_chat)
        assert again.report.outcome == "not_due"
        assert again.tokens.total < due_at, "it lands under the trigger with the rules"
        assert len(model.asks) == asked + 1
    assert 1 <= turns <= 20


def test_two_compactions_without_effect_by_the_providers_word_open_the_breaker() -> None:
    """S-LOOP-04: each time the provider reports as much behind the compaction as before it: the model is asked no more,
    what is due is made by code, and the size at which the next one is due stays a size."""
    clock = FixedClock()
    budget = {"trigger_tokens": 20_000, "landing_tokens": 8_000, "nothing_below": 0}
    policy = Policy.coding(budget=budget, admission=RAW, cleanup=UNTOUCHED)
    session, model = telling(honest, policy=policy, clock=clock, limits=Limits(breaker_after=2, probe_seconds=1e6))
    session.record(user("Begin."))
    outcomes = []
    for number in range(48):
        session.record(*pair(number, 1_700))
        clock.advance(61)
        request = checked(session, window=200_000)
        reported = request.tokens.total
        if request.report.outcome != "not_due":
            outcomes.append(request.report.outcome)
            reported = session.store.view(session.key).attempts[-1].before
        due_at, _why = session.next_compaction()
        assert 0 < due_at <= 200_000
        session.record(assistant(f"Turn {number} is done.", usage=Usage(input=reported)))
    assert outcomes[:2] == ["applied", "applied"]
    assert set(outcomes[2:]) == {"degraded"}
    assert len(model.asks) == 2
    assert "breaker" in str(session.store.view(session.key).attempts[-1].reasons)


def test_a_limit_learned_from_refusals_ends_in_an_error_and_not_in_a_circle() -> None:
    """S-LOOP-05: five protected events, another model, 'too long' at every request: nothing can be removed, it says so,
    and the caller gets the arithmetic with the learned limit. No model is asked."""
    session, model = telling(honest, policy=Policy.coding(admission={**RAW, "user_words_tokens": 1_000_000}))
    session.record(*(user("word " * 2_000) for _ in range(5)))
    session.request(wire=openai_chat, window=128_000)
    refusal = {
        "error": {"message": "This model's maximum context length is 8192 tokens. However, you requested 10100."}
    }
    report = session.overflowed(refusal)
    assert report is not None
    assert (report.outcome, "no whole round" in report.text) == ("ineffective", True)
    for _ in range(3):
        with pytest.raises(BudgetExceeded, match="8,192"):
            session.request(wire=openai_chat, window=128_000)
        again = session.overflowed(refusal)
        assert again is not None
        assert (again.outcome, "again" in again.text) == ("failed", True)
    assert (applied(session), model.asks) == (0, [])


@pytest.mark.parametrize("teller", [twice, quoting, lambda ask: ask.prompt * 2], ids=["items", "quotes", "text"])
@pytest.mark.parametrize("target", [2_000, 5_000])
def test_a_summary_twice_the_size_of_its_input_never_makes_a_session_larger(teller: Any, target: int) -> None:
    """S-LOOP-07: tokens go down or the original stays; before and after are measured by the counter of requests."""
    policy = Policy.coding(budget={"target_tokens": target}, admission=RAW, cleanup=UNTOUCHED)
    session, model = telling(teller, policy=policy)
    session.record(user("Begin. Never touch the schema."))
    for turn in range(4):
        session.record(*pairs_of(12, 120, start=turn * 20, say=f"I decided on step {turn}."), user(f"Go on {turn}."))
        before = session.peek(openai_chat).tokens.total
        report = session.compact(force=True, window=128_000)
        after = session.peek(openai_chat).tokens.total
        assert report.before == before
        assert after < before if report.outcome in ("applied", "degraded") else after == before
        assert report.after == after
        assert after <= target * 1.02
    assert model.asks


@pytest.mark.parametrize("answer", [honest, TimeoutError()], ids=["honest", "silent"])
@pytest.mark.parametrize("summary_window", [400, 2_500, 9_000])
def test_over_the_hard_limit_there_is_a_way_down_though_the_past_does_not_fit_the_model(
    answer: Any, summary_window: int
) -> None:
    """S-LOOP-08: the history is over the window and the summary model cannot read it at once, or not at all: the
    request fits all the same, and no request to the model is larger than it takes."""
    session, model = telling(answer, policy=Policy.coding(admission=RAW, cleanup=UNTOUCHED), window=summary_window)
    session.record(user("Why is the total wrong?"), *pairs_of(120, 500))
    request = checked(session, window=40_000, max_output=2_000)
    assert request.report.outcome in ("applied", "degraded")
    assert "Why is the total wrong?" in text_of(request.payload())
    for ask in model.asks:
        checked_ask(ask)
    assert bool(model.asks) == (summary_window > 400)


def test_a_model_that_always_raises_is_asked_three_times_in_fifty_turns(tmp_path: Path) -> None:
    """S-LOOP-09: fifty turns above the threshold, each in a process of its own: the breaker's three calls and no more,
    until a person insists, another model is given, or its rest is over."""
    clock, calls = FixedClock(), 0
    budget = {"trigger_tokens": 3_000, "landing_tokens": 1_500, "nothing_below": 0}
    policy = Policy.coding(budget=budget, admission=RAW, cleanup=UNTOUCHED)

    def opened(model: ScriptedModel) -> Session:
        store = SQLiteStore(tmp_path / "agent.db")
        return Session("s", store=store, policy=policy, model=model, clock=clock)

    def turn(number: int, model: ScriptedModel, **options: Any) -> str:
        session = opened(model)
        session.record(*pairs_of(6, 700, start=number * 10), user(f"Go on {number}."))
        outcome = session.compact(window=128_000, **options).outcome
        session.store.close()
        return str(outcome)

    for number in range(50):
        clock.advance(61 if number < 3 else 5)
        model = ScriptedModel(RuntimeError("boom"))
        assert turn(number, model) == "degraded", "each turn is due"
        calls += len(model.asks)
    assert calls == 3
    by_hand, other, rested = ScriptedModel(honest), ScriptedModel(honest, name="other"), ScriptedModel(honest)
    turn(60, other)
    assert len(other.asks) == 1, "another model has done nothing wrong"
    turn(61, by_hand, force=True)
    assert len(by_hand.asks) == 1
    failing = ScriptedModel(RuntimeError("boom"))
    for number in range(62, 65):
        clock.advance(61)
        turn(number, failing)
    clock.advance(100)
    turn(66, failing)
    assert len(failing.asks) == 3
    clock.advance(300)
    turn(67, rested)
    assert len(rested.asks) == 1, "one probe when its rest is over"


class Busy(Exception):
    status_code = 429
    response = type("Answer", (), {"status_code": 429, "headers": {"retry-after": "3600"}})()


def test_a_rest_that_a_provider_asks_for_outlives_any_number_of_records_by_code(store: Any) -> None:
    """S-LOOP-09: 'retry after an hour', and thirty compactions by code in that hour: their notes do not push out the
    one that says why the model rests."""
    clock = FixedClock()
    budget = {"trigger_tokens": 3_000, "landing_tokens": 1_500, "nothing_below": 0}
    policy = Policy.coding(budget=budget, admission=RAW, cleanup=UNTOUCHED)
    session, model = telling(Busy("slow down"), policy=policy, store=store, clock=clock)
    session.record(user("Begin."))
    for number in range(30):
        session.record(*pairs_of(6, 700, start=number * 10), user(f"Go on {number}."))
        assert session.compact(window=128_000).outcome == "degraded"
        clock.advance(100)
    assert len(model.asks) == 1
    clock.advance(700)
    session.record(*pairs_of(6, 700, start=900), user("Go on."))
    session.compact(window=128_000)
    assert len(model.asks) == 2


def test_our_own_words_are_never_the_users_and_do_not_add_up() -> None:
    """S-LOOP-10: a board on every user message, a synthetic continuation behind every compaction, a model that quotes
    all it sees: the log holds what was recorded, no summary request is part of it, and sizes do not grow with N."""
    session, model = telling(quoting, policy=Policy.coding(budget={"target_tokens": 6_000}, admission=RAW))
    session.record(user("Fix the duplicate charges."))
    board = "\n".join(f"board: task {n} is green" for n in range(120))
    sizes, asked, recorded = [], [], 1
    for turn in range(16):
        events = [user(f"Go on with {turn}."), injected(board), *pairs_of(8, 300, start=turn * 10)]
        session.record(*events, injected("Continue from where you left off."))
        recorded += len(events) + 1
        with suppress(BudgetExceeded):
            session.compact(force=True, window=128_000)
        sizes.append(session.peek(openai_chat).tokens.total)
        asked.append(sum(ask.tokens for ask in model.asks))
        model.asks.clear()
    log = session.store.log(session.key)
    assert len(log) == recorded
    assert not [event for event in log if "foldmark-records" in event.text]
    kept = {seq for one in session.control.history() for seq in one.kept}
    assert all(log[seq - 1].is_user for seq in kept)
    goals = [str(section) for section in session.control.history()[-1].sections if section.title == "Goal"]
    assert not any("Continue from where" in goal or "board:" in goal for goal in goals)
    assert max(sizes) <= 6_000 * 1.02
    assert max(asked[9:]) <= 1.3 * max(asked[2:9]), asked


@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_a_told_record_that_comes_back_is_known_and_recorded_by_nobody(wire: Any) -> None:
    """S-LOOP-10: the caller re-sends the record with its narrative ten times: the log holds none of it, and it stands
    once in each request."""
    session, model = telling(honest, policy=Policy.coding(budget={"target_tokens": 3_000}, admission=RAW))
    session.record(user("Fix the duplicate charges."), *pairs_of(20, 200, say="I decided to read it."))
    head = session.store.view(session.key).head
    for number in range(10):
        messages = checked(session, wire, window=128_000).payload()[wire.MESSAGES]
        words = [user("x"), assistant(f"I decided on {number}."), user(f"And {number}?")]
        mine = wire.write("", [], words)[wire.MESSAGES]
        assert len(session.follow([*messages, *mine[1:]], wire=wire).new) == 2
        head += 2
        assert session.store.view(session.key).head == head
        session.record(*pairs_of(6, 200, start=100 + number * 10))
        head += 12
        session.compact(force=True)
    assert len(model.asks) > 5
    text = text_of(session.peek(wire).payload())
    assert text.count("<foldmark-checkpoint ") == 1
    assert "told by a model" in text


def test_a_good_model_lowers_the_size_in_the_sessions_of_this_file() -> None:
    session, model = telling(lambda ask: told(ask, current_work=[("Step 3.", [6])]))
    session.record(user("Begin."), *pairs_of(30, 300))
    report = session.compact(force=True, window=128_000)
    assert (report.outcome, len(model.asks)) == ("applied", 1)
    assert report.after < report.before
    assert checked_on_all(session)
