"""Sessions of a store: their rows, and what a store promises of them. Knows nothing of their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.store.keys import Key


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session's row. `kind` is root, fork (inherits up to `parent_seq`) or child (a context of its own).

    `damaged` says what of the row cannot be read, and what to do; empty for one that is whole. Only lists hold such a
    row, with what can be read of it: whoever asks for that session alone gets a StoreError, and it can be erased."""

    session: str
    kind: Literal["root", "fork", "child"] = "root"
    parent: str = ""
    parent_seq: int = 0
    parent_call: str = ""
    created: float = 0.0
    updated: float = 0.0
    head: int = 0
    title: str = ""
    meta: dict[str, str] = {}
    damaged: str = ""


class Sessions(Protocol):
    """Sessions come, are described, and go."""

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        """Make the session if needed (as `info` says) and return its row. Raises NotFound for a parent that is not
        there, and for a `parent_seq` below 0 or behind the parent's end."""

    def info(self, key: Key) -> SessionInfo:
        """The session's row. Makes nothing: raises NotFound."""

    @property
    def artifacts(self) -> Artifacts:
        """Where bodies go unless the caller names another place."""

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        """Make the session if needed, and keep small settings with it; an empty value removes one. Returns the new
        row."""

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        """All sessions of a user, newest update first; one whose row is damaged says so."""

    def children(self, key: Key, *, call: str | None = None) -> list[SessionInfo]:
        """The child sessions that hang on this session itself (not on what it was forked from), in the order in which
        they were made; with `call` those of calls with this id alone. A session that is not there has none. One whose
        row is damaged so far that nobody knows what it hangs on is not among them."""

    def delete(self, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None) -> tuple[str, ...]:
        """Erase a session with all that hangs on it; returns the artifact hashes no other session of the tenant shares.
        One whose row is damaged goes by the name that a list gives it. With `heads` (of every session that may go, by
        id) only while each still ends there, in the same transaction. Raises HasForks, also for what hangs on it and is
        not in `heads`; HeadMoved, NotFound."""

    def hashes(self, tenant: str) -> set[str]:
        """Artifact hashes that events of the tenant still refer to."""

    def close(self) -> None:
        """Release connections."""
