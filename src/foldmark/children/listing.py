"""Lists the sub-agents of a session, as its scope sees them. Knows nothing of reports."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from foldmark.aio import AsyncSession
from foldmark.children.beginning import TAKEN
from foldmark.children.calling import Call, answer_of, call_at, call_of, is_only
from foldmark.children.checking import inner
from foldmark.children.reporting import ended_of
from foldmark.children.telling import Outcome
from foldmark.errors import NotFound
from foldmark.reach import children_seen
from foldmark.session import Session
from foldmark.store import SessionInfo


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-agent: its `session`, the id of the `call` that started it and the seq where that was `made`, how it ended
    (None: it has no end yet), its `events` (a count), and the seq where the call was `answered` (0: not yet). Of an
    imported one whose call id is used under several keys nobody knows which call it is: both seqs are 0."""

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
    mine = [_child(session, info) for info in children_seen(session.store, session.key)]
    return sorted(mine, key=lambda child: (child.made, child.session))


def _child(session: Session, info: SessionInfo) -> Child:
    call, ended = _call(session, info), ended_of(info)
    answer = answer_of(session, call) if call else None
    return Child(
        session=info.session, call=info.parent_call, made=call.made.seq if call else info.parent_seq,
        outcome=ended.outcome if ended else None, events=info.head, answered=answer.seq if answer else 0,
    )  # fmt: skip


def _call(session: Session, info: SessionInfo) -> Call | None:
    """The call that started a sub-agent. Of an imported one that nobody opened yet only the id is known: None where
    calls under several keys have it."""
    if place := info.meta.get(TAKEN) or (str(info.parent_seq) if info.parent_seq else ""):
        return call_at(session, info.parent_call, place)
    with suppress(NotFound):
        newest = call_of(session, info.parent_call)
        return newest if is_only(session, newest) else None
    return None
