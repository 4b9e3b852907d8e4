"""Whose session, which scope of it: the key of everything in a store. Knows nothing of what is kept under it."""

from __future__ import annotations

from typing import Literal

import msgspec

from foldmark.events import Event

Sees = Literal["exact", "lineage", "subtree", "all"]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """Whose session, which scope of it. `tenant` and `user` isolate; `scope` + `sees` filter inside the
    session."""

    session: str
    tenant: str = "local"
    user: str = "local"
    scope: str = ""
    sees: Sees = "all"

    @property
    def is_whole(self) -> bool:
        """Whether it is the scope that sees the whole session: what you get without saying anything."""
        return self.sees == "all" and not self.scope

    def shows(self, event: Event) -> bool:
        """Whether a request of this scope sees the event. Segments of keys are separated by `/`."""
        return sees(self.scope, event.key, self.sees)


def sees(scope: str, key: str, how: Sees) -> bool:
    """exact = same key; lineage = equal, ancestor or descendant; subtree = equal or descendant; all."""
    if how == "all" or scope == key:
        return True
    if how == "exact":
        return False
    mine, theirs = [s for s in scope.split("/") if s], [s for s in key.split("/") if s]
    below = theirs[: len(mine)] == mine
    above = mine[: len(theirs)] == theirs
    return below or (how == "lineage" and above)
