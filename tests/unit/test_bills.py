"""bench.bill_sizes: its bills can be checked by hand, and its optimum is one."""

from __future__ import annotations

from itertools import combinations

import pytest
from bench.bill_sizes import (
    INSTRUCTION,
    PLACEHOLDER,
    SUMMARY,
    Ask,
    Call,
    Item,
    Run,
    bill,
    call_price,
    clearing,
    compacting,
    fixed,
    oracle,
    rent,
    send_all,
    sliding,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.prices import Price

A5M = Price(read=0.1, write=1.25, output=5.0, cache_seconds=300)
STEP = Price(read=0.1, write=1.25, output=5.0, long_from=60_000, long_input=2.0, long_output=1.5)


def run(growth: list[int], *, head: int = 2_000, pauses: tuple[int, ...] = (), results: bool = False) -> Run:
    """A session whose requests grow by so many tokens each, ten seconds apart; `pauses` are requests that come late."""
    items, asks, clock = [], [], 0.0
    for at, tokens in enumerate(growth):
        items.append(Item(tokens, results, at))
        clock += 3_600 if at in pauses else 10
        asks.append(Ask(at + 1, clock, 100))
    return Run("made up", head, tuple(items), tuple(asks))


def test_sending_everything_reads_what_was_sent_and_writes_what_is_new() -> None:
    first, second = 1.25 * 3_000 + 500, 0.1 * 3_000 + 1.25 * 1_000 + 500
    assert bill(run([1_000, 1_000]), A5M, send_all(run([1_000, 1_000]))).units == pytest.approx(first + second)


def test_after_a_pause_everything_is_written_again() -> None:
    late = run([1_000, 1_000], pauses=(1,))
    assert bill(late, A5M, send_all(late)).units == pytest.approx(1.25 * 3_000 + 1.25 * 4_000 + 1_000)


def test_a_compaction_keeps_only_the_static_prefix_in_the_cache() -> None:
    made = run([20_000, 20_000])
    whole = bill(made, A5M, fixed(made, A5M, 30_000, 16_000))
    assert whole.compactions == 1
    assert whole.units == pytest.approx(1.25 * 22_000 + 0.1 * 2_000 + 1.25 * 16_000 + 1_000)


def test_a_static_prefix_below_the_minimum_is_not_kept() -> None:
    made = run([20_000, 20_000], head=1_000)
    assert bill(made, A5M, fixed(made, A5M, 30_000, 16_000)).units == pytest.approx(1.25 * (21_000 + 17_000) + 1_000)


def test_a_summary_call_on_the_cached_prefix_reads_it_and_one_apart_pays_it() -> None:
    assert call_price("code", A5M, 50_000, 49_000, 2_000) == 0
    fork = 0.1 * 49_000 + 1_000 + INSTRUCTION + 5 * SUMMARY
    assert call_price("fork", A5M, 50_000, 49_000, 2_000) == pytest.approx(fork)
    assert call_price("fresh", A5M, 50_000, 49_000, 2_000) == pytest.approx(48_000 + INSTRUCTION + 5 * SUMMARY)
    assert call_price("fork", STEP, 60_000, 0, 2_000) == pytest.approx(2 * 60_500 + 1.5 * 5 * SUMMARY)


def test_a_sliding_window_breaks_the_prefix_whenever_it_moves() -> None:
    made = run([1_000] * 6)
    sent = list(sliding(made, 3))
    assert [one.size for one in sent] == [3_000, 4_000, 5_000, 5_000, 5_000, 5_000]
    assert [one.kept for one in sent] == [0, 3_000, 4_000, 2_000, 2_000, 2_000]


def test_clearing_rewrites_from_the_first_result_that_was_cleared() -> None:
    made = run([1_000] * 5, results=True)
    sent = list(clearing(made, keep=3))
    assert [one.size for one in sent[3:]] == [2_000 + PLACEHOLDER + 3_000, 2_000 + 2 * PLACEHOLDER + 3_000]
    assert [one.kept for one in sent[3:]] == [2_000, 2_000 + PLACEHOLDER]
    later = list(clearing(made, keep=3, above=10_000))
    assert [one.compacted for one in later] == [False] * 5


def test_the_rule_leaves_a_short_session_alone() -> None:
    made = run([500] * 25)
    for price in (A5M, Price(read=0.025, write=1.25), Price(read=1.0)):
        assert bill(made, price, rent(made, price, 16_000)) == bill(made, price, send_all(made))


def test_the_rule_compacts_at_once_when_the_cache_is_cold_and_enough_goes() -> None:
    late = run([1_000] * 21 + [1_000], pauses=(21,))
    assert [one.compacted for one in rent(late, A5M, 16_000)] == [False] * 21 + [True]


def test_with_steady_growth_the_rule_is_the_optimum_but_for_its_ends() -> None:
    made = run([800] * 400)
    best, ruled = oracle(made, A5M, 16_000), bill(made, A5M, rent(made, A5M, 16_000))
    assert best.units <= ruled.units < 1.02 * best.units
    assert abs(best.compactions - ruled.compactions) <= 1


growths = st.lists(st.integers(100, 12_000), min_size=1, max_size=7)


@settings(max_examples=60)
@given(growths, st.sets(st.integers(1, 6)), st.sampled_from(["code", "fork", "fresh"]), st.sampled_from([A5M, STEP]))
def test_the_optimum_is_the_cheapest_of_all_choices(
    growth: list[int], pauses: set[int], kind: Call, price: Price
) -> None:
    made = run([8 * growth[0], *growth], pauses=tuple(pauses))
    every = range(len(made.asks))
    chosen = (set(points) for many in range(len(made.asks) + 1) for points in combinations(every, many))
    cheapest = min(
        bill(made, price, compacting(made, price, 4_000, lambda at, *_, points=points: at in points, kind)).units
        for points in chosen
    )
    assert oracle(made, price, 4_000, kind).units == pytest.approx(cheapest)


@given(st.lists(st.integers(100, 9_000), min_size=5, max_size=60), st.sets(st.integers(1, 50), max_size=3))
def test_no_strategy_beats_the_optimum_of_its_landing(growth: list[int], pauses: set[int]) -> None:
    made = run(growth, pauses=tuple(pauses))
    for price in (A5M, STEP, Price(read=1.0)):
        best = oracle(made, price, 16_000).units
        for sent in (send_all(made), fixed(made, price, 48_000, 16_000), rent(made, price, 16_000)):
            assert bill(made, price, sent).units >= best - 1e-6


def test_a_piece_of_a_session_begins_with_nothing() -> None:
    made = run([1_000] * 10)
    assert made.piece(4, 3).contents() == [1_000, 2_000, 3_000]
    assert made.cut(2).contents() == [1_000, 2_000]
