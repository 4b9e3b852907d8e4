"""Recognises a re-sent message list: what of it is known, what is new, where it forks. Knows nothing of wires.

Callers who own the message list send everything again each turn. Nothing is guessed: chained fingerprints decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.events import CONTINUES, Event, fingerprint, linked, named
from foldmark.log import UNCHAINED, holds_call
from foldmark.originals import whole
from foldmark.sharing import Place, alike_behind, chained, found_in_scope, keyed, newest_chained, shown
from foldmark.store import HeldBack, Key, Match, Store
from foldmark.tokens import event_tokens
from foldmark.written import Read, heads_of, restored

TELLING = 200
"""Tokens of messages that tell a past by themselves. Greetings and short questions are the same in many talks, and a
past that is taken for another's shows its words to a stranger; a paragraph of someone's own hardly comes twice."""


class Followed(msgspec.Struct, frozen=True):
    """What a list turned out to be: in `session` (a fork when `forked_at` is a seq), with `new` events to record
    and `known` messages that were there already. `forked_at` is None when the list simply goes on.

    `last_seq` is where an older copy ends (else the end of the log), `head` the end of the log that all of this was
    seen in, `seqs` the seq of every offered event, 0 for new ones, for our own messages and for what a hook kept out;
    `held_back` are those of the new ones that it kept out now, `held_before` counts those that it kept out when the
    list came before: they are not in the log, and it was not asked again."""

    session: str
    new: tuple[Event, ...]
    known: int
    forked_at: int | None = None
    last_seq: int = 0
    head: int = 0
    seqs: tuple[int, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    held_before: int = 0


def follow(
    store: Store, key: Key, offered: Sequence[Event], *, root: str = "", retry: bool = True, told: bool = False,
    artifacts: Artifacts | None = None,
) -> Followed:  # fmt: skip
    """Find where a list of events goes on. `root` is the session whose forks are looked through beside `key`'s own.

    In order: the longest chained match in the session and its forks; else the longest head of the list that ends
    a log (the caller trimmed its front); else a fork at the longest prefix. When the whole list matches and the
    log goes on behind it (a retry), it forks there. Messages that we wrote ourselves are recognised and skipped;
    should what they stand for be new in a fork, the recorded originals come in, with bodies from `artifacts`.
    `told` says that a checkpoint of ours stood beside the list, in its system text. Control records take no part in
    the chain: those that are new come in, wherever they stand.

    Where agents share a session, the list is the log of one scope: others' events stand between its own. There it is
    compared with what the scope sees too, and what is new in it and has no key gets the scope's.
    """
    offered = [named(event) for event in offered]
    known = store.written(key, [event.plain for event in offered])
    reads = [Read(at, event.plain, event) for at, event in enumerate(offered)]
    line = [read for read in reads if read.event.role not in UNCHAINED]
    if not _goes_on(store, key, root, line, known):
        known = {**known, **store.written(key, heads_of(offered))}
        reads = restored(offered, known, partial(_left_out, store, key, root))
        line = [read for read in reads if read.event.role not in UNCHAINED]
    first = next((event for event in offered if event.role not in UNCHAINED), None)
    begins = first.plain if first else ""
    place, head = _settled(
        store, key, root, line, told=told or known.get(begins) == "", is_front=known.get(begins) == begins
    )
    there = msgspec.structs.replace(key, session=place.session)
    behind = chained(store.log(there, place.seq + 1, head))
    reads, line, grew = _grown(reads, line, place, behind)
    is_fork = bool(line and behind) and not grew and (retry or place.skipped + place.count < len(line))
    whole = msgspec.structs.replace(there, scope="", sees="all")
    log = store.log(whole, 1, place.seq if is_fork else max(head, place.seq))
    found = _seqs(reads, line, place, [event for event in log if not place.in_scope or key.shows(event)])
    new = [read for read, seq in zip(reads, found, strict=True) if seq is None]
    seqs = [0] * len(offered)
    for read, seq in zip(reads, found, strict=True):
        seqs[read.at] = seq or 0
    return Followed(
        place.session,
        tuple(keyed(key, event) for event in _originals(store, key, place.session, root, new, artifacts)),
        len(reads) - len(new),
        forked_at=place.seq if is_fork else None,
        last_seq=place.seq if behind else max(head, place.seq),
        head=place.seq if is_fork else head,
        seqs=tuple(seqs),
    )


def _grown(
    reads: list[Read], line: list[Read], place: Place, behind: Sequence[Event]
) -> tuple[list[Read], list[Read], bool]:
    """A transcript that was read while an assistant step was still being written: the step at the end of the log is
    the beginning of the one that is offered now. Its rest comes in as an event of its own that continues the step."""
    at = place.skipped + place.count
    is_step = bool(behind) and behind[0].role == "assistant" and all(CONTINUES in event.meta for event in behind[1:])
    if not is_step or at >= len(line):
        return reads, line, False
    short, read = behind[0], line[at]
    count = sum(len(event.parts) for event in behind)
    head = msgspec.structs.replace(read.event, parts=read.event.parts[:count], plain="")
    if read.is_ours or len(read.event.parts) <= count or fingerprint(head) != behind[-1].plain:
        return reads, line, False
    rest = msgspec.structs.replace(
        read.event,
        parts=read.event.parts[count:],
        plain=read.plain,
        meta={**read.event.meta, CONTINUES: str(short.seq)},
    )
    new = msgspec.structs.replace(read, event=rest)
    return [new if one is read else one for one in reads], [new if one is read else one for one in line], True


def _settled(
    store: Store, key: Key, root: str, line: Sequence[Read], *, told: bool, is_front: bool
) -> tuple[Place, int]:
    """The place and the head of its log, read before the log was looked at: whatever another writer appends in between
    makes an append at that head fail, and nobody can take it for an edit."""
    session = key.session
    while True:
        head = store.open(msgspec.structs.replace(key, session=session)).head
        place = _find(store, key, root, line, told=told, is_front=is_front)
        if place.session == session:
            return place, head
        session = place.session


def _goes_on(store: Store, key: Key, root: str, line: Sequence[Read], known: Mapping[str, str]) -> bool:
    """Whether the list, as it came, goes on from the end of a log. Then it is the caller's own: what it says again is
    said again, whatever an earlier message of ours stood for."""
    if not line:
        return False
    place, found = found_in_scope(store, key, root, line), _longest(store, key, root, _links(line))
    if found and place.is_beaten_by(found):
        place = Place(found.session, found.seq, found.count)
    if not place.count or place.skipped or any(known.get(read.plain) == "" for read in line[place.count :]):
        return False
    there = msgspec.structs.replace(key, session=place.session)
    return not chained(store.log(there, place.seq + 1))


def _left_out(store: Store, key: Key, root: str, place: str) -> list[Event]:
    """The events that we left out of a request, in front of the one whose chain the place holds; none where that is no
    event of these sessions any more."""
    first, _, chain = place.partition("<")
    found = _longest(store, key, root, [chain])
    if found is None:
        return []
    events = chained(store.log(msgspec.structs.replace(key, session=found.session), int(first), found.seq))
    return _whole_steps(events)[:-1]


def _whole_steps(events: Sequence[Event]) -> list[Event]:
    """The events without beginnings of steps: the rest of one stands for the whole step."""
    return [one for one, after in pairwise(events) if CONTINUES not in after.meta] + list(events[-1:])


def _links(line: Sequence[Read], after: str = "") -> list[str]:
    """The chains of a line behind the chain `after`."""
    links: list[str] = []
    for read in line:
        links.append(linked(links[-1] if links else after, read.plain))
    return links


def _find(store: Store, key: Key, root: str, line: Sequence[Read], *, told: bool, is_front: bool) -> Place:
    """The longest chained match, or a longer part of the list that ends a log. One message is enough for that where
    the list begins with a checkpoint of ours (`told`) or a message that we put in front of the tail (`is_front`): a
    checkpoint may leave one long answer behind it."""
    if not line:
        return Place(key.session)
    best = found_in_scope(store, key, root, line)
    if (found := _longest(store, key, root, _links(line))) and best.is_beaten_by(found):
        best = Place(found.session, found.seq, found.count)
        there = msgspec.structs.replace(key, session=found.session)
        if found.count == len(line) or not chained(store.log(there, found.seq + 1)):
            return best
    front = next((at for at, read in enumerate(line) if not read.is_front), len(line))
    for skipped in {0, front}:
        tail = store.ends(key, [read.plain for read in line[skipped:]]) if skipped < len(line) else None
        tail = shown(store, key, tail)
        if tail and tail.count > best.count:
            best = Place(tail.session, tail.seq, tail.count, skipped)
    if (told or is_front) and best.count <= front < len(line):
        end = newest_chained(store, key, store.open(key).head)
        if end and end.plain == line[front].plain:
            return Place(key.session, end.seq, 1, front)
    return best if best.count else _behind_a_checkpoint(store, key, line, front, told=told)


def _behind_a_checkpoint(store: Store, key: Key, line: Sequence[Read], front: int, *, told: bool) -> Place:
    """Where a list begins behind a boundary and then takes another turn: what is covered stays the past of its fork.

    One message of the tail tells it behind a checkpoint of ours, or with one in it; else two, which say enough for that
    (`_is_telling`). A checkpoint in front of nothing that is known tells the newest boundary."""
    checkpoints = store.checkpoints(key)
    best = Place(key.session)
    if checkpoints and (told or _is_telling(line[:front])):
        best = Place(key.session, checkpoints[-1].boundary, 0, front)
    if front == len(line):
        return best
    is_sure = told or _is_more_than_its_event(line, front)
    for made in reversed(checkpoints):
        covered = newest_chained(store, key, made.boundary)
        found = _matched_behind(store, key, line[front:], covered, made.boundary)
        if found and found.count > best.count and (
            is_sure or (front + found.count > 1 and _is_telling(line[: front + found.count]))
        ):  # fmt: skip
            best = msgspec.structs.replace(found, skipped=front)
    return best


def _matched_behind(store: Store, key: Key, line: Sequence[Read], covered: Event | None, boundary: int) -> Place:
    """Where the list goes on from what is covered: chained to it, in the session or a fork, or in the scope, where
    others' events stand between."""
    best = alike_behind(store, key, line, boundary) if key.sees != "all" else Place(key.session)
    match = store.match(key, _links(line, covered.chain)) if covered else None
    found = shown(store, key, match, after=covered.seq if covered else 0)
    return Place(found.session, found.seq, found.count) if found and found.count > best.count else best


def _is_more_than_its_event(line: Sequence[Read], at: int) -> bool:
    """Whether we put words of ours into a message that stands for one event (merged with the checkpoint). One that
    stands for several may be nothing but theirs, as a wire joined them."""
    return line[at].is_ours and all(read.at != line[at].at for read in (*line[:at], *line[at + 1 :]))


def _is_telling(line: Sequence[Read]) -> bool:
    """Whether messages that are known say enough to tell whose past they are: one holds a call, or they are long."""
    said = {read.at: read.event for read in line}.values()
    return any(map(holds_call, said)) or sum(map(event_tokens, said)) >= TELLING


def _longest(store: Store, key: Key, root: str, links: Sequence[str]) -> Match | None:
    """The longest match that the scope sees; the session we are in wins a tie, so that a fresh fork is not forked
    again."""
    here = shown(store, key, store.match(key, links))
    if not root or root == key.session or (here and here.count == len(links)):
        return here
    there = shown(store, key, store.match(msgspec.structs.replace(key, session=root), links))
    return max((found for found in (here, there) if found), key=lambda found: found.count, default=None)


def _seqs(reads: Sequence[Read], line: Sequence[Read], place: Place, log: Sequence[Event]) -> list[int | None]:
    """The seq of every event that is in the log, 0 for those in front that are there somewhere, None for new ones.

    A control record is known when the log holds the same one that no other record of the list stands for: one that
    stands in the known part of the list anywhere (a late one was appended at the end), a later one behind that part.
    """
    there = [event.seq for event in _whole_steps([one for one in log if one.chain and one.seq <= place.seq])]
    held: dict[str, deque[int]] = {}
    for event in log:
        if not event.chain:
            held.setdefault(event.plain, deque()).append(event.seq)
    places: list[int | None] = [0] * place.skipped
    places += there[len(there) - place.count :]
    places += [None] * (len(line) - len(places))
    out: list[int | None] = []
    at = 0
    for read in reads:
        if read.event.role not in UNCHAINED:
            out.append(places[at])
            at += 1
            continue
        free = held.get(read.plain, deque())
        while free and free[0] <= place.seq and at >= place.skipped + place.count:
            free.popleft()
        out.append(free.popleft() if free else None)
    return out


# -- what of our own words comes in again as what it stands for


def _originals(
    store: Store, key: Key, session: str, root: str, new: Sequence[Read], artifacts: Artifacts | None
) -> list[Event]:
    """New events to record; instead of a preview, an outcome line or a merged message what it stands for."""
    recorded: dict[str, Event] = {}
    if any(read.is_ours for read in new):
        for name in {root or key.session, key.session, session}:
            there = msgspec.structs.replace(key, session=name)
            recorded.update((event.plain, event) for event in store.log(there))
    out: list[Event] = []
    unknown = {read.at for read in new if read.is_ours and read.plain not in recorded}
    for at, read in enumerate(new):
        if not read.is_ours:
            out.append(read.event)
        elif read.at not in unknown:
            out.append(_again(recorded, read, artifacts or store.artifacts, key.tenant))
        elif sum(other.at == read.at for other in new) == 1:  # not of this lineage: the message as it came
            out.append(msgspec.structs.replace(read.event, plain=read.plain))
        elif not at or new[at - 1].at != read.at:
            out.append(read.event)
    return out


def _again(recorded: Mapping[str, Event], read: Read, artifacts: Artifacts, tenant: str) -> Event:
    original = whole(recorded[read.plain], artifacts, tenant, plain=True)
    return msgspec.structs.replace(original, id="", session="", seq=0, chain="", tokens=0, usage=read.event.usage)
