"""What a wire makes of messages, read back: which of them each message that comes back was made of. Knows nothing of
stores or of what a message stands for.

Wires merge, split, reorder and rename; no wire merges across the chunks here, so a request is read by its new end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Event, Text, ToolCall


def chunks_of(wire: Any, messages: Sequence[Event]) -> list[list[Event]]:
    """Messages in runs that no wire merges across: assistant steps, then everything up to the next one. Messages that
    write nothing are left out."""
    out: list[list[Event]] = []
    for message in messages:
        if not _says(wire, message):
            continue
        if not out or (message.role == "assistant" and out[-1][-1].role != "assistant"):
            out.append([])
        out[-1].append(message)
    return out


def _says(wire: Any, event: Event) -> bool:
    if event.result or event.calls or event.text.strip():
        return True
    return bool(_written(wire, [event]))


def _written(wire: Any, messages: Sequence[Event]) -> list[Any]:
    out: list[Any] = wire.write("", (), messages)[wire.MESSAGES]
    return out


def form_of(wire: Any, chunk: Sequence[Event]) -> list[Any]:
    """The messages of a chunk; what a wire puts in front of a list that begins with an assistant is left out."""
    written = _written(wire, chunk)
    has_opening = wire.OPENING and chunk[0].role == "assistant" and written and written[0].get("role") == "user"
    return written[1:] if has_opening else written


def opening_of(wire: Any, chunk: Sequence[Event]) -> list[Event]:
    """What the wire puts in front of a request that begins with this chunk."""
    written = _written(wire, chunk)
    return read_back(wire, written[: len(written) - len(form_of(wire, chunk))])


def numbered_forms(wire: Any, messages: Sequence[Event], forms: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The same forms as they stand in the whole request, where call ids that were used before carry a number."""
    written = _written(wire, messages)
    out, at = [], len(written) - sum(map(len, forms))
    for form in forms:
        out.append(written[at : at + len(form)])
        at += len(form)
    return out


def repeats_ids(chunks: Sequence[Sequence[Event]], used: set[str]) -> bool:
    """Whether a call id comes again that an earlier chunk has, or one of `used`."""
    used = set(used)
    for chunk in chunks:
        ids = [call.id for event in chunk for call in event.calls]
        if not used.isdisjoint(ids):
            return True
        used.update(ids)
    return False


def read_back(wire: Any, messages: Sequence[Any]) -> list[Event]:
    """The messages of a chunk as events. They are read together: a step may be several items of a wire."""
    try:
        return list(wire.read_messages(messages).events)
    except WireError:
        return []  # nobody can send back what no wire reads


def aligned(chunk: Sequence[Event], read: Sequence[Event]) -> list[tuple[Event, list[Event]]]:
    """Each event that was read with the messages it was made of. What cannot be told is left out."""
    steps = [event for event in chunk if event.role == "assistant"]
    order = {call.id: at for at, call in reversed(list(enumerate(call for step in steps for call in step.calls)))}
    results = [event for event in chunk if event.role == "tool"]
    results.sort(key=lambda event: order.get(event.result.call_id if event.result else "", len(order)))
    others = [event for event in chunk if event.role not in ("assistant", "tool")]
    out: list[tuple[Event, list[Event]]] = []
    pictures = any(event.result and event.result.images for event in results)
    said = [event for event in read if event.role == "user"]
    if pictures and len(said) in (1, len(others) + 1) and len(said) > min(1, len(others)):
        out.append((said.pop(0), []))  # images of results, which this wire writes in a message of their own
    for role, sources in (("assistant", steps), ("tool", results)):
        found = [event for event in read if event.role == role]
        out += _paired_steps(found, sources) if role == "assistant" else _paired(found, [[one] for one in sources])
    return out + _paired(said, [[one] for one in others])


def _paired_steps(found: Sequence[Event], steps: Sequence[Event]) -> list[tuple[Event, list[Event]]]:
    return _paired(found, _joined_steps(steps)) or _paired(found, _run_on(steps))


def _joined_steps(steps: Sequence[Event]) -> list[list[Event]]:
    """Steps that make one message: a call must be answered before the next assistant message."""
    out: list[list[Event]] = []
    for step in steps:
        if out and any(earlier.calls for earlier in out[-1]):
            out[-1].append(step)
        else:
            out.append([step])
    return out


def _run_on(steps: Sequence[Event]) -> list[list[Event]]:
    """Steps as a wire tells them apart that has a flat list of items: only words behind words begin a new one."""
    out: list[list[Event]] = []
    for step in steps:
        if out and (any(earlier.calls or not _has_words(earlier) for earlier in out[-1]) or _begins_with_a_call(step)):
            out[-1].append(step)
        else:
            out.append([step])
    return out


def _has_words(step: Event) -> bool:
    return any(isinstance(part, Text) and part.text for part in step.parts)


def _begins_with_a_call(step: Event) -> bool:
    said = [part for part in step.parts if isinstance(part, ToolCall) or (isinstance(part, Text) and part.text)]
    return not said or isinstance(said[0], ToolCall)


def _paired(found: Sequence[Event], groups: list[list[Event]]) -> list[tuple[Event, list[Event]]]:
    if len(found) == 1 and groups:
        return [(found[0], [one for group in groups for one in group])]
    return list(zip(found, groups, strict=True)) if len(found) == len(groups) else []
