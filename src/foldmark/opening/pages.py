"""Reads a stretch of an opened body: its first lines, its last, or those between. Knows nothing of what they say."""

from __future__ import annotations

import msgspec

from foldmark.errors import NotFound, PolicyError
from foldmark.opening.opened import Opened
from foldmark.refs import Ref, parse
from foldmark.retrieval import PAGE_CHARACTERS, read_page


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a body: `ref` opens just it, `first` and `last` are its lines (0 where bytes were named or a line
    was cut), `lines` and `size` those of the whole body. `next` is the ref to read on with, up to the end of what was
    opened; of a tail what stands before it. Empty: there is no more."""

    ref: str
    text: str
    first: int
    last: int
    lines: int
    size: int
    next: str = ""


def head(body: Opened, lines: int = 40, *, limit: int = PAGE_CHARACTERS) -> Page:
    """The first lines, at most `limit` characters."""
    return read_lines(body, body.first, body.first + max(1, lines) - 1, limit=limit)


def read_lines(body: Opened, first: int, last: int, *, limit: int = PAGE_CHARACTERS) -> Page:
    """Lines `first` to `last` (1-based, inclusive) as far as they are opened, at most `limit` characters, cut at a line
    where there is one. Pages joined by `next` give the body again. Raises NotFound outside of it, PolicyError for a
    range that goes down."""
    if not body.first or not body.lines:
        return _of_bytes(body, body.start, body.stop, limit)
    if last < first:
        raise PolicyError(f"Lines {first}-{last} are none: a range goes up, as 120-160.")
    first, last = max(first, body.first), min(last, body.last)
    if first > body.last:
        raise NotFound(body.at(first, first), f"{body.ref} ends at line {body.last:,}; nothing is behind it.")
    if last < first:
        raise NotFound(body.at(first, first), f"{body.name} was opened; it begins at line {first:,}.")
    start, stop = body.span(first, last)
    page = _of_bytes(body, start, stop, limit)
    end = start + _length(page)
    shown = body.read(start, end).count(b"\n")
    if end < stop and body.read(end - 1, end) != b"\n":  # inside a line
        return msgspec.structs.replace(page, next=body.at_bytes(end, body.stop))
    last = last if end >= stop else first + shown - 1
    following = body.at(last + 1, body.last) if last < body.last else ""
    return msgspec.structs.replace(page, ref=body.at(first, last), first=first, last=last, next=following)


def tail(body: Opened, lines: int = 40, *, limit: int = PAGE_CHARACTERS) -> Page:
    """The last lines, at most the last `limit` characters; `next` names what stands before."""
    if not body.first or not body.lines:
        return _last_bytes(body, body.start, limit)
    first = max(body.first, body.last - max(1, lines) + 1)
    start, _ = body.span(first, body.last)
    if body.stop - start > limit:
        data = body.read(body.stop - limit, body.stop)
        skipped = data.find(b"\n", 0, -1) + 1
        if not skipped:
            return _last_bytes(body, start, limit)
        first = body.last - data[skipped:-1].count(b"\n")
        start, _ = body.span(first, body.last)
    page = _of_bytes(body, start, body.stop, limit)
    before = body.at(body.first, first - 1) if first > body.first else ""
    return msgspec.structs.replace(page, ref=body.at(first, body.last), first=first, last=body.last, next=before)


_FOLLOWING = bytes(range(0x80, 0xC0))
"""Bytes with which no character of UTF-8 begins."""


def _last_bytes(body: Opened, start: int, limit: int) -> Page:
    """The end of a stretch without lines; begins at a whole character."""
    begin = max(start, body.stop - limit)
    if begin > start:
        cut = body.read(begin, begin + 4)  # of a character at most three bytes follow its first
        begin += (len(cut) - len(cut.lstrip(_FOLLOWING))) % 4
    page = _of_bytes(body, begin, body.stop, limit)
    return msgspec.structs.replace(page, next=body.at_bytes(body.start, begin) if begin > body.start else "")


def _of_bytes(body: Opened, start: int, stop: int, limit: int) -> Page:
    """A page of bytes, with the next one of the whole range."""
    if start >= stop:
        return Page(ref=str(body.ref), text="", first=0, last=0, lines=body.lines, size=body.size)
    address = parse(body.at_bytes(start, stop))
    loaded = read_page(body.shelf, body.tenant, body.sha256, address, limit, body.redact)
    end = _end(loaded.next, stop)
    following = body.at_bytes(end, body.stop) if end < body.stop else ""
    return Page(
        ref=body.at_bytes(start, end), text=loaded.text, first=0, last=0, lines=body.lines, size=body.size,
        next=following,
    )  # fmt: skip


def _end(following: str, stop: int) -> int:
    """Where a page ended, by the ref of the one after it."""
    rest: Ref | None = parse(following) if following else None
    return rest.bytes[0] if rest and rest.bytes else stop


def _length(page: Page) -> int:
    """Bytes of a page."""
    span = parse(page.ref).bytes if page.ref else None
    return span[1] - span[0] if span else 0
