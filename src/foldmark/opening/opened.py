"""A body that a ref names, opened for looking into it piece by piece. Knows nothing of what the body holds.

Nothing is read when it is opened: every look reads only the stretch it needs, so bodies may have any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.errors import NotFound, PolicyError
from foldmark.events import images_of
from foldmark.kinds.base import plural
from foldmark.loading import Place, locate
from foldmark.redact import Redactor
from foldmark.refs import Ref, parse
from foldmark.seeking import Reach
from foldmark.store import Key, Store

STRETCH_BYTES = 1 << 20
"""Read at a time: a frame of the store, so that none is unpacked twice."""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """An opened body, or the range of one that the ref named.

    `ref` is its address without the range; `kind` says where it comes from (`result`, `paste`, `image`, `event` for the
    whole text of one, or `body` for one named by its hash). `size` (bytes) and `lines` are those of the whole body;
    `start` to `stop` (bytes, end exclusive) and `first` to `last` (lines, 1-based, inclusive) are what was named.
    `first` is 0 where bytes were named: lines are not counted there. `redact`, where it is given, is done to all text
    that is shown; numbers and refs count the body as it is.
    """

    ref: Ref
    tenant: str
    sha256: str
    shelf: Any
    kind: str
    size: int
    lines: int
    start: int
    stop: int
    first: int
    last: int
    media_type: str = ""
    redact: Any = None

    def at(self, first: int, last: int) -> str:
        """The address of these lines."""
        return str(msgspec.structs.replace(self.ref, lines=(first, last)))

    def at_bytes(self, start: int, stop: int) -> str:
        """The address of these bytes (end exclusive)."""
        return str(msgspec.structs.replace(self.ref, bytes=(start, stop)))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The bytes of these lines, as far as they are in the range."""
        start, stop = self.shelf.span(self.tenant, self.sha256, first, last)
        return max(start, self.start), min(stop, self.stop)

    def read(self, start: int, stop: int) -> bytes:
        """Bytes from `start` up to `stop` (exclusive)."""
        found: bytes = self.shelf.read(self.tenant, self.sha256, start, min(stop, self.stop))
        return found

    def stretches(self, start: int) -> Iterator[bytes]:
        """The bytes from `start` to the end of the range, a megabyte at most at a time."""
        while start < self.stop:
            stop = min(self.stop, start - start % STRETCH_BYTES + STRETCH_BYTES)
            yield self.read(start, stop)
            start = stop

    @property
    def name(self) -> str:
        """The ref of what was opened, with its range where that is not all."""
        if not self.first:
            return self.at_bytes(self.start, self.stop)
        return self.at(self.first, self.last) if self.first > 1 or self.last < self.lines else str(self.ref)

    def of_lines(self, what: str) -> Opened:
        """This one, when lines can be counted in it. Raises PolicyError where bytes were named."""
        if self.first:
            return self
        raise PolicyError(f"{what} counts lines: name {self.ref} alone or with lines ({self.ref}#L1-200), not bytes.")


def open_body(
    store: Store, artifacts: Artifacts, key: Key, ref: str, *, reach: Reach | None = None,
    redact: Redactor | None = None,
) -> Opened:  # fmt: skip
    """The body behind a ref: of an artifact, the whole text of an event (whether or not it left the event), or the
    result of a tool call (`call:<id>`). With a `reach` only what that allows, with `redact` all that is shown of it
    goes through that.

    Raises NotFound; PolicyError for what is no body (several events, a compaction).
    """
    address = parse(ref)
    if address.kind == "call":
        address = _answer(locate(store, artifacts, key, ref, 0, reach), key)
    whole = msgspec.structs.replace(address, lines=None, bytes=None)
    ranged = str(msgspec.structs.replace(whole, bytes=(0, 1)))  # any range makes a body of an event; nothing is read
    try:
        place = locate(store, artifacts, key, ranged, 0, reach)
    except NotFound as error:
        raise NotFound(ref, str(error).replace(ranged, str(whole))) from None
    if not place.sha256:
        raise PolicyError(f"{ref} is a stretch of the log and no body: load it, then open one of its events.")
    size, lines = place.shelf.size(key.tenant, place.sha256)
    body = Opened(
        ref=whole, tenant=key.tenant, sha256=place.sha256, shelf=place.shelf, kind="event", size=size, lines=lines,
        start=0, stop=size, first=1, last=lines, redact=redact,
    )  # fmt: skip
    return narrowed(msgspec.structs.replace(body, **_origin(store, place)), address)


def _answer(place: Place, key: Key) -> Ref:
    """The event of the result in a call's place. Raises NotFound when there is none yet."""
    answer = place.events[-1]
    if not answer.result:
        raise NotFound(str(place.ref), f"{place.ref} has no result yet; event:{answer.seq} made the call.")
    session = place.key.session if place.key.session != key.session else ""
    return Ref("event", str(answer.seq), session)


def narrowed(body: Opened, address: Ref) -> Opened:
    """The range of a body that an address names. Raises NotFound when it is behind the end."""
    if address.lines:
        first, last = address.lines[0], min(address.lines[1], body.lines)
        if first > max(body.lines, 1):
            raise NotFound(str(address), f"{address} is behind the end: {body.ref} has {plural(body.lines, 'line')}.")
        start, stop = body.shelf.span(body.tenant, body.sha256, first, last)
        return msgspec.structs.replace(body, start=start, stop=stop, first=first, last=last)
    if address.bytes:
        start, stop = address.bytes[0], min(address.bytes[1], body.size)
        if start > body.size:
            raise NotFound(str(address), f"{address} is behind the end: {body.ref} has {body.size:,} bytes.")
        return msgspec.structs.replace(body, start=start, stop=stop, first=0, last=0)
    return body


def _origin(store: Store, place: Place) -> dict[str, str]:
    """Where a body comes from: its kind, and the type of an image."""
    if place.ref.name.startswith("sha256:"):
        return {"kind": "body"}
    event = store.event(place.key, place.ref.name)
    found = next((one for one in event.artifacts if one.sha256 == place.sha256), None)
    if found is None:
        return {"kind": "event"}
    if image := next((one for one in images_of(event) if one.artifact == found), None):
        return {"kind": "image", "media_type": image.media_type}
    return {"kind": "result" if event.role == "tool" else "paste"}
