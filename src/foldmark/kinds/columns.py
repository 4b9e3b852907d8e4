"""Columns of a table: what type their cells have, from where to where they go. Knows nothing of how tables are drawn.

Values are told as they are spelled in the table: a number is never written anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldmark.kinds.cuts import without_controls

NULLS = frozenset(
    ("", "NULL", "null", "None", "none", "NA", "N/A", "n/a", "NaN", "nan", "\\N", "<null>", "<NA>", "[NULL]")
)
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?\Z", re.ASCII)
_BOOLEANS = frozenset(("true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "yes", "no"))
_NAMED = 4
_FEW = 8
_SHORT = 24
_RARE = 20
"""A kind of cell, or one of a few values, is rare when it is at most one in twenty."""


@dataclass(frozen=True)
class Column:
    """What was read of a column: how often each different cell stands there, and how many are of each kind."""

    name: str
    cells: Counter[str]
    kinds: Counter[str]
    kind: Mapping[str, str]

    @property
    def type(self) -> str:
        """`integer`, `number`, `date`, `boolean` or `text` when all cells that hold anything agree, `mixed` when
        they do not."""
        held = self.kinds.keys() - {"empty"}
        if held == {"integer", "number"}:
            return "number"
        return held.pop() if len(held) == 1 else "mixed" if held else "empty"

    def rare(self) -> set[str]:
        """Cells of a kind that is rare here, and rare values of a column that has few."""
        total = self.kinds.total()
        if total < _RARE:
            return set()
        kinds = {kind for kind, number in self.kinds.items() if number * _RARE <= total}
        if self.type == "number":
            kinds -= {"integer", "number"}
        found = {cell for cell in self.cells if self.kind[cell] in kinds} if kinds else set()
        if self.type == "text" and len(self.cells) <= _FEW:
            found |= {cell for cell, number in self.cells.items() if number * _RARE <= total}
        return found

    def say(self) -> str:
        """`total number 0.5…99.10, 3 empty`."""
        said = f"{without_controls(' '.join(self.name.split()))} {self.type}"
        if self.type in ("integer", "number", "date"):
            held = [cell for cell in self.cells if self.kind[cell] != "empty"]
            key: Callable[[str], Any] = str if self.type == "date" else float
            said += f" {min(held, key=key)}…{max(held, key=key)}"
        elif self.type in ("text", "boolean"):
            said += self._say_texts()
        elif self.type == "mixed":
            said += f" ({', '.join(f'{kind} {number:,}' for kind, number in sorted(self.kinds.items()))})"
        if self.kinds["empty"] and self.type not in ("mixed", "empty"):
            said += f", {self.kinds['empty']:,} empty"
        return said

    def _say_texts(self) -> str:
        names = [name for name in self.cells if self.kind[name] != "empty"]
        if len(names) > _NAMED or any(len(name) > _SHORT or "\n" in name for name in names):
            return f", {len(names):,} different"
        names.sort(key=lambda name: (-self.cells[name], name))
        return ": " + ", ".join(f"{without_controls(name)} ×{self.cells[name]:,}" for name in names)


def kind_of(cell: str) -> str:
    """`empty`, `integer`, `number`, `date`, `boolean` or `text`."""
    if cell.isdecimal() and cell.isascii() and len(cell) <= 30:
        return "integer"
    if cell in NULLS:
        return "empty"
    first = cell[0]
    if first.isdecimal() or first in "+-.":
        if _NUMBER.match(cell):
            return "integer" if cell.lstrip("+-").isdecimal() else "number"
        return "date" if _DATE.match(cell) else "text"
    return "boolean" if cell in _BOOLEANS else "text"


def read(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[Column], list[int]]:
    """The columns of rows, and the indexes of rows of trouble: another number of cells, or a cell that is rare in
    its column."""
    whole = [at for at, row in enumerate(rows) if len(row) == len(names)]
    trouble = set(range(len(rows))).difference(whole) if len(whole) < len(rows) else set()
    columns = []
    for name, cells in zip(names, zip(*(rows[at] for at in whole), strict=True), strict=False):
        counted = Counter(cells)
        kind = {cell: kind_of(cell) for cell in counted}
        kinds: Counter[str] = Counter()
        for cell, number in counted.items():
            kinds[kind[cell]] += number
        columns.append(Column(name, counted, kinds, kind))
        if rare := columns[-1].rare():
            trouble.update(at for at, cell in zip(whole, cells, strict=True) if cell in rare)
    return columns, sorted(trouble)
