"""Reads JSON lists of objects and JSON lines as rows under columns. Knows nothing of which rows are wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from foldmark.errors import PolicyError
from foldmark.kinds.records import is_json_lines
from foldmark.opening.documents import LARGEST_JSON, document
from foldmark.opening.opened import Opened
from foldmark.opening.rows import LONGEST_RECORD, MOST_COLUMNS, Row, Sheet, ended, text_of, top_of


def json_sheet(body: Opened) -> Sheet | None:
    """JSON lines of objects, or the longest list of objects in a document; None for what is no JSON or has none."""
    if is_json_lines(top_of(body)):
        return _json_lines(body)
    if text_of(body, body.start + 64).lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
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
    for stretch in ended(body):
        lines = (rest + stretch).split(b"\n")
        rest = lines.pop() if stretch else b""
        for text in lines:
            yield line, text
            line += 1
        if len(rest) > LONGEST_RECORD:
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
