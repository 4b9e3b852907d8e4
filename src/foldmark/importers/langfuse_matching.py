"""What of a model's input is known already: messages that come again, put in line with those we have. Knows nothing
of observations.

Later inputs repeat what came before, and not always in the same words: a framework may leave a message out, or render
it anew. So messages are put in line in order, and one that stands where a known one of the same role stands is that
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from foldmark.events import Event
from foldmark.wire.plain import parse_json


class Face(msgspec.Struct, frozen=True):
    """What a message is recognised by: its role, what it says, and for a result the call it names. Ids of calls are
    left out: some traces have none, some use one twice."""

    role: str
    says: Any
    answers: str = ""


class Match(msgspec.Struct, frozen=True):
    """`count` messages are known, the last of them just before `end`; `new` ones are not; `is_from_start` when the
    first ones are the same."""

    count: int
    end: int
    new: tuple[Event, ...]
    is_from_start: bool


def face_of(event: Event) -> Face:
    if event.result is not None:
        return Face(event.role, event.result.text.strip(), event.result.call_id)
    if event.calls:
        return Face(event.role, [(call.name, value_of(call.arguments)) for call in event.calls])
    return Face(event.role, event.text.strip())


def match(known: Sequence[Face], incoming: Sequence[Event], faces: Sequence[Face]) -> Match:
    """Put incoming messages, with their faces, in line with the known ones."""
    at = count = 0
    waiting: list[Event] = []
    late: list[Event] = []
    for event, face in zip(incoming, faces, strict=True):
        found = next((place for place in range(at, len(known)) if _is_same(known[place], face)), None)
        if found is None:
            waiting.append(event)
            continue
        is_rendered_anew = [each.role for each in known[at:found]] == [each.role for each in waiting]
        late += [] if is_rendered_anew else waiting
        waiting, at, count = [], found + 1, count + 1
    is_from_start = bool(known and faces) and _is_same(known[0], faces[0])
    return Match(count, at, (*late, *waiting), is_from_start)


def _is_same(known: Face, face: Face) -> bool:
    if known.role != face.role:
        return False
    return known.says == face.says or (bool(face.answers) and known.answers == face.answers)


def value_of(arguments: str) -> Any:
    """Arguments as their value, so that spaces make no difference; text that is no JSON as it is."""
    try:
        return parse_json(arguments)
    except ValueError:
        return arguments
