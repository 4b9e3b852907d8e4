"""When an epoch pays: the saving until the next compaction against the cache that it breaks."""

from __future__ import annotations

import pytest

from foldmark.budget import Room, room
from foldmark.cleanup.epochs import pays
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.store import Frame


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
    """X = Y + sqrt(2 g w Y / r): 16,000 + 8,944 at 200 a request, 16,000 + 40,000 at 4,000."""
    priced = Price(read=0.1, write=1.25)
    assert pays(space(), priced, after=20_000, shed=5_000, rewritten=2_900, growth=growth) is expected
