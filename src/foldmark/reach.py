"""How far a ref may lead: which sessions somebody who looks from one session may open. Knows nothing of refs' spelling.

A person opens whatever a ref names inside the tenant and user. A model is given a reach by its application, and no text
that it reads can widen that: what it may not open looks like what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from foldmark.errors import PolicyError
from foldmark.events import Event
from foldmark.seeking import WHERE, Where
from foldmark.store import Key, SessionInfo, Store


def within(reach: Where) -> tuple[Where, ...]:
    """The places of a search that a reach allows, the narrowest first. Raises PolicyError for a word that is none."""
    if reach not in WHERE:
        raise PolicyError(f"A reach is one of {', '.join(WHERE)}, not {reach!r}.")
    return tuple(WHERE[: WHERE.index(reach) + 1])


def reached(store: Store, key: Key, session: str, reach: Where) -> Key | None:
    """The key under which a session may be opened, None when it may not.

    The session itself is seen as its scope sees it, a sub-agent's as a whole when the scope sees the call that started
    it, any other session of the user as a whole. But one that shares events with it (its forks, or what it was forked
    from) is seen as the scope sees, with what calls there started that the scope sees.
    """
    if session == key.session:
        return key
    infos = {info.session: info for info in store.sessions(key.tenant, key.user)}
    if "children" not in within(reach) or session not in infos:
        return None
    whole = msgspec.structs.replace(key, session=session, scope="", sees="all")
    if (child := _top(session, infos, _ancestors(key.session, infos))) and _is_seen(store, key, child):
        return whole
    if "others" not in within(reach):
        return None
    if key.sees == "all":
        return whole
    kin = {name for name in infos if _root(name, infos) == _root(key.session, infos)}
    if session in kin:
        return msgspec.structs.replace(key, session=session)
    if (child := _top(session, infos, kin)) is None:
        return whole
    return whole if _is_seen(store, msgspec.structs.replace(key, session=child.parent), child) else None


def _top(session: str, infos: Mapping[str, SessionInfo], among: set[str]) -> SessionInfo | None:
    """The sub-agent's session, started by a call in one of these sessions, that a session is or hangs below at whatever
    depth; None when it is none."""
    seen: set[str] = set()
    while session not in seen and (info := infos.get(session)):
        seen.add(session)
        if info.parent in among:
            return info if info.kind == "child" else None
        session = info.parent
    return None


def _is_seen(store: Store, key: Key, child: SessionInfo) -> bool:
    """Whether the key sees the call of a child session; one of no known call belongs to the whole of its parent."""
    if any(_starts(event, child) for event in store.log(key)):
        return True
    if key.sees != "all" or child.parent != key.session:
        return False
    return child.parent_call not in store.context(key, ()).calls


def _starts(event: Event, child: SessionInfo) -> bool:
    """Whether the event makes the call of a child session: an id may come again, at another place."""
    makes = any(call.id == child.parent_call for call in event.calls)
    return makes and (not child.parent_seq or (event.session, event.seq) == (child.parent, child.parent_seq))


def _ancestors(session: str, infos: Mapping[str, SessionInfo]) -> set[str]:
    """The session and those it was forked from, up to the first that is no fork."""
    out: set[str] = set()
    while session not in out and (info := infos.get(session)):
        out.add(session)
        session = info.parent if info.kind == "fork" else session
    return out


def _root(session: str, infos: Mapping[str, SessionInfo]) -> str:
    """The session at the beginning of a family of forks."""
    seen: set[str] = set()
    while session not in seen and (info := infos.get(session)) and info.kind == "fork":
        seen.add(session)
        session = info.parent
    return session
