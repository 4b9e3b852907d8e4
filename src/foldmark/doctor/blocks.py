"""Conversations of messages that hold blocks, results among them: Anthropic's shape. Knows nothing of files whose rows
wrap the messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from foldmark.doctor.block_rules import block_mends, order_mends
from foldmark.doctor.pairs import pair_mends
from foldmark.doctor.rows import Row
from foldmark.doctor.shapes import shaped_message
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.talk import (
    NO_BEGINNING,
    NO_RESULT,
    Kind,
    Stage,
    Strand,
    Talk,
    Turn,
    Unit,
    forget,
    index_of,
    put,
    words,
)
from foldmark.doctor.values import Mend
from foldmark.wire.plain import clean_value, compact_json
from foldmark.wire.strings import DIRT, dirty_strings

_KINDS: dict[str, Kind] = {
    "text": "text",
    "tool_use": "call",
    "tool_result": "result",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "image": "image",
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
THINKING = ("thinking", "redacted_thinking")


class BlockTalk(Talk):
    """A list of Anthropic messages: one row is one message."""

    format, wire = "anthropic-messages", "anthropic"
    id_pattern = re.compile(r"[a-zA-Z0-9_-]+\Z")

    def __init__(self, sheet: Sheet) -> None:
        self._fronts: dict[int, int] = {}
        self.systems: list[Row] = []
        super().__init__(sheet)

    # -- reading

    def read(self) -> Iterable[Strand]:
        rows = [row for row in self.records() if self.is_message(row)]
        while rows and _role(self.message(rows[0])) == "system":
            self.systems.append(rows.pop(0))
        return [self.strand([[row] for row in rows])]

    def is_message(self, row: Row) -> bool:
        message = self.message(row)
        return not isinstance(message, dict) or "role" in message or "content" in message

    def strand(self, groups: list[list[Row]]) -> Strand:
        """Turns out of rows, each group one turn; steps are counted and results told to be due or not."""
        turns = [self._turn(group) for group in groups if group]
        step, before = -1, False
        for turn in turns:
            is_step = turn.role == "assistant"
            step += is_step
            for unit in turn.units:
                unit.step = step
                unit.is_due = unit.kind == "result" and not is_step and before
            before = is_step
        return Strand(turns)

    def _turn(self, rows: list[Row]) -> Turn:
        units = [unit for row in rows for unit in self._units(row)]
        message = self.message(rows[0])
        is_plain = len(rows) == 1 and not isinstance(message, dict)
        is_plain = is_plain or (len(rows) == 1 and not isinstance(message.get("content"), list))
        return Turn(_role(message), rows[0], units, plain=is_plain)

    def _units(self, row: Row) -> Iterator[Unit]:
        message = self.message(row)
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            yield Unit("text", _role(message), content, row, holder=None, number=0)
        for at, block in enumerate(content if isinstance(content, list) else ()):
            kind = _KINDS.get(str(block.get("type")), "other") if isinstance(block, dict) else "other"
            unit = Unit(kind, _role(message), block, row, holder=content, number=at)
            if kind in ("call", "result"):
                key = block.get("id" if kind == "call" else "tool_use_id")
                unit.call_id = key if isinstance(key, str) else ""
            yield unit

    def payload(self, strand: Strand) -> dict[str, Any]:
        messages = [self._message_of(turn) for turn in strand.turns]
        system = self.sheet.fields.get("system")
        head = {"system": system} if isinstance(system, (str, list)) else {}
        for key, kind in (("tools", list), ("thinking", dict)):
            if isinstance(self.sheet.fields.get(key), kind):
                head[key] = self.sheet.fields[key]
        return {**head, "messages": messages}

    def _message_of(self, turn: Turn) -> Any:
        if turn.plain:
            message = self.message(turn.row)
            if self.is_request() or not isinstance(message, dict):
                return message
            # What a log keeps beside role and content (times, usage) is not sent.
            return {key: message[key] for key in ("role", "content") if key in message}
        blocks = [{"type": "text", "text": u.value} if u.holder is None else u.value for u in turn.units]
        return {"role": turn.role, "content": blocks}

    def result_text(self, unit: Unit) -> str:
        return words(unit.value.get("content"))

    def call_text(self, unit: Unit) -> str:
        return f"{unit.value.get('name')} {compact_json(unit.value.get('input'))}"

    # -- edits

    def set_plain(self, unit: Unit, value: Any) -> None:
        self.message(unit.row)["content"] = value if isinstance(value, str) else [value]

    def rename(self, unit: Unit, call_id: str) -> None:
        unit.value["id" if unit.kind == "call" else "tool_use_id"] = call_id
        unit.call_id = call_id
        unit.row.changed = True

    def quote(self, unit: Unit, said: str) -> None:
        """The words become text where the result stood; what is no text (images) stays as blocks behind it."""
        content = unit.value.get("content")
        others = [b for b in content if isinstance(b, dict) and b.get("type") not in ("text",)] if isinstance(
            content, list) else []  # fmt: skip
        holder, text = unit.holder or [], {"type": "text", "text": said}
        self.sheet.remember(holder)
        self.sheet.inherit(holder, unit.value, text)
        at = unit.index()
        holder[at : at + 1] = [text, *others]
        unit.row.changed = True
        if unit.role == "assistant":
            self._to_user_side(unit.row, holder[at : at + 1 + len(others)])

    def _to_user_side(self, row: Row, blocks: list[Any]) -> None:
        """Blocks that the assistant never said go to a user message behind its row."""
        holder = self.message(row)["content"]
        for block in blocks:
            del holder[index_of(holder, block)]
        new = self.new_row(row, {"role": "user", "content": blocks}, like=row)
        if self.is_empty(row):
            self.drop_row(row)
        new.changed = True

    def move(self, strand: Strand, unit: Unit, call: Unit) -> None:
        value, row = unit.value, unit.row
        self.place(strand, call, value, like=row)
        self.remove(unit)

    def add_marker(self, strand: Strand, call: Unit) -> None:
        block = {"type": "tool_result", "tool_use_id": call.call_id, "content": NO_RESULT, "is_error": True}
        self.place(strand, call, block, like=None)

    def place(self, strand: Strand, call: Unit, block: dict[str, Any], like: Row | None) -> None:
        """Put a result into the user message behind the call's, in front of what is no result."""
        turn = strand.turn_of(call)
        behind = strand.behind(turn)
        if behind is None or behind.role != "user" or behind.row not in self.sheet.rows:
            row = self.new_row(call.row, {"role": "user", "content": [block]}, like=like)
            unit = Unit("result", "user", block, row, holder=self.message(row)["content"], number=0)
            strand.add_behind(turn, Turn("user", row, [unit]))
            return
        message = self.message(behind.row)
        content = message.get("content")
        if not isinstance(content, list):
            text = content if isinstance(content, str) else ""
            content = message["content"] = [{"type": "text", "text": text}] if text.strip() else []
        self.put_in_front(content, block, is_front=lambda held: held.get("type") == "tool_result")
        behind.row.changed = True

    def put_in_front(self, holder: list[Any], block: Any, *, is_front: Callable[[Any], bool]) -> None:
        """Put a block behind those that stand in front of all others. Where that was last time is remembered."""
        self.sheet.remember(holder)
        at = min(self._fronts.get(id(holder), 0), len(holder))
        while at < len(holder) and is_front(holder[at]):
            at += 1
        while at and not is_front(holder[at - 1]):
            at -= 1
        holder.insert(at, block)
        self._fronts[id(holder)] = at + 1

    # -- mends

    def stages(self) -> list[Stage]:
        kind = type(self)
        return [
            *[kind.field_mends, kind.dirt_mends, kind.role_mends, block_mends, pair_mends, order_mends],
            *[kind.empty_mends, kind.opening_mends],
        ]

    def shape_mends(self) -> Iterator[Mend]:
        for row in self.records():
            if not self.is_message(row):
                continue
            message = self.message(row)
            shaped = shaped_message(message)
            if shaped is None or shaped is not message:
                change = "brought into the shape that the API takes; nothing of its text is changed"
                apply = partial(self.set_message, row, shaped)
                if shaped is None:
                    change, apply = "left out: it holds nothing", partial(self.leave_out, row)
                said = "is not of the shape that the API takes."
                yield Mend(self.at(row), "shape", said, change, apply)

    def dirt_mends(self) -> Iterator[Mend]:
        for unit in [unit for strand in self.strands for unit in strand.units]:
            base = self.path(unit) if unit.holder is not None else self.at(unit.row, ".content")
            found = next(iter(dirty_strings(unit.value, base)), None)
            if found is None:
                continue
            if unit.kind == "thinking" and unit.holder is not None:
                change = "the whole block is left out: signed thinking must not be edited"
                yield Mend(*found, DIRT[found[1]], change, partial(self.remove, unit))
            else:
                change = "U+FFFD instead"
                yield Mend(*found, DIRT[found[1]], change, partial(self.replace, unit, clean_value(unit.value)))

    def role_mends(self) -> Iterator[Mend]:
        for row in self.systems:
            said, change = "system text must be the top-level field", "moved into the top-level `system`"
            apply: Callable[[], None] = partial(self._lift_system, row)
            if not self.sheet.key:
                said, change, apply = f"{said}; a bare list of messages has no place for it", "", _nothing
            yield Mend(self.at(row, ".role"), "system_placement", f"{said}.", change, apply)
        for strand in self.strands if self.is_request() else ():
            for turn in strand.turns:
                for key in [key for key in self.message(turn.row) if key not in ("role", "content")]:
                    said, change = "is no field of a message.", "the field is left out"
                    apply = partial(forget, turn.row, self.message(turn.row), key)
                    yield Mend(self.at(turn.row, f".{key}"), "unknown_field", said, change, apply)
        for strand in self.strands:
            for turn in strand.turns:
                for row in dict.fromkeys([turn.row, *(unit.row for unit in turn.units)]):
                    role = _role(self.message(row))
                    if role in ("user", "assistant"):
                        continue
                    code = "system_placement" if role == "system" else "role"
                    said = f"{role or 'no role'!r} is no role of a message here."
                    is_step = any(unit.kind in ("call", "thinking") for unit in turn.units)
                    right = "assistant" if is_step else "user"
                    apply = partial(self._set_role, row, right)
                    yield Mend(self.at(row, ".role"), code, said, f"the role becomes {right}; the text stays", apply)

    def thinking(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """That of every row, those of lines that a rewind has left included."""
        for row in self.records():
            for unit in self._units(row) if self.is_message(row) else ():
                if unit.kind == "thinking":
                    yield self.path(unit), partial(self.remove, unit)

    def _lift_system(self, row: Row) -> None:
        held, said = self.sheet.fields.get("system"), words(self.message(row).get("content"))
        text = held if isinstance(held, str) else words(held)
        if isinstance(held, list):
            joined: Any = [*held, {"type": "text", "text": said}]
        else:
            joined = "\n\n".join(part for part in (text, said) if part)
        self.set_field("system", joined)
        self.drop_row(row)

    def _set_role(self, row: Row, role: str) -> None:
        self.message(row)["role"] = role
        row.changed = True

    def empty_mends(self) -> Iterator[Mend]:
        """Blank texts and messages that hold nothing."""
        for strand in self.strands:
            for number, turn in enumerate(strand.turns):
                is_final = number == len(strand.turns) - 1 and turn.role == "assistant"
                for unit in turn.units:
                    yield from self._blank_mends(unit, is_final=is_final)
                if not turn.units and not is_final and turn.row in self.sheet.rows:
                    said = "the message holds nothing."
                    apply = partial(self.leave_out, turn.row)
                    yield Mend(self.at(turn.row, ".content"), "empty_content", said, "the message is left out", apply)

    def _blank_mends(self, unit: Unit, *, is_final: bool) -> Iterator[Mend]:
        said = "the text is empty or only white space."
        if unit.holder is None:
            if not unit.value.strip() and not (is_final and not unit.value):
                code = "blank_text" if unit.value else "empty_content"
                apply = partial(self.leave_out, unit.row)
                yield Mend(self.at(unit.row, ".content"), code, said, "the message is left out", apply)
        elif unit.kind == "text" and not str(unit.value.get("text") or "").strip():
            yield Mend(self.path(unit), "blank_text", said, "the block is left out", partial(self.remove, unit))
        elif unit.kind == "result" and isinstance(unit.value.get("content"), list):
            inner = unit.value["content"]
            blank = [b for b in inner if b.get("type") == "text" and not str(b.get("text") or "").strip()]
            if blank:
                kept = [block for block in inner if not any(block is one for one in blank)]
                path = self.path(unit, f".content[{index_of(inner, blank[0])}]")
                apply = partial(put, unit.row, unit.value, "content", kept)
                yield Mend(path, "blank_text", said, "the block is left out", apply)

    def opening_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            if strand.turns and strand.turns[0].role == "assistant":
                row = strand.turns[0].row
                said = "the conversation begins with the assistant: its beginning is missing."
                change = "a message of the user is put in front that says so"
                yield Mend(self.at(row), "first_user", said, change, partial(self._open, row))

    def _open(self, row: Row) -> None:
        before = self.sheet.rows.before(row)
        self.new_row(before, {"role": "user", "content": NO_BEGINNING}, like=row)


def _nothing() -> None:
    """A list without a head has no place to put it; the problem stays."""


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""
