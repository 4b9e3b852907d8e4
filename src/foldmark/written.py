"""Recognises our own messages when a caller sends them back. Pure.

What we write into a request (checkpoint, previews, outcome lines, markers) must never be recorded as new words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from foldmark.drafts import Request
from foldmark.events import Event, Paste, Text, ToolResult, fingerprint
from foldmark.warm import Recent, grows

KEPT = "^"  # the message stands for itself, and was put in front of the tail by us
_LEADING = "#"  # "#2": the first two parts of the message are ours, the rest was merged behind them


def ours(made: Request) -> dict[str, str]:
    """Fingerprints of what we wrote into a request, as it will be read back; of a request that goes on from the last
    one, only what is new in it.

    The value is the fingerprint of the event that a message stands for, empty for a message that stands for none
    (a checkpoint, a marker), or `#n` for a first part behind which n - 1 more are ours.
    """
    known = _seen.get(_place(made))
    old = known if known and grows(known, made.messages) else ()
    return _written(made, made.messages[len(old) :])


def noted(made: Request) -> None:
    """What `ours` gave for this request is stored: the next one needs to give only what is new."""
    _seen.put(_place(made), made.messages[: made.stable])


_seen: Recent[tuple[Event, ...]] = Recent()


def _place(made: Request) -> tuple[str, int, int]:
    first = next((message for message in made.messages if message.seq), None)
    return (first.session, first.seq, made.report.version) if first else ("", 0, made.report.version)


def _written(made: Request, messages: Sequence[Event]) -> dict[str, str]:
    out: dict[str, str] = {}
    changed = {change.seq for change in made.report.changes}
    for message in messages:
        if message.seq and message.seq not in changed and not message.artifacts and message.origin != "injected":
            continue
        bare = _as_read(message)
        plain = message.plain if message.seq and not message.id.startswith("checkpoint:") else ""
        out[fingerprint(bare)] = plain
        if not plain and message.role == "user":
            out[fingerprint(msgspec.structs.replace(bare, parts=bare.parts[:1]))] = f"{_LEADING}{len(bare.parts)}"
    if messages and messages[0].is_user and 0 < messages[0].seq <= made.report.boundary:
        out[messages[0].plain] = KEPT
    return out


def _as_read(message: Event) -> Event:
    """The message as a wire reads it back: no artifacts, no fingerprints of its own."""
    parts = tuple(
        Text(part.text)
        if isinstance(part, Paste)
        else (msgspec.structs.replace(part, artifact=None) if isinstance(part, ToolResult) else part)
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts, plain="")


def first_parts(offered: Sequence[Event]) -> list[str]:
    """Fingerprints of the first parts alone of messages that have several."""
    return [_first(event) for event in offered if event.role == "user" and len(event.parts) > 1]


def _first(event: Event) -> str:
    return fingerprint(msgspec.structs.replace(event, parts=event.parts[:1], plain=""))


def restored(offered: Sequence[Event], known: Mapping[str, str]) -> list[Event]:
    """Leave out our own messages and parts; give previews back the fingerprint of what they stand for."""
    out: list[Event] = []
    for event in offered:
        plain = fingerprint(event)
        if plain in known and known[plain] != KEPT and not known[plain].startswith(_LEADING):
            if known[plain]:
                out.append(msgspec.structs.replace(event, plain=known[plain]))
            continue
        alone = event.role == "user" and len(event.parts) == 1  # then its first part is all of it
        lead = known.get(plain if alone else _first(event), "") if event.role == "user" and event.parts else ""
        if lead.startswith(_LEADING):
            rest = event.parts[int(lead[1:]) :]
            if rest:
                out.append(msgspec.structs.replace(event, parts=rest, plain=""))
            continue
        out.append(event)
    return out
