"""Addresses: `event:812`, `event:812@session`, `event:812-830`, `artifact:812.2#L10-40`, `artifact:sha256:<hex>`,
`compaction:3`, `call:<id>`. A session's name may hold anything: what has a meaning in a ref is escaped (`@a%23b`).

Knows only their spelling. Refs are rendered when a request is assembled, never stored inside previews.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from foldmark.errors import NotFound


class Ref(msgspec.Struct, frozen=True):
    """A parsed address. `name` is a seq, two seqs (`812-830`: all from the one to the other), a client's event id, a
    compaction number, `sha256:<hex>` or the id of a tool call; `number` counts artifacts of one event; `lines`
    (1-based, inclusive) or `bytes` (0-based, end exclusive) is the range: of several events, in the first of them."""

    kind: Literal["event", "artifact", "compaction", "call"]
    name: str
    session: str = ""
    number: int = 1
    lines: tuple[int, int] | None = None
    bytes: tuple[int, int] | None = None

    @property
    def is_event(self) -> bool:
        return self.kind == "event"

    @property
    def seq(self) -> int | None:
        """The per-session number, or None when the name is a client's id or a hash."""
        return int(self.name) if _NUMBER.fullmatch(self.name) else None

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last seq of a ref to several events, else None."""
        found = _SPAN.fullmatch(self.name) if self.kind == "event" else None
        return (int(found[1]), int(found[2])) if found and 0 < int(found[1]) <= int(found[2]) else None

    def __str__(self) -> str:
        number = f".{self.number}" if self.number > 1 else ""
        session = f"@{_SPECIAL.sub(_escaped, self.session)}" if self.session else ""
        part = ""
        if self.lines:
            part = f"#L{self.lines[0]}-{self.lines[1]}"
        elif self.bytes:
            part = f"#B{self.bytes[0]}-{self.bytes[1]}"
        return f"{self.kind}:{self.name}{number}{session}{part}"


# What would end a session's name inside a ref, or end the ref in a line of ours, is written as in a URL (%23 for #).
_SPECIAL = re.compile(r"[^\S ]|\A | \Z|(?<= ) |[\x00-\x1f\x7f-\x9f#?,\[\]]|%(?=[0-9A-Fa-f]{2})")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def _plain(found: re.Match[str]) -> str:
    try:
        return bytes.fromhex(found[0].replace("%", "")).decode()
    except UnicodeDecodeError:  # no escape of ours
        return found[0]


# Digits of other scripts and numbers that no session reaches are no numbers here: `int` refuses some of them.
_DIGITS = "[0-9]{1,18}"
_NUMBER = re.compile(_DIGITS)
_SPAN = re.compile(rf"({_DIGITS})-({_DIGITS})")
_RANGE = re.compile(rf"#([LB])({_DIGITS})(?:-({_DIGITS}))?$")
_KINDS = "event|artifact|compaction"
_HEAD = re.compile(rf"^({_KINDS}):(?://)?(.+)$", re.DOTALL)
_NUMBERED = re.compile(rf"^({_DIGITS})\.({_DIGITS})$")
# What people and models write in place of a ref, and what else they copy with it.
_SPELLED = re.compile(rf"^({_KINDS})(?:://|:\s*|\s+#?(?=[0-9]))", re.IGNORECASE)
_CALL = re.compile(r"^call:", re.IGNORECASE)
_CALL_ID = re.compile(r"(?:toolu|call)_[\w-]+")
_OPENS, _CLOSES = "[(<`\"'", "])>`\"'"
_FIRST = re.compile(rf"((?:{_KINDS}):[0-9][0-9.-]*(?:@[^,\n]*?)?(?:#[LB][0-9-]+)?)\s*[,\n]\s*(.+)", re.DOTALL)
_TWO = re.compile(rf"((?:{_KINDS}):[0-9][0-9.#LB-]*)\s+((?:{_KINDS}|call):.+)", re.DOTALL)
_TOLD = re.compile(r"(?:\d{4}-\d\d-\d\d|no date|user|assistant|system|injected|tool)\b")
_ANOTHER = re.compile(rf"(?:{_KINDS}|call):|[0-9]", re.IGNORECASE)


def plain(ref: object) -> str:
    """A ref without what is copied with it: brackets, quotation marks, the rest of a head line (`[event:1#L1-3,
    2026-03-01 09:00, user]`). A whole number is that event, a bare id of a provider's call that call. Raises NotFound
    for several refs in one, and for what is no text."""
    if isinstance(ref, int) and not isinstance(ref, bool):
        return f"event:{ref}"
    if not isinstance(ref, str):
        raise NotFound(repr(ref)[:80], f"{ref!r:.80} is no ref; it is a text such as event:12, or the event's number.")
    text = ref.strip()
    if text[:1] in _OPENS and text:
        text = text.split("\n")[0].strip(_OPENS + _CLOSES + " ").removeprefix("next: ")
    if _CALL.match(text):
        return f"call:{text[len('call:') :]}"
    if _CALL_ID.fullmatch(text):
        return f"call:{text}"
    text = _SPELLED.sub(lambda found: f"{found[1].lower()}:{'//' if found[0].endswith('//') else ''}", text)
    return _one_of(text)


def _one_of(text: str) -> str:
    """The ref that a head line begins with; another text as it is. Raises NotFound for several refs."""
    found = _FIRST.fullmatch(text) or _TWO.fullmatch(text)
    if not found:
        return text
    if _TOLD.match(found[2]):
        return found[1]
    if not _ANOTHER.match(found[2]):
        return text
    following = re.split(r"[,\s]", found[2])[0]
    following = following if ":" in following else f"{found[1].partition(':')[0]}:{following}"
    raise NotFound(text, f"One ref at a time: {found[1]} first, then {following[:80]}.")


def parse(ref: object) -> Ref:
    """Read an address. A bare number means an event; what `plain` takes off is not looked at. Raises NotFound when it
    is no address at all."""
    text = plain(ref)
    if _NUMBER.fullmatch(text):
        return Ref("event", text)
    if text.startswith("call:") and len(text) > len("call:"):
        return Ref("call", text.removeprefix("call:"))  # whatever an id holds, it is the id
    head = _HEAD.match(text)
    if not head:
        raise NotFound(text, f"{text!r} is no ref. Refs look like event:12, artifact:12#L10-40 or compaction:3.")
    kind, rest = head[1], head[2]
    if "#" in rest and not _RANGE.search(rest):
        raise NotFound(text, f"{text!r} ends in no range; write #L10-40 (lines) or #B0-4096 (bytes).")
    lines = bytes_ = None
    if span := _RANGE.search(rest):
        rest = rest[: span.start()]
        pair = (int(span[2]), int(span[3] or span[2]))
        if pair[1] < pair[0] or pair[1] < 1 or (span[1] == "L" and pair[0] < 1):
            raise NotFound(text, f"{text!r} names nothing: lines count from 1, bytes from 0, and a range goes up.")
        lines, bytes_ = (pair, None) if span[1] == "L" else (None, pair)
    name, _, session = rest.partition("@")
    number = 1
    if numbered := _NUMBERED.match(name):
        name, number = numbered[1], int(numbered[2])
        if number < 1:
            raise NotFound(text, f"{text!r} is no ref: the artifacts of an event are numbered from 1.")
    session = _ESCAPED.sub(_plain, session)
    return Ref(kind, name, session, number, lines, bytes_)  # type: ignore[arg-type]


def event_ref(seq: int, session: str = "") -> str:
    return str(Ref("event", str(seq), session))


def events_ref(first: int, last: int, session: str = "", start: int = 0, stop: int = 0) -> str:
    """Several events; with `stop` the first of them from byte `start` to `stop` of its words."""
    name = str(first) if first == last and not stop else f"{first}-{last}"
    return str(Ref("event", name, session, bytes=(start, stop) if stop else None))


def artifact_ref(seq: int, number: int = 1, session: str = "") -> str:
    return str(Ref("artifact", str(seq), session, number))


def compaction_ref(version: int, session: str = "") -> str:
    return str(Ref("compaction", str(version), session))
