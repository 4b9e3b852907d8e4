"""Reads an opened body as a table: CSV and its kin, drawn tables, JSON. Knows nothing of which rows are wanted.

Records come one by one, so that a delimited table of any size can be read.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import islice

import msgspec

from foldmark.errors import PolicyError
from foldmark.kinds import grids
from foldmark.opening.documents import LARGEST_JSON
from foldmark.opening.objects import json_sheet
from foldmark.opening.opened import Opened
from foldmark.opening.rows import LONGEST_RECORD, MOST_COLUMNS, Row, Sheet, ended, text_of, top_of


def sheet_of(body: Opened) -> Sheet:
    """The table that a body is, or that the opened lines of it are. Lines of a table have its header, wherever they
    stand. Raises PolicyError where there is none."""
    body = body.of_lines("table")
    top = msgspec.structs.replace(body, start=0, stop=body.size, first=1, last=body.lines)
    found = _delimited(top, body) or json_sheet(body)
    if found is None and body.first > 1:
        found = _drawn(top, body) or _delimited(body, body)
    if found := found or _drawn(body, body):
        return found
    raise PolicyError(
        f"{body.ref} is no table that can be read (CSV, TSV, bars, Markdown, aligned columns, JSON objects). Name the "
        f"lines that are one ({body.ref}#L10-40), grep it, or read its lines."
    )


# -- delimited


def _delimited(top: Opened, body: Opened) -> Sheet | None:
    """Rows of `body` under the header at the beginning of `top`."""
    text = top_of(top)
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
    for stretch in ended(body):
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
            is_searched = len(text) - place <= LONGEST_RECORD
            if not is_searched:  # opened by a stray quote: the line alone is a record; one without end is cut
                cut = text.find("\n", place) + 1
                yield Row(line, text[place : cut or len(text)].rstrip("\r\n"))
                line, place = line + bool(cut), cut or len(text)
        text = text[place:]


# -- drawn


def _drawn(top: Opened, body: Opened) -> Sheet | None:
    """A table with rules or aligned columns, as far as it is read at once."""
    head = top_of(top)
    if not (grids.drawn(head) or grids.aligned(head)):
        return None
    text = text_of(top, top.start + LARGEST_JSON)
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
