"""A transcript file as rows that can be changed one by one: what is not changed is written back byte for byte. Knows
nothing of what the rows mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from foldmark.doctor.lines import has_nan, is_deep, read_line, without_nan
from foldmark.doctor.rows import Row, Rows
from foldmark.doctor.spans import Opened, open_list
from foldmark.doctor.style import Style, style_of, styled
from foldmark.doctor.values import Mend
from foldmark.errors import WireError
from foldmark.wire.plain import clean_value

_HEAD_BYTES = 4_000_000
"""So much of a file shows whether it is JSON lines."""

_ESCAPED = re.compile("[\udc80-\udcff]")
_SAID = {
    "bad_line": ("is not JSON.", "left out of the copy"),
    "truncated": ("breaks off: the record was not written to its end.", "left out of the copy"),
    "too_deep": ("nests more than 100 levels deep.", "left out of the copy"),
    "nul_bytes": ("holds bytes of value 0, as a crash leaves them.", "the bytes of value 0 are left out"),
    "control_characters": ("holds raw control characters inside text.", "written with the escapes that JSON wants"),
    "glued_lines": ("holds more than one record, or half of one.", "each whole record stands on a line of its own"),
}


class Sheet:
    """The rows of a file in order. `kind` is `lines` (JSON lines) or `list` (one JSON document around a list)."""

    def __init__(self, kind: str, rows: Iterable[Row] = ()) -> None:
        self.kind, self.rows = kind, Rows(rows)
        self.head = self.tail = self.mark = self.key = ""
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[str, int, int]] = {}
        self.new_fields: dict[str, Any] = {}
        self.lost_fields: list[str] = []
        self.emptied: list[str] = []
        self._first_places: dict[int, tuple[list[Any], dict[int, tuple[Any, int]]]] = {}
        self.name = ""
        self.unfolded: set[Row] = set()
        self.mends: list[Mend] = []
        self.rejected: list[str] = []

    # -- editing

    def insert_after(self, row: Row | None, value: Any, path: str = "") -> Row:
        """A new row behind `row`, or in front of everything."""
        near = row or self.rows.behind(None)
        new = Row(path or (near.path if near else ""), "", value, changed=True)
        new.lead, new.end = (near.lead, near.end) if near else ("", "")
        if self.kind == "lines":
            self._on_own_line(near)
            new.end_line()
        new.home = row.home if row else None
        self.rows.put(new, row)
        return new

    def move_after(self, row: Row, anchor: Row | None) -> None:
        """Move a row behind another one, or in front of everything."""
        self.rows.remove(row)
        if self.kind == "lines":
            self._on_own_line(anchor)
            self._on_own_line(row)
        row.home = anchor.home if anchor else None
        self.rows.put(row, anchor)

    def arrange(self, rows: Iterable[Row]) -> None:
        """Give the rows another order."""
        rows = list(rows)
        for row in rows:
            row.end_line()
        self.rows = Rows(rows)

    def _on_own_line(self, row: Row | None) -> None:
        """A record beside others ends its line, and is not spread over several."""
        if row is not None:
            row.end_line()
            row.changed = row.changed or "\n" in row.raw

    def drop(self, row: Row) -> None:
        self.rows.remove(row)

    def remember(self, holder: list[Any]) -> None:
        """Keep where the elements of a list stand, before the first edit of it. What is kept holds them, since an id
        names an object only as long as it lives."""
        if id(holder) not in self._first_places:
            self._first_places[id(holder)] = (holder, {id(held): (held, at) for at, held in enumerate(holder)})

    def first_place(self, holder: list[Any], value: Any, at: int) -> int:
        """Where an element of a list stood in the file; `at`, where it stands now, when it was never moved."""
        known = self._first_places.get(id(holder))
        return known[1].get(id(value), (value, at))[1] if known else at

    def inherit(self, holder: list[Any], old: Any, new: Any) -> None:
        """A new element stands for an old one: it keeps its place."""
        known = self._first_places.get(id(holder))
        if known and id(old) in known[1]:
            known[1][id(new)] = (new, known[1][id(old)][1])

    # -- writing

    def bytes(self) -> bytes:
        """The file as it stands now."""
        out = BytesIO()
        for text in self._texts():
            out.write(text.encode("utf-8", "surrogateescape"))
        return out.getvalue()

    def _texts(self) -> Iterator[str]:
        style = self._new_style()
        is_list = self.kind == "list"
        yield self.mark + (self._part("head") if is_list else "")
        for number, row in enumerate(self.rows):
            yield f"{',' if number else ''}{row.lead}" if is_list else ""
            yield self._text(row, style)
            yield "" if is_list else row.end
        yield self._part("tail") if is_list else ""

    def _text(self, row: Row, new_style: Style) -> str:
        if not row.changed:
            return row.raw
        style = self._style(row.raw) if row.raw else new_style
        return styled(row.value, style, row.lead)

    def _style(self, sample: str) -> Style:
        return style_of(sample.replace("\n", "") if self.kind == "lines" else sample)

    def _new_style(self) -> Style:
        """The style of the first row that was in the file."""
        return self._style(next((row.raw for row in self.rows if len(row.raw) > 2), ""))

    def _part(self, name: str) -> str:
        """The head or tail with changed members put in place."""
        text = self.head if name == "head" else self.tail
        edited = {key for key in (*self.new_fields, *self.lost_fields) if self.places.get(key, ("",))[0] == name}
        for key in sorted(edited, key=lambda key: -self.places[key][1]):
            _, low, high = self.places[key]
            if key in self.lost_fields:
                text = _without_member(text, key, low, high)
            else:
                text = text[:low] + json.dumps(self.new_fields[key], ensure_ascii=False) + text[high:]
        added = {key: value for key, value in self.new_fields.items() if key not in self.places}
        if name == "head" and added:
            at = text.index("{") + 1
            members = "".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}, " for k, v in added.items())
            text = text[:at] + members + text[at:]
        return text


def _without_member(text: str, key: str, low: int, high: int) -> str:
    """The text without a member whose value stands from `low` to `high`, and without one comma beside it."""
    found = re.search(rf"(,?)\s*{re.escape(json.dumps(key, ensure_ascii=False))}\s*:\s*\Z", text[:low])
    if not found:
        return text
    rest = text[high:] if found[1] else re.sub(r"\A\s*,\s*", "", text[high:])
    return text[: found.start()] + rest


def open_sheet(data: bytes, name: str) -> Sheet:
    """The rows of a file; what was damaged is in `mends`. Raises WireError when there is no record in it at all."""
    if not data.strip(b" \t\r\n\x00\xef\xbb\xbf"):
        raise WireError(name, "is empty; there is nothing to look at.")
    body, mark, mends = _as_utf8(data)
    sheet = None if _is_lines(_text_of(body[:_HEAD_BYTES])) else _of_document(_text_of(body))
    sheet = sheet or _of_lines(body)
    sheet.mark, sheet.name = mark, name
    sheet.mends = [*mends, *sheet.mends, *_odd_values(sheet)]
    if sheet.kind == "lines" and not any(isinstance(row.value, (dict, list)) for row in sheet.rows):
        raise WireError(name, "holds no JSON record; it is no transcript in JSON or JSON lines.")
    return sheet


def _of_document(text: str) -> Sheet | None:
    """One JSON document as rows, None when it is none."""
    opened = open_list(text)
    return _of_list(opened, text) if opened else _of_value(text)


def _as_utf8(data: bytes) -> tuple[bytes, str, list[Mend]]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
        said = "is UTF-16; agents and providers read UTF-8."
        return text.encode("utf-8"), "", [Mend("file", "encoding", said, "written as UTF-8", _nothing)]
    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    return data[3:] if mark else data, mark, []


def _text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _nothing() -> None:
    """Reading was the whole mend."""


def _is_lines(text: str) -> bool:
    """Whether the file is JSON lines: more than one line, and the first or second of them is a whole object."""
    filled = [line for line in text.split("\n") if line.strip("\x00 \t\r")]
    if len(filled) < 2 or text.lstrip()[:1] == "[":
        return False
    return any(line.lstrip()[:1] == "{" and _is_whole(line) for line in filled[:2])


def _is_whole(line: str) -> bool:
    read = read_line(line.strip())
    return bool(read.records) and read.code in ("", "nul_bytes", "control_characters")


def _of_list(opened: Opened, text: str) -> Sheet:
    sheet = Sheet("list", [])
    sheet.head, sheet.tail, sheet.key = opened.head, opened.tail, opened.key
    sheet.fields, sheet.places = opened.fields, opened.places
    for at, element in enumerate(opened.elements):
        row = Row(f"{opened.key}[{at}]", element.raw, element.value, lead=element.lead)
        if is_deep(row.value):
            sheet.rejected.append(row.raw)
            sheet.mends.append(_file_mend(row.path, "too_deep"))
            continue
        sheet.rows.append(row)
    if opened.is_broken:
        path = f"{opened.key}[{len(opened.elements)}]"
        sheet.rejected += [opened.rest] if opened.rest else []
        line = text[: len(text) - len(opened.rest)].count("\n") + 1
        said = f"the document breaks off at line {line}: {len(opened.rest):,} characters behind it cannot be read."
        sheet.mends.append(Mend(path, "truncated", said, "left out of the copy; the list is closed", _nothing))
    return sheet


def _of_value(text: str) -> Sheet | None:
    """A document without a list of rows, as one row; None when it is none."""
    read = read_line(text)
    is_whole = len(read.records) == 1 and not read.code
    raw = text.rstrip()
    return Sheet("lines", [Row("line 1", raw, read.records[0][1], end=text[len(raw) :])]) if is_whole else None


def _of_lines(data: bytes) -> Sheet:
    """JSON lines as rows. Each line is decoded for itself: one rare character would make a text of all of them four
    times as large in memory.
    """
    sheet = Sheet("lines")
    last = data.count(b"\n", 0, len(data.rstrip(b"\x00 \t\r\n")))
    for number, line in enumerate(BytesIO(data)):
        text = _text_of(line)
        raw = text.removesuffix("\n").removesuffix("\r")
        path, end = f"line {number + 1}", text[len(raw) :]
        if raw.strip(" \t"):
            _take(sheet, path, raw, end, is_last=number == last)
        else:
            sheet.rows.append(Row(path, raw, None, end=end))
    return sheet


def _take(sheet: Sheet, path: str, raw: str, end: str, *, is_last: bool) -> None:
    read = read_line(raw)
    code = "truncated" if read.code == "bad_line" and is_last else read.code
    if code:
        sheet.mends.append(_file_mend(path, code))
    if read.lost:
        sheet.rejected.append(read.lost)
    for text, value in read.records:
        is_same = text == raw and not code
        row = Row(path, text, value, end=end, changed=not is_same)
        if code:
            row.end_line()
        sheet.rows.append(row)


def _file_mend(path: str, code: str) -> Mend:
    return Mend(path, code, *_SAID[code], _nothing)


def _odd_values(sheet: Sheet) -> Iterator[Mend]:
    """Bytes that are not UTF-8, and numbers that are no JSON."""
    for row in sheet.rows:
        if ("NaN" in row.raw or "Infinity" in row.raw) and has_nan(row.value):
            row.value, row.changed = without_nan(row.value), True
            yield Mend(row.path, "not_a_number", "holds NaN or Infinity, which is no JSON.", "null instead", _nothing)
        if not row.raw.isascii() and _ESCAPED.search(row.raw):
            said = "holds bytes that are not UTF-8."
            yield Mend(row.path, "invalid_utf8", said, "U+FFFD instead", _Clean(row))


class _Clean:
    """Cleans a whole row; runs behind the mends of its message, which know what must not be edited."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def __call__(self) -> None:
        self.row.value, self.row.changed = clean_value(self.row.value), True
