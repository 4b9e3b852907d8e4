"""How far a ref may lead: which sessions somebody who looks from one session may open. Knows nothing of refs' spelling.

A person opens whatever a ref names inside the tenant and user. A model is given a reach by its application, and no text
that it reads can widen that: what it may not open looks like what is not there.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from math import inf
from typing import get_args

import msgspec

from foldmark.errors import NotFound, PolicyError
from foldmark.seeking import WHERE, Reach, Where
from foldmark.store import Key, OpenCall, SessionInfo, Store
from foldmark.store.belonging import belongs


def within(reach: Reach) -> tuple[Where, ...]:
    """The places of a search that a reach allows, the narrowest first. Raises PolicyError for a word that is none."""
    if reach not in get_args(Reach):
        raise PolicyError(f"A reach is one of {', '.join(get_args(Reach))}, not {reach!r}.")
    return WHERE[: WHERE.index(reach) + 1]


def reached(store: Store, key: Key, session: str, reach: Reach) -> Key | None:
    """The key under which a session may be opened, None when it may not.

    The session itself is seen as its scope sees it, a sub-agent's as a whole when the scope sees the call that started
    it, any other session of the user as a whole. But one that shares events with it (its forks, or what it was forked
    from) is seen as the scope sees, with what calls there started that the scope sees.
    """
    if session == key.session:
        return key
    infos = Infos(store, key)
    within(reach)  # refuses a word that is none
    if reach == "session" or infos.get(session) is None:
        return None
    whole = msgspec.structs.replace(key, session=session, scope="", sees="all")
    if (child := _top(session, infos, lineage_of(key.session, infos))) and is_seen(store, key, child, infos):
        return whole
    if reach != "user":
        return None
    if key.sees == "all":
        return whole
    family = _Family(key.session, infos)
    if session in family:
        return msgspec.structs.replace(key, session=session)
    if (child := _top(session, infos, family)) is None:
        return whole
    return whole if is_seen(store, msgspec.structs.replace(key, session=child.parent), child, infos) else None


class Infos:
    """The rows of the key's user by name, each asked for once, when it is needed."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store, self._key = store, key
        self._known: dict[str, SessionInfo | None] = {}

    def get(self, session: str) -> SessionInfo | None:
        """The session's row; None when there is none."""
        if session not in self._known:
            self._known[session] = None
            with suppress(NotFound):
                self._known[session] = self._store.info(msgspec.structs.replace(self._key, session=session))
        return self._known[session]


class _Family:
    """All that was forked from the same session as this one, and it."""

    def __init__(self, session: str, infos: Infos) -> None:
        self._infos, self._root = infos, _root(session, infos)

    def __contains__(self, session: object) -> bool:
        if not isinstance(session, str) or self._infos.get(session) is None:
            return False
        return _root(session, self._infos) == self._root


class _Calls:
    """Where the calls of a session's lineage were made, as its store shows them."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store, self._key = store, key

    @property
    def calls(self) -> Mapping[str, OpenCall]:
        return self._store.context(self._key, ()).calls

    def key_at(self, seq: int) -> str | None:
        with suppress(NotFound):  # a hook withholds it
            return self._store.event(self._key, str(seq)).key
        return None


def is_seen(store: Store, key: Key, child: SessionInfo, infos: Infos) -> bool:
    """Whether a sub-agent's session hangs on what the key sees: as `belongs` decides it for every store."""
    last = lineage_of(key.session, infos).get(child.parent, -1)
    call, at, own = child.parent_call, child.parent_seq, child.parent == key.session
    return belongs(key, _Calls(store, key), call=call, at=at, last=last, own=own)


def children_seen(store: Store, key: Key) -> list[SessionInfo]:
    """The sub-agents that hang on what the key sees, those of the session itself first. Those below them are theirs."""
    infos = Infos(store, key)
    line = [msgspec.structs.replace(key, session=session) for session in lineage_of(key.session, infos)]
    return [child for one in line for child in store.children(one) if is_seen(store, key, child, infos)]


def _top(session: str, infos: Infos, among: Container[str]) -> SessionInfo | None:
    """The sub-agent's session, started by a call in one of these sessions, that a session is or hangs below at whatever
    depth; None when it is none."""
    seen: set[str] = set()
    while session not in seen and (info := infos.get(session)):
        seen.add(session)
        if info.parent in among:
            return info if info.kind == "child" else None
        session = info.parent
    return None


def lineage_of(session: str, infos: Infos) -> dict[str, float]:
    """The session and those it was forked from, up to the first that is no fork, each with the last seq of it that
    counts."""
    out: dict[str, float] = {}
    last = inf
    while session not in out and (info := infos.get(session)):
        out[session] = last
        if info.kind == "fork":
            session, last = info.parent, min(last, info.parent_seq)
    return out


def _root(session: str, infos: Infos) -> str:
    """The session at the beginning of a family of forks."""
    seen: set[str] = set()
    while session not in seen and (info := infos.get(session)) and info.kind == "fork":
        seen.add(session)
        session = info.parent
    return session
