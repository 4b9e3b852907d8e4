"""Events of an Inspect log: which stand inside which, and what a model call gave. Knows nothing of content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Row = Mapping[str, Any]


def flat_events(events: Any) -> Iterator[Any]:
    """Events with those inside others (older logs nest what a tool call did) right behind them."""
    for event in events if isinstance(events, list) else ():
        yield event
        if isinstance(event, Mapping):
            yield from flat_events(event.get("events"))


def is_within(span: str, outer: str, parents: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while span and span not in seen:
        if span == outer:
            return True
        seen.add(span)
        span = parents.get(span, "")
    return False


def reply_of(event: Row) -> Row:
    """The message that a model call gave, an empty one when it gave none."""
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    message = first.get("message")
    return message if isinstance(message, Mapping) else {}


def reply_id(event: Row) -> str:
    return str(reply_of(event).get("id") or "") if event.get("event") == "model" else ""
