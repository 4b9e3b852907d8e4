"""Why a search found nothing, and what would find something: which limit shuts everything out, what there is in its
place, and where else there are hits. Knows nothing of how a search is asked for on the command line.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from foldmark.dates import written
from foldmark.events import Event
from foldmark.flows import search
from foldmark.kinds.base import plural
from foldmark.reach import children_seen
from foldmark.retrieval import bounded
from foldmark.seeking import ROLES, Found, Sought, Where, speaker_role
from foldmark.session import Session

_LOOKED = 2_000
"""So many of the newest pieces tell what there is."""
_MOST_HITS = 200
_MOST_NAMES = 10
_WIDER: dict[Where, tuple[Where, ...]] = {
    "covered": ("session", "children", "user"), "session": ("children", "user"), "children": ("user",),
    "others": ("user",), "user": (),
}  # fmt: skip


def nothing_found(session: Session, query: str, where: Where, limits: Mapping[str, Any]) -> list[str]:
    """Sentences, the most telling first. `limits` are those of a search by their names there (`tools`, `since`, …)."""
    here = f" in --where {where}" if where != "session" else ""
    about = f"No event{here} matches {query!r}" if query.strip() else f"No event{here} lies"
    said = [f"{about}{' within these limits' if limits else ''}."]
    said += [sentence for sentence in _shut_out(session, where, limits) if sentence]
    if limits and query.strip() and (count := _count(session, query, where, {})):
        said.append(f"Without the limits there {'is' if count == 1 else 'are'} {_hits(count)}.")
    for wider in _WIDER[where]:
        if count := _count(session, query, wider, limits):
            said.append(f"--where {wider} has {_hits(count)}.")
            break
    if len(said) == 1:
        said.append(f"Try fewer or other words, or a name as it was written.{' Or limit it less.' if limits else ''}")
    return said


def not_searched(session: Session, where: Where) -> str:
    """That a search which found something has left the sub-agents out; empty where it has not, or there are none."""
    if where not in ("session", "covered") or not (count := len(children_seen(session.store, session.key))):
        return ""
    return f"{plural(count, 'sub-agent')} of this session {_were(count)} not searched: --where children does."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _hits(count: int) -> str:
    return f"{count} hits or more" if count >= _MOST_HITS else plural(count, "hit")


def _count(session: Session, query: str, where: Where, limits: Mapping[str, Any]) -> int:
    """How many hits another search has, by words alone."""
    sought = Sought(where=where, **limits)
    return len(search(session.store, session.key, query, now=time.time(), limit=_MOST_HITS, sought=sought))


def _shut_out(session: Session, where: Where, limits: Mapping[str, Any]) -> Iterator[str]:
    """For each limit that leaves nothing by itself, that it does, and what there is."""
    says: dict[str, Callable[[Any, tuple[Found, ...]], str]] = {
        "tools": _of_tools, "roles": _of_roles, "branches": _of_branches, "files": _of_files, "since": _of_since,
        "until": _of_until,
    }  # fmt: skip
    for name, value in limits.items():
        if name in says and not _found(session, 1, Sought(where=where, **{name: value})):
            yield says[name](value, _found(session, _LOOKED, Sought(where=where, roles=ROLES)))


def _found(session: Session, limit: int, sought: Sought) -> tuple[Found, ...]:
    """The newest that a limit lets through."""
    return session.store.find(session.key, (), limit=limit, sought=bounded(session.store, session.key, sought)).found


def _of_tools(tools: tuple[str, ...], found: tuple[Found, ...]) -> str:
    return f"No event has tool {_either(tools)}; {_listed('tools', _names(found, _tools))}."


def _of_roles(roles: tuple[str, ...], found: tuple[Found, ...]) -> str:
    return f"No event has role {_either(roles)}; {_listed('roles', _names(found, lambda one: [speaker_role(one)]))}."


def _of_branches(branches: tuple[str, ...], found: tuple[Found, ...]) -> str:
    return f"No event is of branch {_either(branches)}; {_listed('branches', _names(found, lambda one: [one.key]))}."


def _of_files(files: tuple[str, ...], found: tuple[Found, ...]) -> str:
    return f"No event names {_either(files)}; a path is written whole, or with its last parts (app.py, src/app.py)."


def _of_since(since: float, found: tuple[Found, ...]) -> str:
    times = [one.time for one in found if one.time is not None]
    if not times:
        return "No event here has a date, so --since leaves none." if found else ""
    return f"--since is {when(since)}, and the newest event is of {when(max(times))}."


def _of_until(until: float, found: tuple[Found, ...]) -> str:
    if not any(one.time is not None for one in found):
        return "No event here has a date, so --until leaves none." if found else ""
    return f"--until is {when(until)}, and no event is that old."


def _tools(event: Event) -> list[str]:
    return [*(call.name for call in event.calls), *([event.result.name] if event.result else [])]


def _names(found: tuple[Found, ...], names: Callable[[Event], list[str]]) -> list[str]:
    """What there is, the most frequent first."""
    counted = Counter(name for one in found for name in names(one.event) if name)
    return sorted(counted, key=lambda name: (-counted[name], name))


def _listed(what: str, names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{what} here: {', '.join(names[:_MOST_NAMES])}{more}" if names else f"there are no {what} here"


def _either(values: tuple[str, ...]) -> str:
    return " or ".join(f"`{value[:80]}`" for value in values)


def when(moment: float) -> str:
    """A moment as people read it."""
    return written(moment, "%Y-%m-%d %H:%M UTC") or f"{moment:.0f} s"
