"""Lists the sub-agents of a session, as its scope sees them. Knows nothing of reports."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from foldmark.aio import AsyncSession
from foldmark.children.checking import inner
from foldmark.children.reporting import ended_of
from foldmark.children.telling import Outcome
from foldmark.reach import children_seen
from foldmark.session import Session
from foldmark.store import OpenCall, SessionInfo


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-agent: its `session`, the id of the `call` that started it and the seq where that was `made` (0: not
    known), how it ended (None: it has no end yet), its `events` (a count), and the seq where the call was `answered`
    (0: not yet)."""

    session: str
    call: str
    made: int
    outcome: Outcome | None
    events: int
    answered: int


def children_of(session: Session | AsyncSession) -> list[Child]:
    """The sub-agents that calls of the session started, by where they were started; those of inherited calls too. A
    scope sees those whose call it sees. Sub-agents of sub-agents are theirs."""
    session = inner(session)
    key, calls = session.key, session.store.context(session.key, ()).calls
    mine = children_seen(session.store, key)
    return sorted((_child(info, calls) for info in mine), key=lambda child: (child.made, child.session))


def _child(info: SessionInfo, calls: Mapping[str, OpenCall]) -> Child:
    call = calls.get(info.parent_call)
    is_newest = call is not None and info.parent_seq in (0, call.seq)
    ended = ended_of(info)
    return Child(
        session=info.session, call=info.parent_call, made=info.parent_seq or (call.seq if call else 0),
        outcome=ended.outcome if ended else None, events=info.head,
        answered=call.answered if call and is_newest else 0,
    )  # fmt: skip
