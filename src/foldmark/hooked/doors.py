"""Under which key a reader opens what a search brings: none where a hook withholds the call that started it. Knows
nothing of searching.
"""

from __future__ import annotations

from foldmark.events import Event
from foldmark.hooked.wrapping import Wrapping
from foldmark.reach import reached
from foldmark.seeking import Reach, Where
from foldmark.store import Key, Store


class Doors:
    """The sessions that one search of `key` may bring, each asked about once. The same rule as that of refs, so that
    every hit can be opened, and is judged by the hooks as it will be then."""

    def __init__(self, rows: Store, shown: Store, key: Key, where: Where) -> None:
        self._store, self._key = _Shown(rows, shown), key
        self._reach: Reach = "children" if where == "children" else "user"
        self._known: dict[str, Key | None] = {"": key}

    def key(self, session: str) -> Key | None:
        """The key under which a session (empty: the lineage) is opened; None when it may not be."""
        if session not in self._known:
            self._known[session] = reached(self._store, self._key, session, self._reach)
        return self._known[session]


class _Shown(Wrapping):
    """Events as the reader is shown them; rows as they are stored, since nobody sees a title here."""

    def __init__(self, rows: Store, shown: Store) -> None:
        super().__init__(rows)
        self._shown = shown

    def event(self, key: Key, name: str) -> Event:
        return self._shown.event(key, name)
