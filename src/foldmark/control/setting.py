"""What control works on: a session's line, its store, and how it builds. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from foldmark.artifacts import Artifacts
from foldmark.errors import NotFound
from foldmark.events import Event
from foldmark.framing import Said
from foldmark.lineage import Line
from foldmark.outgoing import Outgoing
from foldmark.policy import Policy
from foldmark.refs import parse
from foldmark.store import Frame, Key, Store
from foldmark.summarizer import Resolver, Summarizer


class Wish(NamedTuple):
    """What is asked of a compaction: the arguments of `compact`. `upto` is the ref of the last event that may go."""

    force: bool = False
    focus: str = ""
    upto: str = ""
    window: int | None = None
    max_output: int | None = None
    context: Mapping[str, Any] = {}
    by_code: bool = False
    policy: Policy | None = None


class Setting(NamedTuple):
    """A session as its control sees it now. `given` is who writes its narratives; `sync`: no model is awaited, so an
    async one is refused."""

    store: Store
    artifacts: Artifacts
    line: Line
    out: Outgoing
    clock: Callable[[], float]
    given: Summarizer | Resolver | None = None
    sync: bool = False

    @property
    def key(self) -> Key:
        return self.line.key

    def frame(self, wish: Wish = Wish()) -> Frame:
        """The frame of the next request, with what is said now; nothing is kept of it."""
        return self.out.frame(self.line, Said(wish.window, wish.max_output, policy=wish.policy))

    def policy(self, wish: Wish = Wish()) -> Policy:
        return self.out.policy(self.line, wish.policy)

    def event_of(self, ref: str) -> Event:
        """An event of the session by its ref. Raises NotFound."""
        address = parse(ref)
        if not address.is_event or address.session not in ("", self.key.session):
            raise NotFound(ref, f"{ref!r} is no event of this session; write event:<n>.")
        return self.store.event(self.key, address.name)

    def seq_of(self, ref: str) -> int:
        """The seq of an event that the scope sees. Raises NotFound."""
        event = self.event_of(ref)
        if not self.key.shows(event):
            raise NotFound(ref, f"event:{event.seq} belongs to {event.key!r}, which this scope does not see.")
        return event.seq
