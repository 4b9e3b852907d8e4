"""What people do with a session: pin, unpin, history, delete. Plan, edit and undo come with later work.

Knows nothing of requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldmark.checkpoint import Checkpoint, Fact
from foldmark.errors import NotFound
from foldmark.refs import Ref, parse

if TYPE_CHECKING:
    from foldmark.session import Session


class Control:
    """`session.control`: a person's hand on a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

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
        store, key = self._session.store, self._session.key
        event = store.event(key, address.name)
        # A pin holds for every scope that sees the event, so it carries the event's own key.
        store.facts(key, [Fact(seq=event.seq, kind="pin", key=str(event.seq), value="", status=status, scope=event.key)])
        return f"event:{event.seq}"

    def pins(self) -> list[int]:
        """Seqs of the pinned events, in order."""
        return sorted(self._session.store.view(self._session.key).pins)

    def history(self) -> list[Checkpoint]:
        """Every compaction of the scope, oldest first."""
        return self._session.store.checkpoints(self._session.key)

    def delete(self, *, descendants: bool = False) -> int:
        """Erase the session with all that hangs on it; returns how many artifact bodies went.

        Raises HasForks when other sessions inherit from it, unless `descendants` is True.
        """
        store, key = self._session.store, self._session.key
        return self._session.artifacts.delete(key.tenant, store.delete(key, descendants=descendants))
