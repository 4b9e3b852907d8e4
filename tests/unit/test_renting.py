"""The rent rule with a summary call, a known end, a likely pause and dear long requests."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.budget import Room, room
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.store import Frame, Key, ScopeState, View
from foldmark.triggers import BY_CODE, ComingCall, Sizes, call_price, coming_call, due, expected_next, rent_account

A5M = Price(read=0.1, write=1.25, output=5.0, cache_seconds=300, minimum_prefix=1_024)
FORK, FRESH = ComingCall(mode="fork"), ComingCall(mode="standalone")


def space(policy: Policy | None = None, static: int = 3_000, window: int = 1_000_000) -> Room:
    return room(Frame(window=window, static_tokens=static), policy or Policy.coding(prices=A5M))


def measured(whole: int, *, alive: int | None = None, past: tuple[int, ...] = (), landed: int = 19_000) -> Sizes:
    return Sizes(whole=whole, alive=whole if alive is None else alive, landed=landed, past=past)


def rented(found: Sizes, policy: Policy, call: ComingCall = BY_CODE) -> bool:
    view = View(key=Key(session="s"), checkpoint=None, kept=(), events=(), state=ScopeState())
    return due(view, policy, space(policy), found, 0.0, False, call=call) is not None


# -- what the call costs


def test_a_fork_reads_the_cached_prefix_and_pays_for_the_rest() -> None:
    """r L + (C - L + 500) + o S."""
    assert call_price(FORK, A5M, measured(43_000, alive=40_000)) == 0.1 * 40_000 + 3_000 + 500 + 5 * 1_500
    assert call_price(FORK, A5M, measured(43_000, alive=0)) == 43_000 + 500 + 5 * 1_500


def test_a_standalone_call_reads_what_goes_at_its_own_price() -> None:
    """p (covered + 500 + o S), per part an instruction and an answer."""
    cheap = ComingCall(mode="standalone", price=0.2, output=4.0, answer_tokens=1_000, parts=3)
    assert call_price(cheap, A5M, measured(43_000)) == pytest.approx(0.2 * (24_000 + 3 * (500 + 4_000)))
    assert call_price(BY_CODE, A5M, measured(43_000)) == 0


def test_what_is_read_once_anyway_does_not_count_as_a_cost_of_compacting_now() -> None:
    at = measured(43_000, past=(39_000,) * 8)
    cost, paid = rent_account(A5M, space(), at, FRESH)
    plain, same = rent_account(A5M, space(), at)
    assert (cost - plain, paid) == (500 + 5 * 1_500, same)


@given(st.integers(25_000, 270_000), st.integers(0, 200_000))
def test_the_kinds_of_call_differ_by_their_price_alone(whole: int, alive: int) -> None:
    at = measured(whole, alive=min(whole, alive))
    plain = rent_account(A5M, space(), at)[0]
    assert rent_account(A5M, space(), at, FORK)[0] == pytest.approx(plain + call_price(FORK, A5M, at))
    assert rent_account(A5M, space(), at, FRESH)[0] == pytest.approx(
        plain + call_price(FRESH, A5M, at) - (whole - 19_000)
    )


def test_the_price_of_another_model_is_its_price_over_ours() -> None:
    big = Price(read=0.1, output=5.0, dollars_per_million=3.0)
    small = Price(read=0.1, output=4.0, dollars_per_million=0.6)
    found = coming_call("standalone", big, small)
    assert (found.price, found.output) == (pytest.approx(0.2), 4.0)
    assert coming_call("standalone", big, None).price == 1.0, "unknown: as dear as the running model"
    assert coming_call("standalone", None, small).price == 1.0
    free = coming_call("standalone", big, Price(read=0, output=0, dollars_per_million=0.0))
    assert call_price(free, big, measured(43_000)) == 0


# -- when it is due


def test_a_call_makes_the_rule_wait_longer() -> None:
    policy, seen = Policy.coding(prices=A5M), []
    for call in (BY_CODE, FRESH, FORK):
        seen.append(next(n for n in range(200) if rented(measured(43_000, past=(39_000,) * n), policy, call)))
    # 16,000 at 2,000 a request; a call of 8,000 more; or one of 4,300 (the prefix read once more) + 8,000 more
    assert seen == [8, 12, 15]


def test_a_cold_cache_is_no_gift_for_a_call_that_reads_it_all() -> None:
    policy = Policy.coding(prices=A5M)
    assert rented(measured(40_000, alive=0), policy)
    assert not rented(measured(40_000, alive=0), policy, FORK)


def test_a_batch_near_its_end_is_not_compacted() -> None:
    """Known end: n r (C - C') must pay what is left to pay; here 2,400 a request against 16,000."""
    at = measured(43_000, past=(39_000,) * 8)
    for left, expected in ((0, False), (6, False), (7, True), (None, True)):
        assert rented(at, Policy.coding(prices=A5M, expected={"requests_left": left})) is expected


def test_the_last_request_is_still_made_smaller_where_that_is_cheaper_at_once() -> None:
    policy = Policy.coding(prices=A5M, expected={"requests_left": 0})
    assert rented(measured(43_000, alive=0), policy)


def test_a_likely_pause_compacts_while_the_cache_is_warm() -> None:
    """q w (C - C') comes off: 0.5 x 1.25 x 24,000 = 15,000 of 16,000."""
    at = measured(43_000, past=(39_000,))
    assert not rented(at, Policy.coding(prices=A5M))
    assert not rented(at, Policy.coding(prices=A5M, expected={"pause_chance": 0.4}))
    assert rented(at, Policy.coding(prices=A5M, expected={"pause_chance": 0.5}))


def test_a_share_that_must_go_may_be_another_one() -> None:
    """A quarter of the landing is 4,000."""
    for least, whole, expected in (
        (None, 22_999, False),
        (None, 23_000, True),
        (0.5, 26_999, False),
        (0.0, 20_000, True),
    ):
        policy = Policy.coding(prices=A5M, pace={"minimum_reclaim": least})
        assert rented(measured(whole, alive=0), policy) is expected


def test_a_request_is_compacted_before_it_passes_the_step_of_long_ones() -> None:
    """Above 272,000 the whole request costs twice: going over the step once costs more than a compaction."""
    priced = Price(read=0.05, write=1.25, long_from=272_000, long_input=2.0, long_output=1.5)
    policy = Policy.coding(prices=priced)
    assert not rented(measured(272_000), policy), "nothing was paid for it yet"
    assert rented(measured(272_001), policy)
    assert call_price(FORK, priced, measured(272_001)) == pytest.approx(2 * (0.05 * 272_001 + 500) + 1.5 * 5 * 1_500)


# -- when it is expected


@pytest.mark.parametrize(
    ("call", "added"), [(BY_CODE, 0.0), (FORK, 9_900.0), (ComingCall(mode="standalone", price=0.2, parts=2), 3_200.0)]
)
def test_the_announced_point_counts_the_call(call: ComingCall, added: float) -> None:
    policy = Policy.coding(prices=A5M)
    size, _ = expected_next(policy, space(), measured(30_000), 1_000, call=call)
    cost = 1.15 * 16_000 + added  # a fork also reads the 19,000 that stay
    assert size == 19_000 + round(sqrt(2 * 1_000 * cost / 0.1))


def test_a_likely_pause_brings_the_announced_point_nearer() -> None:
    points = []
    for chance in (0.0, 0.1, 0.5, 1.0):
        policy = Policy.coding(prices=A5M, expected={"pause_chance": chance})
        points.append(expected_next(policy, space(policy), measured(30_000), 1_000)[0])
    assert points == sorted(points, reverse=True)
    assert points[0] > points[-1] + 5_000


@pytest.mark.parametrize("call", [BY_CODE, FORK, ComingCall(mode="standalone", price=0.5)])
@pytest.mark.parametrize("growth", [400, 1_000, 3_000])
@pytest.mark.parametrize("static", [3_000, 20_000])
def test_the_announced_point_is_where_a_session_of_steady_growth_is_compacted(
    call: ComingCall, growth: int, static: int
) -> None:
    policy = Policy.coding(prices=A5M)
    at, landed = space(policy, static), static + 16_000
    expected = expected_next(policy, at, measured(landed, landed=landed), growth, call=call)[0]
    past: list[int] = []
    size = landed
    while True:
        found = measured(size, alive=size - growth, past=tuple(past), landed=landed)
        cost, paid = rent_account(A5M, at, found, call)
        if past and paid >= cost and found.goes >= 4_000:
            break
        past.append(size)
        size += growth
    assert abs(size - expected) <= 0.05 * (expected - landed) + 2 * growth


def test_no_point_is_announced_at_which_too_little_would_go() -> None:
    """Without a cache every compaction pays at once, but for the share that must go."""
    plain = Price(read=1.0, write=1.0)
    policy = Policy.coding(prices=plain)
    assert expected_next(policy, space(policy), measured(20_000), 1)[0] == 19_000 + 4_000
    half = policy.replace(pace={"minimum_reclaim": 0.5})
    assert expected_next(half, space(half), measured(20_000), 1)[0] == 19_000 + 8_000
