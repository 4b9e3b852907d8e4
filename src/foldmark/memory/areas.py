"""What one search of a store in memory looks through: stretches of its rows. Knows nothing of filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foldmark.log import Log
from foldmark.memory.rows import Row
from foldmark.memory.searching import Stretch
from foldmark.seeking import Sought
from foldmark.store import Key
from foldmark.store.ground import EVERYTHING, Child, ground


class Kin:
    """The rows round one."""

    def __init__(self, row: Row) -> None:
        self._row = row

    @property
    def lineage(self) -> Sequence[tuple[Row, int]]:
        return [(row, last) for row, last, _ in self._row.lineage()][::-1]

    def family(self) -> list[Row]:
        return [self._row.root, *self._row.root.below(children=False)]

    def children(self, session: Row) -> list[Child[Row]]:
        return [Child(row, row.info.parent_call, row.info.parent_seq) for row in session.children]

    def calls(self, session: Row) -> Log:
        return session.log

    def below(self, session: Row) -> list[Row]:
        return session.below(children=True)


def stretches(row: Row, key: Key, sought: Sought, mine: Iterable[Row]) -> list[Stretch]:
    """Where a search looks that the row's session asks for; `mine` are all rows of its user."""
    kin = Kin(row)
    found = ground(key, row.log, kin, sought)
    lineage = {other for other, _ in kin.lineage}
    spans = dict(found.spans)
    if found.others:
        spans |= {other: EVERYTHING for other in mine if other not in found.apart | lineage | spans.keys()}
    return [
        Stretch(other, first, min(last, other.log.head), scoped=other in lineage or other in found.scoped)
        for other, (first, last) in spans.items()
    ]
