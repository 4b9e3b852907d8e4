"""Reads an opened body as rows under columns: CSV and its kin, drawn tables, JSON lists of objects, JSON lines. Knows
nothing of which rows are wanted.

Rows come one by one, so that a delimited table or JSON lines of any size can be read.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from foldmark.errors import PolicyError
from foldmark.kinds import grids
from foldmark.kinds.records import is_json_lines
from foldmark.opening.documents import LARGEST_JSON, document
from foldmark.opening.opened import Opened

HEAD_BYTES = 1 << 16
"""What a table is recognised by, and where its header must stand."""
MOST_COLUMNS = 60
CELL_CHARACTERS = 200
_RECORD = 1 << 22
"""A record that is longer was opened by a stray quote: it is taken to end at its line."""


class Row(NamedTuple):
    """A row as it stands: the line where it begins (0: unknown), and what its cells are made of."""

    line: int
    raw: Any


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A table in a body: what form it has, its columns, its rows, read anew at each call of `rows`, and `cells`, which
    takes one apart: most rows are only counted. `path` is the query of its list where it is part of a JSON document."""

    form: str
    columns: list[str]
    rows: Callable[[], Iterator[Row]]
    cells: Callable[[Row], list[str]]
    path: str = ""


def sheet_of(body: Opened) -> Sheet:
    """The table that a body is, or that the opened lines of it are. Lines of a table have its header, wherever they
    stand. Raises PolicyError where there is none."""
    body = body.of_lines("table")
    top = msgspec.structs.replace(body, start=0, stop=body.size, first=1, last=body.lines)
    found = _delimited(top, body) or _json(body)
    if found is None and body.first > 1:
        found = _drawn(top, body) or _delimited(body, body)
    if found := found or _drawn(body, body):
        return found
    raise PolicyError(
        f"{body.ref} is no table that can be read (CSV, TSV, bars, Markdown, aligned columns, JSON objects). Name the "
        f"lines that are one ({body.ref}#L10-40), grep it, or read its lines."
    )


def _text(body: Opened, stop: int) -> str:
    return body.read(body.start, stop).decode("utf-8", "replace")


def _top(body: Opened) -> str:
    """The first lines of a body, whole ones."""
    text = _text(body, body.start + HEAD_BYTES)
    return text if body.stop - body.start <= HEAD_BYTES else text[: text.rfind("\n") + 1]


# -- delimited


def _delimited(top: Opened, body: Opened) -> Sheet | None:
    """Rows of `body` under the header at the beginning of `top`."""
    text = _top(top)
    if grids.drawn(text) or (table := grids.delimited(text)) is None:
        return None
    delimiter = next(mark for mark, form in grids.DELIMITERS.items() if form == table.form)

    def rows() -> Iterator[Row]:
        return islice(_records(body, delimiter), 1 if body.start == top.start else 0, None)

    def cells(row: Row) -> list[str]:
        return grids.split_record(row.raw, delimiter)

    return Sheet(form=table.form, columns=table.header[:MOST_COLUMNS], rows=rows, cells=cells)


def _records(body: Opened, delimiter: str) -> Iterator[Row]:
    """Every record that is not blank, with lines as the body counts them."""
    pattern, line = grids.record_pattern(delimiter), body.first
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    for stretch in _ended(body):
        text += decoder.decode(stretch, final=not stretch)
        place, is_searched = 0, False
        while not is_searched:
            for match in pattern.finditer(text, place):
                record = match[0]
                if stretch and match.end() == len(text):
                    break  # it may go on
                place = match.end()
                if bare := record.rstrip("\r\n"):
                    yield Row(line, bare)
                line += record.count("\n")
            is_searched = len(text) - place <= _RECORD
            if not is_searched:  # the line alone is a record; one without end is cut
                cut = text.find("\n", place) + 1
                yield Row(line, text[place : cut or len(text)].rstrip("\r\n"))
                line, place = line + bool(cut), cut or len(text)
        text = text[place:]


def _ended(body: Opened) -> Iterator[bytes]:
    """The bytes of a body; an empty stretch says that it ends."""
    yield from body.stretches(body.start)
    yield b""


# -- drawn


def _drawn(top: Opened, body: Opened) -> Sheet | None:
    """A table with rules or aligned columns, as far as it is read at once."""
    head = _top(top)
    if not (grids.drawn(head) or grids.aligned(head)):
        return None
    text = _text(top, top.start + LARGEST_JSON)
    table = grids.drawn(text) or grids.aligned(text)
    if table is None:
        return None

    def rows() -> Iterator[Row]:
        line, place = top.first, 0
        for at in range(table.total):
            start = table.spans[at * 2]
            line += table.text.count("\n", place, start)
            place = start
            if body.first <= line <= body.last:
                yield Row(line, table.row(at))

    def cells(row: Row) -> list[str]:
        return table.cells(row.raw)

    return Sheet(form=table.form, columns=table.header[:MOST_COLUMNS], rows=rows, cells=cells)


# -- JSON


def _json(body: Opened) -> Sheet | None:
    if is_json_lines(_top(body)):
        return _json_lines(body)
    if _text(body, body.start + 64).lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        value = document(body).value
    except PolicyError:
        if body.stop - body.start > LARGEST_JSON:
            raise
        return None
    lists = _lists(value)
    return next((_objects(path, items) for path, items in lists if items and all(map(_is_object, items))), None)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _objects(path: str, items: Sequence[dict[str, Any]]) -> Sheet:
    columns = _columns(items[:1_000])

    def rows() -> Iterator[Row]:
        return (Row(0, item) for item in items)

    form = f"JSON list of objects{f' in {path}' if path else ''}"
    return Sheet(form=form, columns=columns, rows=rows, cells=_cells_of(columns), path=path or "@")


def _lists(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """The value itself when it is a list, else the lists inside an object, the longest first, with their keys."""
    if isinstance(value, list):
        yield "", value
    elif isinstance(value, dict):
        held = [(json.dumps(key), item) for key, item in value.items() if isinstance(item, list)]
        yield from sorted(held, key=lambda pair: -len(pair[1]))


def _json_lines(body: Opened) -> Sheet:
    decode = msgspec.json.Decoder().decode

    def rows() -> Iterator[Row]:
        for line, text in _text_lines(body):
            with suppress(ValueError, RecursionError):  # a line that was cut, or is no JSON
                value = decode(text)
                if isinstance(value, dict):
                    yield Row(line, value)

    columns = _columns([row.raw for row in islice(rows(), 200)])
    return Sheet(form="JSON lines", columns=columns, rows=rows, cells=_cells_of(columns))


def _text_lines(body: Opened) -> Iterator[tuple[int, bytes]]:
    """(line number, its bytes); one of more than 4 MB is passed over."""
    rest, line = b"", body.first
    for stretch in _ended(body):
        lines = (rest + stretch).split(b"\n")
        rest = lines.pop() if stretch else b""
        for text in lines:
            yield line, text
            line += 1
        if len(rest) > _RECORD:
            rest = b" "


def _columns(values: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for value in values for key in value))[:MOST_COLUMNS]


def _cells_of(columns: Sequence[str]) -> Callable[[Row], list[str]]:
    """What takes an object apart: its values under the columns, those that are no texts as JSON."""

    def cells(row: Row) -> list[str]:
        return [_cell(row.raw[name]) if name in row.raw else "" for name in columns]

    return cells


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, float) else msgspec.json.encode(value).decode()
