"""One event in words, each piece behind the event's ref and within its share. Knows nothing of other events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from foldmark.events import Event, Image, Opaque, Part, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.evidence import RECALLED, remembered
from foldmark.kinds import clean_text, exit_code, on_screen, preview
from foldmark.narrative import RECORDS_TAG
from foldmark.parting import both_ends
from foldmark.profiles import profile_of_call
from foldmark.records.calls import call_words
from foldmark.records.formatting import Formats
from foldmark.records.sources import gist
from foldmark.redact import Redactor, redact_json
from foldmark.refs import artifact_ref, event_ref
from foldmark.render import TAG, escape
from foldmark.summarizer import Style
from foldmark.tokens import TokenCounter

SHARES: dict[Style, dict[str, tuple[float, int]]] = {
    "coding": {
        "user": (1.0, 1_000_000), "agent": (0.75, 2_000), "injected": (0.5, 1_000), "system": (0.5, 1_000),
        "call": (0.5, 600), "result": (0.4, 600), "failed": (0.6, 1_000), "looked": (0.2, 240),
    },
    "general": {
        "user": (1.0, 1_000_000), "agent": (0.75, 2_000), "injected": (0.5, 1_000), "system": (0.5, 1_000),
        "call": (0.2, 200), "result": (0.6, 1_200), "failed": (0.4, 600), "looked": (0.6, 1_200),
    },
}  # fmt: skip
"""Most of a record by what it tells: a share of `limit_tokens`, and tokens. A narrative is 350 words: of one result no
more than a page can matter to it, while what the user said may all matter. `looked` are results of reads and searches:
to whoever writes code the files are still there, to whoever works with knowledge they are what was found."""

_LEAST = 24
"""Tokens that every piece gets however small the limit is."""
_MOST_PICTURES = 3

_FORGED = re.compile(r"^(?=[ \t]*\[\s*event\s*:)", re.IGNORECASE | re.MULTILINE)
_OURS = re.compile(
    rf"<({TAG}|{RECORDS_TAG})\b[^<>]*>.*?</\1>(?:\nEnd of the record up to event \d+; what follows is newer\.)?",
    re.DOTALL,
)
_EXIT = re.compile(r"exit code (\d+)")
_CLEANED = "cleaned"  # `meta` key of an event that cleanup shortened: the model saw its text as it stands


@dataclass(frozen=True)
class Telling:
    """How events are told."""

    style: Style
    redact: Redactor
    limit_tokens: int
    focus: str
    count: TokenCounter
    formats: Formats

    def room(self, what: str) -> int:
        share, most = SHARES[self.style][what]
        return max(_LEAST, min(most, int(self.limit_tokens * share)))


def quoted(text: str) -> str:
    """Text that can be taken neither for a ref of ours nor for the end of the records."""
    return _FORGED.sub("> ", escape(text)) if "[" in text or "<" in text else text


def role_of(event: Event) -> str:
    """Whose words an event holds: user, agent, result, injected or system."""
    if event.role == "user":
        return "user" if event.is_user and not _is_ours(event) else "injected"
    return {"assistant": "agent", "tool": "result"}.get(event.role, event.role)


def record_of(event: Event, call: ToolCall | None, telling: Telling) -> str:
    """The record text of an event; `call` is what it answers. Empty for control events and what a formatter leaves
    out."""
    if event.role == "control":
        return ""
    if event.role == "tool" and event.result:
        return _result(event, event.result, call, telling)
    label = _label(event)
    said = _words(event, telling)
    lines = [f"[{event_ref(event.seq)} {label}] {said}"] if said else []
    lines += _calls(event, telling)
    if not lines and not event.calls:
        thought = any(isinstance(part, Reasoning) for part in event.parts)
        lines = [f"[{event_ref(event.seq)} {label}] ({'thinking only' if thought else 'no words'})"]
    return "\n".join(lines)


def _label(event: Event) -> str:
    if event.meta.get("foreign", "").startswith("compact"):
        return "summary by another tool"
    return role_of(event)


def _is_ours(event: Event) -> bool:
    """Whether an event holds nothing but what we once wrote into a request, so that it is nobody's word. (A request for
    notes that a caller recorded, a checkpoint that came back through an import.)"""
    text = event.text
    return "<foldmark-" in text and (f"<{RECORDS_TAG}" in text or not _OURS.sub("", text).strip())


def _words(event: Event, telling: Telling) -> str:
    """What is said in an event that is no result: its texts, and handles of what is no text."""
    ref = event_ref(event.seq)
    room = telling.room(role_of(event))
    pieces = [piece for part in event.parts if (piece := _piece(part, event, telling, room))]
    text = "\n".join(pieces)
    return both_ends(text, room, ref, telling.count)


def _piece(part: Part, event: Event, telling: Telling, room: int) -> str:
    match part:
        case Text(text=text):
            return _said(text, event, telling, room)
        case Paste(text=text, artifact=artifact):
            ref = artifact_ref(event.seq, artifact.number)
            shown = _pictured(_clean(text, telling), None, telling, room // 2, ref)
            return f"(pasted, shortened here; whole: {ref}) {shown}"
        case Image():
            return _picture(part, event.seq)
        case Opaque(provider=provider, raw=raw):
            kind = clean_text(str(raw.get("type", "block")))[:40]
            return f"({quoted(f'{kind} of {provider}')}, not shown: {event_ref(event.seq)})"
        case _:
            return ""


def _said(text: str, event: Event, telling: Telling, room: int) -> str:
    """A person's, a model's or a program's words. Our own blocks inside them are left out: they are told elsewhere."""
    if event.role in ("user", "system") and "<foldmark-" in text:
        if f"<{RECORDS_TAG}" in text:
            return "(an earlier request for notes, left out)"
        text = _OURS.sub("(an earlier record of this session, left out)", text)
    return _spoken(_clean(text, telling), telling, room, event_ref(event.seq))


def _clean(text: str, telling: Telling) -> str:
    """The whole text as a terminal shows it, without secrets. The screen comes first: escape codes inside a secret
    would hide it."""
    return telling.redact(on_screen(text))


def _spoken(clean: str, telling: Telling, room: int, ref: str) -> str:
    """Clean words of somebody: both ends of them. (A kind's preview would take a request with a stack trace in it for a
    trace, and drop the request.)"""
    return both_ends(quoted(clean_text(clean)).strip(), room, ref, telling.count)


def _pictured(clean: str, call: ToolCall | None, telling: Telling, room: int, ref: str) -> str:
    """A clean body within its room, as its kind shows it: a test run keeps its failing tests, a log its lines of
    trouble, a diff its hunks; for `general`, a page or a list of hits keeps its gist."""
    if call is not None and telling.style == "general":
        short = gist(clean, call, room, telling.count, telling.focus)
    else:
        short = preview(clean, call, room, telling.count)
    # Once more: entities and tags of a page may have hidden a secret until they were read.
    return both_ends(quoted(telling.redact(clean_text(short))).strip(), room, ref, telling.count)


def _picture(image: Image, seq: int) -> str:
    size = f" of {image.width}x{image.height}" if image.width else ""
    ref = artifact_ref(seq, image.artifact.number) if image.artifact else event_ref(seq)
    return f"(an image{size}, not shown: {ref})"


def _calls(event: Event, telling: Telling) -> Iterator[str]:
    """The calls of a step, each on lines of its own; many of them share the room of two."""
    room = max(_LEAST, min(telling.room("call"), 2 * telling.room("call") // max(1, len(event.calls))))
    for made in event.calls:
        call = msgspec.structs.replace(made, arguments=redact_json(made.arguments, telling.redact))
        said = telling.formats.call(call, event.seq)
        if said is None:
            said = telling.redact(call_words(call, room, telling.count))
        if said:
            shown = both_ends(quoted(said), room, event_ref(event.seq), telling.count)
            yield f"[{event_ref(event.seq)} call] {shown}"


def _result(event: Event, result: ToolResult, call: ToolCall | None, telling: Telling) -> str:
    name = call.name if call else result.name or "a tool"
    safe = call and msgspec.structs.replace(call, arguments=redact_json(call.arguments, telling.redact))
    code = _exit_code(event, result, safe)
    failed = result.is_error or bool(code)
    looked = profile_of_call(safe).role in ("reads", "searches")
    room = telling.room("failed" if failed else "looked" if looked else "result")
    ref = artifact_ref(event.seq, result.artifact.number) if result.artifact else event_ref(event.seq)
    recalled = RECALLED in event.meta or profile_of_call(safe).role == "recalls"
    shown = _clean((remembered(result.text) if recalled else "") or result.text, telling)  # it stands there already
    # A formatter gets what the model read, without its secrets.
    part = msgspec.structs.replace(result, text=shown)
    clean = msgspec.structs.replace(event, parts=tuple(part if old is result else old for old in event.parts))
    said = telling.formats.result(clean, name)
    if said == "":
        return ""
    short = ""
    if said is not None:
        said = both_ends(quoted(said), room, ref, telling.count)
    elif _CLEANED in event.meta:
        said = _spoken(shown, telling, room, ref)
    else:
        said = _pictured(shown, safe or ToolCall("", name), telling, room, ref)
        is_short = result.artifact or said != quoted(clean_text(shown)).strip()
        short = f", shortened, whole: {ref}" if is_short else ""
    how = f", exit {code}" if code is not None else ", error" if result.is_error else ""
    pictures = [_picture(image, event.seq) for image in result.images[:_MOST_PICTURES]]
    if (more := len(result.images) - _MOST_PICTURES) > 0:
        pictures.append(f"(and {more} more)")
    told = " ".join([piece for piece in (said, *pictures) if piece]) or "(empty)"
    return f"[{event_ref(event.seq)} result of {quoted(clean_text(name))}{how}{short}] {told}"


def _exit_code(event: Event, result: ToolResult, call: ToolCall | None) -> int | None:
    """What the harness said, of a body outside what was noted at admission; only of tools that run something."""
    if call is not None and not profile_of_call(call).is_shell and call.name:
        return None
    if noted := _EXIT.match(event.meta.get("outcome", "")):
        return int(noted[1])
    if _CLEANED in event.meta:
        found = _EXIT.search(result.text)
        return int(found[1]) if found else None
    return exit_code(on_screen(result.text))
