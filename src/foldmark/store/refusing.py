"""What every store refuses, in the same words. Pure: knows nothing of rows and transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.checkpoint import Fact, Unit
from foldmark.errors import HasForks, HeadMoved, NotFound
from foldmark.events import Event
from foldmark.seeking import Piece


def no_session(name: str) -> NotFound:
    return NotFound(name, f"There is no session {name!r}. `foldmark sessions` lists those there are.")


def no_event(name: str, session: str, head: int) -> NotFound:
    first, _, last = name.partition("-")
    turned = f" A range goes up: event:{last}-{first}." if first.isdecimal() and last.isdecimal() else ""
    return NotFound(f"event:{name}", f"Session {session!r} has no event {name!r}; it ends at {head}.{turned}")


def replaced(session: str) -> NotFound:
    """The session was deleted, and its name given to another one."""
    return NotFound(session, f"Session {session!r} is another one by now; nothing was written into it.")


def may_hang(parent: str, seq: int, head: int) -> None:
    """Whether a session may hang on that seq of its parent, which ends at `head`; 0 is before the first event. Raises
    NotFound."""
    if not 0 <= seq <= head:
        raise no_event(str(seq), parent, head)


def may_come(
    head: int, events: Sequence[Event], units: Sequence[Unit], facts: Sequence[Fact], pieces: Sequence[Piece]
) -> None:
    """Whether one append may be written behind `head`: asked before anything is. Its events go on from there, its
    pieces are of them, its units of the log up to them. Raises ValueError."""
    for after, event in enumerate(events, head):
        if event.seq != after + 1:
            raise ValueError(f"event {event.seq} cannot follow {after}")
    end = head + len(events)
    for piece in pieces:
        if not head < piece.seq <= end:
            raise ValueError(f"a piece of event {piece.seq} cannot come with events behind {head} up to {end}")
    for unit in units:
        if not 0 < unit.seq <= end:
            raise ValueError(f"a unit of event {unit.seq} cannot come with a log up to {end}")
    for fact in facts:
        if not isinstance(fact, Fact):
            raise ValueError(f"{fact!r} is no fact")


def may_go(session: str, kinds: Mapping[str, str], *, descendants: bool) -> None:
    """Whether a session may be erased with all that hangs on it: `kinds` are the kinds of that by name. Raises
    HasForks: what calls started goes with it, forks only where somebody says so."""
    forks = tuple(name for name, kind in kinds.items() if kind == "fork")
    if forks and not descendants:
        raise HasForks(session, forks)


def still_there(session: str, ends: Mapping[str, int], heads: Mapping[str, int] | None) -> None:
    """Whether what goes with a session is what somebody looked at: `ends` are the heads of all that goes. Raises
    HasForks for one that is not in `heads`, HeadMoved for one that went on since. None: nobody looked."""
    if heads is None:
        return
    if others := tuple(name for name in ends if name not in heads):
        raise HasForks(session, others)
    for name, head in ends.items():
        if heads[name] != head:
            raise HeadMoved(name, heads[name], head)
