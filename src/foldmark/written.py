"""Recognises our own messages when a caller sends them back. Knows nothing of stores.

What we write into a request (checkpoint, previews, outcome lines, markers, the state bar) must never be recorded as new
words, and what a wire merged must be taken apart again. One mechanism for all of it: each message is read back as the
wire will read it, and its fingerprint is kept with those of the events that it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from foldmark.drafts import Request
from foldmark.errors import WireError
from foldmark.events import Event, fingerprint
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


def restored(offered: Sequence[Event], known: Mapping[str, str]) -> list[Read]:
    """The events that an offered list (with fingerprints) speaks of: our own messages are left out, merged ones taken
    apart, shortened ones carry the fingerprint of what they stand for."""
    out: list[Read] = []
    for at, event in enumerate(offered):
        value = known.get(event.plain)
        if value is None or value == event.plain:
            out.append(Read(at, event.plain, event, is_front=value is not None))
        elif value:
            out += [Read(at, plain, event, is_ours=True) for plain in value.split(",")]
    return out


def ours(made: Request) -> dict[str, str]:
    """Fingerprints of the messages of a request as its wire reads them back, each with the fingerprints of the events it
    stands for, joined by commas (none for a checkpoint, a marker, the bar).

    Messages that read back as the very event they are need no entry; one that was put in front of the tail by us gets
    itself. Of a request that goes on from the last one, only what is new is looked at.
    """
    known = _known(made)
    start, used = (len(known.messages), set(known.ids)) if known else (0, set())
    chunks = _chunks(made.wire, made.messages[start:])
    forms = [_form(made.wire, chunk) for chunk in chunks]
    if _repeats(chunks, used):  # call ids get numbers by what stands before: only the whole request tells
        forms = _numbered(made, forms)
    out: dict[str, str] = {}
    if not start and chunks and chunks[0][0].role == "assistant":
        out.update({fingerprint(event): "" for event in _opening(made.wire, chunks[0])})
    for chunk, form in zip(chunks, forms, strict=True):
        for event, sources in _aligned(chunk, _read(made.wire, form)):
            plain = fingerprint(event)
            stands = [source.plain for source in sources if _is_recorded(source, made.report.boundary)]
            if not stands and len(sources) == 1 and sources[0].plain == plain:
                out[plain] = plain
            elif stands != [plain]:
                out[plain] = ",".join(stands)
    return out


def noted(made: Request) -> None:
    """What `ours` gave for this request is stored: the next one needs to give only what is new."""
    known = _known(made)
    start = len(known.messages) if known else 0
    stable = made.messages[: made.stable]
    chunks = _chunks(made.wire, stable[start:])
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


# -- how wires group and merge


def _chunks(wire: Any, messages: Sequence[Event]) -> list[list[Event]]:
    """Messages in runs that no wire merges across: assistant steps, then everything up to the next one. Messages that
    write nothing are left out."""
    out: list[list[Event]] = []
    for message in messages:
        if not _says(wire, message):
            continue
        if not out or (message.role == "assistant" and out[-1][-1].role != "assistant"):
            out.append([])
        out[-1].append(message)
    return out


def _says(wire: Any, event: Event) -> bool:
    if event.result or event.calls or event.text.strip():
        return True
    return bool(wire.write("", (), [event])["messages"])


def _form(wire: Any, chunk: Sequence[Event]) -> list[Any]:
    """The messages of a chunk; what a wire puts in front of a list that begins with an assistant is left out."""
    written: list[Any] = wire.write("", (), chunk)["messages"]
    opens = chunk[0].role == "assistant" and bool(written) and written[0]["role"] != "assistant"
    return written[1:] if opens else written


def _opening(wire: Any, chunk: Sequence[Event]) -> list[Event]:
    written = wire.write("", (), chunk)["messages"]
    return _read(wire, written[: len(written) - len(_form(wire, chunk))])


def _numbered(made: Request, forms: Sequence[Sequence[Any]]) -> list[list[Any]]:
    written = made.wire.write("", (), made.messages)["messages"]
    out, at = [], len(written) - sum(map(len, forms))
    for form in forms:
        out.append(written[at : at + len(form)])
        at += len(form)
    return out


def _repeats(chunks: Sequence[Sequence[Event]], used: set[str]) -> bool:
    for chunk in chunks:
        ids = [call.id for event in chunk for call in event.calls]
        if not used.isdisjoint(ids):
            return True
        used.update(ids)
    return False


def _read(wire: Any, messages: Sequence[Any]) -> list[Event]:
    """Messages as events, each read for itself."""
    try:
        return [event for message in messages for event in wire.read_messages([message]).events]
    except WireError:
        return []  # nobody can send back what no wire reads


def _aligned(chunk: Sequence[Event], read: Sequence[Event]) -> list[tuple[Event, list[Event]]]:
    """Each event that was read with the messages it was made of. What cannot be told is left out."""
    steps = [event for event in chunk if event.role == "assistant"]
    order = {call.id: at for at, call in reversed(list(enumerate(call for step in steps for call in step.calls)))}
    results = [event for event in chunk if event.role == "tool"]
    results.sort(key=lambda event: order.get(event.result.call_id if event.result else "", len(order)))
    others = [event for event in chunk if event.role not in ("assistant", "tool")]
    out: list[tuple[Event, list[Event]]] = []
    pictures = any(event.result and event.result.images for event in results)
    said = [event for event in read if event.role == "user"]
    if pictures and len(said) in (1, len(others) + 1) and len(said) > min(1, len(others)):
        out.append((said.pop(0), []))  # images of results, which this wire writes in a message of their own
    for role, sources in (("assistant", steps), ("tool", results)):
        found = [event for event in read if event.role == role]
        out += _paired(found, _joined_steps(sources) if role == "assistant" else [[one] for one in sources])
    return out + _paired(said, [[one] for one in others])


def _joined_steps(steps: Sequence[Event]) -> list[list[Event]]:
    """Steps that make one message: a call must be answered before the next assistant message."""
    out: list[list[Event]] = []
    for step in steps:
        if out and any(earlier.calls for earlier in out[-1]):
            out[-1].append(step)
        else:
            out.append([step])
    return out


def _paired(found: Sequence[Event], groups: list[list[Event]]) -> list[tuple[Event, list[Event]]]:
    if len(found) == 1 and groups:
        return [(found[0], [one for group in groups for one in group])]
    return list(zip(found, groups, strict=True)) if len(found) == len(groups) else []
