"""Where a search looks: in which sessions, how far, and where only as the scope sees. The one rule of all stores.

Pure: knows nothing of how a place keeps sessions and pieces. Sessions are named here by whatever a store names them by.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from foldmark.seeking import Sought
from foldmark.store.belonging import Calls, belongs
from foldmark.store.events import ENDLESS
from foldmark.store.keys import Key

S = TypeVar("S", bound=Hashable)
Span = tuple[int, int]
"""Seqs behind the first, up to the last."""
EVERYTHING: Span = (0, ENDLESS)


class Child(NamedTuple, Generic[S]):
    """A session that a call started, `at` a seq of its parent (0: not known)."""

    session: S
    call: str
    at: int


class Kin(Protocol[S]):
    """The sessions round the one that asks."""

    @property
    def lineage(self) -> Sequence[tuple[S, int]]:
        """Those it inherits from, the oldest first, and at last itself, each with the last seq that counts."""

    def family(self) -> Iterable[S]:
        """All that were forked from the same one as it, and that: scopes mean the same in them."""

    def children(self, session: S) -> Iterable[Child[S]]:
        """Those that calls of a session itself started."""

    def calls(self, session: S) -> Calls:
        """Those of the lineage of one of the family."""

    def below(self, session: S) -> Iterable[S]:
        """All that hangs on a session, at whatever depth."""


class Ground(NamedTuple, Generic[S]):
    """What a search looks through: spans of sessions, and with `others` every session of the user besides that is not
    `apart`. In the lineage, and in those that are `scoped`, only what the scope sees is searched."""

    spans: Mapping[S, Span]
    others: bool = False
    apart: frozenset[S] = frozenset()
    scoped: frozenset[S] = frozenset()


def ground(key: Key, calls: Calls, kin: Kin[S], sought: Sought) -> Ground[S]:
    """Where a search of the key looks. `calls` are those of the lineage: needed for a fork's children, and for scopes
    that do not see all.

    Other sessions are searched whole, but what was forked from the same session is seen as the scope sees it, and what
    calls started there only where the scope sees the call.
    """
    lineage = {session: (0, last) for session, last in kin.lineage}
    if sought.where == "session":
        return Ground(lineage)
    if sought.where == "covered":
        return Ground({session: (0, min(last, sought.upto)) for session, (_, last) in lineage.items()})
    if sought.where == "children":
        below = [each for child in _started(key, calls, kin) for each in (child, *kin.below(child))]
        return Ground(lineage | dict.fromkeys(below, EVERYTHING))
    family = list(kin.family()) if key.sees != "all" else []
    spans = dict.fromkeys(family, EVERYTHING)
    *inherited, (own, _) = kin.lineage
    spans |= {session: (last, EVERYTHING[1]) for session, last in inherited}
    spans.pop(own, None)
    if sought.where == "user":
        spans |= dict.fromkeys(lineage, EVERYTHING)
    apart = frozenset(_unseen(family, key, calls, kin))
    return Ground(spans, others=True, apart=apart, scoped=frozenset(family) & spans.keys())


def _started(key: Key, calls: Calls, kin: Kin[S]) -> Iterator[S]:
    """The sessions that calls of the lineage started, as far as the key sees the calls."""
    own = kin.lineage[-1][0]
    if key.sees == "all" and len(kin.lineage) == 1:  # they all belong to it, and no call has to be looked up
        yield from (child.session for child in kin.children(own))
        return
    for session, last in kin.lineage:
        for child in kin.children(session):
            if belongs(key, calls, call=child.call, at=child.at, last=last, own=session == own):
                yield child.session


def _unseen(family: Sequence[S], key: Key, calls: Calls, kin: Kin[S]) -> Iterator[S]:
    """What calls of the family started that the scope does not see, or of which nobody knows, and all that hangs below.
    What the lineage gives no way to, the scope may still see where it was started."""
    seen = set(_started(key, calls, kin)) if family else set()
    own = kin.lineage[-1][0]
    for session in family:
        theirs = calls if session == own else kin.calls(session)
        for one in kin.children(session):
            if one.session in seen or belongs(key, theirs, call=one.call, at=one.at, last=EVERYTHING[1], own=False):
                continue
            yield one.session
            yield from kin.below(one.session)
