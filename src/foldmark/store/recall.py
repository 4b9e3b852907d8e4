"""Search in a store: what a store promises of it. Knows nothing of ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foldmark.seeking import Finding, Sought
from foldmark.store.keys import Key


class Recall(Protocol):
    """Pieces of events are found by their words."""

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        """Pieces that hold any of the analysed terms, and what stands near them. What `sought` does not
        allow is not brought; the statistics are those of all that was searched. No terms bring the newest events that
        the filters allow, one piece of each, and nothing without filters; of what matches by the day of its event
        alone, the event's first piece. Raises NotFound."""
