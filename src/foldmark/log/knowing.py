"""What a scope is and what it knows: its place among the scopes of a session, the newest of its facts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foldmark.checkpoint import Fact
from foldmark.store import Key

State = dict[tuple[str, str], Fact]
Viewpoint = tuple[str, str]  # (scope, sees): what makes two scopes of a session the same

WHOLE: Viewpoint = ("", "all")
"""Where the scope stands that sees the whole session."""


def viewpoint_of(key: Key) -> Viewpoint:
    return WHOLE if key.is_whole else (key.scope, key.sees)


def learn(state: State, fact: Fact) -> None:
    """Newest wins: the higher seq, among equals the one that came later."""
    name = (fact.kind, fact.key)
    if (known := state.get(name)) is None or known.seq <= fact.seq:
        state[name] = fact


def newest(facts: Iterable[Fact]) -> State:
    state: State = {}
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
