"""Conversations of OpenAI chat messages: calls in the assistant's message, each result a message of its own. Knows
nothing of other shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from foldmark.doctor.pairs import pair_mends
from foldmark.doctor.rows import Row
from foldmark.doctor.shapes import shaped_chat_message
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.talk import NO_RESULT, Stage, Strand, Talk, Turn, Unit, become, forget, put, words
from foldmark.doctor.values import Mend
from foldmark.wire.media import SUPPORTED, image_of_url
from foldmark.wire.plain import clean_value, compact_json, is_json, safe_name
from foldmark.wire.strings import DIRT, dirty_strings

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_SPEAKER = re.compile(r"[^\s<|\\/>]+\Z")
_NO_SPEAKER = re.compile(r"[\s<|\\/>]+")
_FOREIGN = (
    *("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"),
    *("input_text", "output_text", "input_image", "input_file"),
)
_THINKING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
"""Where servers and gateways put the thinking of a step."""
_THINKING_PARTS = ("thinking", "redacted_thinking", "reasoning")
_HOLDS = ("tool_calls", "function_call", "audio", "refusal")


class ChatTalk(Talk):
    """A list of chat messages: one row is one message."""

    format, wire = "openai-messages", "openai-chat"
    id_scope = "step"
    warns_of_repeats = True
    id_pattern = re.compile(r".{1,40}\Z", re.DOTALL)

    def __init__(self, sheet: Sheet) -> None:
        self._ends: dict[Row, Row] = {}
        self._said_behind: dict[Row, Row] = {}
        super().__init__(sheet)

    # -- reading

    def read(self) -> Iterable[Strand]:
        rows = [row for row in self.records() if self.is_message(row)]
        turns = [self._turn(row) for row in rows]
        step, is_open = -1, False
        for turn in turns:
            step += turn.role == "assistant"
            is_open = turn.role == "assistant" or (is_open and turn.role == "tool")
            for unit in turn.units:
                unit.step, unit.is_due = step, unit.kind == "result" and is_open
        return [Strand(turns)]

    def is_message(self, row: Row) -> bool:
        message = self.message(row)
        return not isinstance(message, dict) or "role" in message or "content" in message

    def _turn(self, row: Row) -> Turn:
        message = row.value if isinstance(row.value, dict) else {}
        role = message.get("role") if isinstance(message.get("role"), str) else ""
        return Turn(str(role), row, list(self._units(row, message, str(role))), plain=True)

    def _units(self, row: Row, message: Mapping[str, Any], role: str) -> Iterator[Unit]:
        content = message.get("content")
        if role == "tool":
            unit = Unit("result", role, message, row, holder=None, number=0)
            key = message.get("tool_call_id")
            unit.call_id = key if isinstance(key, str) else ""
            yield unit
            return
        if isinstance(content, str):
            yield Unit("text", role, content, row, holder=None, number=0)
        for at, part in enumerate(content if isinstance(content, list) else ()):
            is_image = isinstance(part, dict) and part.get("type") == "image_url"
            is_text = isinstance(part, dict) and part.get("type") == "text"
            yield Unit(
                "image" if is_image else "text" if is_text else "other", role, part, row, holder=content, number=at
            )
        calls = message.get("tool_calls") if role == "assistant" else None
        for at, call in enumerate(calls if isinstance(calls, list) else ()):
            unit = Unit("call", role, call, row, holder=calls, number=at)
            key = call.get("id") if isinstance(call, dict) else None
            unit.call_id = key if isinstance(key, str) else ""
            yield unit

    def payload(self, strand: Strand) -> dict[str, Any]:
        tools = self.sheet.fields.get("tools")
        head = {"tools": tools} if isinstance(tools, list) else {}
        return {**head, "messages": [turn.row.value for turn in strand.turns]}

    def rest(self, unit: Unit) -> str:
        if unit.holder is None:
            return ""
        return f".{'tool_calls' if unit.kind == 'call' else 'content'}[{self.number(unit)}]"

    def result_text(self, unit: Unit) -> str:
        return words(unit.value.get("content"))

    def call_text(self, unit: Unit) -> str:
        return compact_json(unit.value.get("function"))

    # -- edits

    def is_empty(self, row: Row) -> bool:
        message = row.value
        for key in ("tool_calls", "content"):
            if message.get(key) == []:
                del message[key]
        if "content" not in message and any(message.get(key) for key in _HOLDS):
            message["content"] = None
        return not message.get("content") and not any(message.get(key) for key in _HOLDS)

    def rename(self, unit: Unit, call_id: str) -> None:
        unit.value["id" if unit.kind == "call" else "tool_call_id"] = call_id
        unit.call_id = call_id
        unit.row.changed = True

    def quote(self, unit: Unit, said: str) -> None:
        """A user message behind the run of results, so that the run stays whole; several keep their order."""
        end = self._end_of_run(unit.row)
        content = unit.value.get("content")
        others = [part for part in content if part.get("type") != "text"] if isinstance(content, list) else []
        body: Any = [{"type": "text", "text": said}, *others] if others else said
        said_before = self._said_behind.get(end, end)
        anchor = said_before if said_before in self.sheet.rows else end
        self._said_behind[end] = self.sheet.insert_after(anchor, {"role": "user", "content": body}, unit.row.path)
        self.sheet.drop(unit.row)

    def _end_of_run(self, row: Row) -> Row:
        """The last result of the run that a row begins or stands in. Every row on the way remembers it."""
        rows, way = self.sheet.rows, [row]
        last = row
        while self._ends.get(last, last) is not last and self._ends[last] in rows:
            last = self._ends[last]
            way.append(last)
        at = rows.behind(last)
        while at is not None and (_role(at) == "tool" or at.is_blank):
            if not at.is_blank:
                last = at
                way.append(at)
            at = rows.behind(at)
        self._ends.update(dict.fromkeys(way, last))
        return last

    def move(self, strand: Strand, unit: Unit, call: Unit) -> None:
        self._ends.pop(unit.row, None)
        self.sheet.move_after(unit.row, self._end_of_run(call.row))

    def add_marker(self, strand: Strand, call: Unit) -> None:
        message = {"role": "tool", "tool_call_id": call.call_id, "content": NO_RESULT}
        self.sheet.insert_after(self._end_of_run(call.row), message, call.row.path)

    # -- mends

    def stages(self) -> list[Stage]:
        kind = type(self)
        return [
            *[kind.field_mends, kind.dirt_mends, kind.role_mends, kind.call_mends, kind.part_mends, kind.image_mends],
            *[pair_mends, kind.empty_mends],
        ]

    def shape_mends(self) -> Iterator[Mend]:
        for row in self.records():
            if not self.is_message(row):
                continue
            shaped = shaped_chat_message(row.value)
            if shaped is None or shaped is not row.value:
                said = "is not of the shape that the API takes."
                if shaped is None:
                    yield Mend(self.at(row), "shape", said, "left out: it holds nothing", partial(self.drop_row, row))
                else:
                    change = "brought into the shape that the API takes; nothing of its text is changed"
                    yield Mend(self.at(row), "shape", said, change, partial(self.set_message, row, shaped))

    def dirt_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                found = next(iter(dirty_strings(turn.row.value, "")), None)
                if found:
                    apply = partial(self.set_message, turn.row, clean_value(turn.row.value))
                    yield Mend(self.at(turn.row, found[0]), found[1], DIRT[found[1]], "U+FFFD instead", apply)

    def field_mends(self) -> Iterator[Mend]:
        yield from super().field_mends()
        if self.sheet.fields.get("tools") == []:
            change = "the empty list is left out, and `tool_choice` with it"
            apply = partial(self.leave_fields_out, "tools", "tool_choice")
            yield Mend("tools", "empty_tools", "the list of tools is empty.", change, apply)

    def thinking(self) -> Iterator[tuple[str, Callable[[], None]]]:
        for turn in [turn for strand in self.strands for turn in strand.turns]:
            for field in _THINKING_FIELDS:
                if field in turn.row.value:
                    yield self.at(turn.row, f".{field}"), partial(forget, turn.row, turn.row.value, field)
            for unit in turn.units:
                if unit.kind == "other" and unit.value.get("type") in _THINKING_PARTS:
                    yield self.path(unit), partial(self.remove, unit)

    def role_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                if turn.role not in _ROLES:
                    said = f"{turn.role or 'no role'!r} is no role of this API."
                    message = turn.row.value
                    right = "assistant" if "tool_calls" in message else "tool" if "tool_call_id" in message else "user"
                    change = f"the role becomes {right}; the text stays"
                    apply = partial(put, turn.row, message, "role", right)
                    yield Mend(self.at(turn.row, ".role"), "role", said, change, apply)

    def call_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                if turn.role == "assistant" and turn.row.value.get("tool_calls") == []:
                    path = self.at(turn.row, ".tool_calls")
                    apply = partial(forget, turn.row, turn.row.value, "tool_calls")
                    yield Mend(path, "empty_calls", "the list of calls is empty.", "the empty list is left out", apply)
            for unit in strand.units:
                if unit.kind == "call" and isinstance(unit.value.get("function"), dict):
                    yield from self._function_mends(unit, unit.value["function"])

    def part_mends(self) -> Iterator[Mend]:
        """Names that are none, and blocks of other APIs."""
        for strand in self.strands:
            for turn in strand.turns:
                message = turn.row.value
                name = message.get("name")
                if name is not None and not _SPEAKER.match(str(name)):
                    new = _NO_SPEAKER.sub("_", str(name)) or "_"
                    apply = partial(put, turn.row, message, "name", new)
                    said = f"{name!r} is no name that the API takes."
                    yield Mend(self.at(turn.row, ".name"), "message_name", said, f"written as {new!r}", apply)
                content = message.get("content")
                for at, part in enumerate(content if isinstance(content, list) else ()):
                    if part.get("type") in _FOREIGN:
                        place = self.at(turn.row, f".content[{at}].type")
                        said = f"{part.get('type')!r} is a block of another API."
                        value = _as_part(part)
                        change = f"written as a part of type {value['type']}"
                        yield Mend(place, "content_type", said, change, partial(become, turn.row, part, value))

    def _function_mends(self, unit: Unit, function: dict[str, Any]) -> Iterator[Mend]:
        arguments, name = function.get("arguments"), function.get("name")
        path = self.path(unit, ".function.arguments")
        if not isinstance(arguments, str):
            text = compact_json(arguments) if arguments is not None else "{}"
            said = "arguments are not text."
            apply = partial(put, unit.row, function, "arguments", text)
            yield Mend(path, "arguments_type", said, "written as JSON text", apply)
        elif not is_json(arguments):
            text = compact_json({"_raw": arguments}) if arguments.strip() else "{}"
            change = 'wrapped as {"_raw": …}' if arguments.strip() else "{} instead of no text"
            apply = partial(put, unit.row, function, "arguments", text)
            yield Mend(path, "arguments_json", "arguments are no JSON.", change, apply)
        if not _NAME.match(str(name or "")):
            new = safe_name(str(name or "tool"), 64)
            said = f"{name!r} is no name that the API takes."
            apply = partial(put, unit.row, function, "name", new)
            yield Mend(self.path(unit, ".function.name"), "tool_name", said, f"written as {new!r}", apply)

    def image_mends(self) -> Iterator[Mend]:
        """Images where or of a type that they cannot be sent."""
        for strand in self.strands:
            for turn in strand.turns:
                content = turn.row.value.get("content")
                parts = content if isinstance(content, list) else []
                images = [part for part in parts if part.get("type") == "image_url"]
                for part in images:
                    image = image_of_url(str(part["image_url"].get("url") or ""))
                    if image.data and image.media_type not in SUPPORTED:
                        text = f"[an image of type {image.media_type or 'unknown'} stood here and cannot be sent]"
                        said = f"an image of type {image.media_type!r} is not taken."
                        apply = partial(become, turn.row, part, {"type": "text", "text": text})
                        yield Mend(self.at(turn.row, ".content"), "image_type", said, "a note stands instead", apply)
                if images and turn.role not in ("user", ""):
                    said = f"an image stands in a message of role {turn.role}."
                    change = "the images go to a user message behind it"
                    apply = partial(self._move_images, turn.row, images)
                    yield Mend(self.at(turn.row, ".content"), "image_role", said, change, apply)

    def _move_images(self, row: Row, images: list[dict[str, Any]]) -> None:
        shown = [part for part in images if part.get("type") == "image_url"]
        if not shown:
            return
        rest = [part for part in row.value["content"] if not any(part is one for one in shown)]
        row.value["content"] = rest or "(an image; it stands in the user message behind this one)"
        row.changed = True
        said = {"type": "text", "text": f"[Images of the {_role(row)} message before:]"}
        self.sheet.insert_after(self._end_of_run(row), {"role": "user", "content": [said, *shown]}, row.path)

    def empty_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                message, content = turn.row.value, turn.row.value.get("content")
                path = self.at(turn.row, ".content")
                if content is None or content == []:
                    is_beside_calls = turn.role == "assistant" and any(message.get(key) for key in _HOLDS)
                    if is_beside_calls and content is None:
                        continue
                    yield self._empty_mend(turn, path, is_beside_calls=is_beside_calls)
                for unit in turn.units:
                    is_text = unit.kind == "text" and unit.holder is not None
                    if is_text and len(content or ()) > 1 and not str(unit.value.get("text") or "").strip():
                        said = "the text is empty or only white space."
                        apply = partial(self.remove, unit)
                        yield Mend(self.path(unit), "blank_content", said, "the part is left out", apply)

    def _empty_mend(self, turn: Turn, path: str, *, is_beside_calls: bool) -> Mend:
        said = "the message holds nothing."
        if is_beside_calls:
            apply = partial(put, turn.row, turn.row.value, "content", None)
            return Mend(path, "empty_content", said, "null instead of the empty list", apply)
        if turn.role in ("tool", "function"):
            apply = partial(put, turn.row, turn.row.value, "content", "")
            return Mend(path, "empty_content", said, "empty text instead", apply)
        return Mend(path, "empty_content", said, "the message is left out", partial(self.leave_out, turn.row))


def _role(row: Row) -> str:
    role = row.value.get("role") if isinstance(row.value, dict) else None
    return role if isinstance(role, str) else ""


def _as_part(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block of another API in the form that this one gives it, else as text that quotes it."""
    source = block.get("source")
    if block.get("type") in ("input_text", "output_text") and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if block.get("type") == "input_image" and isinstance(block.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": block["image_url"]}}
    if block.get("type") == "image" and isinstance(source, dict) and source.get("data"):
        return {"type": "image_url", "image_url": {"url": f"data:{source.get('media_type')};base64,{source['data']}"}}
    return {"type": "text", "text": compact_json(block)}
