"""A sample of a table: its columns, how many rows it has, some of them. Knows nothing of how tables are written."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from foldmark.kinds.columns import read
from foldmark.opening.conditions import column_of, condition_of, uncompared
from foldmark.opening.hiding import hidden_cells
from foldmark.opening.opened import Opened
from foldmark.opening.rows import Row, Sheet
from foldmark.opening.sheets import sheet_of
from foldmark.retrieval import PAGE_CHARACTERS

Take = Literal["spread", "first", "last"]
READ_ROWS = 5_000
"""Columns are told by the first so many rows that were asked for."""
MOST_ROWS = 200
CELL_CHARACTERS = 200


class SampleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a sample: its number among the rows asked for (from 1), the ref of its line (empty where it has none)
    and its cells, long ones cut with …."""

    number: int
    ref: str
    cells: tuple[str, ...]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows of a table. `form` says how it is written, `columns` are the names shown, `told` says of each what
    stands in it; `total` rows were asked for, of `searched` there are. `next` is the ref where rows that are not shown
    begin (empty for none); `note` says what else there is to know."""

    ref: str
    form: str
    columns: tuple[str, ...]
    told: tuple[str, ...]
    rows: tuple[SampleRow, ...]
    total: int
    searched: int
    next: str = ""
    note: str = ""


def table(
    body: Opened, *, rows: int = 12, take: Take = "spread", where: Sequence[str] = (), columns: Sequence[str] = (),
    limit: int = PAGE_CHARACTERS, seconds: float = 5.0,
) -> Sample:  # fmt: skip
    """A sample of `rows` rows (at most 200): spread evenly with both ends, the first, or the last ones. `where` are
    conditions that all must hold (`status=failed`, `name~smith`, `price>=10`; signs = != ~ < > <= >=, `~` for a part);
    `columns` are those to show. At most about `limit` characters.

    Raises PolicyError where there is no table, and for a column or condition that makes no sense.
    """
    sheet = sheet_of(body)
    tests = [condition_of(each, sheet) for each in where]
    shown = [column_of(name, sheet.columns) for name in columns] or list(range(len(sheet.columns)))
    kept = _Kept(max(1, min(rows, MOST_ROWS)), take)
    late = kept.read(sheet.rows(), tests, time.monotonic() + seconds)
    rows_of = [(number, _shown_row(body, sheet, number, row, shown)) for number, row in kept.chosen()]
    found = _within(rows_of, limit)
    lines = {number: row.line for number, row in kept.chosen()}
    every = told_columns(body, sheet, kept.top)
    return Sample(
        ref=body.name,
        form=sheet.form,
        columns=tuple(sheet.columns[at] for at in shown),
        told=tuple(every[at] for at in shown if at < len(every)),
        rows=tuple(row for _, row in found),
        total=kept.total,
        searched=kept.searched,
        next=_next(body, kept, [number for number, _ in found], lines),
        note=_note(sheet, late, len(found) < len(lines), () if kept.total else where),
    )


class _Kept:
    """What is kept of rows that stream by: the first ones, the last ones, and every so many of them. The distance
    doubles whenever too many are kept, so that memory stays bounded and the sample even."""

    def __init__(self, wanted: int, take: Take) -> None:
        self.wanted, self.take = wanted, take
        self.total = self.searched = self.stopped = 0
        self.top: list[Row] = []
        self._even: list[tuple[int, Row]] = []
        self._step = 1
        self._last: deque[tuple[int, Row]] = deque(maxlen=wanted if take == "last" else 1)

    def read(self, rows: Iterator[Row], tests: Sequence[Callable[[Row], bool]], until: float) -> bool:
        """Read all rows; whether time ran out."""
        for row in rows:
            self.searched += 1
            if not self.searched % 512 and time.monotonic() > until:
                self.stopped = row.line
                return True
            if not tests or all(test(row) for test in tests):
                self._keep(row)
        return False

    def _keep(self, row: Row) -> None:
        self.total += 1
        if self.total <= READ_ROWS:
            self.top.append(row)
        self._last.append((self.total, row))
        first = self.take == "first"
        if (self.total <= self.wanted) if first else (self.take == "spread" and not (self.total - 1) % self._step):
            self._even.append((self.total, row))
            if not first and len(self._even) > 8 * self.wanted:
                self._even, self._step = self._even[::2], self._step * 2

    def chosen(self) -> list[tuple[int, Row]]:
        """(number among those asked for, row), in order."""
        if self.take == "last":
            return list(self._last)
        if self.take == "first" or not self._even:
            return self._even
        every = dict([*self._even, *self._last])
        numbers = sorted(every)
        if len(numbers) <= self.wanted:
            return sorted(every.items())
        steps = max(1, self.wanted - 1)
        return [
            (n, every[n]) for n in dict.fromkeys(numbers[at * (len(numbers) - 1) // steps] for at in range(self.wanted))
        ]


def _shown_row(body: Opened, sheet: Sheet, number: int, row: Row, shown: Sequence[int]) -> SampleRow:
    cells = hidden_cells(body, sheet.columns, sheet.cells(row))
    ref = body.at(row.line, row.line) if row.line else ""
    return SampleRow(number=number, ref=ref, cells=tuple(_cut(cells[at]) if at < len(cells) else "" for at in shown))


def _cut(cell: str) -> str:
    cell = " ".join(cell[: 4 * CELL_CHARACTERS].split())
    return cell if len(cell) <= CELL_CHARACTERS else f"{cell[:CELL_CHARACTERS]}…"


def _within(rows: Sequence[tuple[int, SampleRow]], limit: int) -> list[tuple[int, SampleRow]]:
    """Rows that fit, from both ends inwards where not all do; one always does."""
    inwards = [rows[at // 2] if at % 2 == 0 else rows[-1 - at // 2] for at in range(len(rows))]
    kept: set[int] = set()
    for number, row in inwards:
        limit -= sum(len(cell) + 3 for cell in row.cells) + 12
        if limit < 0 and kept:
            break
        kept.add(number)
    return [(number, row) for number, row in rows if number in kept]


def told_columns(body: Opened, sheet: Sheet, rows: Sequence[Row]) -> tuple[str, ...]:
    """What stands in each column of the rows, `total number 0.5…99.10, 3 empty`."""
    width = len(sheet.columns)
    cells = [hidden_cells(body, sheet.columns, sheet.cells(row)[:width]) for row in rows]
    return tuple(column.say() for column in read(sheet.columns, cells)[0])


def _next(body: Opened, kept: _Kept, numbers: Sequence[int], lines: Mapping[int, int]) -> str:
    """The lines where rows that are not shown begin: behind the first gap, or before the last ones."""
    if kept.stopped:
        return body.at(kept.stopped, body.last)
    if not numbers or len(numbers) == kept.total or not lines[numbers[0]]:
        return ""
    if numbers[0] > 1:
        return body.at(body.first, max(body.first, lines[numbers[0]] - 1))
    last = next((n for at, n in enumerate(numbers) if n + 1 != (numbers[at + 1] if at + 1 < len(numbers) else 0)), 0)
    line = lines[last] + 1
    return body.at(line, body.last) if line <= body.last else ""


def _note(sheet: Sheet, late: bool, is_short: bool, vain: Sequence[str]) -> str:
    """What else there is to know; `vain` are the conditions where no row meets them."""
    said = [why for condition in vain if (why := uncompared(condition, sheet))]
    if late:
        said.append("Time ran out before the end: rows and counts are those read so far.")
    if is_short:
        said.append("Fewer rows are shown than asked for, to stay short; name the columns that matter.")
    if sheet.path:
        said.append(f"As JSON query its rows are {sheet.path}.")
    return " ".join(said)
