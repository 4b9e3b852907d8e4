"""Conversations of OpenAI Responses items: calls and their outputs are items of their own, linked by `call_id`. Knows
nothing of files whose rows wrap the items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from foldmark.doctor.item_rules import item_mends
from foldmark.doctor.pairs import pair_mends
from foldmark.doctor.rows import Row
from foldmark.doctor.shapes import shaped_item
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.talk import NO_RESULT, Kind, Stage, Strand, Talk, Turn, Unit, words
from foldmark.doctor.values import Mend
from foldmark.wire.plain import clean_value, compact_json, is_json, safe_name
from foldmark.wire.responses_items import ANSWERS, CALLS, is_of_a_step
from foldmark.wire.strings import DIRT, dirty_strings

_MARKABLE = ("function_call", "custom_tool_call", "local_shell_call")
"""Calls whose output is text. That of the others has a structure that nobody can fill in honestly."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ROLES = ("assistant", "system", "developer", "user")
_FOREIGN = (
    *("tool_calls", "tool_call_id", "reasoning_content", "function_call", "cache_control"),
    *("parsed", "parsed_arguments"),
)


class ItemTalk(Talk):
    """A list of Responses items: one row is one item."""

    format, wire, key = "openai-items", "openai-responses", "input"
    needs_place = False
    id_pattern = re.compile(r".{1,64}\Z", re.DOTALL)

    def __init__(self, sheet: Sheet) -> None:
        self._without_ids: set[Turn] = set()
        super().__init__(sheet)

    # -- reading

    def read(self) -> Iterable[Strand]:
        return [self.strand([row for row in self.records() if self.is_item(row)])]

    def is_item(self, row: Row) -> bool:
        item = self.message(row)
        return not isinstance(item, dict) or "type" in item or "role" in item

    def strand(self, rows: list[Row]) -> Strand:
        turns = [self._turn(row) for row in rows]
        step, is_inside = -1, False
        for turn in turns:
            if turn.role == "assistant" and not is_inside:
                step += 1
            is_inside = turn.role == "assistant"
            for unit in turn.units:
                unit.step = step
        return Strand(turns)

    def _turn(self, row: Row) -> Turn:
        item = self.message(row)
        item = item if isinstance(item, dict) else {}
        kind = str(item.get("type") or ("message" if "role" in item else ""))
        role = str(item.get("role") or "") if kind == "message" else "assistant" if is_of_a_step(item, kind) else "tool"
        if kind == "message":
            content = item.get("content")
            parts = content if isinstance(content, list) else []
            units = [self._part(part, role, row, parts, at) for at, part in enumerate(parts)]
            if isinstance(content, str):
                units.append(Unit("text", role, content, row, holder=None, number=0))
        else:
            unit = Unit(_kind(item, kind), role, item, row, holder=None, number=0)
            link = "id" if kind == "local_shell_call_output" and "call_id" not in item else "call_id"
            unit.call_id = item[link] if isinstance(item.get(link), str) else ""
            units = [unit]
        return Turn(role, row, units, plain=True)

    def _part(self, part: Any, role: str, row: Row, parts: list[Any], at: int) -> Unit:
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        is_text = kind in ("input_text", "output_text", "text")
        is_image = kind == "input_image"
        return Unit("text" if is_text else "image" if is_image else "other", role, part, row, holder=parts, number=at)

    def payload(self, strand: Strand) -> dict[str, Any]:
        tools = self.sheet.fields.get("tools")
        head = {"tools": tools} if isinstance(tools, list) else {}
        return {**head, "input": [_as_sent(self.message(turn.row)) for turn in strand.turns]}

    def result_text(self, unit: Unit) -> str:
        return words(unit.value.get("output"))

    def call_text(self, unit: Unit) -> str:
        item = unit.value
        return f"{item.get('name')} {item.get('arguments') or item.get('input') or compact_json(item.get('action'))}"

    # -- edits

    def rename(self, unit: Unit, call_id: str) -> None:
        if unit.value.get("type") == "local_shell_call_output":
            unit.value.pop("id", None)
        unit.value["call_id"] = call_id
        unit.call_id = call_id
        unit.row.changed = True

    def quote(self, unit: Unit, said: str) -> None:
        output = unit.value.get("output")
        others = [part for part in output if "text" not in part] if isinstance(output, list) else []
        content = [{"type": "input_text", "text": said}, *others]
        self.set_message(unit.row, {"type": "message", "role": "user", "content": content})

    def move(self, strand: Strand, unit: Unit, call: Unit) -> None:
        self.sheet.move_after(unit.row, call.row)

    def add_marker(self, strand: Strand, call: Unit) -> None:
        kind = str(call.value.get("type"))
        if kind not in _MARKABLE:
            text = f"[A call was recorded here that never returned: {compact_json(call.value)}]"
            message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            self.set_message(call.row, message)
            return
        item = {"type": CALLS[kind].answer, "call_id": call.call_id, "output": NO_RESULT}
        self.new_row(call.row, item, like=call.row)

    # -- mends

    def stages(self) -> list[Stage]:
        kind = type(self)
        return [
            *[kind.field_mends, kind.copy_mends, kind.dirt_mends, item_mends, kind.call_mends, pair_mends],
            *[kind.empty_mends, kind.reasoning_mends],
        ]

    def shape_mends(self) -> Iterator[Mend]:
        for row in self.records():
            if not self.is_item(row):
                continue
            item = self.message(row)
            shaped = shaped_item(item)
            if shaped is None or shaped is not item:
                change = "brought into the shape that the API takes; nothing of its text is changed"
                apply = partial(self.set_message, row, shaped)
                if shaped is None:
                    change, apply = "left out: it holds nothing", partial(self.leave_out, row)
                yield Mend(self.at(row), "shape", "is not of the shape that the API takes.", change, apply)

    def copy_mends(self) -> Iterator[Mend]:
        """Items that carry the id of an earlier one."""
        for strand in self.strands:
            seen: dict[str, Any] = {}
            for turn in strand.turns:
                item = self.message(turn.row)
                key = item.get("id")
                if not isinstance(key, str) or not key or item.get("type") == "item_reference":
                    continue
                if key not in seen:
                    seen[key] = item
                elif seen[key] == item:
                    said = f"repeats the item {key!r}."
                    apply = partial(self.drop_row, turn.row)
                    yield Mend(
                        self.at(turn.row), "duplicate_item", said, "the second of two equal items is left out", apply
                    )
                else:
                    said = f"has the id of another item, {key!r}."
                    apply = partial(self._drop_key, turn.row, "id")
                    yield Mend(self.at(turn.row, ".id"), "duplicate_item", said, "the id is left out", apply)

    def _drop_key(self, row: Row, key: str) -> None:
        self.message(row).pop(key, None)
        row.changed = True

    def dirt_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                item = self.message(turn.row)
                found = next(iter(dirty_strings(item, "")), None)
                if found and item.get("type") == "reasoning":
                    change = "the whole item is left out: sealed reasoning must not be edited"
                    apply = partial(self._drop_reasoning, strand, turn)
                    yield Mend(self.at(turn.row, found[0]), found[1], DIRT[found[1]], change, apply)
                elif found:
                    apply = partial(self.set_message, turn.row, clean_value(item))
                    yield Mend(self.at(turn.row, found[0]), found[1], DIRT[found[1]], "U+FFFD instead", apply)

    def thinking(self) -> Iterator[tuple[str, Callable[[], None]]]:
        for strand in self.strands:
            for turn in strand.turns:
                if turn.units and turn.units[0].kind == "thinking":
                    yield self.at(turn.row), partial(self._drop_reasoning, strand, turn)

    def _drop_reasoning(self, strand: Strand, turn: Turn) -> None:
        """Ids of the items that it led to go with it: an id that is kept asks for its reasoning."""
        self.drop_row(turn.row)
        behind = strand.behind(turn)
        while behind is not None and behind.role == "assistant" and behind not in self._without_ids:
            self._without_ids.add(behind)
            if "id" in self.message(behind.row):
                self._drop_key(behind.row, "id")
            behind = strand.behind(behind)

    def call_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for unit in strand.units:
                if unit.kind == "call" and unit.value.get("type") == "function_call":
                    yield from self._function_mends(unit)

    def _function_mends(self, unit: Unit) -> Iterator[Mend]:
        item, path = unit.value, self.path(unit, ".arguments")
        arguments, name = item.get("arguments"), item.get("name")
        if not isinstance(arguments, str):
            text = compact_json(arguments) if arguments is not None else "{}"
            apply = partial(self._set, unit, "arguments", text)
            yield Mend(path, "arguments_type", "arguments are not text.", "written as JSON text", apply)
        elif not is_json(arguments):
            text = compact_json({"_raw": arguments}) if arguments.strip() else "{}"
            change = 'wrapped as {"_raw": …}' if arguments.strip() else "{} instead of no text"
            yield Mend(
                path, "arguments_json", "arguments are no JSON.", change, partial(self._set, unit, "arguments", text)
            )
        if not _NAME.match(str(name or "")):
            new = safe_name(str(name or "tool"), 64)
            said = f"{name!r} is no name that the API takes."
            yield Mend(
                self.path(unit, ".name"),
                "tool_name",
                said,
                f"written as {new!r}",
                partial(self._set, unit, "name", new),
            )

    def _set(self, unit: Unit, key: str, value: Any) -> None:
        unit.value[key] = value
        unit.row.changed = True

    def empty_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                item = self.message(turn.row)
                if item.get("type", "message") == "message" and "role" in item and not item.get("content"):
                    apply = partial(self.leave_out, turn.row)
                    said, change = "the message holds nothing.", "the message is left out"
                    yield Mend(self.at(turn.row, ".content"), "empty_content", said, change, apply)

    def reasoning_mends(self) -> Iterator[Mend]:
        """Reasoning is sealed to the item behind it: one that nothing of the assistant follows is refused."""
        for strand in self.strands:
            for at, turn in enumerate(strand.turns):
                if not turn.units or turn.units[0].kind != "thinking":
                    continue
                behind = strand.turns[at + 1] if at + 1 < len(strand.turns) else None
                if behind is None or behind.role != "assistant":
                    said = "reasoning without the item that it led to."
                    apply = partial(self.leave_out, turn.row)
                    yield Mend(self.at(turn.row), "reasoning_last", said, "the whole item is left out", apply)


def _kind(item: Mapping[str, Any], kind: str) -> Kind:
    if kind == "reasoning":
        return "thinking"
    # A tool search without call_id ran on the provider's side.
    if kind in CALLS and (kind != "tool_search_call" or item.get("call_id")):
        return "call"
    return "result" if kind in ANSWERS and (kind != "tool_search_output" or item.get("call_id")) else "other"


def _as_sent(item: Any) -> Any:
    """The item as it goes out: the first versions of Codex kept an output beside whether it succeeded."""
    output = item.get("output") if isinstance(item, dict) else None
    return {**item, "output": output["content"]} if isinstance(output, dict) and "content" in output else item


def is_item(row: Mapping[str, Any]) -> bool:
    """Whether a row can only be an item of the Responses API."""
    kind = row.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "message":
        return "role" in row
    return kind in CALLS or kind in ANSWERS or (kind == "reasoning" and "summary" in row)
