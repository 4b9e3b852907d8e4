"""Search in a store in memory. Knows nothing of ranking."""

from __future__ import annotations

from collections.abc import Sequence

from foldmark.memory.areas import stretches
from foldmark.memory.parts.held import Held
from foldmark.memory.rows import Row
from foldmark.memory.searching import Search, Stretch
from foldmark.seeking import Finding, Sought
from foldmark.store import Key


class Recall(Held):
    """Pieces of events are found by their words."""

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        with self._lock:
            row = self._row(key)
            return Search(row, self._searched(row, key, sought), key, sought).find(terms, limit)

    def _searched(self, row: Row, key: Key, sought: Sought) -> list[Stretch]:
        mine = (other for name, other in self._rows.items() if name[:2] == row.name[:2])
        return stretches(row, key, sought, mine)
