"""A transcript as conversations over its own rows: units (texts, calls, results …) that know where they stand, and the
edits that every format offers. Knows nothing of any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from foldmark.doctor.rows import Row
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.values import Mend
from foldmark.wire.plain import clean_value
from foldmark.wire.strings import DIRT, dirty_strings
from foldmark.wire.values import Problem

NO_RESULT = "(no result was recorded: the run was interrupted before this call returned)"
"""What stands in for the result of a call that never returned. The file holds nothing better, and it says so."""

NO_BEGINNING = "(the beginning of this conversation was not recorded)"

Kind = Literal["text", "call", "result", "thinking", "image", "other"]
_PLACE = re.compile(r"(?:messages|input|contents)\[(\d+)\](.*)", re.DOTALL)
_INNER = re.compile(r"\.(?:content|parts)\[(\d+)\](.*)", re.DOTALL)


class Unit:
    """One piece of a conversation where it stands: `value` is the very object in the row, `holder` the list it is in
    (None when it is the whole message or its plain text). `step` counts assistant steps: a call's own, else the last
    one before. `is_due` says whether a result stands where the provider wants the results of that step."""

    __slots__ = ("call_id", "holder", "is_due", "kind", "number", "role", "row", "said", "step", "value")

    def __init__(self, kind: Kind, role: str, value: Any, row: Row, *, holder: list[Any] | None, number: int) -> None:
        self.kind, self.role, self.value, self.row = kind, role, value, row
        self.holder, self.number = holder, number
        self.step, self.call_id, self.is_due = -1, "", False
        self.said: str | None = None

    def index(self) -> int:
        """Where it stands in its holder now. Edits seldom move it far from where it was read: it looks there first."""
        holder = self.holder or []
        for at in range(min(self.number, len(holder) - 1), -1, -1):
            if holder[at] is self.value:
                return at
        return index_of(holder, self.value)


class Turn:
    """One message as the provider sees it: its role and its units, out of one row or several."""

    __slots__ = ("plain", "role", "row", "units")

    def __init__(self, role: str, row: Row, units: list[Unit], *, plain: bool = False) -> None:
        self.role, self.row, self.units, self.plain = role, row, units, plain


class Strand:
    """One conversation that is sent on its own. `found` is what the wire's rules said of it, once they were asked.

    `turns` stay as they were read. A turn that an edit adds is known to `behind` only, for the edits that follow.
    """

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.found: list[Problem] | None = None
        self._turn_of: dict[int, Turn] = {}
        self._behind: dict[int, Turn] = {}

    def turn_of(self, unit: Unit) -> Turn:
        """The turn that a unit of the conversation, as it was read, is in."""
        if not self._turn_of:
            self._turn_of = {id(held): turn for turn in self.turns for held in turn.units}
        return self._turn_of[id(unit)]

    def behind(self, turn: Turn) -> Turn | None:
        """The turn behind one, those that were added included."""
        if not self._behind:
            self._behind = {id(before): turn for before, turn in pairwise(self.turns)}
        return self._behind.get(id(turn))

    def add_behind(self, turn: Turn, new: Turn) -> None:
        """Let an added turn stand behind another one."""
        after = self.behind(turn)
        self._behind[id(turn)] = new
        if after is not None:
            self._behind[id(new)] = after

    @property
    def units(self) -> Iterator[Unit]:
        return (unit for turn in self.turns for unit in turn.units)


class Talk:
    """The conversations of a file in one format, and the edits that keep its rows whole. Formats override what
    differs; every stage of mends works on a fresh Talk."""

    format = ""
    wire = ""
    inner = ""
    key = "messages"
    id_scope: Literal["all", "step", "none"] = "all"
    id_pattern = re.compile(r".{1,64}\Z", re.DOTALL)
    needs_place = True
    warns_of_repeats = False
    """Whether an id that comes again in another step is worth a word, though the provider takes it."""
    silent: frozenset[str] = frozenset()
    """Codes of the wire that are no news in this format."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.strands = list(self.read())

    # -- what a format says of itself

    def read(self) -> Iterable[Strand]:
        """The conversations of the file."""
        raise NotImplementedError

    def payload(self, strand: Strand) -> dict[str, Any]:
        """The conversation as its provider takes it, made of the very objects of the rows."""
        raise NotImplementedError

    def shape_mends(self) -> Iterator[Mend]:
        """What must be put right before anything else can be looked at."""
        return iter(())

    def stages(self) -> list[Stage]:
        """What yields mends, in the order in which they are applied."""
        raise NotImplementedError

    def is_request(self) -> bool:
        """Whether the file is a whole request, not only a conversation that goes on."""
        return "model" in self.sheet.fields

    def field_mends(self) -> Iterator[Mend]:
        """Dirty text in the members beside the conversation: system text, tools."""
        for key, value in self.sheet.fields.items():
            for where, code in dirty_strings(value, key):
                apply = partial(self.set_field, key, clean_value(value))
                yield Mend(where, code, DIRT[code], "U+FFFD instead", apply)
                break

    def set_field(self, key: str, value: Any) -> None:
        self.sheet.fields[key] = self.sheet.new_fields[key] = value

    def leave_fields_out(self, *keys: str) -> None:
        for key in keys:
            if self.sheet.fields.pop(key, None) is not None:
                self.sheet.lost_fields.append(key)

    def thinking(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Every piece of thinking: where it stands, and what takes it out with all that depends on it."""
        for strand in self.strands:
            for unit in strand.units:
                if unit.kind == "thinking":
                    yield self.path(unit), partial(self.remove, unit)

    def finish(self) -> None:
        """Bring the rows into the form in which they are written, when all mends are done."""

    # -- rows and messages

    def records(self) -> list[Row]:
        return [row for row in self.sheet.rows if not row.is_blank]

    def message(self, row: Row) -> Any:
        """The provider's message (or item) inside a row."""
        return row.value[self.inner] if self.inner else row.value

    def set_message(self, row: Row, value: Any) -> None:
        if self.inner:
            row.value[self.inner] = value
        else:
            row.value = value
        row.changed = True

    def new_row(self, after: Row | None, message: Any, like: Row | None = None) -> Row:
        """A row for a message that the file does not hold, behind `after`."""
        return self.sheet.insert_after(after, message)

    def drop_row(self, row: Row) -> None:
        self.sheet.drop(row)

    def leave_out(self, row: Row) -> None:
        """Drop a row that nothing can be made of; its bytes are saved beside the copy."""
        self.sheet.rejected.append(row.raw)
        self.drop_row(row)

    # -- places

    def at(self, row: Row, rest: str = "") -> str:
        """A place inside a row, as people find it in the file."""
        if self.sheet.kind == "list":
            return row.path + rest
        return f"{row.path} {(self.inner + rest).lstrip('.')}".strip()

    def path(self, unit: Unit, rest: str = "") -> str:
        return self.at(unit.row, self.rest(unit) + rest)

    def rest(self, unit: Unit) -> str:
        """Where in its message a unit stands."""
        return "" if unit.holder is None else f".content[{self.number(unit)}]"

    def number(self, unit: Unit) -> int:
        """Where in its list a unit stood in the file."""
        return self.sheet.first_place(unit.holder or [], unit.value, unit.number)

    def where(self, strand: Strand, path: str) -> str:
        """The place in the file of a path that a wire's validator gave."""
        found = _PLACE.match(path)
        if not found or int(found[1]) >= len(strand.turns):
            return path
        turn, rest = strand.turns[int(found[1])], found[2]
        inner = _INNER.match(rest)
        if inner and not turn.plain and int(inner[1]) < len(turn.units):
            unit = turn.units[int(inner[1])]
            return self.path(unit, inner[2]) if unit.holder is not None else self.at(unit.row, ".content")
        return self.at(turn.row, rest)

    def row_of(self, strand: Strand, path: str) -> str:
        """The path of the row that a validator's path is in."""
        found = _PLACE.match(path)
        if not found or int(found[1]) >= len(strand.turns):
            return path
        turn, inner = strand.turns[int(found[1])], _INNER.match(found[2])
        if inner and not turn.plain and int(inner[1]) < len(turn.units):
            return turn.units[int(inner[1])].row.path
        return turn.row.path

    # -- edits

    def replace(self, unit: Unit, value: Any) -> None:
        """Put another value where the unit stands."""
        if unit.holder is None:
            self.set_plain(unit, value)
        else:
            self.sheet.remember(unit.holder)
            self.sheet.inherit(unit.holder, unit.value, value)
            unit.holder[unit.index()] = value
        unit.value = value
        unit.row.changed = True

    def set_plain(self, unit: Unit, value: Any) -> None:
        self.set_message(unit.row, value)

    def remove(self, unit: Unit) -> None:
        """Take a unit out; a row that holds nothing more goes too."""
        if unit.holder is None:
            self.drop_row(unit.row)
            return
        self.sheet.remember(unit.holder)
        del unit.holder[unit.index()]
        unit.row.changed = True
        if self.is_empty(unit.row):
            self.sheet.emptied.append(unit.row.path)
            self.drop_row(unit.row)

    def is_empty(self, row: Row) -> bool:
        return not self.message(row).get("content")

    def rename(self, unit: Unit, call_id: str) -> None:
        """Give a call or a result another call id."""
        raise NotImplementedError

    def quote(self, unit: Unit, said: str) -> None:
        """Turn a result that cannot stand as one into text that holds it."""
        raise NotImplementedError

    def move(self, strand: Strand, unit: Unit, call: Unit) -> None:
        """Put a result where the results of the call's step stand."""
        raise NotImplementedError

    def add_marker(self, strand: Strand, call: Unit) -> None:
        """Give a call that never returned a result that says so."""
        raise NotImplementedError

    def result_text(self, unit: Unit) -> str:
        """The words of a result."""
        raise NotImplementedError

    def call_text(self, unit: Unit) -> str:
        """What makes two calls the same: name and arguments."""
        raise NotImplementedError


Stage = Callable[[Any], Iterator[Mend]]
"""Yields mends of a Talk. Each stage gets a fresh one, over the rows as the stage before left them."""


def put(row: Row, held: dict[str, Any], key: str, value: Any) -> None:
    """Set a member of an object inside a row."""
    held[key] = value
    row.changed = True


def forget(row: Row, held: dict[str, Any], key: str) -> None:
    """Take a member of an object inside a row out."""
    held.pop(key, None)
    row.changed = True


def become(row: Row, held: dict[str, Any], value: dict[str, Any]) -> None:
    """Give an object inside a row another content; it stays the same object."""
    held.clear()
    held.update(value)
    row.changed = True


def index_of(holder: list[Any], value: Any) -> int:
    """Where this very object stands in a list."""
    return next(at for at, held in enumerate(holder) if held is value)


def words(value: Any) -> str:
    """All text of a content value: a string, blocks, or blocks in blocks."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = (value.get(key) for key in ("text", "thinking", "content", "output", "input_text"))
        return "\n".join(text for text in map(words, inner) if text)
    if isinstance(value, list):
        return "\n".join(text for text in map(words, value) if text)
    return ""
