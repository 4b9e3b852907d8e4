"""Message lists that come again, in a store in memory. Knows nothing of roles and wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.memory import searching
from foldmark.memory.parts.held import Held
from foldmark.store import Key, Match


class Lists(Held):
    """What a store knows of a message list, by fingerprints."""

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        with self._lock:
            self._row(key).written.update(hashes)

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        with self._lock:
            root = self._row(key).root
            family = {id(row) for row in (root, *root.below(children=False))}
            found: dict[str, str] = {}
            for row in self._rows.values():  # as they were made: the newest word of a family holds
                if id(row) in family:
                    found.update({each: row.written[each] for each in hashes if each in row.written})
            return found

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        with self._lock:
            row = self._row(key)
            return searching.match([row, *row.below(children=False)], chains)

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        with self._lock:
            row = self._row(key)
            return searching.ends([row, *row.below(children=False)], plains)
