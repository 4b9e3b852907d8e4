"""Whose a sub-agent is: the one rule by which stores search, lists are made and refs lead. Pure: knows nothing of how a
place looks a call up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from foldmark.store.calls import OpenCall
from foldmark.store.keys import Key, sees


class Calls(Protocol):
    """Where the calls of a session's lineage were made."""

    @property
    def calls(self) -> Mapping[str, OpenCall]:
        """The newest call of every id, also of events that whoever asks may not look at."""

    def key_at(self, seq: int) -> str | None:
        """The key of the event there; None when there is none that whoever asks may look at."""


def belongs(key: Key, calls: Calls, *, call: str, at: int, last: float, own: bool) -> bool:
    """Whether a child session hangs on what a key sees: on a call of the lineage of the key's session that it sees.

    The child was started by `call`, made `at` a seq of its parent (0: only the id is known, as of imported ones), and
    the lineage has the parent up to the seq `last` (below 0: it has nothing of it). The place decides where it is
    known, since ids may come again under another key; else the newest call with the id does, and no call behind `last`
    started what hangs on a parent that the lineage has only so far. One of no known call
    belongs to its parent alone (`own`: that is the key's session), seen as a whole; a call that may not be looked at is
    known.
    """
    if not at and (newest := calls.calls.get(call)):
        at = newest.seq
    if at > last:
        return False
    if not at:
        return own and key.sees == "all"
    made = calls.key_at(at)
    return made is not None and sees(key.scope, made, key.sees)
