"""What of a list that is sent again was held back when it came before, so that the rest matches the log. Knows nothing
of hooks, and asks none.

Nobody sees at a message that it was sent before. It is taken for one that was held back only where a message behind it
is in the log: what stands behind the last known one is new to the log, and the hooks are asked about it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

import msgspec

from foldmark.events import Event, linked, named
from foldmark.hooked.entering import behind_flag, ever_flag
from foldmark.log import UNCHAINED
from foldmark.store import Key, Store


class Left(msgspec.Struct, frozen=True):
    """A message list without what hooks held back before: `places` of the events that are left (those that the hooks
    are asked about again among them), in the list of `total`."""

    events: tuple[Event, ...]
    places: tuple[int, ...]
    total: int

    @property
    def held(self) -> int:
        """How many were held back before and are left out now."""
        return self.total - len(self.places)

    def seqs(self, found: Sequence[int]) -> tuple[int, ...]:
        """The seq of every event of the list, 0 for those that were left out, given the seqs of those that are left."""
        by_place = dict(zip(self.places, found, strict=True))
        return tuple(by_place.get(at, 0) for at in range(self.total))


class _Reading(msgspec.Struct, frozen=True):
    """One way to take a list: the places of what is `held`, how far (`reach`: a place, -1 for nowhere) the rest of it
    is known, and whether that is where a log ends."""

    held: tuple[int, ...]
    reach: int
    is_end: bool


def without_held(store: Store, key: Key, offered: Sequence[Event]) -> Left:
    """The list without the events that hooks held back when it came before.

    An event is one of those when it says the same, in this session or its family, behind the same recorded message, and
    a message behind it is known; at the end of an older copy (the log goes on there) all the same. In front of the list
    nobody knows what stood before: there it is one when the rest of the list ends a log. Where the same was recorded
    behind that message too (a hook let it pass later), the list is taken in the way in which more of it is known.
    """
    events = [named(event) for event in offered]
    ever = store.written(key, list(dict.fromkeys(ever_flag(event.plain) for event in events)))
    flagged = [ever_flag(event.plain) in ever for event in events]
    if not any(flagged):
        return _left(events, ())
    known = store.written(key, [event.plain for event in events])
    says = [_stands_for(event, known) for event in events]
    best = _best(store, key, events, flagged, says)
    if best.reach < 0 and known:  # messages of ours stand in front of it: how far it is known is told later
        return _left(events, best.held)
    is_all = {*best.held}.issuperset(range(best.reach + 1, len(events)))
    if best.reach >= 0 and is_all and not best.is_end:
        return _left(events, best.held)
    return _left(events, [at for at in best.held if at < best.reach])


def _left(events: Sequence[Event], held: Collection[int]) -> Left:
    gone = {*held}
    places = tuple(at for at in range(len(events)) if at not in gone)
    return Left(tuple(events[at] for at in places), places, len(events))


def _stands_for(event: Event, known: Mapping[str, str]) -> tuple[str, ...]:
    """The fingerprints of the recorded messages that an offered one is, or was made of; none for words of ours."""
    if event.role in UNCHAINED:
        return ()
    said = known.get(event.plain, event.plain).split(",")
    return tuple(plain for plain in (one.partition("@")[0] for one in said) if plain)


def _best(
    store: Store, key: Key, events: Sequence[Event], flagged: Sequence[bool], says: Sequence[tuple[str, ...]]
) -> _Reading:
    """The reading in which most of the list is known: all that may be held is, or all but what the log has there."""
    family = _family(store, key)
    pairs = _recorded(store, key, {event.plain for event, may in zip(events, flagged, strict=True) if may})

    def read(stays: Callable[[str, str, str], bool]) -> _Reading:
        held = _walked(store, key, events, flagged, says, stays)
        return _Reading(tuple(held), *_reach(store, family, says, held))

    best = read(lambda chain, before, plain: False)
    if not pairs:
        return best
    in_line = read(
        lambda chain, before, plain: (before, plain) in pairs and bool(store.match(family, [linked(chain, plain)]))
    )
    anywhere = read(lambda chain, before, plain: (before, plain) in pairs)  # the front of the list was cut off
    return max(best, in_line, anywhere, key=lambda reading: reading.reach)


def _walked(
    store: Store, key: Key, events: Sequence[Event], flagged: Sequence[bool], says: Sequence[tuple[str, ...]],
    stays: Callable[[str, str, str], bool],
) -> list[int]:  # fmt: skip
    """The places of what was held back, without those of which `stays` (given the chain and the message before, and the
    fingerprint) says that they are recorded."""
    held: list[int] = []
    front: list[int] = []
    chain = before = ""
    is_front = True
    for at, event in enumerate(events):
        if flagged[at]:
            if store.written(key, [behind_flag(before, event.plain)]) and not stays(chain, before, event.plain):
                held.append(at)
                continue
            if is_front:
                front.append(at)
                continue
        is_front = False
        for plain in says[at]:
            chain, before = linked(chain, plain), plain
    if front:
        gone = {*held, *front}
        rest = [plain for at, said in enumerate(says) if at not in gone for plain in said]
        held = sorted(gone) if rest and store.ends(key, rest) else held
    return held


def _reach(store: Store, family: Key, says: Sequence[tuple[str, ...]], held: Sequence[int]) -> tuple[int, bool]:
    """(the place of the last message that is known when what is held is left out, -1 when none is; whether a log ends
    there)"""
    gone = set(held)
    line = [(at, plain) for at, said in enumerate(says) if at not in gone for plain in said]
    links: list[str] = []
    for _, plain in line:
        links.append(linked(links[-1] if links else "", plain))
    found = [store.match(family, links), store.ends(family, [plain for _, plain in line])] if line else []
    best = max((one for one in found if one), key=lambda one: one.count, default=None)
    if best is None:
        return -1, False
    behind = store.log(msgspec.structs.replace(family, session=best.session), best.seq + 1)
    return line[best.count - 1][0], not any(event.chain for event in behind)


def _recorded(store: Store, key: Key, plains: Collection[str]) -> set[tuple[str, str]]:
    """(the message before, the message) of those in the log of the whole session that say one of these."""
    log = store.log(msgspec.structs.replace(key, scope="", sees="all"))
    line = ["", *(event.plain for event in log if event.chain)]
    return {(before, plain) for before, plain in pairwise(line) if plain in plains}


def _family(store: Store, key: Key) -> Key:
    """The session that a fork was made of, at the bottom: matches are looked for in its forks as well."""
    info = store.open(key)
    while info.kind == "fork":
        info = store.open(msgspec.structs.replace(key, session=info.parent))
    return msgspec.structs.replace(key, session=info.session, scope="", sees="all")
