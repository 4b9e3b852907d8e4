"""When a summary model may be asked: cooldown, rest, breaker and its probe, all from stored attempts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.budget import room
from foldmark.checkpoint import Checkpoint
from foldmark.pacing import first_reported, may_ask, resting, rests
from foldmark.policy import Policy
from foldmark.reports import Attempt
from foldmark.store import Frame, Key, ScopeState, View
from foldmark.summarizer import Limits

LIMITS = Limits()
"""60 s of cooldown; three in a row open the breaker for 300 s."""


def tried(time: float, outcome: str = "applied", **more: Any) -> Attempt:
    base: dict[str, Any] = {"calls": 1, "mode": "standalone", "before": 50_000, "after": 20_000}
    return Attempt(time=time, outcome=outcome, **{**base, **more})  # type: ignore[arg-type]


def by_code(time: float, outcome: str = "applied", **more: Any) -> Attempt:
    return tried(time, outcome, calls=0, mode="code", **more)


def failing(count: int, start: float = 0.0, step: float = 100.0) -> list[Attempt]:
    return [tried(start + step * n, "degraded", failure="timeout") for n in range(count)]


def test_nobody_waits_who_has_not_asked() -> None:
    assert may_ask([], LIMITS, 0.0) == ""
    assert may_ask([by_code(0.0), by_code(1.0, "failed")], LIMITS, 2.0) == ""


def test_after_a_call_a_model_rests_for_the_cooldown() -> None:
    assert may_ask([tried(100.0)], LIMITS, 159.0) == "cooldown: a model was asked less than 60 s ago, 1 s are left"
    assert may_ask([tried(100.0)], LIMITS, 160.0) == ""
    assert may_ask([tried(100.0)], Limits(cooldown_seconds=0), 100.0) == ""


def test_a_cooldown_is_no_rest_for_the_price_of_the_next_compaction() -> None:
    assert may_ask([tried(100.0)], LIMITS, 130.0)
    assert rests([tried(100.0)], LIMITS, 130.0) == ""
    assert rests([tried(0.0, "degraded", failure="auth", model="m", rests={"m": 3_600.0})], LIMITS, 1_000.0)
    assert rests(failing(3), LIMITS, 261.0).startswith("breaker")


def test_a_rest_that_was_asked_for_is_kept_and_says_why() -> None:
    limited = [tried(0.0, "degraded", failure="quota", model="m", rests={"m": 3_600.0})]
    assert may_ask(limited, LIMITS, 1_000.0) == "models rest for another 2,600 s (quota)"
    assert may_ask(limited, LIMITS, 3_600.0) == ""


@pytest.mark.parametrize("outcome", ["failed", "degraded", "ineffective"])
def test_three_attempts_in_a_row_that_came_to_nothing_open_the_breaker(outcome: str) -> None:
    def after(count: int) -> str:
        return may_ask([tried(100.0 * n, outcome) for n in range(count)], LIMITS, 100.0 * (count - 1) + 60)

    assert [after(count) for count in (1, 2)] == ["", ""]
    assert after(3).startswith("breaker: the last 3 attempts with a model came to nothing; the next probe is in 240 s")


def test_one_probe_goes_after_the_rest_and_a_bad_one_opens_it_again() -> None:
    attempts = failing(3)  # the last at 200
    assert may_ask(attempts, LIMITS, 499.0).startswith("breaker")
    assert may_ask(attempts, LIMITS, 500.0) == ""
    attempts.append(tried(500.0, "degraded", failure="timeout"))
    assert may_ask(attempts, LIMITS, 799.0).startswith("breaker: the last 4")
    assert may_ask(attempts, LIMITS, 800.0) == ""


def test_a_good_probe_closes_it() -> None:
    attempts = [*failing(3), tried(500.0)]
    assert may_ask(attempts, LIMITS, 560.0) == ""
    attempts += failing(2, start=600.0)
    assert may_ask(attempts, LIMITS, 760.0) == "", "two in a row are not three"


def test_compactions_by_code_in_between_neither_close_nor_feed_it() -> None:
    mixed = [one for bad in failing(3) for one in (bad, by_code(bad.time + 1), by_code(bad.time + 2, "ineffective"))]
    assert may_ask(mixed, LIMITS, 270.0).startswith("breaker: the last 3")
    assert may_ask(mixed[:6], LIMITS, 170.0) == ""


def test_a_failing_model_is_called_three_times_and_then_once_a_rest() -> None:
    """S-LOOP-09: 50 turns over the trigger, 20 s apart, every call fails: 1,000 s hold five calls."""
    attempts: list[Attempt] = []
    for turn in range(50):
        now = 20.0 * turn
        asked = not may_ask(attempts, LIMITS, now)
        attempts.append(tried(now, "degraded", failure="network") if asked else by_code(now, "degraded"))
    calls = [one.time for one in attempts if one.calls]
    assert calls == [0.0, 60.0, 120.0, 420.0, 720.0]


# -- effect by the provider's word


def test_compactions_that_the_provider_does_not_notice_open_it() -> None:
    """Applied, small by our count, and every next request is as large as before by the reported usage."""
    first = tried(0.0)
    second, third = (tried(at, reported=49_000) for at in (100.0, 200.0))
    assert may_ask([first, second, third], LIMITS, 270.0) == "", "of the third nothing is known yet"
    assert may_ask([first, second, third], LIMITS, 270.0, reported=48_000).startswith("breaker: the last 3")
    assert may_ask([first, second, third], LIMITS, 270.0, reported=20_000) == ""


@pytest.mark.parametrize(("reported", "bad"), [(44_999, False), (45_000, True)])
def test_nine_tenths_of_the_size_before_is_no_effect(reported: int, bad: bool) -> None:
    limits = Limits(breaker_after=1)
    assert bool(may_ask([tried(0.0)], limits, 100.0, reported=reported)) is bad


def test_our_own_count_judges_where_nothing_was_reported() -> None:
    limits = Limits(breaker_after=1)
    assert may_ask([tried(0.0, after=45_000)], limits, 100.0)
    assert not may_ask([tried(0.0, after=44_000)], limits, 100.0)
    assert not may_ask([tried(0.0, after=45_000)], limits, 100.0, reported=20_000), "the provider's word goes first"


def test_what_is_reported_belongs_to_the_compaction_before_and_to_no_other() -> None:
    """A compaction by code came between: what is reported after it says nothing of the one by a model."""
    limits = Limits(breaker_after=1)
    assert not may_ask([tried(0.0), by_code(50.0)], limits, 100.0, reported=50_000)
    assert may_ask([tried(0.0), by_code(50.0, reported=50_000)], limits, 100.0, reported=20_000)
    assert may_ask([tried(0.0), by_code(50.0, "ineffective", reported=50_000)], limits, 100.0)


def test_the_first_reply_to_a_request_with_the_checkpoint_tells_what_it_came_to() -> None:
    view = View(
        key=Key(session="s"), checkpoint=None, kept=(), events=(), state=ScopeState(reported=(1, 20_000))
    )  # fmt: skip
    space = room(Frame(window=200_000), Policy.coding())
    assert first_reported(view, space) == 0
    made = msgspec.structs.replace(view, checkpoint=Checkpoint(version=1, boundary=1, text="", tokens=0, head=2))
    assert first_reported(made, space) == 20_000
    newer = msgspec.structs.replace(made, checkpoint=Checkpoint(version=2, boundary=1, text="", tokens=0, head=2))
    assert first_reported(newer, space) == 0, "a reply to a request from before it says nothing"


def test_one_bad_model_rests_and_the_chain_is_asked() -> None:
    rows = [tried(0.0, "degraded", failure="auth", model="b", rests={"a": 60.0, "b": 3_600.0})]
    assert may_ask(rows, LIMITS, 59.0, models=("a", "b"))
    assert may_ask(rows, LIMITS, 61.0, models=("a", "b")) == "", "the first has rested enough"
    assert resting(rows, 61.0) == {"b"}


def test_a_call_that_was_broken_off_is_paid_so_it_counts_for_the_cooldown_and_for_nothing_else() -> None:
    broken = [tried(100.0 * n, "failed", failure="cancelled") for n in range(5)]
    assert may_ask(broken, LIMITS, 430.0).startswith("cooldown")
    assert may_ask(broken, LIMITS, 470.0) == ""


# -- who is meant


def test_another_model_starts_afresh() -> None:
    attempts = [msgspec.structs.replace(one, model="small") for one in failing(3)]
    assert may_ask(attempts, LIMITS, 260.0, models=("small", "large"))
    assert may_ask(attempts, LIMITS, 260.0, models=("large",)) == ""
    assert may_ask(failing(3), LIMITS, 260.0, models=("large",)), "attempts without a name count for all"


def test_a_cancelled_call_says_nothing_of_the_model() -> None:
    attempts = [*failing(2), tried(200.0, "failed", failure="cancelled")]
    assert may_ask(attempts, LIMITS, 261.0) == ""
    assert may_ask([*attempts, tried(300.0, "failed", failure="timeout")], LIMITS, 370.0).startswith("breaker")


# -- clocks and restarts


def test_a_clock_that_was_set_back_locks_nobody_out() -> None:
    assert may_ask([tried(1e9)], LIMITS, 1_000.0) == ""
    assert may_ask([msgspec.structs.replace(one, time=1e9) for one in failing(3)], LIMITS, 1_000.0) == ""


@given(st.lists(st.sampled_from(["applied", "degraded", "failed", "ineffective"]), max_size=12), st.floats(0, 2_000))
def test_it_is_all_in_the_notes(outcomes: list[str], now: float) -> None:
    """A restart (the notes written and read again) answers the same; after rest and cooldown one is always asked."""
    attempts = [tried(100.0 * n, outcome) for n, outcome in enumerate(outcomes)]
    again = msgspec.json.decode(msgspec.json.encode(attempts), type=list[Attempt])
    assert may_ask(attempts, LIMITS, now) == may_ask(again, LIMITS, now)
    last = attempts[-1].time if attempts else 0.0
    assert may_ask(attempts, LIMITS, last + 300.0) == ""
