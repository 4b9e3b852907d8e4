"""A store that is another one, with what stands beside the protocol: its file, its vectors. Knows nothing of hooks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from foldmark.errors import NotFound
from foldmark.store import Key, SessionInfo
from foldmark.store.forwarding import Forwarding
from foldmark.vectors import Vectors, vectors_of


class Wrapping(Forwarding):
    """Wraps `inner` and changes nothing; of children it tells what it tells of each alone."""

    def children(self, key: Key, *, call: str | None = None) -> list[SessionInfo]:
        """As `info` tells of them: where that shows less of a row, so does this."""
        told: list[SessionInfo] = []
        for one in self.inner.children(key, call=call):
            if one.damaged:  # nobody can ask for that one alone
                told.append(msgspec.structs.replace(one, title=""))
                continue
            with suppress(NotFound):  # erased meanwhile
                told.append(self.info(msgspec.structs.replace(key, session=one.session)))
        return told

    @property
    def path(self) -> str | Path:
        """Where the inner store keeps its file. Raises AttributeError for one that has none."""
        place: str | Path = self.inner.path  # type: ignore[attr-defined]
        return place

    @property
    def vectors(self) -> Vectors | None:
        """Where the inner store keeps vectors, if it does."""
        return vectors_of(self.inner)
