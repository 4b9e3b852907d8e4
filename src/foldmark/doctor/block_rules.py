"""Mends of Anthropic blocks that the API refuses where they stand or for what they hold. Knows nothing of pairs or of
the rows of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from foldmark.doctor.rows import Row
from foldmark.doctor.shapes import parsed_object
from foldmark.doctor.talk import Strand, Talk, Turn, Unit, become, forget, put, words
from foldmark.doctor.values import Mend
from foldmark.wire.media import SUPPORTED, image_of_url
from foldmark.wire.plain import compact_json, safe_name

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_LEFT_OUT = "the whole block is left out"
_FOREIGN = frozenset(
    ["image_url", "input_text", "output_text", "input_image", "input_audio", "refusal", "tool_call", "function_call"]
)
IMAGE_LIMIT = 5 * 1024**2
"""Bytes of base64 that the API takes of one image."""
_MARKS = 4


def block_mends(talk: Talk) -> Iterator[Mend]:
    """Everything that is wrong with single blocks."""
    for strand in talk.strands:
        yield from _thinking(talk, strand)
        for turn in strand.turns:
            for unit in turn.units:
                if unit.holder is not None:
                    yield from _block(talk, turn, unit)
        yield from _marks(talk, strand)


def _block(talk: Talk, turn: Turn, unit: Unit) -> Iterator[Mend]:
    kind = unit.value.get("type")
    if kind in _FOREIGN:
        yield _foreign(talk, unit, str(kind))
    elif unit.kind == "call":
        yield from _call(talk, unit)
    elif unit.kind in ("image", "result"):
        yield from _images(talk, unit)
    elif kind == "server_tool_use" and not _is_answered(turn, unit):
        said, change = "a call of a server's tool has no result in its message.", "written as text that quotes it"
        text = f"[A server's tool was called here; no result was recorded: {compact_json(unit.value)}]"
        yield Mend(talk.path(unit), "server_result", said, change, partial(talk.replace, unit, _text(text)))
    elif kind == "compaction" and turn.units[0] is not unit:
        said, change = "other content stands in front of the compaction.", "written as text"
        text = words(unit.value.get("content")) or compact_json(unit.value)
        yield Mend(talk.path(unit), "compaction_first", said, change, partial(talk.replace, unit, _text(text)))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_answered(turn: Turn, unit: Unit) -> bool:
    key = unit.value.get("id")
    return any(isinstance(u.value, dict) and u.value.get("tool_use_id") == key for u in turn.units)


def _foreign(talk: Talk, unit: Unit, kind: str) -> Mend:
    """A block of another API in the form that this one gives it, else as text that quotes it."""
    said, held = f"{kind!r} is a block of another API.", unit.value
    address = held.get("image_url")
    address = address.get("url") if isinstance(address, dict) else address
    if kind in ("input_text", "output_text", "refusal") and words(held.get("text") or held.get("refusal")):
        value = _text(words(held.get("text") or held.get("refusal")))
    elif isinstance(address, str) and address:
        image = image_of_url(address)
        data = {"type": "base64", "media_type": image.media_type, "data": image.data}
        value = {"type": "image", "source": data if image.data else {"type": "url", "url": image.url}}
    else:
        value = _text(compact_json(held))
    change = f"written as a block of type {value['type']}"
    return Mend(talk.path(unit, ".type"), "block_type", said, change, partial(talk.replace, unit, value))


# -- thinking


def _thinking(talk: Talk, strand: Strand) -> Iterator[Mend]:
    signed: dict[str, Unit] = {}
    for turn in strand.turns:
        for unit in turn.units:
            if unit.kind != "thinking":
                continue
            signature = unit.value.get("signature")
            if turn.role != "assistant":
                said = "thinking stands in a message that is not the assistant's."
                yield Mend(talk.path(unit), "block_role", said, _LEFT_OUT, partial(talk.remove, unit))
            elif unit.value.get("type") == "thinking" and not signature:
                said = "the thinking block has no signature."
                yield Mend(talk.path(unit, ".signature"), "signature", said, _LEFT_OUT, partial(talk.remove, unit))
            elif isinstance(signature, str) and signature in signed:
                yield from _edited(talk, signed[signature], unit)
            elif isinstance(signature, str) and signature:
                signed[signature] = unit
            if unit.value.get("cache_control"):
                said = "thinking cannot be marked for caching."
                apply = partial(forget, unit.row, unit.value, "cache_control")
                path = talk.path(unit, ".cache_control")
                yield Mend(path, "mark_place", said, "the mark is left out; the block stays", apply)


def _edited(talk: Talk, first: Unit, unit: Unit) -> Iterator[Mend]:
    """One signature over two texts proves that one of them was edited."""
    if first.value.get("thinking") == unit.value.get("thinking"):
        return
    change = "both blocks are left out, since nobody can tell which was edited"
    for one, other in ((unit, first), (first, unit)):
        said = f"has the signature of {talk.path(other)} and another text: one of the two was edited."
        yield Mend(talk.path(one), "thinking_edited", said, change, partial(_remove_once, talk, one))


def _remove_once(talk: Talk, unit: Unit) -> None:
    if unit.holder and any(held is unit.value for held in unit.holder):
        talk.remove(unit)


# -- calls, images, marks


def _call(talk: Talk, unit: Unit) -> Iterator[Mend]:
    block = unit.value
    if unit.role == "user":
        said = "a tool call stands in a message of the user."
        text = _text(f"[A tool call was recorded here on the user's side: {talk.call_text(unit)}]")
        change = "written as text that quotes the call"
        yield Mend(talk.path(unit), "block_role", said, change, partial(talk.replace, unit, text))
        return
    if not isinstance(block.get("input"), dict):
        wrapped = parsed_object(block.get("input"))
        change = "read as the JSON object it holds" if "_raw" not in wrapped else 'wrapped as {"_raw": …}'
        apply = partial(put, unit.row, block, "input", wrapped)
        yield Mend(talk.path(unit, ".input"), "input_type", "the input is no object.", change, apply)
    name = block.get("name")
    if not _NAME.match(str(name or "")):
        new = safe_name(str(name or "tool"), 128)
        said = f"{name!r} is no name that the API takes."
        apply = partial(put, unit.row, block, "name", new)
        yield Mend(talk.path(unit, ".name"), "tool_name", said, f"written as {new!r}", apply)


def _images(talk: Talk, unit: Unit) -> Iterator[Mend]:
    content = unit.value.get("content")
    held = [unit.value] if unit.kind == "image" else content if isinstance(content, list) else []
    for at, block in enumerate(held):
        place = talk.path(unit) if unit.kind == "image" else talk.path(unit, f".content[{at}]")
        yield from _image(unit, block, place)
    others = [block for block in held if block.get("type") != "text"] if unit.kind == "result" else []
    if others and unit.value.get("is_error"):
        said = "a failed result may hold text only."
        change = "what is no text goes behind the results of its message"
        place = talk.path(unit, f".content[{held.index(others[0])}]")
        yield Mend(place, "error_content", said, change, partial(_move_out, unit, others))


def _image(unit: Unit, block: dict[str, Any], place: str) -> Iterator[Mend]:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return
    size, kind = len(str(source.get("data") or "")), source.get("media_type")
    if kind not in SUPPORTED:
        note = _text(f"[an image of type {kind} stood here and cannot be sent]")
        said, change = f"an image of type {kind!r} is not taken.", "a note stands in its place"
        yield Mend(place, "image_type", said, change, partial(become, unit.row, block, note))
    elif size > IMAGE_LIMIT:
        note = _text(f"[an image of {size:,} bytes stood here; it is too large to be sent]")
        said = f"an image of {size:,} bytes in base64; at most {IMAGE_LIMIT:,} are taken."
        change = "a note stands in its place; the image is in the file that was read"
        yield Mend(place, "image_size", said, change, partial(become, unit.row, block, note))


def _move_out(unit: Unit, others: list[dict[str, Any]]) -> None:
    inner = unit.value["content"]
    rest = [block for block in inner if not any(block is other for other in others)]
    unit.value["content"] = rest or "(what it returned is no text; it stands behind the results)"
    if unit.holder is not None:
        unit.holder += others
    unit.row.changed = True


def _marks(talk: Talk, strand: Strand) -> Iterator[Mend]:
    """Cache marks over the limit, or in an order that is refused: the request sets its own."""
    held = [unit for unit in strand.units if isinstance(unit.value, dict) and unit.value.get("cache_control")]
    marks = [unit.value["cache_control"] for unit in held]
    hours = [isinstance(mark, dict) and mark.get("ttl") == "1h" for mark in marks]
    code = "too_many_marks" if len(marks) > _MARKS else "mark_order" if hours != sorted(hours, reverse=True) else ""
    for unit in held if code else ():
        said = f"one of {len(marks)} marks for caching that cannot stand together."
        apply = partial(forget, unit.row, unit.value, "cache_control")
        yield Mend(talk.path(unit, ".cache_control"), code, said, "the mark is left out", apply)


# -- the order inside a message


def order_mends(talk: Talk) -> Iterator[Mend]:
    """Results in front of their message, no thinking at its end."""
    for strand in talk.strands:
        for turn in strand.turns:
            if turn.role == "user":
                yield from _front(talk, turn)
            for unit in _trailing_thinking(turn):
                said = "the message ends in thinking."
                yield Mend(talk.path(unit), "thinking_last", said, _LEFT_OUT, partial(talk.remove, unit))


def _trailing_thinking(turn: Turn) -> list[Unit]:
    found: list[Unit] = []
    for unit in reversed(turn.units if turn.role == "assistant" else ()):
        if unit.kind != "thinking":
            break
        found.append(unit)
    return found


def _front(talk: Talk, turn: Turn) -> Iterator[Mend]:
    by_row: dict[Row, list[Unit]] = {}
    for unit in turn.units:
        by_row.setdefault(unit.row, []).append(unit)
    for units in by_row.values():
        kinds = [unit.kind == "result" for unit in units]
        if kinds != sorted(kinds, reverse=True):
            first = units[kinds.index(True, kinds.index(False))]
            said = "a result stands behind other blocks of its message."
            change = "the results stand in front; the order is otherwise kept"
            yield Mend(talk.path(first), "result_order", said, change, partial(_results_first, talk, first))


def _results_first(talk: Talk, unit: Unit) -> None:
    talk.sheet.remember(talk.message(unit.row)["content"])
    talk.message(unit.row)["content"].sort(key=lambda block: block.get("type") != "tool_result")
    unit.row.changed = True
