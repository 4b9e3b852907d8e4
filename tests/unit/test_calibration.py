"""A provider's factor and offset are learned from what it reports."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.calibration import KEPT_SAMPLES, MOST_OFFSET, Correction, Sample, kept, learned


def provider(factor: float, offset: int, *sizes: int) -> tuple[Sample, ...]:
    return tuple(Sample(size, round(factor * size + offset)) for size in sizes)


def test_nothing_reported_corrects_nothing() -> None:
    assert learned(()) == Correction()
    assert (Correction().theirs(1_000), Correction().ours(1_000)) == (1_000, 1_000)


@pytest.mark.parametrize(("ratio", "factor"), [(1.2, 1.2), (0.9, 0.9), (1.0, 1.0), (0.5, 0.5)])
def test_one_usage_gives_a_bounded_ratio(ratio: float, factor: float) -> None:
    found = learned((Sample(10_000, round(10_000 * ratio)),))
    assert (found.factor, found.samples, found.by_ratio) == (factor, 1, True)


def test_a_ratio_that_no_tokenizer_has_is_an_offset_within_its_bound_and_bounded_behind_it() -> None:
    small = learned((Sample(1_000, 18_000),))
    assert (small.factor, small.offset) == (2.0, 16_000)
    wild = learned((Sample(10_000, 500_000),))
    assert (wild.factor, wild.offset) == (4.0, MOST_OFFSET)


@pytest.mark.parametrize(("factor", "offset"), [(1.2, 0), (0.8, 20_000), (2.0, 7_000), (1.35, -6_000)])
def test_two_usages_give_factor_and_offset(factor: float, offset: int) -> None:
    found = learned(provider(factor, offset, 20_000, 24_000))
    assert found.factor == pytest.approx(factor, abs=0.001)
    assert found.offset == pytest.approx(offset, abs=10)
    assert not found.by_ratio


def test_sizes_too_close_together_give_a_ratio_and_say_so() -> None:
    found = learned(provider(1.25, 0, 20_000, 20_010, 20_020))
    assert found.by_ratio
    assert (found.factor, found.offset) == (pytest.approx(1.25, abs=0.001), 0)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("reported", [40, 12_000, 90_000, 400_000])
def test_one_wild_usage_among_five_changes_nothing(place: int, reported: int) -> None:
    samples = list(provider(1.3, 9_000, 10_000, 13_000, 15_500, 17_000, 21_000))
    samples[place] = Sample(samples[place].sent, reported)
    assert learned(tuple(samples)).theirs(25_000) == pytest.approx(1.3 * 25_000 + 9_000, rel=0.01)


def test_of_two_usages_that_contradict_each_other_the_likelier_is_believed() -> None:
    for samples in ((Sample(20_000, 24_000), Sample(21_000, 150)), (Sample(20_000, 150), Sample(21_000, 25_200))):
        assert learned(samples).theirs(22_000) == pytest.approx(1.2 * 22_000, rel=0.01)


def test_the_newest_usages_rule() -> None:
    samples: tuple[Sample, ...] = ()
    for one in (*provider(1.0, 0, *range(10_000, 40_000, 2_000)), *provider(1.5, 0, 40_000, 43_000, 46_000)):
        samples = kept(samples, one)
    assert len(samples) == KEPT_SAMPLES
    assert learned(samples).theirs(48_000) == pytest.approx(1.5 * 48_000, rel=0.05)
    for one in provider(1.5, 0, *range(48_000, 60_000, 2_000)):
        samples = kept(samples, one)
    assert learned(samples).factor == pytest.approx(1.5, abs=0.001)


@pytest.mark.parametrize("one", [Sample(0, 10), Sample(10, 0), Sample(-5, -5), Sample(10_000, 4_999)])
def test_a_usage_without_sizes_or_of_a_far_smaller_request_is_no_sample(one: Sample) -> None:
    assert kept((), one) == ()
    assert kept((Sample(5, 5),), one) == (Sample(5, 5),)


def test_sizes_go_there_and_back_and_stay_within_the_bounds() -> None:
    found = Correction(1.25, 4_000, 3, False)
    assert found.ours(found.theirs(10_000)) == 10_000
    assert found.ours(3_000) == 0
    assert Correction(1.2, -30_000, 3, False).theirs(10_000) == 5_000


def test_samples_are_stored_as_pairs() -> None:
    data = msgspec.json.encode(provider(1.0, 5, 10, 20))
    assert data == b"[[10,15],[20,25]]"
    assert msgspec.json.decode(data, type=tuple[Sample, ...]) == provider(1.0, 5, 10, 20)
