"""Conditions that choose rows of a table (`status=failed`), and names that choose columns. Knows nothing of samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice

from foldmark.errors import PolicyError
from foldmark.opening.rows import Row, Sheet

_CONDITION = re.compile(r"(?P<name>.+?)\s*(?P<sign><=|>=|!=|=|~|<|>)\s*(?P<value>.*)", re.DOTALL)


def condition_of(condition: str, sheet: Sheet) -> Callable[[Row], bool]:
    """A condition as a function. Numbers are compared as numbers, all else as text without regard to case."""
    found = _CONDITION.fullmatch(condition.strip())
    if not found:
        raise PolicyError(f"table: {condition!r} is no condition; write column=value, with = != ~ < > <= or >=.")
    at, sign = column_of(found["name"], sheet.columns), found["sign"]
    value = found["value"].strip().strip("\"'").casefold()
    right = _number(value)
    is_plain = sign in ("=", "~") and right is None and '"' not in value and value.isprintable()

    def holds(row: Row) -> bool:
        if is_plain and isinstance(row.raw, str) and value not in row.raw.casefold():
            return False  # no cell of it does: most rows are never taken apart
        cells = sheet.cells(row)
        cell = cells[at].strip().casefold() if at < len(cells) else ""
        if sign == "~":
            return value in cell
        left = _number(cell)
        mine, theirs = (cell, value) if left is None or right is None else (left, right)
        if sign in ("=", "!="):
            return (mine == theirs) == (sign == "=")
        if left is not None and right is None:
            return False  # a number is neither more nor less than a word
        return bool(cell) and _ORDERS[sign](mine, theirs)

    return holds


def uncompared(condition: str, sheet: Sheet) -> str:
    """Why a condition holds for no row, as far as its first rows tell: it asks for more or less than a word, and the
    column holds numbers. Empty for any other."""
    found = _CONDITION.fullmatch(condition.strip())
    if not found or found["sign"] not in _ORDERS or _number(value := found["value"].strip().strip("\"'")) is not None:
        return ""
    at = column_of(found["name"], sheet.columns)
    rows = [sheet.cells(row) for row in islice(sheet.rows(), _LOOKED_ROWS)]
    cells = [cells[at].strip() for cells in rows if at < len(cells) and cells[at].strip()]
    if not cells or any(_number(cell) is None for cell in cells):
        return ""
    return f"{found['name'].strip()[:80]} holds numbers and {value[:80]!r} is none: nothing compares with it."


_LOOKED_ROWS = 200
_ORDERS: dict[str, Callable[..., bool]] = {
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "")) if len(text) <= 40 else None
    except ValueError:
        return None


def column_of(name: str, columns: Sequence[str]) -> int:
    """Which column a name means, or its number (from 1). Raises PolicyError with those there are."""
    wanted = name.strip().casefold()
    for at, column in enumerate(columns):
        if column.strip().casefold() == wanted:
            return at
    if wanted.isdecimal() and 1 <= int(wanted[:6]) <= len(columns):
        return int(wanted[:6]) - 1
    listed = ", ".join(column[:40] for column in columns[:30])
    raise PolicyError(f"table: there is no column {name.strip()[:80]!r}; there are: {listed}.")
