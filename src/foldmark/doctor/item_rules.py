"""Mends of Responses items that the API refuses for what they hold: roles, ids, fields, blocks. Knows nothing of pairs
or of the rows of a file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from foldmark.doctor.rows import Row
from foldmark.doctor.talk import Talk, Turn, become, forget, put
from foldmark.doctor.values import Mend
from foldmark.wire.media import SUPPORTED, image_of_url
from foldmark.wire.plain import compact_json
from foldmark.wire.responses_ids import is_valid_id

_ROLES = ("assistant", "system", "developer", "user")
_FOREIGN = (
    *("tool_calls", "tool_call_id", "reasoning_content", "function_call", "cache_control"),
    *("parsed", "parsed_arguments"),
)


def item_mends(talk: Talk) -> Iterator[Mend]:
    """Everything that is wrong with single items."""
    for strand in talk.strands:
        for turn in strand.turns:
            item = talk.message(turn.row)
            if item.get("type", "message") == "message" and item.get("role") not in _ROLES:
                yield _role(talk, turn.row, item)
            yield from _fields(talk, turn.row, item)
            for key in ("content", "output"):
                blocks = item.get(key)
                for at, block in enumerate(blocks if isinstance(blocks, list) else ()):
                    if isinstance(block, dict):
                        yield from _block(turn, block, talk.at(turn.row, f".{key}[{at}]"))


def _role(talk: Talk, row: Row, item: dict[str, Any]) -> Mend:
    blocks = item.get("content")
    is_output = isinstance(blocks, list) and any(block.get("type") == "output_text" for block in blocks)
    right = "assistant" if is_output else "user"
    said = f"{item.get('role')!r} is no role of this API."
    apply = partial(put, row, item, "role", right)
    return Mend(talk.at(row, ".role"), "role", said, f"the role becomes {right}; the text stays", apply)


def _fields(talk: Talk, row: Row, item: dict[str, Any]) -> Iterator[Mend]:
    """Fields that are missing, of another API, or of no use as they are."""
    kind = str(item.get("type") or "message")
    if "id" in item and kind not in ("local_shell_call_output", "item_reference") and not is_valid_id(item):
        said, change = f"{item['id']!r} is no id of an item of type {kind}.", "the id is left out; nothing needs it"
        yield Mend(talk.at(row, ".id"), "item_id", said, change, partial(forget, row, item, "id"))
    if kind == "reasoning" and not isinstance(item.get("summary"), list):
        said, change = "the reasoning has no list of summaries.", "an empty list is put in"
        yield Mend(talk.at(row, ".summary"), "summary_missing", said, change, partial(put, row, item, "summary", []))
    if kind == "compaction" and not item.get("encrypted_content"):
        said, change = "the compaction has no encrypted content.", "the item is left out"
        yield Mend(talk.at(row), "compaction", said, change, partial(talk.drop_row, row))
    if kind in ("function_call_output", "custom_tool_call_output") and item.get("output") is None:
        said, change = "the answer holds no output.", "empty text instead"
        yield Mend(talk.at(row, ".output"), "output_missing", said, change, partial(put, row, item, "output", ""))
    for field in _FOREIGN:
        if field in item:
            said = "is a field of another API."
            change = f"the field is left out; it held {compact_json(item[field])[:200]}"
            yield Mend(talk.at(row, f".{field}"), "unknown_field", said, change, partial(forget, row, item, field))


def _block(turn: Turn, block: dict[str, Any], place: str) -> Iterator[Mend]:
    """Blocks of the wrong side, images that are not taken, fields of other APIs."""
    kind, is_output = str(block.get("type")), turn.role == "assistant"
    is_of_output, right = kind in ("output_text", "refusal"), "output_text" if is_output else "input_text"
    image = image_of_url(str(block.get("image_url") or "")) if kind == "input_image" else None
    if isinstance(block.get("text"), str) and (is_of_output != is_output or kind == "text"):
        said, change = f"a {kind} block cannot stand here.", f"its type becomes {right}"
        yield Mend(f"{place}.type", "content_type", said, change, partial(put, turn.row, block, "type", right))
    elif image and (is_output or (image.data and image.media_type not in SUPPORTED)):
        note = f"[an image of type {image.media_type or 'unknown'} stood here and cannot be sent]"
        said = "an image cannot stand here." if is_output else f"{image.media_type!r} is not taken."
        code, value = "content_type" if is_output else "image_type", {"type": right, "text": note}
        yield Mend(place, code, said, "a note stands in its place", partial(become, turn.row, block, value))
    elif is_of_output != is_output:
        said, value = f"a {kind} block cannot stand here.", {"type": right, "text": compact_json(block)}
        change = "written as text that quotes it"
        yield Mend(place, "content_type", said, change, partial(become, turn.row, block, value))
    for field in _FOREIGN:
        if field in block:
            said, change = "is a field of another API.", "the field is left out"
            apply = partial(forget, turn.row, block, field)
            yield Mend(f"{place}.{field}", "unknown_field", said, change, apply)
