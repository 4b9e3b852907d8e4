"""What a compaction is asked to keep in view: the words of a focus, and how far a text shares them. Knows nothing of
budgets.

Words are taken as search takes them (stems, parts of names, character pairs of scripts without spaces). A focus raises
what belongs to it; it never drops a line that must be there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

import msgspec

from foldmark.checkpoint import Line
from foldmark.compose.sections import Candidate
from foldmark.words import distinct, telling, words

WEIGHT = 2.0
"""What a unit with the rarest word of the focus is worth against the same without; at most `MOST` with several."""
MOST = 3.0

SORTED = ("Files", "Verification", "Errors", "Commands", "Rejected", "Decisions")
"""How the titles of sections begin whose lines a focus brings to the front."""


class Focus:
    """The words of a focus, each with its rarity among `texts` (1 for the rarest). An empty one changes nothing."""

    def __init__(self, text: str, texts: Iterable[str] = ()) -> None:
        self.rarity: dict[str, float] = {}
        wanted = telling(words(text))
        if not wanted:
            return
        held = [distinct(one).intersection(wanted) for one in texts]
        found = Counter(word for one in held for word in one)
        rarity = {word: log(2 + len(held) / (1 + found[word])) for word in wanted}
        rarest = max((rarity[word] for word in found), default=max(rarity.values()))
        self.rarity = {word: min(1.0, rarity[word] / rarest) for word in wanted}

    def share(self, text: str) -> float:
        """The rarities of the focus's words that a text holds, summed up; 0 without a focus."""
        if not self.rarity:
            return 0.0
        there = distinct(text)
        return sum(rarity for word, rarity in self.rarity.items() if word in there)

    def weight(self, text: str) -> float:
        return min(MOST, 1.0 + (WEIGHT - 1.0) * self.share(text))

    def sorted(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Sections whose lines with words of the focus come first, behind those that must be there; the other lines
        keep their order."""
        if not self.rarity:
            return list(found)
        return [
            msgspec.structs.replace(one, lines=(*one.lines[: one.must], *self._first(one.lines[one.must :])))
            if one.title.startswith(SORTED)
            else one
            for one in found
        ]

    def _first(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        return tuple(sorted(lines, key=lambda line: -round(self.share(line.text), 6)))
