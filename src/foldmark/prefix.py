"""The stable prefix of a request as a hash, so that every break of it can be named. Knows nothing of causes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from foldmark.events import Event
from foldmark.merging import head_of_merged
from foldmark.warm import Recent, grows


class _Known(msgspec.Struct):
    messages: Sequence[Event]
    state: Any  # a running hash over these messages


_memory: Recent[_Known] = Recent()


def digest(messages: Sequence[Event], system: str = "") -> str:
    """A hash of the system text and the messages as shown: whose they are, in what form, in what order. A list that
    goes on from one that was hashed before costs only its new end."""
    first = next((message for message in messages if message.seq), None)
    place = (first.session, first.seq) if first else ("", 0)
    known = _memory.get(place)
    if known and grows(known.messages, messages):
        state, done = known.state.copy(), len(known.messages)
    else:
        state, done = blake2b(digest_size=12), 0
    state.update(_rows(messages[done:]))
    _memory.put(place, _Known(messages, state.copy()))
    state.update(system.encode("utf-8", "surrogatepass"))
    found: str = state.hexdigest()
    return found


def _rows(messages: Iterable[Event]) -> bytes:
    """One row a message. Seq and size tell its form: the forms of one event differ in size. What is put in front of one
    (a checkpoint) has an id of its own."""
    rows = (f"{m.role} {m.seq} {m.tokens} {m.id if m.seq == 0 else m.chain + head_of_merged(m)}\n" for m in messages)
    return "".join(rows).encode("utf-8", "surrogatepass")
