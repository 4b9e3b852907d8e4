"""Which rows of a tree lead to the same beginning, so that joining a row to another one never makes a circle. Knows
nothing of files or of what the rows say."""

from __future__ import annotations

from collections.abc import Mapping


class Joining:
    """Parents by key. A key without a parent is a beginning; it may be joined to a key that does not come from it.

    Ways that were walked are kept short: a file may lack every second row, and each of them is joined.
    """

    def __init__(self, parents: Mapping[str, str]) -> None:
        self._above = dict(parents)

    def beginning_of(self, key: str) -> str:
        """The key that a chain of parents ends at. A circle is opened where it was met."""
        way: dict[str, None] = {}
        while key in self._above:
            way[key] = None
            if self._above[key] in way:
                del self._above[key]
                break
            key = self._above[key]
        self._above.update((walked, key) for walked in way if walked != key)
        return key

    def join(self, beginning: str, to: str) -> None:
        """Let a beginning go on from another key."""
        self._above[beginning] = to
