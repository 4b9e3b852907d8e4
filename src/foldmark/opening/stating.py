"""What a body is, before any of it is read: size, form, columns or keys. Knows nothing of requests."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

import msgspec

from foldmark.errors import PolicyError
from foldmark.kinds import outcome, recognise
from foldmark.opening.documents import LARGEST_JSON, document, shape
from foldmark.opening.hiding import hidden
from foldmark.opening.opened import Opened
from foldmark.opening.sheets import sheet_of
from foldmark.opening.tabling import READ_ROWS, told_columns
from foldmark.tokens import count

LOOKED_BYTES = 1 << 20
"""A larger body is told by its beginning; its tokens are estimated from both ends and the middle."""
_SAMPLE = 1 << 16


class Stat(msgspec.Struct, frozen=True, kw_only=True):
    """What a body is. `kind` says where it comes from (`result`, `paste`, `image`, `event`, `body`), `form` what its
    text is (`json`, `table`, `log`, …); `size` is in bytes, `tokens` an estimate unless `counted`; `encoding` is
    `utf-8` or, for anything else, `unknown` (a byte a character); `line_ends` are LF, CRLF or mixed, empty without
    any. `what` says in a sentence what it holds, `columns` what stands in those of a table. `next` opens its
    beginning."""

    ref: str
    kind: str
    form: str
    size: int
    lines: int
    tokens: int
    counted: bool
    encoding: str
    line_ends: str
    what: str
    columns: tuple[str, ...] = ()
    media_type: str = ""
    next: str = ""


def stat(body: Opened) -> Stat:
    """What a body is. Of one over a megabyte the beginning and some samples are read."""
    data = body.read(body.start, body.start + LOOKED_BYTES)
    text, is_whole = data.decode("utf-8", "replace"), body.start + len(data) >= body.stop
    tokens = count(text) if is_whole else _estimate(body)
    form = _form(body, text, is_whole)
    what, columns = _told(body, text, form, is_whole)
    last = min(body.last, body.first + 39) if body.first else 0
    return Stat(
        ref=str(body.ref), kind=body.kind, form=form, size=body.stop - body.start,
        lines=body.last - body.first + 1 if body.first and body.lines else 0, tokens=tokens, counted=is_whole,
        encoding=_encoding(data, is_whole), line_ends=_line_ends(data), what=what, columns=columns,
        media_type=body.media_type, next=body.at(body.first, last) if last else "",
    )  # fmt: skip


def _form(body: Opened, text: str, is_whole: bool) -> str:
    """The kind of the text; of a large one by its beginning, and by its end where it may be one JSON document."""
    if body.kind == "image":
        return "image"
    found = recognise(text if is_whole else text[: text.rfind("\n") + 1] or text).name
    ends = text.lstrip()[:1] + body.read(max(body.start, body.stop - 64), body.stop).decode("latin-1").rstrip()[-1:]
    return "json" if not is_whole and found == "text" and ends in ("{}", "[]") else found


def _estimate(body: Opened) -> int:
    """Tokens by those of both ends and the middle."""
    size = body.stop - body.start
    places = (body.start, body.start + size // 2, body.stop - _SAMPLE)
    counted = sum(count(body.read(place, place + _SAMPLE).decode("utf-8", "replace")) for place in places)
    return counted * size // (3 * _SAMPLE)


def _told(body: Opened, text: str, form: str, is_whole: bool) -> tuple[str, tuple[str, ...]]:
    """A sentence, and what stands in the columns of a table."""
    if form == "image":
        return f"an image ({body.media_type or 'of unknown type'}) as base64; load shows it", ()
    if form == "json" and body.stop - body.start <= LARGEST_JSON:
        with suppress(PolicyError):
            found = document(body)
            lines = f", JSON lines ({found.skipped:,} lines are none)" if found.skipped else ", JSON lines"
            return f"{shape(found.value)}{lines if found.is_lines else ''}", ()
    if form in ("table", "json") and body.first:
        with suppress(PolicyError):
            sheet = sheet_of(body)
            found_rows = list(islice(sheet.rows(), READ_ROWS + 1))
            more = f"; what stands in them, by the first {READ_ROWS:,} rows" if len(found_rows) > READ_ROWS else ""
            told = told_columns(body, sheet, found_rows[:READ_ROWS])
            return f"{sheet.form} of {len(sheet.columns)} columns{more}", told
    said = outcome(text) if is_whole else f"{form}; its first line: {text.partition(chr(10))[0][:200]}"
    return hidden(body, said), ()


def _encoding(data: bytes, is_whole: bool) -> str:
    for short in range(1 if is_whole else 4):  # the last character may be cut
        with suppress(UnicodeDecodeError):
            data[: len(data) - short].decode("utf-8", "surrogatepass")
            return "utf-8"
    return "unknown"


def _line_ends(data: bytes) -> str:
    ends, both = data.count(b"\n"), data.count(b"\r\n")
    return "" if not ends else "LF" if not both else "CRLF" if both == ends else "mixed"
