"""Which scopes an append makes dirty: the rule that all stores share. Pure: knows nothing of tables, leases or time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foldmark.events import Event
from foldmark.log import WHOLE, Log, viewpoint_of
from foldmark.store import Key, Raising

BY_HAND = -1.0
"""`not_before` of work that somebody asked for by hand: to be claimed at once, whatever is appended meanwhile."""


def ends(log: Log, events: Iterable[Event], raising: Raising) -> list[Event]:
    """The events after which work is due. A turn ends where a step ends with words of the assistant."""
    if raising.after == "nothing":
        return []
    turns = raising.after == "turns"
    return [event for event in events if log.ends_step(event) and (event.role == "assistant" or not turns)]


def touched(
    scopes: Iterable[Key], events: Sequence[Event], due: Sequence[Event], raising: Raising
) -> list[tuple[Key, int]]:
    """The scopes that an append touches, of those that exist: each with the last of the `due` events that it sees. With
    0 its work, if there is any, only rests on: it sees something, but the end of nothing."""
    out: list[tuple[Key, int]] = []
    for key in scopes:
        if not raising.allows(key):
            continue
        wanted = max((event.seq for event in due if key.shows(event)), default=0)
        if wanted or (raising.not_before and any(key.shows(event) for event in events)):
            out.append((key, wanted))
    return out


def enlists(log: Log, key: Key, raising: Raising) -> bool:
    """Whether an append makes the scope exist that appends; the new events are in the log. Whoever writes down what
    other agents say, under their keys, asks for no context of the whole session by that."""
    return raising.enlist and (viewpoint_of(key) != WHOLE or not log.has_keys)


def makes_whole_session(events: Sequence[Event], raising: Raising) -> bool:
    """Whether an append makes the scope exist that sees the whole session."""
    return raising.whole_session is True and raising.after != "nothing" and bool(events)
