"""Which lines are worth keeping: units, scores, word and name counts. Knows nothing of storage or budgets."""

from __future__ import annotations

from collections import Counter


class Tally:
    """Causal counts of a session: words (masked subwords, by event) and names."""

    def __init__(self) -> None:
        self.events = 0
        self.words: Counter[str] = Counter()
