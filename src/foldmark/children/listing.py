"""Lists the sub-agents of a session, as its scope sees them. Knows nothing of reports."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from foldmark.children.opening import child_key
from foldmark.children.reporting import ended_of
from foldmark.children.telling import Outcome
from foldmark.session import Session
from foldmark.store import OpenCall, SessionInfo, sees


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


def children_of(session: Session) -> list[Child]:
    """The sub-agents that calls of the session started, by where they were started; those of inherited calls too. A
    scope sees those whose call it sees. Sub-agents of sub-agents are theirs."""
    lineage, calls = _lineage(session), session.store.context(session.key, ()).calls
    every = session.store.sessions(session.key.tenant, session.key.user)
    mine = [info for info in every if info.kind == "child" and _is_seen(session, info, lineage, calls)]
    return sorted((_child(info, calls) for info in mine), key=lambda child: (child.made, child.session))


def _lineage(session: Session) -> dict[str, int]:
    """The sessions whose events it holds, each with the last seq of it that counts."""
    info, last = session.info, session.store.view(session.key).head
    found = {info.session: last}
    while info.kind == "fork" and info.parent:
        last = min(last, info.parent_seq)
        info = session.store.info(child_key(session, info.parent))
        found[info.session] = last
    return found


def _is_seen(session: Session, info: SessionInfo, lineage: Mapping[str, int], calls: Mapping[str, OpenCall]) -> bool:
    if info.parent_seq > lineage.get(info.parent, -1):
        return False
    key = session.key
    if info.parent_seq:
        return key.sees == "all" or key.shows(session.store.event(key, str(info.parent_seq)))
    made = calls.get(info.parent_call)  # imported: only the id is known
    return sees(key.scope, made.key, key.sees) if made else key.sees == "all"


def _child(info: SessionInfo, calls: Mapping[str, OpenCall]) -> Child:
    call = calls.get(info.parent_call)
    is_newest = call is not None and info.parent_seq in (0, call.seq)
    ended = ended_of(info)
    return Child(
        session=info.session, call=info.parent_call, made=info.parent_seq or (call.seq if call else 0),
        outcome=ended.outcome if ended else None, events=info.head,
        answered=call.answered if call and is_newest else 0,
    )  # fmt: skip
