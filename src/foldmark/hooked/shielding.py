"""Vectors as one reader sees them: what a read hook hides or changes is neither embedded nor brought nor compared.

A vector tells what the stored text says, so for a reader who is shown other words it does not exist. Knows nothing of
how vectors are kept and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from foldmark.embedding import Embedder, Vector
from foldmark.errors import StoreError
from foldmark.hooked.doors import Doors
from foldmark.hooked.readers import Readers
from foldmark.seeking import Sought, Where
from foldmark.store import Key, Store
from foldmark.vectors import READ_BEFORE, Nearest, Place, Unembedded, Vectors

Value = TypeVar("Value")


class HookedVectors:
    """The vectors of `inner`, which belong to `store`, by what its readers are shown; `shown` is the store as they see
    it."""

    def __init__(self, inner: Vectors, store: Store, shown: Store, readers: Readers) -> None:
        self._inner, self._store, self._seen, self._readers = inner, store, shown, readers

    def missing(self, key: Key, embedder: Embedder, *, limit: int, where: Where = "session") -> list[Unembedded]:
        asked, doors = max(0, limit), Doors(self._store, self._seen, key, where)
        while True:  # what is left out must not cost the others their places
            found = self._inner.missing(key, embedder, limit=asked, where=where)
            shown = self._shown(doors, found, lambda one: one.place, embedder)
            if len(shown) >= limit or len(found) < asked:
                return shown[: max(0, limit)]
            asked *= 2

    def put(self, key: Key, embedder: Embedder, made: Sequence[tuple[Unembedded, Vector]]) -> int:
        return self._inner.put(key, embedder, made)

    def nearest(
        self, key: Key, embedder: Embedder, asked: Sequence[float], *, limit: int = 150, sought: Sought = Sought(),
        beside: Sequence[Place] = (),
    ) -> Nearest:  # fmt: skip
        wanted, doors = max(0, limit), Doors(self._store, self._seen, key, sought.where)
        while True:
            near = self._inner.nearest(key, embedder, asked, limit=wanted, sought=sought, beside=beside)
            shown = self._shown(doors, near.found, lambda one: one.place, embedder)
            if len(shown) >= limit or len(near.found) < wanted:
                places = self._shown(doors, near.scores, lambda place: place, embedder)
                scores = {place: near.scores[place] for place in places}
                return msgspec.structs.replace(near, found=tuple(shown[: max(0, limit)]), scores=scores)
            wanted *= 2

    def forget(self, key: Key, *, keep: Embedder | None = None) -> int:
        return self._inner.forget(key, keep=keep)

    def _shown(
        self, doors: Doors, values: Iterable[Value], place_of: Callable[[Value], Place], embedder: Embedder
    ) -> list[Value]:
        """Those of events that the reader is shown as they are stored, and for an embedder that reads what was said
        before with all that it may have read for them, whatever they are; in order."""
        values, back = list(values), READ_BEFORE if embedder.reads_before else 0
        hidden = {session: self._hidden(doors, session) for session in {place_of(one)[0] for one in values}}

        def is_shown(session: str, seq: int) -> bool:
            return not any(map(hidden[session], range(max(1, seq - back), seq + 1)))

        return [one for one in values if is_shown(*place_of(one)[:2])]

    def _hidden(self, doors: Doors, session: str) -> Callable[[int], bool]:
        """Tells of a seq whether the reader is not shown that event, or not as it is stored, or whether it answers such
        a call: the call stands in front of what was embedded. Nobody is shown anything of another session that cannot
        be read."""
        try:
            if key := doors.key(session):
                with self._readers.of(self._store, key) as reader:
                    return reader.altered().__contains__
        except StoreError:
            if not session:
                raise
        return lambda seq: True
