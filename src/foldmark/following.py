"""Recognises a re-sent message list: what of it is known, what is new, where it forks. Knows nothing of wires.

Callers who own the message list send everything again each turn. Nothing is guessed: chained fingerprints decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from foldmark.events import Event, chained, fingerprint, named
from foldmark.store import Key, Match, Store
from foldmark.written import KEPT, first_parts, restored


class Followed(msgspec.Struct, frozen=True):
    """What a list turned out to be: in `session` (a fork when `forked_at` is a seq), with `new` events to record
    and `known` messages that were there already. `forked_at` is None when the list simply goes on."""

    session: str
    new: tuple[Event, ...]
    known: int
    forked_at: int | None = None
    last_seq: int = 0


def follow(store: Store, key: Key, offered: Sequence[Event], *, root: str = "", retry: bool = True) -> Followed:
    """Find where a list of events goes on. `root` is the session whose forks are looked through beside `key`'s own.

    In order: the longest chained match in the session and its forks; else the longest head of the list that ends
    a log (the caller trimmed its front); else a fork at the longest prefix. When the whole list matches and the
    log goes on behind it (a retry), it forks there. Messages that we wrote ourselves are recognised and skipped.
    """
    offered = [named(event) for event in offered]
    known = store.written(key, [*(event.plain for event in offered), *first_parts(offered)])
    events = [named(event) for event in restored(offered, known)]
    line = [event for event in events if event.role not in ("control", "system")]
    links = [event.chain for event in chained(line)]
    found = _longest(store, key, root, links) if links else None
    if behind := _behind_kept(store, key, line, known, found):
        return Followed(behind.session, _unrecorded(store, key, behind, _after(events, line, behind.count + 1)), behind.count)
    if found and found.count:
        return _go_on(store, key, events, line, found, retry)
    tail = store.ends(key, [event.plain for event in line]) if line else None
    if tail and tail.count:
        rest = _after(events, line, tail.count)
        return Followed(tail.session, _unrecorded(store, key, tail, rest), tail.count)
    head = store.open(key).head
    if not head or not line:
        return Followed(key.session, tuple(events), 0)
    return Followed(key.session, tuple(events), 0, forked_at=0)


def _behind_kept(
    store: Store, key: Key, line: Sequence[Event], known: Mapping[str, str], found: Match | None
) -> Match | None:
    """Our request sent back in layout `system` begins with the current request that we kept in front of the tail:
    the tail behind it ends a log, while the message itself stands far before."""
    if len(line) < 3 or known.get(line[0].plain) != KEPT or (found and found.count == len(line)):
        return None
    behind = store.ends(key, [event.plain for event in line[1:]])
    return behind if behind and behind.count > (found.count if found else 0) else None


def _longest(store: Store, key: Key, root: str, links: Sequence[str]) -> Match | None:
    """The longest match; the session we are in wins a tie, so that a fresh fork is not forked again."""
    here = store.match(key, links)
    if not root or root == key.session or (here and here.count == len(links)):
        return here
    there = store.match(msgspec.structs.replace(key, session=root), links)
    return max((found for found in (here, there) if found), key=lambda found: found.count, default=None)


def _go_on(
    store: Store, key: Key, events: list[Event], line: list[Event], found: Match, retry: bool
) -> Followed:
    rest = _after(events, line, found.count)
    there = msgspec.structs.replace(key, session=found.session)
    last = [event for event in store.log(there, found.seq + 1) if event.role not in ("control", "system")]
    fresh = _unrecorded(store, key, found, rest)
    if not last or (found.count == len(line) and not retry):
        return Followed(found.session, fresh if not last else (), found.count, last_seq=found.seq)
    # The log continues past the match: something new means an edit, nothing new a retry. Both fork.
    return Followed(found.session, tuple(rest), found.count, forked_at=found.seq)


def _after(events: list[Event], line: list[Event], count: int) -> list[Event]:
    last = line[count - 1]
    at = next(at for at, event in enumerate(events) if event is last)
    return events[at + 1 :]


def _unrecorded(store: Store, key: Key, found: Match, rest: list[Event]) -> tuple[Event, ...]:
    """`rest` without the control records that already follow the match in the log."""
    there = msgspec.structs.replace(key, session=found.session)
    recorded = [fingerprint(event) for event in store.log(there, found.seq + 1)]
    skip = 0
    while skip < len(rest) and skip < len(recorded) and rest[skip].plain == recorded[skip]:
        skip += 1
    return tuple(rest[skip:])
