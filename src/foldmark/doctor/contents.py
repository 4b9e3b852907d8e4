"""Conversations of Gemini contents: parts with function calls and function responses. Knows nothing of other shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from foldmark.doctor.blocks import BlockTalk
from foldmark.doctor.pairs import pair_mends
from foldmark.doctor.rows import Row
from foldmark.doctor.shapes import parsed_object, with_text_ids
from foldmark.doctor.talk import NO_BEGINNING, NO_RESULT, Kind, Stage, Strand, Turn, Unit, index_of
from foldmark.doctor.values import Mend
from foldmark.wire.gemini_reading import DATA
from foldmark.wire.gemini_spelling import as_sent, camel
from foldmark.wire.gemini_writing import IMAGES
from foldmark.wire.plain import compact_json, safe_name

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}\Z")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}\Z")


def _key(part: Mapping[str, Any], *names: str) -> str:
    """Which of the spellings a part uses, camel case or snake case; empty when none."""
    return next((name for name in names if isinstance(part.get(name), dict)), "")


def _call_key(part: Mapping[str, Any]) -> str:
    return _key(part, "functionCall", "function_call")


def _response_key(part: Mapping[str, Any]) -> str:
    return _key(part, "functionResponse", "function_response")


class ContentTalk(BlockTalk):
    """A list of Gemini contents: one row is one content. Roles are user and model."""

    format, wire, key = "gemini-contents", "gemini", "contents"
    id_scope = "none"
    id_pattern = re.compile(r".*\Z", re.DOTALL)

    def is_message(self, row: Row) -> bool:
        message = self.message(row)
        return not isinstance(message, dict) or "parts" in message or "role" in message

    def _turn(self, rows: list[Row]) -> Turn:
        message = self.message(rows[0])
        role = message.get("role") if isinstance(message, dict) else ""
        return Turn("assistant" if role == "model" else str(role or "user"), rows[0], list(self._units(rows[0])))

    def _units(self, row: Row) -> Iterator[Unit]:
        message = self.message(row)
        parts = message.get("parts") if isinstance(message, dict) else None
        role = message.get("role") if isinstance(message, dict) else ""
        for at, part in enumerate(parts if isinstance(parts, list) else ()):
            unit = Unit(_kind(part), "assistant" if role == "model" else "user", part, row, holder=parts, number=at)
            if unit.kind in ("call", "result"):
                held = part[_call_key(part) or _response_key(part)]
                unit.call_id = str(held.get("id") or held.get("name") or "")
            yield unit

    def payload(self, strand: Strand) -> dict[str, Any]:
        tools = self.sheet.fields.get("tools")
        head = {"tools": as_sent(tools)} if isinstance(tools, list) else {}
        return {**head, "contents": [as_sent(self.message(turn.row)) for turn in strand.turns]}

    def rest(self, unit: Unit) -> str:
        return f".parts[{self.number(unit)}]"

    def result_text(self, unit: Unit) -> str:
        response = unit.value[_response_key(unit.value)].get("response")
        if isinstance(response, dict) and len(response) == 1:
            only = next(iter(response.values()))
            return only if isinstance(only, str) else compact_json(only)
        return compact_json(response)

    def call_text(self, unit: Unit) -> str:
        held = unit.value[_call_key(unit.value)]
        return f"{held.get('name')} {compact_json(held.get('args'))}"

    # -- edits

    def is_empty(self, row: Row) -> bool:
        return not self.message(row).get("parts")

    def quote(self, unit: Unit, said: str) -> None:
        self.replace(unit, {"text": said})
        if unit.role == "assistant":
            row = unit.row
            del self.message(row)["parts"][index_of(self.message(row)["parts"], unit.value)]
            self.sheet.insert_after(row, {"role": "user", "parts": [unit.value]}, row.path)
            if self.is_empty(row):
                self.drop_row(row)

    def rename(self, unit: Unit, call_id: str) -> None:
        unit.value[_call_key(unit.value) or _response_key(unit.value)]["id"] = call_id
        unit.call_id = call_id
        unit.row.changed = True

    def add_marker(self, strand: Strand, call: Unit) -> None:
        held = call.value[_call_key(call.value)]
        key = "functionResponse" if "functionCall" in call.value else "function_response"
        named = {name: held[name] for name in ("id", "name") if name in held}
        self.place(strand, call, {key: {**named, "response": {"error": NO_RESULT}}}, like=None)

    def _has_response(self, parts: list[Any]) -> bool:
        """Whether results stand among the parts; where one was put, it need not be looked for."""
        return id(parts) in self._fronts or any(map(_response_key, parts))

    def place(self, strand: Strand, call: Unit, block: dict[str, Any], like: Row | None) -> None:
        turn = strand.turn_of(call)
        behind = strand.behind(turn)
        parts = self.message(behind.row).get("parts") if behind and behind.row in self.sheet.rows else None
        if behind is None or behind.role == "assistant" or not parts or not self._has_response(parts):
            row = self.sheet.insert_after(call.row, {"role": "user", "parts": [block]}, call.row.path)
            unit = Unit("result", "user", block, row, holder=row.value["parts"], number=0)
            strand.add_behind(turn, Turn("user", row, [unit]))
            return
        self.put_in_front(parts, block, is_front=lambda held: bool(_response_key(held)))
        behind.row.changed = True

    # -- mends

    def stages(self) -> list[Stage]:
        kind = type(self)
        return [
            *[kind.field_mends, kind.dirt_mends, kind.role_mends, kind.part_mends, kind.function_mends, pair_mends],
            *[kind.empty_mends, kind.opening_mends, kind.placement_mends],
        ]

    def shape_mends(self) -> Iterator[Mend]:
        for row in self.records():
            if not self.is_message(row):
                continue
            shaped = _shaped(row.value)
            if shaped is None or shaped is not row.value:
                change = "brought into the shape that the API takes; nothing of its text is changed"
                apply = partial(self.set_message, row, shaped)
                if shaped is None:
                    change, apply = "left out: it holds nothing", partial(self.leave_out, row)
                yield Mend(self.at(row), "shape", "is not of the shape that the API takes.", change, apply)

    def role_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                role = self.message(turn.row).get("role")
                if role in ("user", "model", None):
                    continue
                new = "model" if role == "assistant" or any(u.kind == "call" for u in turn.units) else "user"
                said = f"{role!r} is no role of this API."
                apply = partial(self._set_role, turn.row, new)
                yield Mend(self.at(turn.row, ".role"), "role", said, f"the role becomes {new}; the text stays", apply)

    def function_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for unit in strand.units:
                if unit.kind not in ("call", "result"):
                    continue
                key = _call_key(unit.value) or _response_key(unit.value)
                held, name = unit.value[key], str(unit.value[key].get("name") or "")
                inner = "args" if unit.kind == "call" else "response"
                if (inner in held or inner == "response") and not isinstance(held.get(inner), dict):
                    wrapped = _wrapped(unit.kind, held.get(inner))
                    said, change = f"{inner} are no object.", "put into an object"
                    apply = partial(self._set_inner, unit, key, inner, wrapped)
                    code = "args_type" if unit.kind == "call" else "response_type"
                    yield Mend(self.path(unit, f".{key}.{inner}"), code, said, change, apply)
                if not _NAME.match(name):
                    new = safe_name(name or "tool", 64)
                    new = new if _NAME.match(new) else f"_{new}"
                    apply = partial(self._set_inner, unit, key, "name", new)
                    said = f"{name!r} is no name that the API takes."
                    yield Mend(self.path(unit, f".{key}.name"), "tool_name", said, f"written as {new!r}", apply)

    def _set_inner(self, unit: Unit, key: str, inner: str, value: Any) -> None:
        unit.value[key][inner] = value
        unit.row.changed = True

    def part_mends(self) -> Iterator[Mend]:
        """Parts that hold nothing, more than one thing, or media that is not taken."""
        for strand in self.strands:
            for unit in strand.units:
                part = unit.value
                held = [key for key in part if camel(str(key)) in DATA and part[key] is not None]
                text = part.get("text")
                if not held or (held == ["text"] and text == "" and not part.get("thoughtSignature")):
                    code, said = (
                        ("blank_text", "the text is empty.") if held else ("empty_part", "the part holds no data.")
                    )
                    yield Mend(self.path(unit), code, said, "the part is left out", partial(self.remove, unit))
                elif len(held) > 1:
                    said, change = f"the part holds {' and '.join(held)}.", "each stands in a part of its own"
                    yield Mend(self.path(unit), "part_data", said, change, partial(self._split, unit, held))
                elif unit.role == "user" and (unit.kind == "call" or part.get("thought")):
                    yield self._misplaced(unit)
                elif unit.kind == "image":
                    yield from self._media_mends(unit, held[0])

    def _misplaced(self, unit: Unit) -> Mend:
        said = "a call or thought in a user turn."
        text = f"[Recorded here on the user's side: {compact_json(unit.value)}]"
        change = "written as text that quotes it"
        return Mend(self.path(unit), "part_role", said, change, partial(self.replace, unit, {"text": text}))

    def _split(self, unit: Unit, held: list[str]) -> None:
        """The rest of the part (a signature) stays with the last."""
        rest = {key: value for key, value in unit.value.items() if key not in held}
        parts: list[dict[str, Any]] = [{key: unit.value[key]} for key in held]
        parts[-1] = {**parts[-1], **rest}
        holder = unit.holder or []
        self.sheet.remember(holder)
        for part in parts:
            self.sheet.inherit(holder, unit.value, part)
        at = unit.index()
        holder[at : at + 1] = parts
        unit.row.changed = True

    def _media_mends(self, unit: Unit, key: str) -> Iterator[Mend]:
        media = unit.value[key]
        kind = str(media.get("mimeType") or media.get("mime_type") or "")
        data = str(media.get("data") or "")
        head, mark, body = data.partition(";base64,")
        if mark and head.startswith("data:") and _BASE64.match(body):
            apply = partial(self._set_inner, unit, key, "data", body)
            said, change = "the data is not base64.", "the head of its data: address is left out"
            yield Mend(self.path(unit, f".{key}.data"), "base64", said, change, apply)
        elif not kind or (kind.startswith("image/") and kind not in IMAGES) or not _BASE64.match(data):
            is_type = not kind or (kind.startswith("image/") and kind not in IMAGES)
            note = {"text": f"[media of type {kind or 'unknown'} stood here and cannot be sent]"}
            said = f"{kind!r} is not taken." if is_type else "the data is not base64."
            code, change = "media_type" if is_type else "base64", "a note stands in its place"
            yield Mend(self.path(unit), code, said, change, partial(self.replace, unit, note))

    def placement_mends(self) -> Iterator[Mend]:
        """A turn with calls stands behind a user turn: one behind a model turn is joined to it."""
        for strand in self.strands:
            first: Turn | None = None
            for turn in strand.turns:
                has_call = any(unit.kind == "call" for unit in turn.units)
                if has_call and first is not None and first.role == turn.role == "assistant":
                    said, change = "a call turn stands behind no user turn.", "joined to the model's turn before it"
                    apply = partial(self._join, first.row, turn.row)
                    yield Mend(self.at(turn.row), "call_placement", said, change, apply)
                else:
                    first = turn

    def _join(self, first: Row, second: Row) -> None:
        held = self.message(first)
        held["parts"] = held.get("parts") or []
        held["parts"] += self.message(second)["parts"]
        first.changed = True
        self.drop_row(second)

    def empty_mends(self) -> Iterator[Mend]:
        for strand in self.strands:
            for turn in strand.turns:
                if not turn.units:
                    apply = partial(self.leave_out, turn.row)
                    said, change = "the content holds no part.", "the content is left out"
                    yield Mend(self.at(turn.row, ".parts"), "empty_content", said, change, apply)

    def _open(self, row: Row) -> None:
        before = self.sheet.rows.before(row)
        self.sheet.insert_after(before, {"role": "user", "parts": [{"text": NO_BEGINNING}]}, row.path)


def _wrapped(kind: Kind, value: Any) -> dict[str, Any]:
    """What should be an object, inside one."""
    if kind == "call":
        return parsed_object(value)
    return {} if value is None else {"output": value}


def _kind(part: Any) -> Kind:
    if not isinstance(part, dict):
        return "other"
    if _call_key(part):
        return "call"
    if _response_key(part):
        return "result"
    if part.get("thought"):
        return "thinking"
    if _key(part, "inlineData", "inline_data"):
        return "image"
    return "text" if "text" in part else "other"


def _shaped(message: Any) -> Any:
    if isinstance(message, str):
        return {"role": "user", "parts": [{"text": message}]} if message.strip() else None
    if not isinstance(message, dict):
        return None if message is None else {"role": "user", "parts": [{"text": compact_json(message)}]}
    parts = message.get("parts")
    if isinstance(parts, str):
        return {**message, "parts": [{"text": parts}]}
    if isinstance(parts, dict):
        return {**message, "parts": [parts]}
    if parts is None:
        return message if "parts" not in message else {**message, "parts": []}
    if not isinstance(parts, list):
        return {**message, "parts": [{"text": compact_json(parts)}]}
    fixed = [_shaped_part(part) for part in parts]
    is_same = all(new is old for new, old in zip(fixed, parts, strict=True))
    return message if is_same else {**message, "parts": fixed}


def _shaped_part(part: Any) -> Any:
    """A part whose data is of the type that the API takes; what is not becomes text."""
    if isinstance(part, str):
        return {"text": part}
    if not isinstance(part, dict):
        return {"text": compact_json(part)}
    for key in list(part):
        is_text = camel(str(key)) == "text"
        if camel(str(key)) in DATA and part[key] is not None and not isinstance(part[key], str if is_text else Mapping):
            return {"text": compact_json(part[key])}
    key = _call_key(part) or _response_key(part)
    named = with_text_ids(part[key], "name", "id") if key else None
    return part if named is None or named is part[key] else {**part, key: named}
