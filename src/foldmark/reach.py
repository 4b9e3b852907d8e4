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
from foldmark.store import Key, SessionInfo, Store, sees


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
    infos = {info.session: info for info in store.sessions(key.tenant, key.user)}
    within(reach)  # refuses a word that is none
    if reach == "session" or session not in infos:
        return None
    whole = msgspec.structs.replace(key, session=session, scope="", sees="all")
    if (child := _top(session, infos, _lineage(key.session, infos))) and is_seen(store, key, child, infos):
        return whole
    if reach != "user":
        return None
    if key.sees == "all":
        return whole
    kin = {name for name in infos if _root(name, infos) == _root(key.session, infos)}
    if session in kin:
        return msgspec.structs.replace(key, session=session)
    if (child := _top(session, infos, kin)) is None:
        return whole
    return whole if is_seen(store, msgspec.structs.replace(key, session=child.parent), child, infos) else None


def _top(session: str, infos: Mapping[str, SessionInfo], among: Container[str]) -> SessionInfo | None:
    """The sub-agent's session, started by a call in one of these sessions, that a session is or hangs below at whatever
    depth; None when it is none."""
    seen: set[str] = set()
    while session not in seen and (info := infos.get(session)):
        seen.add(session)
        if info.parent in among:
            return info if info.kind == "child" else None
        session = info.parent
    return None


def is_seen(store: Store, key: Key, child: SessionInfo, infos: Mapping[str, SessionInfo]) -> bool:
    """Whether a sub-agent's session hangs on what the key sees, as stores decide it for a search (`log.started`): on a
    call of its lineage that it sees, where only the id is known on the newest of that id; one of no known call on its
    parent itself, seen as a whole. `infos` are the user's sessions by name."""
    at = child.parent_seq
    if at > _lineage(key.session, infos).get(child.parent, -1):
        return False
    if at:
        with suppress(NotFound):  # a hook withholds it
            return key.shows(store.event(key, str(at)))
        return False
    made = store.context(key, ()).calls.get(child.parent_call)
    return sees(key.scope, made.key, key.sees) if made else key.sees == "all" and child.parent == key.session


def _lineage(session: str, infos: Mapping[str, SessionInfo]) -> dict[str, float]:
    """The session and those it was forked from, up to the first that is no fork, each with the last seq of it that
    counts."""
    out: dict[str, float] = {}
    last = inf
    while session not in out and (info := infos.get(session)):
        out[session] = last
        if info.kind == "fork":
            session, last = info.parent, min(last, info.parent_seq)
    return out


def _root(session: str, infos: Mapping[str, SessionInfo]) -> str:
    """The session at the beginning of a family of forks."""
    seen: set[str] = set()
    while session not in seen and (info := infos.get(session)) and info.kind == "fork":
        seen.add(session)
        session = info.parent
    return session
