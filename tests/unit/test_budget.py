"""The room of a request follows the table of docs/explanation/when.md, line by line."""

from __future__ import annotations

import pytest

from foldmark.budget import Room, room
from foldmark.errors import PolicyError
from foldmark.policy import Policy
from foldmark.store import Frame, ScopeState


def at(window: int, *, static: int = 0, max_output: int | None = None, policy: Policy | None = None) -> Room:
    return room(Frame(window=window, static_tokens=static, max_output=max_output), policy or Policy.coding())


def test_a_128k_window_reserves_twelve_percent_and_three_percent_margin() -> None:
    found = at(128_000)
    assert (found.reserve, found.margin, found.ceiling) == (15_360, 3_840, 108_800)
    assert found.cap == int(0.85 * (128_000 - 15_360))
    assert (found.landing, found.trigger) == (16_000, 48_000)


@pytest.mark.parametrize(
    ("policy", "landing"), [(Policy.coding(), 16_000), (Policy.chat(), 8_000), (Policy.research(), 32_000)]
)
def test_the_landing_is_the_presets_in_large_windows(policy: Policy, landing: int) -> None:
    assert at(1_000_000, policy=policy).landing == landing


def test_in_small_windows_the_landing_is_a_quarter_and_at_most_six_tenths_of_the_cap() -> None:
    assert at(32_000).landing == 8_000
    tight = at(16_000, static=8_000)
    assert tight.cap == int(0.85 * (16_000 - 1_920)) - 8_000
    assert tight.landing == round(0.6 * tight.cap)


def test_the_callers_own_output_limit_is_reserved() -> None:
    assert at(200_000, max_output=64_000).ceiling == 200_000 - 64_000 - 6_000


def test_a_static_prefix_that_leaves_nothing_is_named_with_its_size() -> None:
    with pytest.raises(PolicyError, match="28,000"):
        at(32_000, static=28_000)


def test_output_that_eats_the_window_is_refused_at_once() -> None:
    with pytest.raises(PolicyError, match="39,500 are reserved"):
        at(40_000, max_output=39_500)


def test_a_target_is_the_whole_request() -> None:
    policy = Policy.coding(budget={"target_tokens": 20_000})
    found = at(128_000, static=5_000, policy=policy)
    assert (found.landing, found.trigger, found.nothing_below) == (15_000, 25_000, 0)


def test_a_target_below_the_static_prefix_says_what_is_possible() -> None:
    policy = Policy.coding(budget={"target_tokens": 5_200})
    with pytest.raises(PolicyError, match="at least 5,500"):
        at(128_000, static=5_000, policy=policy)


def test_a_provider_that_counts_more_shrinks_the_room_and_the_margin_narrows_with_evidence() -> None:
    frame = Frame(window=100_000)
    plain = room(frame, Policy.coding())
    measured = room(frame, Policy.coding(), ScopeState(factor=1.25, samples=2))
    assert measured.ceiling == int((100_000 - 12_000 - 1_000) / 1.25)
    assert plain.ceiling == 100_000 - 12_000 - 3_000
