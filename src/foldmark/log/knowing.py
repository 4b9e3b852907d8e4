"""What a scope is and what it knows: its place among the scopes of a session, the newest of its facts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foldmark.checkpoint import OPEN, Fact
from foldmark.store import Key

Viewpoint = tuple[str, str]  # (scope, sees): what makes two scopes of a session the same

WHOLE: Viewpoint = ("", "all")
"""Where the scope stands that sees the whole session."""


class State(dict[tuple[str, str], Fact]):
    """The newest fact per (kind, key), and by kind the keys that there are and those that are open: who reads the next
    event asks for these every time, however long the session is. Facts are set, never taken out."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, dict[str, int]] = {}
        self._open: dict[str, dict[str, None]] = {}

    def __setitem__(self, name: tuple[str, str], fact: Fact) -> None:
        super().__setitem__(name, fact)
        kind, key = name
        places, opened = self._places.setdefault(kind, {}), self._open.setdefault(kind, {})
        places.setdefault(key, len(places))
        if fact.status in OPEN:
            opened[key] = None
        else:
            opened.pop(key, None)

    def keys_of(self, kind: str) -> list[str]:
        """The keys of a kind, in the order in which they first came. A copy: another thread may record meanwhile."""
        return list(self._places.get(kind, ()))

    def open_keys(self, kind: str, others: Iterable[str] = ()) -> list[str]:
        """Those of them whose newest fact is active or open, and of `others` those that are there, in that order."""
        places = self._places.get(kind, {})
        keys = {*self._open.get(kind, {}).copy(), *(key for key in others if key in places)}
        return sorted(keys, key=places.__getitem__)


def viewpoint_of(key: Key) -> Viewpoint:
    return WHOLE if key.is_whole else (key.scope, key.sees)


def learn(state: State, fact: Fact) -> None:
    """Newest wins: the higher seq, among equals the one that came later."""
    name = (fact.kind, fact.key)
    if (known := state.get(name)) is None or known.seq <= fact.seq:
        state[name] = fact


def newest(facts: Iterable[Fact]) -> State:
    state = State()
    for fact in facts:
        learn(state, fact)
    return state


def pinned(state: Mapping[tuple[str, str], Fact]) -> frozenset[int]:
    """Seqs that are pinned: those a pin names in its refs, else the one in its key."""
    seqs: set[int] = set()
    for fact in state.values():
        if fact.kind == "pin" and fact.status != "gone":
            seqs.update(fact.refs or ((int(fact.key),) if fact.key.isdigit() else ()))
    return frozenset(seqs)
