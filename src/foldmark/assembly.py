"""Puts a request together: order, refs, and whole tool pairs. Knows nothing of stores, triggers or budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from foldmark.checkpoint import Checkpoint
from foldmark.drafts import MESSAGE_OVERHEAD, NOTHING_PRELOADED, Draft, Preloaded, cost, priced
from foldmark.events import CONTINUES, Event, Part, Paste, Reasoning, Text, ToolCall, ToolResult, injected
from foldmark.evidence import RECALLED
from foldmark.merging import head_id
from foldmark.options import Layout
from foldmark.overview import NO_OVERVIEW, Telling
from foldmark.presenting import overview_tokens, presented, presented_tokens
from foldmark.refs import artifact_ref, event_ref
from foldmark.reports import Change
from foldmark.rounds import newest_user
from foldmark.warm import Recent, grows

NO_RESULT = "[No result was recorded for this call: it was interrupted, refused, or is still waiting.]"
"""Marker for a call without a result: providers refuse a call that stands alone."""

IN_SYSTEM = "[Earlier conversation: see the checkpoint in the system text.]"
NOT_SHOWN = "[Earlier conversation: not shown here.]"
"""What opens a conversation whose own beginning is covered: providers want a user's message first, and at least one."""


def assemble(
    checkpoint: Checkpoint | None,
    kept: Sequence[Event],
    events: Sequence[Event],
    system: str,
    tools: Sequence[Mapping[str, Any]],
    layout: Layout,
    *,
    told: Telling = NO_OVERVIEW,
    changes: Sequence[Change] = (),
    preloaded: Preloaded = NOTHING_PRELOADED,
    bar: str = "",
    pins: frozenset[int] = frozenset(),
) -> Draft:
    """Order: system, tools, checkpoint (with an overview) and what is kept, raw tail, then as an ephemeral suffix what
    was preloaded and the state bar."""
    repaired, warnings = shown(events, changes)
    head = head_of(checkpoint, kept, layout, told)
    text = presented(checkpoint, layout, told) if checkpoint else ""
    if text and layout.checkpoint == "system":
        system = f"{system}\n\n{text}" if system else text
    head = head or _opening(checkpoint, repaired, text)
    suffix = [priced(injected(each)) for each in (preloaded.text, bar) if each]
    return Draft(
        system=system,
        tools=tuple(tools),
        messages=(*head, *repaired, *suffix),
        head=len(head),
        changes=tuple(changes),
        warnings=(*warnings, *preloaded.warnings),
        suffix=len(suffix),
        pins=pins,
        overview=overview_tokens(checkpoint, layout, told) if checkpoint else 0,
        preloaded=preloaded,
    )


def _opening(checkpoint: Checkpoint | None, tail: Sequence[Event], text: str) -> list[Event]:
    """What stands before a tail that cannot open a conversation, when nothing else does; `text` is the checkpoint's as
    it is shown elsewhere. An undo of everything covers nothing, so it adds nothing."""
    if checkpoint is None or not checkpoint.boundary or (tail and _opens(tail[0])):
        return []
    return [priced(injected(IN_SYSTEM if text else NOT_SHOWN))]


def _opens(event: Event) -> bool:
    """Whether a conversation can begin with this message: a user's that says something."""
    return event.role == "user" and (bool(event.text.strip()) or not all(isinstance(p, Text) for p in event.parts))


def head_of(
    checkpoint: Checkpoint | None, kept: Sequence[Event], layout: Layout, told: Telling = NO_OVERVIEW
) -> list[Event]:
    """The messages that stand before the tail: the checkpoint with what is kept, or the kept ones alone where it stands
    in the system text or its framing is empty."""
    if checkpoint is None:
        return []
    if layout.checkpoint == "system" or not presented(checkpoint, layout, told):
        return [_kept_alone(event) for event in kept]
    return [checkpoint_message(checkpoint, kept, layout, told)]


def head_tokens(
    checkpoint: Checkpoint | None, kept: Sequence[Event], layout: Layout, tail: Sequence[Event], static: int,
    told: Telling = NO_OVERVIEW,
) -> int:  # fmt: skip
    """What checkpoint and kept events cost in a request, wherever they stand, with the line that opens the conversation
    where neither they nor the `tail` (its events as they are shown) can. `static` are the tokens of system text and
    tools: where there is neither, a checkpoint in the system text pays for that message, too."""
    if checkpoint is None:
        return 0
    in_system = presented_tokens(checkpoint, layout, told) if layout.checkpoint == "system" else 0
    in_system += MESSAGE_OVERHEAD if in_system and not static else 0
    head = head_of(checkpoint, kept, layout, told)
    return in_system + cost(head or _opening(checkpoint, _first_shown(tail), presented(checkpoint, layout, told)))


def _first_shown(tail: Sequence[Event]) -> list[Event]:
    """The message that a tail begins with, repaired as `shown` would; a call's results do not change what it is."""
    first = next((event for event in tail if event.role != "control"), None)
    return repair([first])[0][:1] if first else []


def checkpoint_message(
    checkpoint: Checkpoint, kept: Sequence[Event], layout: Layout = Layout(), told: Telling = NO_OVERVIEW
) -> Event:
    """The checkpoint as reference text in role user, followed by what is kept: pins, then the current request.

    The same checkpoint gives the same object again, so that a warm request finds its prefix unchanged.
    """
    text = presented(checkpoint, layout, told)
    place = ("head", str(checkpoint.version), text, *(event.chain or str(event.seq) for event in kept))
    known = _memory.get(place)
    if known:
        return known.out[0]
    form = "" if text == checkpoint.text else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    made = _checkpoint_message(head_id(checkpoint.version, form), text, kept)
    _memory.put(place, _Done([], [made], []))
    return made


def _checkpoint_message(name: str, text: str, kept: Sequence[Event]) -> Event:
    parts: list[Part] = [Text(text)]
    newest = newest_user(kept)
    for event in kept:
        what = "Current request" if event is newest else f"Pinned, from {event.role}"
        parts.append(Text(f"{what} ({event_ref(event.seq)}), verbatim:"))
        parts += _quoted(dress(event))
    return priced(Event(role="user", origin="injected", id=name, parts=tuple(parts)))


def _quoted(event: Event) -> list[Part]:
    """The parts of a kept event inside a message of role user: calls and results as text with their images, no thinking
    (no provider takes it there, and the request must not count as one that thinks)."""
    parts: list[Part] = []
    for part in event.parts:
        if isinstance(part, ToolCall):
            parts.append(Text(f"{part.name} {part.arguments}"))
        elif isinstance(part, ToolResult):
            parts += [Text(part.text), *part.images]
        elif isinstance(part, Paste):
            parts.append(Text(part.text))
        elif not isinstance(part, Reasoning):
            parts.append(part)
    return parts


def _kept_alone(event: Event) -> Event:
    """A kept event as a message of its own: a user's words as they are, anything else quoted."""
    if event.is_user:
        return dress(event)
    parts = _quoted(dress(event))
    words = "\n".join(part.text for part in parts if isinstance(part, Text))
    others = [part for part in parts if not isinstance(part, Text)]
    said = injected(f"Pinned, from {event.role} ({event_ref(event.seq)}), verbatim:\n{words}", seq=event.seq)
    return priced(msgspec.structs.replace(said, parts=(*said.parts, *others)))


def dressed(events: Sequence[Event], changes: Sequence[Change]) -> list[Event]:
    """Cleaned events as they are shown, with refs; their `tokens` are those of the shown form."""
    if not events:
        return []
    place = ("dressed", events[0].session, events[0].seq)
    known = _memory.get(place)
    done: list[Event] = known.out if known and grows(known.events, events) else []
    demoted = {change.seq for change in changes if change.status == "demoted"}
    out = [*done, *(dress(event, event.seq in demoted) for event in events[len(done) :])]
    _memory.put(place, _Done(events, out, []))
    return out


def shown(events: Sequence[Event], changes: Sequence[Change]) -> tuple[list[Event], list[str]]:
    """Dressed and repaired, control records left out. Goes on from the last assistant step that it has seen before:
    nothing in front of one can change any more."""
    found = [event for event in dressed(events, changes) if event.role != "control"]
    if not found:
        return [], []
    place = ("shown", found[0].session, found[0].seq)
    known = _memory.get(place)
    head = known if known and grows(known.events, found) else _Done([], [], [])
    out, warnings = repair(found[len(head.events) :])
    out, warnings = [*head.out, *out], [*head.warnings, *warnings]
    last = next((at for at in range(len(found) - 1, 0, -1) if found[at].role == "assistant"), 0)
    if last > len(head.events):
        before, said = repair(found[len(head.events) : last])
        _memory.put(place, _Done(found[:last], [*head.out, *before], [*head.warnings, *said]))
    return out, warnings


class _Done(msgspec.Struct):
    """Events that were worked through, what came out, and what had to be said."""

    events: Sequence[Event]
    out: list[Event]
    warnings: list[str]


_memory: Recent[_Done] = Recent(128)


def dress(event: Event, demoted: bool = False) -> Event:
    """The event as it is shown: refs behind previews and demoted results."""
    if not demoted and event.role != "system" and not event.artifacts:
        return event
    if demoted and event.meta.get("cleaned") == RECALLED:  # it names what it showed
        return event
    parts = tuple(_dress_part(part, event.seq, demoted) for part in event.parts)
    role, origin = ("user", "injected") if event.role == "system" else (event.role, event.origin)
    return priced(msgspec.structs.replace(event, parts=parts, role=role, origin=origin))


def _dress_part(part: Part, seq: int, demoted: bool) -> Part:
    if not isinstance(part, ToolResult | Paste):
        return part
    if part.artifact:
        ref = artifact_ref(seq, part.artifact.number)
        if demoted:
            line = f"{part.text} [whole: {ref}]"
        else:
            line = (
                f"{part.text}\n[Preview. The whole {part.artifact.kind} is {ref}: {part.artifact.lines:,} lines, "
                f"{part.artifact.size:,} bytes. Open lines with {ref}#L1-200; grep, read_lines, head and tail "
                "work on it.]"
            )
    elif demoted:
        line = f"{part.text} [whole: {event_ref(seq)}]"
    else:
        return part
    return msgspec.structs.replace(part, text=line)


def repair(events: Sequence[Event]) -> tuple[list[Event], list[str]]:
    """Make tool pairs valid without inventing anything; says what it changed.

    A call without a result gets a marker. A user message between a call and its result moves behind the result.
    A result whose call is not shown (or that comes late, or once too often) becomes injected text naming the call.
    Calls without an id get one; their results are matched by position.
    """
    out: list[Event] = []
    warnings: list[str] = []
    waiting: list[tuple[str, ToolCall]] = []  # (id as recorded, the call as shown); an id may occur twice in a step
    held: list[Event] = []

    def close() -> None:
        for _, call in waiting:
            marker = Event(role="tool", origin="injected", parts=(ToolResult(call.id, NO_RESULT, name=call.name),))
            out.append(priced(marker))
            warnings.append(f"Call {call.id} ({call.name}) has no result; a marker stands in its place.")
        waiting.clear()
        out.extend(held)
        held.clear()

    for event in events:
        result = event.result
        if event.role == "assistant":
            if (waiting or held) and CONTINUES not in event.meta:
                close()
            step = _named(event)
            out.append(step)
            waiting.extend(zip([call.id for call in event.calls], step.calls, strict=True))
        elif result is None:
            (held if waiting else out).append(event)
        elif found := next((pair for pair in waiting if pair[0] == result.call_id), None):
            waiting.remove(found)
            out.append(_answering(event, found[1].id))
            if not waiting:
                close()
        else:
            (held if waiting else out).append(_orphan(event, result))
            warnings.append(f"Result {event_ref(event.seq)} stands apart from call {result.call_id}; shown as text.")
    close()
    return out, warnings


def _named(event: Event) -> Event:
    """The step with an id of its own for every call: some servers send none or the same twice, and providers refuse
    both."""
    ids = [call.id for call in event.calls]
    if all(ids) and len(set(ids)) == len(ids):
        return event
    used: set[str] = set()
    parts: list[Part] = []
    for at, part in enumerate(event.parts):
        if isinstance(part, ToolCall):
            name = part.id or f"call_{event.seq}_{at}"
            unique = name if name not in used else f"{name}_{at}"
            used.add(unique)
            parts.append(msgspec.structs.replace(part, id=unique))
        else:
            parts.append(part)
    return msgspec.structs.replace(event, parts=tuple(parts))


def _answering(event: Event, call_id: str) -> Event:
    if event.result and event.result.call_id == call_id:
        return event
    parts = tuple(
        msgspec.structs.replace(part, call_id=call_id) if isinstance(part, ToolResult) else part for part in event.parts
    )
    return msgspec.structs.replace(event, parts=parts)


def _orphan(event: Event, result: ToolResult) -> Event:
    name = f" ({result.name})" if result.name else ""
    text = f"[Result of call {result.call_id}{name}, which stands elsewhere in the log]\n{result.text}"
    return priced(msgspec.structs.replace(event, role="user", origin="injected", parts=(Text(text), *result.images)))
