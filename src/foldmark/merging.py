"""Makes one message of the checkpoint and the first user message behind it. Knows nothing of wires, stores or layouts.

Wires on which roles must alternate merge neighbours by themselves; this is for the others. It is done last, when the
request fits already: what was dropped is gone, and the merged message still carries seq and fingerprints of the user's
own, so that it stands for that one event when it comes back. The stored event is never touched.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from foldmark.drafts import Request
from foldmark.events import Event, Image, Paste, Text
from foldmark.warm import Recent

MERGED = "merged"
"""`meta` key of a message that begins with the checkpoint: how many of its tokens are the checkpoint's, and its id."""

_HEAD = "checkpoint:"


def head_id(version: int, form: str = "") -> str:
    """The id of a checkpoint's message; `form` tells texts of one checkpoint apart that a host framed itself."""
    return f"{_HEAD}{version}{'@' if form else ''}{form}"


def merged(made: Request) -> Request:
    """The request with the checkpoint and the first message of the tail in one, where that is a user message in the
    stable part. The checkpoint's parts come first, then the user's own, each as it was.

    `tokens` stay those of two messages, as for the wires that merge by themselves: four too many, never too few.
    """
    if made.stable < 2 or not _is_head(made.messages[0]) or not _may_join(made.messages[1]):
        return made
    first, second, *rest = made.messages
    return replace(made, messages=(_joined(first, second), *rest), stable=made.stable - 1)


def own_tokens(message: Event) -> int:
    """What the event of a message takes by itself, without a checkpoint that was put in front of it."""
    return message.tokens - _of_head(message)[0]


def head_of_merged(message: Event) -> str:
    """The id of the checkpoint's message that a message begins with; empty for one that is not merged."""
    return _of_head(message)[1]


def _of_head(message: Event) -> tuple[int, str]:
    """(tokens, id) of the checkpoint's message in front; a caller's own `meta` may have anything under that name."""
    tokens, _, head = message.meta.get(MERGED, "").partition(" ")
    return (int(tokens), head) if tokens.isdecimal() and head.startswith(_HEAD) else (0, "")


def _is_head(message: Event) -> bool:
    return not message.seq and message.origin == "injected" and message.id.startswith(_HEAD)


def _may_join(message: Event) -> bool:
    """A provider's own block may be an item that must stand alone (an approval): it stays where it is."""
    return message.role == "user" and all(isinstance(part, (Text, Paste, Image)) for part in message.parts)


class _Pair(msgspec.Struct, frozen=True):
    first: Event
    second: Event
    whole: Event


_memory: Recent[_Pair] = Recent()


def _joined(first: Event, second: Event) -> Event:
    """One message of two; the same two give the same object again, so that a warm request stays warm."""
    place = (second.session, second.seq, first.id)
    known = _memory.get(place)
    if known and known.first is first and known.second is second:
        return known.whole
    whole = msgspec.structs.replace(
        second,
        parts=(*first.parts, *second.parts),
        tokens=first.tokens + second.tokens,
        meta={**second.meta, MERGED: f"{first.tokens} {first.id}"},
    )
    _memory.put(place, _Pair(first, second, whole))
    return whole
