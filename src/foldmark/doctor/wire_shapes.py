"""What a wire's rules say of a conversation, and mends of the values whose type they do not take. Knows nothing of any
API: which type is wanted shows in the name of the member."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from foldmark.doctor.rows import Row
from foldmark.doctor.talk import Strand, Talk
from foldmark.doctor.values import Mend
from foldmark.wire import WIRES
from foldmark.wire.gemini_spelling import camel
from foldmark.wire.plain import compact_json
from foldmark.wire.values import Problem

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_PLACE = re.compile(r"(?:messages|input|contents)\[(\d+)\](.*)", re.DOTALL)
_BLOCK = re.compile(r"\.(?:content|parts)\[(\d+)\](.*)", re.DOTALL)
_TEXTS = frozenset(
    [
        *["text", "type", "role", "name", "id", "call_id", "tool_use_id", "tool_call_id", "arguments", "thinking"],
        *["signature", "data", "url", "media_type", "mimeType", "refusal", "encrypted_content", "thoughtSignature"],
    ]
)
"""Members that every API wants as text."""


def wire_problems(talk: Talk, strand: Strand) -> list[Problem]:
    """Everything that the provider's rules find, in the wire's own paths; asked once for each conversation.

    The rules are made for payloads of our own, and a file may hold what nobody thought of: then one problem of code
    `unreadable` says so.
    """
    if strand.found is None:
        strand.found = _validated(talk, strand)
    return strand.found


def _validated(talk: Talk, strand: Strand) -> list[Problem]:
    wire = next((known for known in WIRES if talk.wire == known.NAME), None)
    if wire is None or not strand.turns:
        return []
    try:
        return wire.validate(talk.payload(strand), suspected=True)
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        said = f"the rules of {talk.wire} stumble over something behind here ({error})."
        return [Problem(f"{talk.key}[0]", "unreadable", said)]


def wire_shape_mends(talk: Talk) -> Iterator[Mend]:
    """Values of a type that the API does not take: text is written as text, other members are left out."""
    for strand in talk.strands:
        for problem in wire_problems(talk, strand):
            if problem.code == "shape" and (place := _PLACE.match(problem.path)):
                yield from _mend(talk, strand, problem, int(place[1]), place[2])


def _mend(talk: Talk, strand: Strand, problem: Problem, at: int, rest: str) -> Iterator[Mend]:
    turn = strand.turns[at]
    row, held = turn.row, talk.message(turn.row)
    block = _BLOCK.match(rest)
    if block and not turn.plain and int(block[1]) < len(turn.units):
        unit = turn.units[int(block[1])]
        row, held, rest = unit.row, unit.value, block[2]
    steps = [found[1] or int(found[2]) for found in _STEP.finditer(rest)]
    for step in steps[:-1]:
        held = _inside(held, step)
    last = _key(held, steps[-1]) if steps else None
    if last is None or held is None:
        return
    where = talk.where(strand, problem.path)
    said = "is not of the type that the API takes."
    if last in _TEXTS or isinstance(last, int):
        value = compact_json(held[last])
        new: Any = {"type": "text", "text": value} if isinstance(last, int) else value
        yield Mend(where, "shape", said, "written as text", partial(_put, row, held, last, new))
    else:
        change = f"left out; it held {compact_json(held[last])[:200]}"
        yield Mend(where, "shape", said, change, partial(_take_out, row, held, last))


def _inside(held: Any, step: str | int) -> Any:
    key = _key(held, step)
    return held[key] if key is not None else None


def _key(held: Any, step: str | int) -> Any:
    """The key of a step in a dict or list; a file may spell it in snake case where the wire says it in camel case."""
    if isinstance(held, list) and isinstance(step, int) and step < len(held):
        return step
    if isinstance(held, dict):
        return next((key for key in held if key == step or camel(str(key)) == step), None)
    return None


def _put(row: Row, held: Any, key: Any, value: Any) -> None:
    held[key] = value
    row.changed = True


def _take_out(row: Row, held: Any, key: Any) -> None:
    held.pop(key, None)
    row.changed = True
