"""Finds events by the words and names in them, so that a claim is looked up and not searched in every text. Knows
nothing of statements.

What it gives are the events in which something *may* stand: nothing that holds it is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from foldmark.story.places import Text
from foldmark.story.spellings import Claim, Way

_RUN = re.compile(r"[a-z0-9_]+")


class Index:
    """Postings of texts by event: the words of search, and the runs of ASCII letters that edges are made of."""

    def __init__(self, texts: Mapping[int, Text]) -> None:
        self.seqs: set[int] = set()
        self.words: dict[str, set[int]] = {}
        self.runs: dict[str, set[int]] = {}
        self._sorted: list[str] = []
        for seq, text in texts.items():
            self.add(seq, text)

    def add(self, seq: int, text: Text) -> None:
        self.seqs.add(seq)
        for word in text.vocabulary:
            self.words.setdefault(word, set()).add(seq)
        for run in set(_RUN.findall(text.low)):
            self.runs.setdefault(run, set()).add(seq)
        self._sorted = []

    def may_hold(self, claim: Claim) -> Iterable[int]:
        """The events in which a claim may stand."""
        found: set[int] = set()
        for way in claim.ways:
            found |= self._of_way(way)
        if claim.near:
            found &= set().union(*(self.words.get(word, ()) for word in claim.near))
        if claim.parts:
            found |= set.intersection(*(self._of_way(Way(part, folds=part.isalpha())) for part in claim.parts))
        return found

    def _of_way(self, way: Way) -> set[int]:
        """A run inside a spelling is a run of the text as well; at its ends only where its edge says so."""
        if way.is_number or way.hint or way.edge == "none":
            return self.seqs
        low = way.text.lower()
        known: list[set[int]] = []
        for match in _RUN.finditer(low):
            at_end, at_start = match.end() == len(low), match.start() == 0
            if way.edge == "digit" and (at_start or at_end):
                continue
            known.append(self._begin(match[0]) if way.edge == "start" and at_end else self.runs.get(match[0], set()))
        return set.intersection(*known) if known else self.seqs

    def _begin(self, start: str) -> set[int]:
        """The events with a run that begins so."""
        self._sorted = self._sorted or sorted(self.runs)
        found: set[int] = set()
        for at in range(bisect_left(self._sorted, start), len(self._sorted)):
            if not self._sorted[at].startswith(start):
                break
            found |= self.runs[self._sorted[at]]
        return found
