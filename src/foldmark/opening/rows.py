"""What a table in a body is: columns, and rows that come one by one. Knows nothing of how tables are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from foldmark.opening.opened import Opened

HEAD_BYTES = 1 << 16
"""What a table is recognised by, and where its header must stand."""
MOST_COLUMNS = 60
LONGEST_RECORD = 1 << 22
"""Characters (of JSON lines: bytes); a longer record is none."""


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


def text_of(body: Opened, stop: int) -> str:
    """The text from the beginning of what was opened up to a byte."""
    return body.read(body.start, stop).decode("utf-8", "replace")


def top_of(body: Opened) -> str:
    """The first lines of a body, whole ones."""
    text = text_of(body, body.start + HEAD_BYTES)
    return text if body.stop - body.start <= HEAD_BYTES else text[: text.rfind("\n") + 1]


def ended(body: Opened) -> Iterator[bytes]:
    """The bytes of a body; an empty stretch says that it ends."""
    yield from body.stretches(body.start)
    yield b""
