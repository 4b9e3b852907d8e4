"""Finds the call that starts a sub-agent and the event that answers it, as a scope sees them. Knows nothing of the
sessions of sub-agents and of what a report says.

The same id may come again, in one scope or in several that do not see each other. So a call is told by its place, and
its report by an id that names this place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from foldmark.errors import NotFound
from foldmark.events import Event, ToolCall
from foldmark.session import Session
from foldmark.store import OpenCall, sees

REPORT = "report:"
"""How the id of a recorded report begins; the name of the call's sub-agent follows."""
LOOKED_BACK = 256
"""So many events are looked through first for a call that is not the newest with its id; then four times as many."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call that starts a sub-agent: where it was `made`, the `holder` (the session whose event it is; a fork inherits
    it) and the `name` of the sub-agent's session."""

    made: OpenCall
    holder: str
    name: str

    @property
    def place(self) -> str:
        """Where it stands in the log of its holder."""
        return self.name.removeprefix(f"{self.holder}/")

    @property
    def report_id(self) -> str:
        """The id of the event that is its report."""
        return f"{REPORT}{self.name}"


def call_of(session: Session, call: ToolCall | str) -> Call:
    """The call of that id: the newest that the scope of the session sees, where ids come again. Raises NotFound for one
    that the session has not, and for one that its scope does not see."""
    call_id, key = (call if isinstance(call, str) else call.id), session.key
    newest = session.store.context(key, ()).calls.get(call_id)
    if newest is None:
        said = f"Session {key.session!r} has no call {call_id!r}: record the step that makes it first."
        raise NotFound(call_id, said)
    if sees(key.scope, newest.key, key.sees):
        event: Event | None = session.store.event(key, str(newest.seq))
    else:
        event = _seen_before(session, call_id, newest.seq)
    if event is None:
        said = f"The call {call_id!r} was made under {newest.key!r}, which {key.scope!r} does not see."
        raise NotFound(call_id, said)
    return _call(event, next(one for one in event.calls if one.id == call_id))


def call_at(session: Session, call_id: str, place: str) -> Call | None:
    """The call of that id that stands at a place of the log (`Call.place`); None where the session is not shown it."""
    try:
        event = session.store.event(session.key, place.partition(".")[0])
    except NotFound:
        return None
    made = next((one for one in event.calls if one.id == call_id), None)
    return _call(event, made) if made else None


def _call(event: Event, made: ToolCall) -> Call:
    name = _name(event, made.id)
    return Call(made=OpenCall(event.seq, made, key=event.key), holder=event.session, name=name)


def answer_of(session: Session, call: Call) -> Event | None:
    """The event that answers the call, None while the scope of the session sees none: its report, else the first
    result that was recorded for it by hand."""
    key, made, call_id = session.key, call.made, call.made.call.id
    with suppress(NotFound):
        event = session.store.event(key, call.report_id)
        if key.shows(event) and event.result and event.result.call_id == call_id:
            return event
    newest = session.store.context(key, ()).calls.get(call_id)
    if newest and newest.seq == made.seq and not newest.answered:
        return None
    last = newest.answered if newest and newest.seq == made.seq else None  # the first answer is no later than the last
    found = _answers(session, call_id, session.store.log(key, made.seq, last)).get(call.name)
    if found is None and last:
        found = _answers(session, call_id, session.store.log(key, made.seq)).get(call.name)
    if found is None or found.key == made.key:
        return found
    return _answers(session, call_id, session.store.log(key)).get(call.name)  # an earlier call may have waited for it


def is_only(session: Session, call: Call) -> bool:
    """Whether the id is used under the key of this call alone: no call under another key, seen or not, has it."""
    return session.store.context(session.key, ()).calls.of(call.made.call.id).keys() == {call.made.key}


def _name(event: Event, call_id: str) -> str:
    """The name of the sub-agent for a call of an event, by its place; empty when the event does not make it."""
    number = next((at for at, call in enumerate(event.calls, 1) if call.id == call_id), 0)
    return f"{event.session}/{event.seq}{f'.{number}' if number > 1 else ''}" if number else ""


def _seen_before(session: Session, call_id: str, seq: int) -> Event | None:
    """The newest event in front of a seq that makes the call, of those that the scope sees."""
    last, many = seq - 1, LOOKED_BACK
    while last > 0:
        first = max(1, last - many + 1)
        for event in reversed(session.store.log(session.key, first, last)):
            if _name(event, call_id):
                return event
        last, many = first - 1, many * 4
    return None


def _answers(session: Session, call_id: str, events: Iterable[Event]) -> dict[str, Event]:
    """The first answer of every call with this id, by the name of its sub-agent."""
    waiting: dict[str, str] = {}
    out: dict[str, Event] = {}
    for event in events:
        if name := _name(event, call_id):
            waiting[name] = event.key
        if event.result and event.result.call_id == call_id:
            name = _reported(session, call_id, event) or _nearest(waiting, event.key)
            waiting.pop(name, None)
            out.setdefault(name, event)
    return out


def _reported(session: Session, call_id: str, event: Event) -> str:
    """Which call an answer names as its own; empty for one by hand, and for one that came with a copied log."""
    name = event.id.removeprefix(REPORT) if event.id.startswith(REPORT) else ""
    seq = name.rpartition("/")[2].partition(".")[0]
    if seq.isdigit():
        with suppress(NotFound):
            return name if _name(session.store.event(session.key, seq), call_id) == name else ""
    return ""


def _nearest(waiting: Mapping[str, str], key: str) -> str:
    """The newest call that waits for an answer under this key, else under one above or below it; empty for none."""
    near = [name for name, made in waiting.items() if sees(made, key, "lineage")]
    own = [name for name in near if waiting[name] == key]
    return (own or near or [""])[-1]
