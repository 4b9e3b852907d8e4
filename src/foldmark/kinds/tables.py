"""Tables: CSV and its kin, Markdown, the output of SQL clients, boxes, aligned columns. Knows nothing of what the
columns mean.

A preview has the header, the columns with their types and ranges, and whole rows: both ends and rows of trouble.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plain_preview, plural, profile, remembered
from foldmark.kinds.body import Count, compose, edges, hidden, is_trouble, whole
from foldmark.kinds.columns import Column, read
from foldmark.kinds.cuts import LONG_LINE, shorten, without_controls
from foldmark.kinds.grids import Table, aligned, delimited, drawn

READ_ROWS = 20_000
"""Rows whose cells are looked at; a longer table says that its columns are told from these."""


@remembered
def table_of(text: str) -> Table | None:
    """The table that a text is, None when it is none."""
    return drawn(text) or delimited(text) or aligned(text)


def _recognise(text: str, call: ToolCall | None) -> float:
    head = text[:8_000]
    if text.count("\n", 0, 8_000) < 2 and "\n" not in text[8_000:8_100]:
        return 0.0
    if len(text) > 8_000:
        head = head[: head.rfind("\n") + 1]
    if drawn(head):
        return 0.84
    if call is not None and profile(call).role == "searches":
        return 0.0
    if delimited(head):
        return 0.82
    return 0.72 if aligned(head) else 0.0


class Rows:
    """The rows of a table as pieces of a preview."""

    def __init__(self, table: Table) -> None:
        self.text = table.text
        self.total = table.total
        self._table = table

    def line(self, number: int) -> str | None:
        return self._table.row(number - 1) if 1 <= number <= self.total else None

    def gap(self, first: int, last: int) -> str:
        return hidden(first, last, self.total, "row")


def _read(table: Table) -> tuple[list[Column], list[int]]:
    rows = [table.cells(table.row(at)) for at in range(min(table.total, READ_ROWS))]
    columns, trouble = read(table.header, rows)
    ragged = sum(1 for row in rows if len(row) != len(table.header))
    # Cells that do not fall into the columns would give types and ranges of the wrong ones.
    return ([] if ragged * 10 > len(rows) else columns), trouble


def _size(table: Table) -> str:
    said = f"{table.form}, {plural(table.total, 'row')}, {plural(len(table.header), 'column')}"
    return f"{said}, footer: {clip(without_controls(table.footer), 80)}" if table.footer else said


def outcome(text: str, call: ToolCall | None) -> str:
    table = table_of(text)
    if table is None:
        return ""
    names = ", ".join(without_controls(" ".join(name.split())) for name in table.header[:12] if len(name) <= 60)
    more = f" (+{len(table.header) - 12:,} more)" if len(table.header) > 12 else ""
    said = f"{_size(table)}: {names}{more}"
    if table.total > 0 and len(first := table.row(0)) <= 200 and "\n" not in first:
        said += f"; first row: {without_controls(first.strip())}"
    return said


def _top(table: Table, columns: list[Column], budget_tokens: int, count: Count) -> str:
    """The size, the columns as far as a third of the budget goes, and the header as it stands."""
    lines = [_size(table)]
    if table.total > READ_ROWS and columns:
        lines[0] += f"; columns as in the first {READ_ROWS:,} rows"
    header = without_controls(table.lead)
    room = budget_tokens // 3
    if len(header) <= room * 8 and count(header) <= room:
        said = _fitting([column.say() for column in columns if len(column.name) <= 60], room, count)
        return "\n".join([*lines, *([said] if said else []), header])
    names = _fitting([without_controls(name) for name in table.header if len(name) <= 60], room, count)
    return "\n".join([*lines, names] if names else lines)


def _fitting(said: list[str], room: int, count: Count) -> str:
    shown: list[str] = []
    for text in said:
        room -= count(text) + 1
        if room < 8:
            break
        shown.append(text)
    left = len(said) - len(shown)
    return ("; ".join(shown) + (f"; … {plural(left, 'column')} more …" if left else "")) if shown else ""


def _wanted(rows: Rows, trouble: list[int], limit: int = 12) -> Iterator[tuple[int, str]]:
    yield from edges(rows, 1, 1)
    odd = trouble if len(trouble) <= limit else trouble[: limit - 4] + trouble[-4:]
    yield from ((at + 1, rows.line(at + 1) or "") for at in odd)
    for number in range(1, min(rows.total, READ_ROWS) + 1):
        if is_trouble((line := rows.line(number) or "")[:2_000]):
            yield number, line
    yield from edges(rows, 400, 200)


def _row(table: Table, record: str) -> str:
    """A row as it stands; of a long one the first cells, whole, and how many there are more."""
    if len(record) <= LONG_LINE:
        return shorten(record)
    cells = table.cells(record)
    shown: list[str] = []
    room = LONG_LINE
    for cell in cells:
        room -= len(cell) + 3
        if room < 0:
            break
        shown.append(shorten(cell))
    left = f"… {plural(len(cells) - len(shown), 'more cell')} of this row, {len(record):,} characters, not shown …"
    return " | ".join([*shown, left])


def preview(text: str, budget_tokens: int, count: Count) -> str:
    if fits := whole(text, budget_tokens, count):
        return fits
    table = table_of(text)
    if table is None:
        return plain_preview(text, budget_tokens, count)
    columns, trouble = _read(table)
    rows = Rows(table)
    top = _top(table, columns, budget_tokens, count)
    return compose(rows, _wanted(rows, trouble), budget_tokens, count, top, cut=partial(_row, table))


TABLE = Kind("table", _recognise, outcome, preview)
