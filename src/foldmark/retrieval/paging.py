"""Opens what a ref names: events with their neighbours, pages of a body. Knows nothing of search and sessions."""

from __future__ import annotations

from typing import Literal

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.errors import NotFound
from foldmark.events import Event
from foldmark.kinds.base import plural
from foldmark.redact import Redactor, redact_part
from foldmark.refs import Ref
from foldmark.retrieval.named import named_of
from foldmark.rounds import rounds
from foldmark.store import Key, Store

PAGE_CHARACTERS = 8_000
"""What one page or one look shows at most, unless it is asked for less or more."""
By = Literal["events", "rounds"]
"""What `before` and `after` count: events, or whole rounds (the round of the event itself is whole then too)."""
_MARGIN = 20_480
"""Bytes round a page in which a secret is looked for that the page's borders cut: more than the longest key block."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands behind a ref: events, or a page of text. `times` are when the events happened, else when they were
    recorded live, in Unix seconds; None where nobody knows. `next` is the ref to go on with, empty at the end: the next
    page, or the whole body of an event that shows a preview. `session` is the session of the events where the ref named
    one; `skip` are bytes of the first event's words that an earlier page has shown."""

    ref: str
    events: tuple[Event, ...] = ()
    times: tuple[float | None, ...] = ()
    text: str = ""
    next: str = ""
    session: str = ""
    skip: int = 0


def widen(store: Store, key: Key, seq: int, before: int = 0, after: int = 0) -> tuple[Event, ...]:
    """The event with so many shown events before and after it. Raises NotFound.

    Control events are passed over; an event that is one itself is given alone.
    """
    event = store.event(key, str(seq))
    out = [event]
    if event.role == "control":
        return (event,)
    place, head = seq - 1, store.info(key).head if after else seq
    while before > 0 and place > 0:
        found = [each for each in store.log(key, max(1, place - before + 1), place) if each.role != "control"]
        out[:0] = found[-before:]
        place, before = place - before, before - len(found[-before:])
    place = seq + 1
    while after > 0 and place <= head:
        found = [each for each in store.log(key, place, place + after - 1) if each.role != "control"]
        out += found
        place, after = place + after, after - len(found)
    return tuple(out)


def widen_rounds(store: Store, key: Key, seq: int, before: int = 0, after: int = 0) -> tuple[Event, ...]:
    """The whole round of an event with so many rounds before and after it. Raises NotFound.

    An event of another scope, and a control event, is given alone.
    """
    event, head, span = store.event(key, str(seq)), store.info(key).head, 32
    while True:
        first, last = max(1, seq - span), min(head, seq + span)
        found = rounds(store.log(key, first, last))
        at = next((at for at, one in enumerate(found) if event in one.events), None)
        if at is None or event.role == "control":
            return (event,)
        # The first and the last round may go on outside of what was read.
        if (first == 1 or at > before) and (last == head or at + after + 1 < len(found)):
            chosen = found[max(0, at - before) : at + after + 1]
            return tuple(each for one in chosen for each in one.events if each.role != "control")
        span *= 4


def read_page(
    artifacts: Artifacts, tenant: str, sha256: str, ref: Ref, limit: int = PAGE_CHARACTERS,
    redact: Redactor | None = None,
) -> Loaded:  # fmt: skip
    """A page of a body: the ref's lines or bytes (or all), at most `limit` characters, cut at a line where
    there is one. Pages joined give the body again. With `redact` secrets are labels, also those that a border of the
    page cuts or that are named far away; refs count the body as it is. Raises NotFound."""
    size, count = artifacts.size(tenant, sha256)
    if (ref.lines and ref.lines[0] > max(count, 1)) or (ref.bytes and ref.bytes[0] > size):
        ends = f"{plural(count, 'line')}, {plural(size, 'byte')}"
        raise NotFound(str(ref), f"{ref} is behind the end: it ends after {ends}.")
    start, stop = ref.bytes or (artifacts.span(tenant, sha256, *ref.lines) if ref.lines else (0, size))
    stop = min(stop, size)
    data = artifacts.read(tenant, sha256, start, min(stop, start + 4 * limit))
    more = start + len(data) < stop
    text, encoding = _decode(data, limit, more=more)
    if more or len(text.encode(encoding, "surrogatepass")) < len(data):
        text = text[: text.rfind("\n") + 1] or text
    used = len(text.encode(encoding, "surrogatepass"))
    end = start + used
    if redact:
        text = _without_secrets(artifacts, tenant, sha256, start, end, text, redact)
    rest = msgspec.structs.replace(ref, lines=None, bytes=(end, stop))
    return Loaded(ref=str(ref), text=text, next=str(rest) if used and end < stop else "")


def _without_secrets(
    artifacts: Artifacts, tenant: str, sha256: str, start: int, end: int, text: str, redact: Redactor
) -> str:
    """The text between two bytes, redacted together with what stands round it and with what the body names."""
    left = artifacts.read(tenant, sha256, max(0, start - _MARGIN), start).decode("utf-8", "replace")
    right = artifacts.read(tenant, sha256, end, end + _MARGIN).decode("utf-8", "replace")
    return redact_part(redact, left, text, right, named_of(artifacts, tenant, sha256, redact))


def _decode(data: bytes, limit: int, *, more: bool) -> tuple[str, str]:
    """(text of at most `limit` characters, its encoding); a character cut by the end of `data` waits."""
    for short in range(4 if more else 1):
        try:
            return data[: len(data) - short].decode("utf-8", "surrogatepass")[:limit], "utf-8"
        except UnicodeDecodeError:
            continue
    return data[:limit].decode("latin-1"), "latin-1"  # no UTF-8: a character a byte, so that nothing is lost
