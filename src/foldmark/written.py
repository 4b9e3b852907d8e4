"""Recognises our own messages when a caller sends them back. Knows nothing of stores.

What we write into a request (checkpoint, previews, outcome lines, markers, the state bar) must never be recorded as new
words, and what a wire merged must be taken apart again. One mechanism for all of it: each message is read back as the
wire will read it, and its fingerprint is kept with those of the events that it stands for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter

import msgspec

from foldmark.checkpoint import Checkpoint
from foldmark.drafts import Request
from foldmark.events import CONTINUES, Event, fingerprint, linked
from foldmark.log import UNCHAINED
from foldmark.readback import aligned, chunks_of, form_of, numbered_forms, opening_of, read_back, repeats_ids
from foldmark.render import closing, opening
from foldmark.warm import Recent, grows


class Read(msgspec.Struct, frozen=True):
    """An event of an offered list: `at` is the place of the message it came in, `plain` its fingerprint. `is_ours` says
    that we wrote the message: what `event` holds may be a short or merged form of what was recorded. `is_front` says
    that the message stands for itself and was put in front of the tail by us."""

    at: int
    plain: str
    event: Event
    is_ours: bool = False
    is_front: bool = False


def heads_of(offered: Iterable[Event]) -> list[str]:
    """A fingerprint of the list up to each of its messages ("" at those that are never compared). By it is known what
    was left out in front of one: the same two messages may stand side by side in many places."""
    out, head = list[str](), ""
    for event in offered:
        is_compared = event.role not in UNCHAINED
        head = linked(head, event.plain) if is_compared else head
        out.append(head if is_compared else "")
    return out


def restored(
    offered: Sequence[Event], known: Mapping[str, str], left_out: Callable[[str], Sequence[Event]] = lambda place: ()
) -> list[Read]:
    """The events that an offered list (with fingerprints) speaks of: our own messages are left out, merged ones taken
    apart, shortened ones carry the fingerprint of what they stand for, reordered ones stand as they were recorded.

    Where `known` holds the list up to a message (`heads_of`), events did not fit in front of it or inside: they come
    in between. `left_out` gives those of a place, as `ours` names it."""
    out: list[Read] = []
    run: list[tuple[int, Read]] = []  # neighbours whose order a wire changed, each with its seq
    heads = heads_of(offered)
    for at, event in enumerate(offered):
        value = known.get(event.plain)
        if gapped := known.get(heads[at]):
            found = [read for one in gapped.split(",") for read in _between(at, event, one, left_out)]
        elif value is None or value == event.plain:
            found = [(0, Read(at, event.plain, event, is_front=value is not None))]
        else:
            found = [_parsed(at, event, one) for one in value.split(",")] if value else []
            found = _once(found, event, [*out, *_in_order(run)], offered[at + 1 :])
        for seq, read in found:
            if not seq:
                out += _in_order(run)
                run.clear()
                out.append(read)
            else:
                run.append((seq, read))
    return out + _in_order(run)


def _in_order(run: Sequence[tuple[int, Read]]) -> list[Read]:
    return [read for _, read in sorted(run, key=itemgetter(0))]


def _parsed(at: int, event: Event, value: str) -> tuple[int, Read]:
    plain, _, seq = value.partition("@")
    return int(seq or 0), Read(at, plain, event, is_ours=plain != event.plain)


def _between(at: int, event: Event, value: str, left_out: Callable[[str], Sequence[Event]]) -> list[tuple[int, Read]]:
    place, is_moved, _ = value.partition("@")
    if "<" not in place:
        return [_parsed(at, event, value)]
    return [(one.seq if is_moved else 0, Read(at, one.plain, one, is_ours=True)) for one in left_out(place)]


def _once(
    found: list[tuple[int, Read]], event: Event, before: Sequence[Read], after: Sequence[Event]
) -> list[tuple[int, Read]]:
    """Without the silent neighbours of a message that the list itself holds: a caller's own list has them."""
    own = next((at for at, (_, read) in enumerate(found) if read.plain == event.plain), None)
    if own is None or len(found) == 1:
        return found
    first, last = found[:own], found[own + 1 :]
    if [read.plain for _, read in first] == [read.plain for read in before[len(before) - len(first) :]]:
        first = []
    if [read.plain for _, read in last] == [other.plain for other in after[: len(last)]]:
        last = []
    return [*first, found[own], *last]


def without_checkpoint(text: str, ours: Iterable[Checkpoint]) -> str:
    """System text without the checkpoint of ours that it holds, if any, whatever stands before and behind it."""
    for made in ours:
        before, found, rest = text.partition(opening(made.version, made.boundary).partition("\n")[0])
        _, ends, after = rest.partition(closing(made.boundary))
        if found and ends:
            before = before.removesuffix("\n\n")
            return before + after if before else after.lstrip("\n")
    return text


def ours(made: Request) -> dict[str, str]:
    """Fingerprints of the messages of a request as its wire reads them back, each with the fingerprints of the
    events it stands for, joined by commas (none for a checkpoint, a marker, the bar), `@seq` behind those that the
    wire reorders.

    Messages that read back as the very event they are need no entry; one that was put in front of the tail by us gets
    itself. Where events did not fit, the list up to the message behind them (`heads_of`) has an entry, too: a place
    `first<chain` stands there for the events from seq `first` up to the one with that chain. Of a request that goes on
    from the last one, only what is new is looked at.
    """
    gaps = _gaps(made)
    known = None if gaps else _known(made)  # the list up to a gap is told by all of it
    start, used = (len(known.messages), set(known.ids)) if known else (0, set())
    chunks = chunks_of(made.wire, made.messages[start:])
    silent = _silent(made, start, chunks)
    forms = [form_of(made.wire, chunk) for chunk in chunks]
    if repeats_ids(chunks, used):  # call ids get numbers by what stands before: only the whole request tells
        forms = numbered_forms(made.wire, made.messages, forms)
    out: dict[str, str] = {}
    head = ""
    if not start and chunks and chunks[0][0].role == "assistant":
        for event in opening_of(made.wire, chunks[0]):
            out[fingerprint(event)] = ""
            head = linked(head, fingerprint(event))
    for chunk, form in zip(chunks, forms, strict=True):
        events = read_back(made.wire, form)
        gapped: dict[int, str] = {}
        for event, sources, stood in _stood(aligned(chunk, events), silent, made.report.boundary):
            plain = fingerprint(event)
            value = ",".join(one.plain + seq for one, seq in stood)
            if not stood and len(sources) == 1 and sources[0].plain == plain:
                out[plain] = plain
            elif value != plain:
                out[plain] = value
            if any(id(one) in gaps for one, _ in stood):
                gapped[id(event)] = ",".join(_with_gap(one, seq, gaps) for one, seq in stood)
        for event in events if gaps else ():
            head = linked(head, fingerprint(event))
            if id(event) in gapped:
                out[head] = gapped[id(event)]
    return out


def _stood(
    read: Sequence[tuple[Event, list[Event]]], silent: Mapping[int, list[Event]], boundary: int
) -> list[tuple[Event, list[Event], list[tuple[Event, str]]]]:
    """Each message that was read with those it was made of and the events it stands for, the silent ones around them
    too. An event that the wire moved has its `@seq`; steps stay where they are, and what goes with them."""
    out = [(event, sources, _around(sources, silent, boundary)) for event, sources in read]
    order = [one.seq for _, _, around in out for one, _ in around]
    is_moved = order != sorted(order)
    return [
        (event, sources, [(one, f"@{one.seq}" if is_moved and moves else "") for one, moves in around])
        for event, sources, around in out
    ]


def _around(sources: Sequence[Event], silent: Mapping[int, list[Event]], boundary: int) -> list[tuple[Event, bool]]:
    """Recorded events of these messages and the silent ones around them, each with whether a wire may move it. The rest
    of a step that came in two records stands for the whole step."""
    out: list[tuple[Event, bool]] = []
    for source in sources:
        for one in silent.get(id(source), (source,)):
            if CONTINUES in one.meta and out and out[-1][0].role == "assistant":
                out.pop()
            if _is_recorded(one, boundary):
                out.append((one, source.role != "assistant"))
    return out


def _gaps(made: Request) -> dict[int, str]:
    """Messages (by object) in front of which events were left out, each with the place of those."""
    lost = sorted(change.seq for change in made.report.changes if change.status == "left_out")
    before, out = made.report.boundary, dict[int, str]()
    tail = [message for message in made.messages if _is_recorded(message, before)] if lost else []
    begun = 0
    for message in sorted(tail, key=attrgetter("seq")):
        if bisect_right(lost, before) < bisect_right(lost, message.seq):
            out[id(message)] = f"{before + 1}<{message.chain}"
        elif CONTINUES in message.meta and begun in out:  # the rest of a step stands for the whole step
            out[id(message)] = out.pop(begun)
        before, begun = message.seq, id(message)
    return out


def _with_gap(message: Event, seq: str, gaps: Mapping[int, str]) -> str:
    """What a message stands for, behind the place of what was left out in front of it; `seq` as the wire moved it."""
    gap = gaps.get(id(message))
    return f"{gap}{seq[:1]},{message.plain}{seq}" if gap else message.plain + seq


def noted(made: Request) -> None:
    """What `ours` gave for this request is stored: the next one needs to give only what is new."""
    known = _known(made)
    start = len(known.messages) if known else 0
    stable = made.messages[: made.stable]
    chunks = chunks_of(made.wire, stable[start:])
    if len(chunks) < 2:
        return
    last = next(at for at in range(len(stable) - 1, -1, -1) if stable[at] is chunks[-1][0])
    ids = {call.id for event in stable[start:last] for call in event.calls}
    _seen.put(_place(made), _Seen(stable[:last], (known.ids if known else frozenset()) | ids))


class _Seen(msgspec.Struct, frozen=True):
    """Messages whose fingerprints are stored, up to the last chunk (it may still grow), and the call ids they use."""

    messages: tuple[Event, ...]
    ids: frozenset[str]


_seen: Recent[_Seen] = Recent()


def _place(made: Request) -> tuple[str, str, int, int]:
    first = next((message for message in made.messages if message.seq), None)
    return (made.wire.NAME, first.session if first else "", first.seq if first else 0, made.report.version)


def _known(made: Request) -> _Seen | None:
    """What was stored of this very list. A checkpoint alone proves nothing: two stores may share its object."""
    known = _seen.get(_place(made))
    if not known or not any(message.seq for message in known.messages) or not grows(known.messages, made.messages):
        return None
    after = made.messages[len(known.messages) :]
    return known if after and after[0].role == "assistant" else None


def _is_recorded(source: Event, boundary: int) -> bool:
    """Whether a message stands for an event of the tail that takes part in the chain."""
    return source.seq > boundary and bool(source.chain)


def _silent(made: Request, start: int, chunks: Sequence[Sequence[Event]]) -> dict[int, list[Event]]:
    """Messages (by object) that stand beside others that write nothing, each with those around it: silent ones go with
    the next message that says something, the last with the one before; those, too, that were said before that one (a
    user's empty words between a call and its result)."""
    said = {id(message) for chunk in chunks for message in chunk}
    out: dict[int, list[Event]] = {}
    waiting: list[Event] = []
    last: Event | None = None
    newest = 0
    for message in made.messages[start:]:
        if id(message) not in said:
            if last is not None and message.seq < newest:
                out[id(last)] = [*out.get(id(last), [last]), message]
            else:
                waiting.append(message)
            continue
        if waiting:
            out[id(message)] = [*waiting, message]
            waiting = []
        last = message if message.seq or last is None else last
        newest = max(newest, message.seq)
    if waiting and last is not None:
        out[id(last)] = [*out.get(id(last), [last]), *waiting]
    return out
