"""How a provider's count follows from ours: factor and offset, learned from reported usage. Knows nothing of requests,
windows or stores.

A provider has its own tokenizer (a factor) and adds what we do not see, such as its rendering of system text and tools
(an offset). Requests of one session grow, so the differences between their sizes tell the factor, and what is left
tells the offset. Both are medians: one usage that belongs to another request, or was cut off, moves neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import log
from statistics import median

import msgspec

KEPT_SAMPLES = 8
"""The newest so many usages of a model count: enough for medians, few enough to follow a session whose content turns
from prose to logs, or a model that was changed behind its name."""

LEAST_FACTOR, MOST_FACTOR = 0.5, 4.0
"""Nothing outside is believed, whatever was reported."""

MOST_RATIO = 2.0
"""Tokenizers in use count 0.8 to 2 tokens for one of o200k. When only a ratio is known and it is larger, the rest is
taken for an offset: a small first request under large hidden instructions, not a factor that later ones would have."""

MOST_OFFSET = 32_768
"""The largest constant that is believed, in either direction: hidden instructions of hosted tools take some thousands;
tool schemas that a provider renders shorter than JSON give a negative one."""

LEAST_GROWTH = 32
"""Two sizes closer than this tell no factor: a rounding and a message's wrapping would make up too much of it."""

NEAR = 0.03
"""Samples within this of a line agree with it: what a content that changes does to a tokenizer's factor stays below."""

_LEVEL_SAMPLES = 3  # the offset follows the newest three: a median of three stands one wild sample


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One request: its size in our tokens as it was sent, and the input the provider reported (cached included)."""

    sent: int
    reported: int


class Correction(msgspec.Struct, frozen=True):
    """Their tokens = ours x `factor` + `offset`, from `samples` usages. `by_ratio` says that the sizes were too close
    together (or too contradictory) to tell the two apart, so that all was put on the factor."""

    factor: float = 1.0
    offset: int = 0
    samples: int = 0
    by_ratio: bool = True

    def theirs(self, ours: float) -> int:
        """What the provider will report for a request of that size."""
        return round(max(LEAST_FACTOR * ours, self.factor * ours + self.offset))

    def ours(self, theirs: float) -> int:
        """How large a request is, in our tokens, that the provider counts so: rounded down, never below 0."""
        return max(0, int(min(theirs / LEAST_FACTOR, (theirs - self.offset) / self.factor)))


def kept(samples: Sequence[Sample], new: Sample) -> tuple[Sample, ...]:
    """The samples with the new one, oldest first. One without sizes says nothing; one that reports less than half of
    what was sent belongs to another request, and believing it would make room that is not there. Neither is taken."""
    if new.sent <= 0 or new.reported < LEAST_FACTOR * new.sent:
        return tuple(samples)
    return (*samples, new)[-KEPT_SAMPLES:]


@lru_cache(maxsize=256)
def learned(samples: tuple[Sample, ...]) -> Correction:
    """The correction that the samples tell, oldest first.

    The factor is the median of the growth between every two of them, weighted by our growth; pairs that give a factor
    outside the bounds hold a wild sample and are left out. Where no pair is left the ratio of one sample is taken,
    the middle one of those nearest to 1. What an offset within its bound cannot say goes back on the factor, so that
    the newest level is met in any case.
    """
    if not samples:
        return Correction()
    if slopes := _slopes(_agreeing(samples)):
        factor, by_ratio, level = _weighted_median(slopes), False, samples[-_LEVEL_SAMPLES:]
    else:
        middle = sorted(samples, key=_strangeness)[(len(samples) - 1) // 2]
        factor, by_ratio, level = min(MOST_RATIO, _bounded(middle.reported / middle.sent)), True, (middle,)
    wanted = median(one.reported - factor * one.sent for one in level)
    offset = round(max(-MOST_OFFSET, min(MOST_OFFSET, wanted)))
    if abs(wanted) > MOST_OFFSET:
        factor = _bounded(median((one.reported - offset) / one.sent for one in level))
    return Correction(factor, offset, len(samples), by_ratio)


def _agreeing(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples near the line on which more than half of them lie closest; all of them when there are too few to
    outvote one (three points have a line through every two)."""
    if len(samples) < 4:
        return samples
    best, nearest = samples, float("inf")
    for slope, _, at in _slopes(samples):
        away = [abs(one.reported - at.reported - slope * (one.sent - at.sent)) for one in samples]
        if (middle := sorted(away)[len(samples) // 2]) < nearest:
            near = [one for one, far in zip(samples, away, strict=True) if far <= NEAR * one.reported]
            best, nearest = near, middle
    return best if len(best) > len(samples) / 2 else samples


def _slopes(samples: Sequence[Sample]) -> list[tuple[float, int, Sample]]:
    """(factor, our growth, the older one) of every two samples that are far enough apart and believable."""
    out = []
    for one, two in combinations(samples, 2):
        growth = two.sent - one.sent
        if abs(growth) >= LEAST_GROWTH:
            slope = (two.reported - one.reported) / growth
            if LEAST_FACTOR <= slope <= MOST_FACTOR:
                out.append((slope, abs(growth), one))
    return out


def _weighted_median(slopes: Sequence[tuple[float, int, Sample]]) -> float:
    left = sum(weight for _, weight, _ in slopes) / 2
    ordered = iter(sorted((slope, weight) for slope, weight, _ in slopes))
    slope = 0.0
    while left > 0:
        slope, weight = next(ordered)
        left -= weight
    return slope


def _strangeness(sample: Sample) -> float:
    return abs(log(sample.reported / sample.sent))


def _bounded(factor: float) -> float:
    return max(LEAST_FACTOR, min(MOST_FACTOR, factor))
