"""A transcript file as rows that can be changed one by one: what is not changed is written back byte for byte. Knows
nothing of what the rows mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from foldmark.doctor.lines import has_nan, is_deep, read_line, without_nan
from foldmark.doctor.spans import Opened, open_list
from foldmark.doctor.values import Mend
from foldmark.errors import WireError
from foldmark.wire.plain import clean_value

_ESCAPED = re.compile("[\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SAID = {
    "bad_line": ("is not JSON.", "left out of the copy"),
    "truncated": ("breaks off: the record was not written to its end.", "left out of the copy"),
    "too_deep": ("nests more than 100 levels deep.", "left out of the copy"),
    "nul_bytes": ("holds bytes of value 0, as a crash leaves them.", "the bytes of value 0 are left out"),
    "control_characters": ("holds raw control characters inside text.", "written with the escapes that JSON wants"),
    "glued_lines": ("holds more than one record, or half of one.", "each whole record stands on a line of its own"),
}


class Row:
    """One record of the file. `raw` is its text, `value` what it says; `lead` and `end` are the text around it. A row
    that is `changed` is written anew from its value."""

    __slots__ = ("changed", "end", "lead", "path", "raw", "value")

    def __init__(
        self, path: str, raw: str, value: Any, *, lead: str = "", end: str = "", changed: bool = False
    ) -> None:
        self.path, self.raw, self.value = path, raw, value
        self.lead, self.end, self.changed = lead, end, changed

    @property
    def is_blank(self) -> bool:
        """Whether it is only an empty line, kept for its bytes."""
        return not self.changed and not self.raw.strip()


class Sheet:
    """The rows of a file in order. `kind` is `lines` (JSON lines) or `list` (one JSON document around a list)."""

    def __init__(self, kind: str, rows: list[Row]) -> None:
        self.kind, self.rows = kind, rows
        self.head = self.tail = self.mark = self.key = ""
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[str, int, int]] = {}
        self.new_fields: dict[str, Any] = {}
        self.mends: list[Mend] = []
        self.rejected: list[str] = []

    # -- editing

    def insert_after(self, row: Row | None, value: Any, path: str = "") -> Row:
        """A new row behind `row`, or in front of everything."""
        near = row or (self.rows[0] if self.rows else None)
        new = Row(path or (near.path if near else ""), "", value, changed=True)
        new.lead, new.end = (near.lead, near.end) if near else ("", "")
        at = 0 if row is None else self.rows.index(row) + 1
        if self.kind == "lines":
            self._on_own_line(near)
            new.end = new.end or "\n"
        self.rows.insert(at, new)
        return new

    def move_after(self, row: Row, anchor: Row) -> None:
        self.rows.remove(row)
        if self.kind == "lines":
            self._on_own_line(anchor)
            self._on_own_line(row)
        self.rows.insert(self.rows.index(anchor) + 1, row)

    def _on_own_line(self, row: Row | None) -> None:
        """A record beside others ends its line, and is not spread over several."""
        if row is not None:
            row.end = row.end or "\n"
            row.changed = row.changed or "\n" in row.raw

    def drop(self, row: Row) -> None:
        if row in self.rows:
            self.rows.remove(row)

    # -- writing

    def bytes(self) -> bytes:
        """The file as it stands now."""
        if self.kind == "lines":
            text = "".join(f"{self._text(row)}{row.end}" for row in self.rows)
        else:
            body = ",".join(row.lead + self._text(row) for row in self.rows)
            text = f"{self._part('head')}{body}{self._part('tail')}"
        return (self.mark + text).encode("utf-8", "surrogateescape")

    def _text(self, row: Row) -> str:
        if not row.changed:
            return row.raw
        sample = row.raw or self._sample()
        return styled(row.value, sample.replace("\n", "") if self.kind == "lines" else sample, row.lead)

    def _sample(self) -> str:
        return next((row.raw for row in self.rows if len(row.raw) > 2), "")

    def _part(self, name: str) -> str:
        """The head or tail with changed members put in place."""
        text = self.head if name == "head" else self.tail
        known = [(*self.places[key], value) for key, value in self.new_fields.items() if key in self.places]
        for where, low, high, value in sorted(known, key=lambda change: -change[1]):
            if where == name:
                text = text[:low] + json.dumps(value, ensure_ascii=False) + text[high:]
        added = {key: value for key, value in self.new_fields.items() if key not in self.places}
        if name == "head" and added:
            at = text.index("{") + 1
            members = "".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}, " for k, v in added.items())
            text = text[:at] + members + text[at:]
        return text


def styled(value: Any, sample: str, lead: str) -> str:
    """JSON text in the style of a neighbour: its spaces, its indent, its way with characters beyond ASCII. A lone
    surrogate (in a field that nobody sends) stays an escape."""
    is_ascii = "\\u" in sample and sample.isascii()
    if "\n" in sample:
        second = sample.split("\n")[1]
        outer = len(lead.rsplit("\n", 1)[-1]) if "\n" in lead else 0
        step = max(1, len(second) - len(second.lstrip(" ")) - outer)
        text = json.dumps(value, ensure_ascii=is_ascii, indent=step).replace("\n", "\n" + " " * outer)
    else:
        is_spaced = bool(re.match(r'\s*[\[{]\s*"(?:[^"\\]|\\.)*":\s', sample))
        separators = (", ", ": ") if is_spaced else (",", ":")
        text = json.dumps(value, ensure_ascii=is_ascii, separators=separators)
    return text if is_ascii else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def open_sheet(data: bytes, name: str) -> Sheet:
    """The rows of a file; what was damaged is in `mends`. Raises WireError when there is no record in it at all."""
    if not data.strip(b" \t\r\n\x00\xef\xbb\xbf"):
        raise WireError(name, "is empty; there is nothing to look at.")
    text, mark, mends = _decoded(data)
    is_lines = _is_lines(text)
    opened = None if is_lines else open_list(text)
    sheet = _of_list(opened, text) if opened else (None if is_lines else _of_value(text)) or _of_lines(text)
    sheet.mark = mark
    sheet.mends = [*mends, *sheet.mends, *_odd_values(sheet)]
    if not any(isinstance(row.value, (dict, list)) for row in sheet.rows) and not opened:
        raise WireError(name, "holds no JSON record; it is no transcript in JSON or JSON lines.")
    return sheet


def _decoded(data: bytes) -> tuple[str, str, list[Mend]]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
        said = "is UTF-16; agents and providers read UTF-8."
        return text, "", [Mend("file", "encoding", said, "written as UTF-8", _nothing)]
    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    return data[3 if mark else 0 :].decode("utf-8", "surrogateescape"), mark, []


def _nothing() -> None:
    """Reading was the whole mend."""


def _is_lines(text: str) -> bool:
    """Whether the file is JSON lines: more than one line, and the first or second of them is a whole object."""
    filled = [line for line in text[:4_000_000].split("\n") if line.strip("\x00 \t\r")]
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
    if opened.rest:
        path = f"{opened.key}[{len(opened.elements)}]"
        sheet.rejected.append(opened.rest)
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


def _of_lines(text: str) -> Sheet:
    sheet = Sheet("lines", [])
    lines = text.split("\n")
    last = max((number for number, line in enumerate(lines) if line.strip("\x00 \t\r")), default=0)
    for number, line in enumerate(lines):
        end = "\n" if number < len(lines) - 1 else ""
        raw = line.removesuffix("\r")
        if not raw.strip(" \t"):
            if line or end:
                sheet.rows.append(Row(f"line {number + 1}", raw, None, end=("\r" if line != raw else "") + end))
            continue
        _take(sheet, f"line {number + 1}", raw, ("\r" if line != raw else "") + end, is_last=number == last)
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
        sheet.rows.append(Row(path, text, value, end=end or ("\n" if code else ""), changed=not is_same))


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
