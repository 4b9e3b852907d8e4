"""The records of a file in order, as a chain that is edited anywhere in constant time. Knows nothing of what the
records mean or how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Row:
    """One record of the file. `raw` is its text, `value` what it says; `lead` and `end` are the text around it. A row
    that is `changed` is written anew from its value. `home` is the record that holds it, when it is one of the items of
    another record."""

    __slots__ = ("changed", "end", "home", "lead", "path", "raw", "value")

    def __init__(
        self, path: str, raw: str, value: Any, *, lead: str = "", end: str = "", changed: bool = False
    ) -> None:
        self.path, self.raw, self.value = path, raw, value
        self.lead, self.end, self.changed = lead, end, changed
        self.home: Row | None = None

    @property
    def is_blank(self) -> bool:
        """Whether it is only an empty line, kept for its bytes."""
        return not self.changed and not self.raw.strip()

    def end_line(self) -> None:
        """See to it that another record can stand behind this one. A lone carriage return ends no line."""
        self.end = self.end if "\n" in self.end else f"{self.end}\n"


class Rows:
    """A chain of rows. A file may lack every second record, so that no edit may walk over all the others.

    The links are kept beside the rows: rows that point at each other would outlive their file. The chain is closed
    through None, which stands before the first row and behind the last.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._behind: dict[Row | None, Row | None] = {None: None}
        self._before: dict[Row | None, Row | None] = {None: None}
        for row in rows:
            self.append(row)

    def __iter__(self) -> Iterator[Row]:
        row = self._behind[None]
        while row is not None:
            yield row
            row = self._behind[row]

    def __len__(self) -> int:
        return len(self._behind) - 1

    def __contains__(self, row: object) -> bool:
        return row is not None and row in self._behind

    def before(self, row: Row | None) -> Row | None:
        """The row in front of one; of None, the last."""
        return self._before[row]

    def behind(self, row: Row | None) -> Row | None:
        """The row behind one; of None, the first."""
        return self._behind[row]

    def append(self, row: Row) -> None:
        self.put(row, self._before[None])

    def put(self, row: Row, before: Row | None) -> None:
        """Put a row behind `before`, or in front of everything."""
        behind = self._behind[before]
        self._link(before, row)
        self._link(row, behind)

    def remove(self, row: Row) -> None:
        """Take a row out, if it is there."""
        if row in self._behind:
            self._link(self._before.pop(row), self._behind.pop(row))

    def _link(self, before: Row | None, behind: Row | None) -> None:
        self._behind[before], self._before[behind] = behind, before
