"""When an epoch pays: the saving until the next compaction against the cache that it breaks."""

from __future__ import annotations

import pytest

from foldmark.budget import Room, room
from foldmark.cleanup.epochs import pays
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.store import Frame
from foldmark.triggers import Sizes, expected_next


def space(**budget: int) -> Room:
    """Landing 16,000, trigger 48,000 unless said otherwise, above an empty static prefix."""
    return room(Frame(window=400_000), Policy.coding(budget=budget))


def test_what_goes_at_the_end_of_a_request_pays_and_what_goes_at_its_head_may_not() -> None:
    # 48,000 - 24,000 = 24,000 tokens at 1,000 a request are 24 requests: 0.1 x 6,000 x 24 = 14,400 saved.
    saved = 0.1 * 6_000 * 24
    turning = int(saved / 1.15)
    for rewritten, expected in ((2_000, True), (turning, True), (turning + 1, False), (18_000, False)):
        assert pays(space(), None, after=18_000, shed=6_000, rewritten=rewritten, growth=1_000) is expected


def test_shortly_before_a_compaction_nothing_pays() -> None:
    assert not pays(space(), None, after=38_000, shed=9_900, rewritten=2_000, growth=1_000)
    assert not pays(space(), None, after=48_000, shed=20_000, rewritten=1, growth=1_000)


def test_a_request_that_hardly_grows_makes_it_pay() -> None:
    case = {"after": 20_000, "shed": 5_000, "rewritten": 15_000}
    assert pays(space(), None, growth=100, **case)
    assert not pays(space(), None, growth=3_000, **case)


def test_where_nothing_is_cached_every_token_less_pays() -> None:
    assert pays(space(), Price(read=1.0, write=1.0), after=47_000, shed=10, rewritten=47_000, growth=1_000)


@pytest.mark.parametrize(("growth", "expected"), [(200, False), (4_000, True)])
def test_with_prices_the_next_compaction_is_where_the_rent_rule_will_make_it(growth: int, expected: bool) -> None:
    """X = Y + sqrt(2 g w Y / r) without a static prefix: 16,000 + 8,944 at 200 a request, 16,000 + 40,000 at 4,000."""
    priced = Price(read=0.1, write=1.25)
    assert pays(space(), priced, after=20_000, shed=5_000, rewritten=2_900, growth=growth) is expected


@pytest.mark.parametrize("static", [0, 9_000, 60_000])
@pytest.mark.parametrize("growth", [300.0, 1_000.0, 2_500.0])
@pytest.mark.parametrize("read", [0.025, 0.1, 0.5])
def test_an_epoch_expects_the_next_compaction_where_the_trigger_does(static: int, growth: float, read: float) -> None:
    """Both say X - Y = sqrt(2 g K / r): with a large static prefix they said it with two different K."""
    priced = Price(read=read, write=1.25)
    policy = Policy.coding(prices=priced)
    wide = room(Frame(window=1_000_000, static_tokens=static), policy)
    measured = Sizes(whole=static + 20_000, alive=0, landed=static + wide.landing, past=())
    expected = expected_next(policy, wide, measured, growth)[0] - static
    shed = 5_000
    turning = read * shed * (expected - 20_000) / growth / (1.25 - read)  # what may be rewritten so that it just pays
    for rewritten, outcome in ((int(0.99 * turning), True), (int(1.01 * turning) + 1, False)):
        case = {"after": 15_000, "shed": shed, "rewritten": rewritten, "growth": growth}
        assert pays(wide, priced, **case) is outcome  # type: ignore[arg-type]
