"""What people do with a session: pin, unpin, history, delete. Plan, edit and undo come with later work.

Knows nothing of requests.
"""

from __future__ import annotations

import time

from foldmark.artifacts import Artifacts
from foldmark.checkpoint import Checkpoint, Fact
from foldmark.errors import NotFound
from foldmark.refs import Ref, parse
from foldmark.reports import Attempt
from foldmark.store import Key, Store


class Control:
    """`session.control`: a person's hand on a session."""

    def __init__(self, store: Store, artifacts: Artifacts, key: Key) -> None:
        self._store, self._artifacts, self._key = store, artifacts, key

    def pin(self, ref: str) -> str:
        """Keep an event verbatim in every request after the next compaction. Raises NotFound."""
        return self._pin(ref, "pinned")

    def unpin(self, ref: str) -> str:
        """Let a pinned event be covered again, from the next compaction on. Raises NotFound."""
        return self._pin(ref, "gone")

    def _pin(self, ref: str, status: str) -> str:
        address: Ref = parse(ref)
        if not address.is_event:
            raise NotFound(ref, f"Only events can be pinned, and {ref!r} is none. Pin event:<n> instead.")
        store, key = self._store, self._key
        event = store.event(key, address.name)
        # A pin holds for every scope that sees the event, so it carries the event's own key.
        store.facts(
            key, [Fact(seq=event.seq, kind="pin", key=str(event.seq), value="", status=status, scope=event.key)]
        )
        return f"event:{event.seq}"

    def pins(self) -> list[int]:
        """Seqs of the pinned events, in order."""
        return sorted(self._store.view(self._key).pins)

    def history(self) -> list[Checkpoint]:
        """Every compaction of the scope, oldest first."""
        return self._store.checkpoints(self._key)

    def attempts(self) -> list[Attempt]:
        """The newest attempts at a compaction, oldest first: outcome, trigger, sizes, calls, what they cost."""
        return list(self._store.view(self._key).attempts)

    def delete(self, *, descendants: bool = False) -> int:
        """Erase the session with all that hangs on it; returns how many artifact bodies went.

        Raises HasForks when other sessions inherit from it, unless `descendants` is True.
        """
        started = time.time()
        gone = self._store.delete(self._key, descendants=descendants)
        gone = tuple(set(gone) - self._store.hashes(self._key.tenant))  # another session may have recorded one since
        return self._artifacts.delete(self._key.tenant, gone, before=started)
