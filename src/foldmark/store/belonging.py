"""Whose a sub-agent is: the one rule by which stores search, lists are made and refs lead. Pure: knows nothing of how a
place looks a call up.
"""

from __future__ import annotations

from typing import Protocol

from foldmark.store.keys import Key, sees


class Calls(Protocol):
    """Where the calls of a session's lineage were made."""

    def key_at(self, seq: int) -> str | None:
        """The key of the event there; None when there is none that whoever asks may look at."""

    def key_of(self, call: str) -> str | None:
        """The key of the event that made the newest call with this id; None when there is none."""


def belongs(key: Key, calls: Calls, *, call: str, at: int, last: float, own: bool) -> bool:
    """Whether a child session hangs on what a key sees: on a call of the lineage of the key's session that it sees.

    The child was started by `call`, made `at` a seq of its parent (0: only the id is known, as of imported ones), and
    the lineage has the parent up to the seq `last` (below 0: it has nothing of it). The place decides where it is
    known, since ids may come again under another key; else the newest call with the id does. One of no known call
    belongs to its parent alone (`own`: that is the key's session), seen as a whole.
    """
    if at > last:
        return False
    made = calls.key_at(at) if at else calls.key_of(call)
    if made is not None:
        return sees(key.scope, made, key.sees)
    return own and not at and key.sees == "all"
