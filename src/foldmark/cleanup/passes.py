"""The passes of cleanup: which marked results shrink to what, and why. Knows nothing of marks, time or
requests.

Every decision is made from the marked events alone. A result becomes one true line with its outcome; the
ref to the whole is added when the request is assembled. An event that was shrunk says so in `meta`, so
shrinking twice equals once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import normpath

import msgspec

from foldmark import tokens
from foldmark.cleanup.hiding import Hiding
from foldmark.drafts import without_thinking
from foldmark.events import Event, Image, Part, Reasoning, Text, ToolCall, ToolResult
from foldmark.evidence import RECALLED, remembered
from foldmark.kinds import (
    denial,
    error_lines,
    is_heartbeat,
    is_noise,
    is_status,
    is_transient,
    on_screen,
    outcome,
    status_shape,
)
from foldmark.kinds.base import clip
from foldmark.policy import Cleanup
from foldmark.profiles import (
    CHILD_SESSION,
    UNKNOWN,
    Profile,
    headline,
    path_of,
    paths_of,
    profile_of,
    profile_of_call,
    range_of,
)
from foldmark.recalls import BUILT_IN_NAMES
from foldmark.refs import artifact_ref, event_ref
from foldmark.reports import Change

VERSION = "4"
"""Rises whenever a pass decides or words anything differently: that is an epoch."""

BOUND = "thinking that its provider refuses behind another prefix"
_DONE = "cleaned"
_NOISE = "noise"
_POLL_TOKENS = 32  # a shorter status costs less than the line that would stand for it
_REF_TOKENS = 10  # what ` [whole: event:812]` costs behind the line


class Seen(msgspec.Struct, frozen=True):
    """A marked result with the call it answers and what we know of the tool."""

    index: int
    event: Event
    result: ToolResult
    call: ToolCall | None
    profile: Profile


def shrink(
    marked: Sequence[Event],
    options: Cleanup,
    profiles: tuple[Profile, ...],
    pins: frozenset[int],
    hide: Hiding,
) -> tuple[list[Event], list[Change]]:
    """The marked events in their shorter form, and what changed. Pinned ones stay as they are."""
    seen = list(_results(marked, profiles))
    newest = {one.index for one in seen[max(0, len(seen) - options.keep_results) :]} if options.keep_results else set()
    old = [one for one in seen if one.index not in newest and one.event.seq not in pins and _DONE not in one.event.meta]
    reasons: dict[int, str] = {}
    if options.demote:
        reasons.update(_old_results(old, options))
    if options.superseded:
        reasons.update(_superseded(seen, old, options))
    if options.duplicates:
        reasons.update(_duplicates(seen, old, options))
        reasons.update(_polls(seen, old))
    forms: dict[int, Event] = {}
    why: dict[int, str] = {}
    for one in old:
        if form := _shorter(one, reasons.get(one.index, ""), options, profiles, hide):
            forms[one.index], why[one.index] = form
    if options.demote:
        for index, event, reason in _images_and_thinking(marked, forms, options.bound_thinking):
            if event.seq not in pins:
                forms[index], why[index] = event, reason
    for index, reason in _on_its_way(marked):
        if marked[index].seq not in pins:
            forms[index], why[index] = _with_parts(marked[index], (), 0, _NOISE), reason
    events = [forms.get(index, event) for index, event in enumerate(marked)]
    changes = [
        Change(marked[index].seq, "demoted", why[index], marked[index].tokens, forms[index].tokens)
        for index in sorted(forms)
    ]
    return [event for event in events if event.parts or event.meta.get(_DONE) not in ("thinking", _NOISE)], changes


def _results(marked: Sequence[Event], profiles: tuple[Profile, ...]) -> Iterator[Seen]:
    calls: dict[str, ToolCall] = {}
    for index, event in enumerate(marked):
        calls.update((call.id, call) for call in event.calls)
        if event.role == "tool" and (result := event.result):
            call = calls.get(result.call_id)
            yield Seen(index, event, result, call, _profile(event, call, profiles))


def _profile(event: Event, call: ToolCall | None, profiles: tuple[Profile, ...]) -> Profile:
    """What is known of the call, but for results that say of themselves what they are."""
    if CHILD_SESSION in event.meta:
        return UNKNOWN
    return profile_of(BUILT_IN_NAMES[0]) if RECALLED in event.meta else profile_of_call(call, profiles)


def _old_results(old: Sequence[Seen], options: Cleanup) -> Iterator[tuple[int, str]]:
    for one in old:
        if one.profile.demotable:
            yield one.index, "old result"


def _superseded(seen: Sequence[Seen], old: Sequence[Seen], options: Cleanup) -> dict[int, str]:
    """Reads of a file that a later marked event read again or changed."""
    candidates = {one.index for one in old}
    whole: dict[str, tuple[Seen, str]] = {}
    parts: dict[tuple[str, str], Seen] = {}
    reasons: dict[int, str] = {}
    for one in reversed(seen):
        if one.call is None or one.result.is_error:
            continue
        if one.profile.role == "writes":
            for path in paths_of(one.call, one.profile):
                whole[normpath(path)] = one, "changed"
        elif one.profile.role == "reads" and (path := path_of(one.call, one.profile)):
            path, part = normpath(path), range_of(one.call, one.profile)
            later, verb = whole.get(path, (None, ""))
            later, verb = (later, verb) if later else (parts.get((path, part)), "read again")
            if later and one.index in candidates:
                reasons[one.index] = f"{verb} in {event_ref(later.event.seq)}"
            if not part and path not in whole:
                whole[path] = one, "read again"
            parts.setdefault((path, part), one)
    return reasons


_VOLATILE = re.compile(
    r"(?=[\dA-Fa-f/pPMTWS])(?:"  # the only characters one can begin with: most places are passed over at once
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec|secs|seconds|minutes?)\b|\b0x[0-9a-fA-F]{6,}\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?:pid|PID|process)[ =:]+\d+\b|/tmp/[\w./-]+"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? .{0,30}\b\d\d:\d\d:\d\d(?: \w+)?(?: \d{4})?)"
)


def steady(text: str) -> str:
    """A text with times, durations, addresses and ids taken out: equal for two runs with the same outcome."""
    return _VOLATILE.sub("~", text)


def _duplicates(seen: Sequence[Seen], old: Sequence[Seen], options: Cleanup) -> dict[int, str]:
    """Results that a later marked result repeats: exactly, or but for times and ids when it is the same
    call."""
    candidates = {one.index for one in old}
    exact: dict[str, Seen] = {}
    comparable: dict[tuple[str, str, int, str], list[Seen]] = {}
    reasons: dict[int, str] = {}
    for one in reversed(seen):
        if _DONE in one.event.meta or one.result.images or one.event.tokens < options.minimum_tokens:
            continue
        body = one.result.artifact.sha256 if one.result.artifact else one.result.text
        if (later := exact.setdefault(body, one)) is not one:
            if one.index in candidates:
                reasons[one.index] = f"same as {event_ref(later.event.seq)}"
        elif one.call and not one.profile.one_shot and not one.result.artifact:
            comparable.setdefault(_asked(one.call, one.result.text), []).append(one)
    for group in comparable.values():
        near: dict[str, Seen] = {}
        for one in group if len(group) > 1 else ():
            later = near.setdefault(steady(one.result.text), one)
            if later is not one and one.index in candidates:
                reasons[one.index] = f"same but for times and ids as {event_ref(later.event.seq)}"
    return reasons


def _polls(seen: Sequence[Seen], old: Sequence[Seen]) -> dict[int, str]:
    """Status results of a poll loop between its first and its last: the same call, answered alike but for numbers,
    with no other answer in between."""
    candidates = {one.index for one in old}
    running: dict[tuple[str, str], tuple[str, list[Seen]]] = {}
    loops: list[list[Seen]] = []
    for one in seen:
        if one.call is None or one.profile.one_shot or one.result.artifact:
            continue
        told = status_shape(one.result.text) if not one.result.is_error and is_status(one.result.text) else ""
        before, loop = running.get((one.call.name, one.call.arguments), ("", []))
        if told and told == before:
            loop.append(one)
        else:
            running[one.call.name, one.call.arguments] = told, [one]
            loops.append(running[one.call.name, one.call.arguments][1])
    return {
        one.index: f"poll {number} of {len(loop)}, like {event_ref(loop[-1].event.seq)}"
        for loop in loops
        for number, one in enumerate(loop[1:-1], 2)
        if one.index in candidates
    }


def _on_its_way(marked: Sequence[Event]) -> Iterator[tuple[int, str]]:
    """Injected heartbeats and notices of progress, and stream deltas whose words a later answer holds whole. They
    answer no call, so they leave altogether."""
    answer: Event | None = None
    for index in range(len(marked) - 1, -1, -1):
        event = marked[index]
        if event.is_user or _DONE in event.meta or not all(isinstance(part, Text) for part in event.parts):
            answer = event if event.role == "assistant" and event.text else answer
        elif event.role == "user" and (is_transient(event.meta) or is_heartbeat(event.text)):
            yield index, "heartbeat or progress of something that has moved on"
        elif event.role == "assistant" and not is_transient(event.meta):
            answer = event
        elif event.role == "assistant" and answer and event.text in answer.text:
            yield index, f"stream delta, whole in {event_ref(answer.seq)}"


def _asked(call: ToolCall, text: str) -> tuple[str, str, int, str]:
    """What makes two results comparable: the same call, the same number of lines, the same first line but for times
    and ids. Whole texts are compared only among such ones."""
    return call.name, call.arguments, text.count("\n"), steady(text.partition("\n")[0])


def _shorter(
    one: Seen, reason: str, options: Cleanup, profiles: tuple[Profile, ...], hide: Hiding
) -> tuple[Event, str] | None:
    """The result as one line, and why; None when it stays. Refusals stay: they are short, and bind the
    agent."""
    result, event = one.result, one.event
    is_poll, what = reason.startswith("poll "), "result"
    if event.tokens < (min(_POLL_TOKENS, options.minimum_tokens) if is_poll else options.minimum_tokens):
        return None
    if result.images:
        return None
    if not result.artifact and is_noise(result.text):
        text, reason = "[no output but blanks and progress]", "noise"
    elif not reason or denial(result.text):
        return None
    elif one.profile.role == "recalls":
        text, what = remembered(result.text) or _demoted(one, "", profiles, hide), RECALLED
    elif is_poll:
        text = hide.redact(f"[{reason}: {_last_words(hide.whole(result.text))}]")
    else:
        text = _demoted(one, f"; {reason}" if reason != "old result" else "", profiles, hide)
    size = tokens.count(text)
    if size + _REF_TOKENS > event.tokens * 0.75:  # less is not worth a line that hides something
        return None
    part = ToolResult(result.call_id, text, result.name, result.is_error, (), result.artifact)
    return _with_parts(event, tuple(part if old is result else old for old in event.parts), size, what), reason


def _demoted(one: Seen, relation: str, profiles: tuple[Profile, ...], hide: Hiding) -> str:
    """What the call was, and its outcome."""
    call = hide.call(one.call)  # secrets go before anything is cut: half a key is not recognised
    return hide.redact(f"[{headline(call, profiles)}: {_line(one, call, hide)}{relation}]")


def _last_words(text: str) -> str:
    """The last line of a status that says anything."""
    return clip(next((line for line in reversed(on_screen(text).split("\n")) if line.strip()), ""), 48)


def _with_parts(event: Event, parts: tuple[Part, ...], size: int, what: str) -> Event:
    return msgspec.structs.replace(event, parts=parts, tokens=size, meta={**event.meta, _DONE: what})


def _line(one: Seen, call: ToolCall | None, hide: Hiding) -> str:
    """The outcome of the whole body: noted at admission when the body is outside."""
    if one.result.artifact:
        said = one.event.meta.get("outcome") or f"{one.result.artifact.lines:,} lines of {one.result.artifact.kind}"
    else:
        said = _outcome(one.event.plain, one.result.text, call, hide)
    if one.result.is_error and "error" not in said.lower():
        text = hide.whole(one.result.text)
        errors = error_lines(text) or [line for line in text.split("\n") if line.strip()][:1]
        said = f"{said}; error: {' | '.join(error[:200] for error in errors)}"
    return said


_outcomes: dict[tuple[str, int, str], str] = {}


def _outcome(plain: str, text: str, call: ToolCall | None, hide: Hiding) -> str:
    """`kinds.outcome` of the text without its secrets, remembered by the event's fingerprint (a few dozen bytes instead
    of the text)."""
    if not plain:
        return outcome(hide.whole(text), call)
    key = (plain, hash((call.name, call.arguments)) if call else 0, hide.name)
    said = _outcomes.get(key)
    if said is None:
        if len(_outcomes) > 20_000:
            _outcomes.clear()
        said = _outcomes[key] = outcome(hide.whole(text), call)
    return said


def _picture(image: Image, seq: int) -> str:
    """What stands for an image that left: its size, and where it is."""
    size = f" of {image.width}x{image.height}" if image.width else ""
    ref = artifact_ref(seq, image.artifact.number) if image.artifact else event_ref(seq)
    return f"[an image{size}, no longer shown: {ref}]"


def _images_and_thinking(
    marked: Sequence[Event], forms: dict[int, Event], is_bound: bool
) -> Iterator[tuple[int, Event, str]]:
    """Images but the newest ones become placeholders; thinking of requests before the newest marked one
    leaves whole.

    Signed thinking is never edited, and inside the current request it stays: providers check it there. Bound to its
    prefix (`is_bound`) it leaves there too: what stands in front of it has changed.
    """
    pictured = [i for i, event in enumerate(marked) if _has_image(event) and event.role != "assistant"]
    newest = set(pictured[-1:]) | set([i for i in pictured if marked[i].is_user][-1:])
    current = max((i for i, event in enumerate(marked) if event.is_user), default=-1)
    current = len(marked) if is_bound else current
    for index, event in enumerate(marked):
        if index in forms or _DONE in event.meta:
            continue
        if index < current and event.role == "assistant" and any(isinstance(part, Reasoning) for part in event.parts):
            yield index, unbound(event), BOUND if is_bound else "thinking of an earlier request"
        elif index in pictured and index not in newest:
            parts = tuple(_without_image(part, event.seq) for part in event.parts)
            size = sum(tokens.part_tokens(part) for part in parts)
            yield index, _with_parts(event, parts, size, "image"), "old image"


def unbound(event: Event) -> Event:
    """The event without its thinking, and marked as cleaned; the event itself when it has none."""
    form = without_thinking(event)
    return event if form is event else _with_parts(event, form.parts, form.tokens, "thinking")


def _has_image(event: Event) -> bool:
    return any(isinstance(part, Image) or (isinstance(part, ToolResult) and part.images) for part in event.parts)


def _without_image(part: Part, seq: int) -> Part:
    if isinstance(part, Image):
        return Text(_picture(part, seq))
    if isinstance(part, ToolResult) and part.images:
        text = "\n".join(filter(None, [part.text, *(_picture(image, seq) for image in part.images)]))
        return msgspec.structs.replace(part, text=text, images=())
    return part
