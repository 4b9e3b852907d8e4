"""Where a list of messages goes on in a session that agents share: others' events stand between those of its scope.
Knows nothing of chains, of what is new in the list, and of wires.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.events import Event
from foldmark.log import UNCHAINED, holds_call, overlap
from foldmark.store import Key, Match, Store
from foldmark.written import Read

LOOKED_BACK = 100
"""Events among which the newest of the chain is looked for."""


class Place(msgspec.Struct, frozen=True):
    """Where a list is in a log: behind `skipped` messages of ours, `count` events are there, the last at `seq`."""

    session: str
    seq: int = 0
    count: int = 0
    skipped: int = 0
    in_scope: bool = False
    """The events are counted among those that the scope sees: others stand between them."""

    def is_beaten_by(self, found: Match) -> bool:
        """Whether a chained match says more; as much is enough where it is of the same session."""
        return found.count > self.count or (found.count == self.count and found.session == self.session)


def chained(events: Sequence[Event]) -> list[Event]:
    """Those of the events that are compared."""
    return [event for event in events if event.role not in UNCHAINED]


def newest_chained(store: Store, key: Key, upto: int) -> Event | None:
    """The newest event up to seq `upto` that is compared, of those that the scope sees; looked for among a hundred."""
    newest = chained(store.log(key, max(1, upto - LOOKED_BACK + 1), upto)) if upto else []
    return newest[-1] if newest else None


def shown(store: Store, key: Key, found: Match | None, *, after: int = 0) -> Match | None:
    """A match of the whole log, when the scope sees every event of it: the same words of somebody else are not those of
    the list. `after` is the seq behind which all of them stand, where that is known."""
    if found is None or key.sees == "all":
        return found
    whole = msgspec.structs.replace(key, session=found.session, scope="", sees="all")
    events = chained(store.log(whole, after + 1, found.seq))
    return found if all(map(key.shows, events[-found.count :])) else None


def alike_behind(store: Store, key: Key, line: Sequence[Read], boundary: int) -> Place:
    """As far as the list and what the scope sees behind a boundary are alike."""
    count, seq = 0, boundary
    for read, event in zip(line, chained(store.log(key, boundary + 1)), strict=False):
        if read.plain != event.plain:
            break
        count, seq = count + 1, event.seq
    return Place(key.session, seq, count, in_scope=True)


def found_in_scope(store: Store, key: Key, root: str, line: Sequence[Read]) -> Place:
    """Where a list is in what its scope sees of the session, or else of its forks."""
    best = _shared(store, key, line)
    if key.sees == "all" or best.count == len(line) or not chained(store.log(key, best.seq + 1)):
        return best
    for name in _family(store, key, root):
        other = _shared(store, msgspec.structs.replace(key, session=name), line)
        best = other if other.count > best.count else best
    return best


def _shared(store: Store, key: Key, line: Sequence[Read]) -> Place:
    """As far as the list and the scope's log are alike from their beginning, message by message, or the longest head of
    the list that ends that log."""
    seen = chained(store.log(key)) if key.sees != "all" else []
    plains = [event.plain for event in seen]
    count = next((at for at, (read, plain) in enumerate(zip(line, plains, strict=False)) if read.plain != plain), None)
    count = min(len(line), len(plains)) if count is None else count
    best = Place(key.session, seen[count - 1].seq, count, in_scope=True) if count else Place(key.session)
    front = next((at for at, read in enumerate(line) if not read.is_front), len(line))
    for skipped in {0, front} if count < len(plains) else ():
        ends = overlap([read.plain for read in line[skipped:]], plains)
        if ends > best.count and (ends > 1 or holds_call(seen[-1])):
            best = Place(key.session, seen[-1].seq, ends, skipped, in_scope=True)
    return best


def _family(store: Store, key: Key, root: str) -> list[str]:
    """The forks of a session and of `root`, and theirs, the newest update first; `root` too."""
    forks = [info for info in store.sessions(key.tenant, key.user) if info.kind == "fork" and not info.damaged]
    names, more = set[str](), {root or key.session, key.session}
    while more:
        names |= more
        more = {info.session for info in forks if info.parent in names} - names
    return [name for name in (*(info.session for info in forks), root) if name in names and name != key.session]


def keyed(key: Key, event: Event) -> Event:
    """A message carries no key. In a scope that does not see everything it would be lost to whoever said it."""
    return event if event.key or key.sees == "all" else msgspec.structs.replace(event, scope=key.scope)
