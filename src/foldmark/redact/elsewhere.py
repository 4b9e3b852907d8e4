"""Finds known secrets where they stand without a name. Knows nothing of how they became known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from foldmark.redact.providers import Found

LEAST = 8
"""Characters of a secret that is looked for: a shorter one may be any word."""
_FEW = 16
"""So many are looked for one by one, which is quicker; more of them all at once."""
_MOST_LENGTHS = 32
"""Of secrets that begin alike, so many lengths are looked for: else a body could be made that takes hours."""


class Named:
    """Secrets, each with its label (`values`; of eight characters or more), and where they stand in a text."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)
        self._lengths: dict[str, list[int]] = {}
        for value in sorted(values, key=len, reverse=True) if len(values) > _FEW else ():
            lengths = self._lengths.setdefault(value[:LEAST], [])
            if len(value) not in lengths[-1:] and len(lengths) < _MOST_LENGTHS:
                lengths.append(len(value))

    def places(self, text: str, spans: Sequence[Found]) -> Iterator[Found]:
        """(start, end, label) of each outside of `spans` (in order), in order; of two that overlap the first, the
        longer of those that begin at one place."""
        if not self.values:
            return
        borders = [(0, 0, ""), *spans, (len(text), len(text), "")]
        if len(self.values) > _FEW:
            for one, other in pairwise(borders):
                yield from self._all_at_once(text, one[1], other[0])
        else:
            yield from _apart(self._one_by_one(text), borders)

    def _one_by_one(self, text: str) -> list[Found]:
        found: list[Found] = []
        for value, label in self.values.items():
            at = text.find(value)
            while at >= 0:
                found.append((at, at + len(value), label))
                at = text.find(value, at + 1)
        return sorted(found, key=lambda span: (span[0], -span[1]))

    def _all_at_once(self, text: str, start: int, stop: int) -> Iterator[Found]:
        """In a stretch: at every place its next eight characters are looked up."""
        lengths, at = self._lengths, start
        while at <= stop - LEAST:
            at = next((each for each in range(at, stop - LEAST + 1) if text[each : each + LEAST] in lengths), stop)
            size = next(
                (size for size in lengths.get(text[at : at + LEAST], ()) if self._is_at(text, at, size, stop)), 0
            )
            if size:
                yield at, at + size, self.values[text[at : at + size]]
            at += size or 1

    def _is_at(self, text: str, at: int, size: int, stop: int) -> bool:
        return at + size <= stop and text[at : at + size] in self.values


def _apart(found: Sequence[Found], borders: Sequence[Found]) -> Iterator[Found]:
    """Those that overlap neither a border nor one before."""
    following, last = 0, 0
    for start, end, label in found:
        while borders[following][1] <= start and following < len(borders) - 1:
            following += 1
        # The first border that does not end in front of it: none before can reach it.
        if start >= last and (borders[following][0] >= end or borders[following][1] <= start):
            yield start, end, label
            last = end


NOTHING_NAMED = Named({})
