"""When a compaction is due: prices, sizes, targets and the cap, each with its own numbers."""

from __future__ import annotations

from math import sqrt
from typing import Any

import msgspec
import pytest

from foldmark import Session, triggers
from foldmark.budget import Room, room
from foldmark.checkpoint import Checkpoint
from foldmark.events import Event, Usage, assistant, user
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.reports import Attempt
from foldmark.store import Frame, Key, ScopeState, View
from foldmark.triggers import Sizes, due, expected_next, rent_account, sizes
from making import numbered

A5M = Price(read=0.1, write=1.25, cache_seconds=300, minimum_prefix=1_024)


def space(policy: Policy | None = None, window: int = 200_000, static: int = 3_000) -> Room:
    return room(Frame(window=window, static_tokens=static), policy or Policy.coding())


def view(events: list[Event] | None = None, **state: object) -> View:
    return View(key=Key(session="s"), checkpoint=None, kept=(), events=tuple(events or ()), state=ScopeState(**state))  # type: ignore[arg-type]


def measured(whole: int, *, alive: int | None = None, past: tuple[int, ...] = (), landed: int = 19_000) -> Sizes:
    return Sizes(whole=whole, alive=whole if alive is None else alive, landed=landed, past=past)


def why(found: Sizes, policy: Policy | None = None, *, force: bool = False, **state: object) -> str:
    policy = policy or Policy.coding()
    reason = due(view(**state), policy, space(policy), found, 0.0, force)
    return reason.trigger if reason else ""


@pytest.mark.parametrize(("above", "trigger"), [(47_999, ""), (48_000, "size"), (60_000, "size"), (154_000, "cap")])
def test_without_prices_48k_above_the_static_prefix_is_the_limit(above: int, trigger: str) -> None:
    assert why(measured(above + 3_000)) == trigger


def test_nothing_happens_below_15k_even_when_the_cache_is_cold() -> None:
    policy = Policy.coding(prices=A5M)
    assert why(measured(17_000, alive=0, past=(99_000,) * 50), policy) == ""
    assert why(measured(17_000), policy, force=True) == "manual"


def test_rent_is_the_price_of_reading_what_would_go() -> None:
    cost, paid = rent_account(A5M, space(), measured(43_000, past=(20_000, 30_000, 40_000)))
    assert paid == pytest.approx(0.1 * (1_000 + 11_000 + 21_000))
    assert cost == pytest.approx(0.1 * 3_000 + 1.25 * 16_000 - 0.1 * 43_000)


def test_the_rent_rule_compacts_when_the_rent_has_reached_the_cost() -> None:
    policy = Policy.coding(prices=A5M)
    # It costs 0.1 * 3,000 + 1.25 * 16,000 - 0.1 * 43,000 = 16,000; each past request paid 0.1 * 20,000 = 2,000.
    assert why(measured(43_000, past=(39_000,) * 7), policy) == ""
    assert why(measured(43_000, past=(39_000,) * 8), policy) == "rent"


def test_a_cold_cache_makes_a_compaction_by_code_pay_at_once() -> None:
    policy = Policy.coding(prices=A5M)
    assert why(measured(40_000, alive=0), policy) == "rent"
    assert why(measured(40_000), policy) == ""


def test_less_than_a_quarter_of_the_landing_is_not_worth_a_compaction() -> None:
    policy = Policy.coding(prices=A5M)
    assert why(measured(22_900, alive=0), policy) == ""
    assert why(measured(23_100, alive=0), policy) == "rent"


def test_a_target_forces_the_first_compaction_and_then_waits_for_growth() -> None:
    policy = Policy.coding(budget={"target_tokens": 20_000})
    assert why(measured(20_001), policy) == "target"
    assert why(measured(20_000), policy) == ""
    later = msgspec.structs.replace(view(), checkpoint=Checkpoint(version=1, boundary=5, text="", tokens=0))
    trigger = 3_000 + round(17_000 / 0.6)
    assert due(later, policy, space(policy), measured(trigger - 1), 0.0, False) is None
    assert due(later, policy, space(policy), measured(trigger), 0.0, False) is not None


def test_an_undo_holds_everything_but_the_cap() -> None:
    assert why(measured(60_000), held=58_000) == ""
    assert why(measured(160_000), held=200_000) == "cap"


def test_sizes_are_read_off_the_log_and_reported_usage_wins() -> None:
    events = numbered(user("one two three"), assistant("a"), user("b"), assistant("c", usage=Usage(input=9_000)))
    found = sizes(view(events), events, 0, Policy.coding(prices=A5M), space(), now=1.0)
    first = events[0].tokens + 4
    assert found.past == (3_000 + first, 9_000)
    assert found.whole == 3_000 + sum(event.tokens + 4 for event in events)
    assert (found.alive, found.landed) == (0, 19_000)


def test_requests_before_the_last_compaction_pay_no_rent() -> None:
    events = numbered(user("a"), assistant("b"), assistant("c"))
    old = Checkpoint(version=1, boundary=1, text="", tokens=100, compacted_size=5_000, head=2)
    found = sizes(
        msgspec.structs.replace(view(events[1:]), checkpoint=old),
        events[1:],
        104,
        Policy.coding(prices=A5M),
        space(),
        0.0,
    )
    assert len(found.past) == 1
    assert found.landed == 5_000


def test_the_next_compaction_is_announced_by_the_square_root() -> None:
    policy = Policy.coding(prices=A5M)
    found = measured(30_000)
    size, text = expected_next(policy, space(policy), found, growth=1_000)
    cost = (1.25 - 0.1) * 16_000
    assert size == 19_000 + round(sqrt(2 * 1_000 * cost / 0.1))
    assert "1,000 tokens of growth" in text
    assert expected_next(Policy.coding(), space(), found, 1_000)[0] == 51_000


# -- pace


def attempt(head: int, outcome: str = "applied", **more: Any) -> Attempt:
    return Attempt(time=float(head), outcome=outcome, head=head, **more)  # type: ignore[arg-type]


def paced(attempts: tuple[Attempt, ...], above: int = 60_000, *, events: list[Event] | None = None, **pace: Any) -> str:
    policy = Policy.coding(pace=pace)
    rows = numbered(user("Fix it."), *(assistant(f"step {n}") for n in range(40))) if events is None else events
    at = msgspec.structs.replace(view(rows), attempts=attempts)
    found = due(at, policy, space(policy), measured(above + 3_000), 0.0, False)
    return found.trigger if found else ""


def test_a_task_has_only_so_many_compactions() -> None:
    two = (attempt(10), attempt(20, "degraded"))
    assert paced(two, most_per_task=3) == "size"
    assert paced(two, most_per_task=2) == ""
    assert paced(two) == "size"
    assert paced((attempt(10), attempt(20, "ineffective", before=1)), most_per_task=2) == "size", "one came to nothing"


def test_the_cap_and_force_go_over_the_pace() -> None:
    two = (attempt(10), attempt(20))
    assert paced(two, 154_000, most_per_task=2) == "cap"
    policy = Policy.coding(pace={"most_per_task": 0})
    assert due(view(), policy, space(policy), measured(20_000), 0.0, True, why="overflow") is not None


def test_a_new_message_of_a_real_user_begins_a_new_task() -> None:
    rows = numbered(user("Fix it."), *(assistant(f"step {n}") for n in range(24)), user("Now the next one."))
    assert rows[-1].seq == 26
    assert paced((attempt(10), attempt(20)), events=rows, most_per_task=2) == "size"
    assert paced((attempt(26), attempt(27)), events=rows, most_per_task=2) == ""
    synthetic = [*rows[:25], msgspec.structs.replace(rows[25], origin="injected")]
    assert paced((attempt(10), attempt(20)), events=synthetic, most_per_task=2) == ""


def test_a_target_waits_for_the_pace_too() -> None:
    policy = Policy.coding(budget={"target_tokens": 20_000}, pace={"most_per_task": 0})
    assert why(measured(30_000), policy) == ""
    assert why(measured(160_000), policy) != ""


def test_an_attempt_that_failed_for_its_model_is_not_in_vain() -> None:
    """When the model may be asked again, `pacing` says; the size says nothing of it."""
    for last, expected in (
        (attempt(5, "failed", before=60_000), ""),
        (attempt(5, "failed", before=60_000, calls=1, failure="timeout"), "size"),
        (attempt(5, "ineffective", before=60_000, calls=1), ""),
    ):
        assert paced((last,)) == expected


def test_what_a_host_adds_after_a_compaction_is_part_of_where_it_lands() -> None:
    policy = Policy.coding(prices=A5M, expected={"reinjected_tokens": 10_000})
    events = numbered(user("one two three"))
    found = sizes(view(events), events, 0, policy, space(policy), now=1.0)
    assert found.landed == 3_000 + 16_000 + 10_000
    old = Checkpoint(version=1, boundary=1, text="", tokens=100, compacted_size=19_000, head=1)
    again = sizes(msgspec.structs.replace(view(events), checkpoint=old), events, 104, policy, space(policy), now=1.0)
    assert again.landed == 29_000


def test_rules_that_the_host_adds_again_do_not_start_the_next_compaction() -> None:
    """S-LOOP-03: 45K come back after each one; the trigger stands above what a session falls back to."""
    policy = Policy.coding(expected={"reinjected_tokens": 45_000})
    wide = space(policy)
    assert wide.level == 16_000 + 45_000
    assert why(measured(wide.level + 3_000), policy) == ""
    assert why(measured(3_000 + wide.trigger), policy) == "size"
    assert wide.trigger == round(wide.level / 0.6)
    target = Policy.coding(budget={"target_tokens": 70_000}, expected={"reinjected_tokens": 45_000})
    assert why(measured(70_000), target) == ""
    assert why(measured(70_001), target) == "target"


def test_with_a_target_the_next_compaction_is_announced_at_the_targets_own_size() -> None:
    policy = Policy.coding(prices=A5M, budget={"target_tokens": 20_000})
    assert expected_next(policy, space(policy), measured(15_000))[0] == 3_000 + round(17_000 / 0.6)
    assert expected_next(policy, space(policy), measured(15_000), first=True)[0] == 20_000


def test_a_trigger_below_the_landing_does_not_compact_at_every_request_and_the_report_says_why() -> None:
    rule = triggers.tokens(4_001)
    made = Session("s", policy=Policy.chat(triggers=rule, budget={"nothing_below": 0, "landing_tokens": 6_000}))
    said: set[str] = set()
    compactions = 0
    for turn in range(150):
        made.record(user(f"question {turn} " + "about some thing or other " * 6), assistant(f"answer {turn} " * 12))
        report = made.request(window=128_000).report
        compactions += report.outcome == "applied"
        said.update(report.warnings)
        if report.outcome == "applied":
            assert report.before - report.after >= 0.05 * 6_000
    assert 1 <= compactions <= 15
    assert any("waits at 4,001 tokens, but nothing is compacted below" in one for one in said)
    assert any("budget.landing_tokens" in one for one in said)
