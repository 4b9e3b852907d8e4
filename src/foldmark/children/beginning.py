"""Begins the session of a sub-agent, or finds it again, and holds it to its limits. Knows nothing of reports and of how
it is run.

The name is the place of the call (`refund-fix/12`, its second call `refund-fix/12.2`), so the same call finds the same
session after a restart, whatever ids a provider gives.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from foldmark.aio import AsyncSession
from foldmark.asking import Ask
from foldmark.children.calling import Call, call_of, is_only
from foldmark.children.checking import inner, limited
from foldmark.children.limits import RunLimits, Spent, limit_used, spent_with
from foldmark.drafts import Request
from foldmark.errors import ChildStopped, NotFound, PolicyError
from foldmark.events import Event, ToolCall
from foldmark.following import Followed
from foldmark.session import Recorded, Session
from foldmark.store import Key, SessionInfo

TAKEN = "taken_for"
"""Under which name an imported sub-agent's session keeps the place of the call that it was opened for."""


class ChildSession(Session):
    """A session of a sub-agent, held to the limits of its run. Raises ChildStopped where a next step would begin
    (`request`) with a limit used up, and behind `record` and `follow` with a limit passed; what came is kept then."""

    def __init__(
        self, session: str, *, limits: RunLimits = RunLimits(), above: ChildSession | None = None, **options: Any
    ) -> None:
        super().__init__(session, **options)
        self.limits = limits
        self.begun = self.name
        """The session that it began in; `follow` may move on to a fork."""
        self.stopped = ""
        """Why it has to end; empty while it may go on."""
        self.below: list[ChildSession] = []
        """Sub-agents of its own that run just now."""
        self._above = above
        self._counted, self._own, self._counted_in = 0, Spent(), self.name

    @property
    def spent(self) -> Spent:
        """How far it has gone, sub-agents that run just now included (their tokens)."""
        with self.lock:
            if self._counted_in != self.name:  # `follow` moved on to a fork
                self._counted, self._own, self._counted_in = 0, Spent(), self.name
            new = self.store.log(self.key, self._counted + 1)
            self._own = spent_with(self._own, new)
            self._counted = new[-1].seq if new else self._counted
            running = sum(child.spent.tokens for child in list(self.below))
            return msgspec.structs.replace(self._own, tokens=self._own.tokens + running)

    def stop(self, reason: str) -> None:
        """End it at its next step; the first reason stays."""
        self.stopped = self.stopped or reason

    def check_limits(self, *, begins: bool = True) -> None:
        """Raises ChildStopped when it has to end: for loops that build their requests themselves."""
        reason = self.stopped or limit_used(self.spent, self.limits, begins=begins)
        if reason:
            self.stop(reason)
            raise ChildStopped(self.name, self.stopped)
        if self._above:
            try:
                self._above.check_limits(begins=False)  # it does not begin a step: this one does
            except ChildStopped as error:
                self.stop(f"{error.session} above it has to stop: {error.reason}")
                raise ChildStopped(self.name, self.stopped) from error

    def keep(self, *events: Event) -> Recorded:
        """Record without a look at the limits."""
        return super().record(*events)

    def record(self, *events: Event) -> Recorded:
        """As `Session.record`; then raises ChildStopped when a limit is passed."""
        done = super().record(*events)
        self.check_limits(begins=False)
        return done

    def follow(self, messages: Sequence[Any], **options: Any) -> Followed:
        """As `Session.follow`; then raises ChildStopped when a limit is passed."""
        found = super().follow(messages, **options)
        self.check_limits(begins=False)
        return found

    def request_steps(self, **options: Any) -> Generator[Ask, Any, Request]:
        """As `Session.request_steps`; raises ChildStopped when a limit is used up."""
        self.check_limits()
        return super().request_steps(**options)


def child_key(session: Session, name: str) -> Key:
    """The key of a sub-agent's whole session."""
    return Key(session=name, tenant=session.key.tenant, user=session.key.user)


def known_child(session: Session, call: Call) -> SessionInfo | None:
    """The session that the call started, imported ones too; None when there is none. Raises PolicyError when its name
    is taken by another one."""
    try:
        info = session.store.info(child_key(session, call.name))
    except NotFound:
        others = session.store.children(child_key(session, call.holder), call=call.made.call.id)
        mine = [one for one in others if _is_of(one, call)]
        if not all(map(_has_place, mine)) and not is_only(session, call):
            mine = [one for one in mine if _has_place(one)]  # of which call an imported one is, nobody knows then
        return max(reversed(mine), key=lambda one: one.updated, default=None)  # among equals the one made last
    if not _is_of(info, call):
        raise PolicyError(
            f"The name {call.name!r} of the sub-agent for call {call.made.call.id!r} is taken by a session of another "
            f"call ({info.kind}, parent {info.parent!r}, call {info.parent_call!r}); delete or rename that one."
        )
    return info


def _is_of(info: SessionInfo, call: Call) -> bool:
    same = (info.kind, info.parent, info.parent_call) == ("child", call.holder, call.made.call.id)
    return same and info.parent_seq in (0, call.made.seq) and info.meta.get(TAKEN, call.place) == call.place


def _has_place(info: SessionInfo) -> bool:
    """Whether it is known which of the calls with its id started it. Of an imported one only the id is, until it is
    opened for a call."""
    return info.parent_seq > 0 or TAKEN in info.meta


def open_child(
    session: Session | AsyncSession, call: ToolCall | str, *, limits: RunLimits = RunLimits(), **options: Any
) -> ChildSession:
    """The session of the sub-agent that this call starts, made where it is new, with the parent's store, artifacts,
    policy and summarizer; `options` of `Session` take the place of its own.

    Raises NotFound for a call that the session has not or does not see, PolicyError when another call's sub-agent has
    that name, and for another store, tenant or user: nobody would find it there.
    """
    limited(limits, options)
    session = inner(session)
    return child_for(session, call_of(session, call), limits, options)


def child_for(session: Session, found: Call, limits: RunLimits, options: Mapping[str, Any]) -> ChildSession:
    """As `open_child`, for a call that was found."""
    if wrong := {"store", "tenant", "user"} & options.keys():
        raise PolicyError(f"A sub-agent has the {' and '.join(sorted(wrong))} of its parent; leave that option out.")
    info = known_child(session, found)
    name = info.session if info else found.name
    if info is None:
        made = SessionInfo(
            session=name, kind="child", parent=found.holder, parent_seq=found.made.seq, parent_call=found.made.call.id
        )
        session.store.open(child_key(session, name), info=made)
    elif not _has_place(info):
        session.store.describe(child_key(session, name), {TAKEN: found.place})
    above = session if isinstance(session, ChildSession) else None
    child = ChildSession(name, limits=limits, above=above, **{**session.alike, **options})
    if not {"model", "summarizer"} & options.keys():
        child.summarizer, child.awaits = session.summarizer, session.awaits
    return child


def depth_of(session: Session) -> int:
    """How many sub-agents stand above each other here: 0 for a session of its own, 1 for its sub-agents."""
    depth, info = 0, session.info
    while info.parent:
        depth += info.kind == "child"
        info = session.store.info(child_key(session, info.parent))
    return depth
