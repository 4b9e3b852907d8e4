"""What an import gives back, and what a format is. Knows nothing of any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Literal

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, control, fingerprint


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """One session as it was found in a file. Events have no ids: identity comes from their chained
    fingerprints, so that the same file, or a grown one, is recognised. `wire` names the one whose shape the
    messages had."""

    session: str
    format: str
    wire: str
    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    events: tuple[Event, ...] = ()
    children: tuple[Child, ...] = ()
    warnings: tuple[str, ...] = ()


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A session that hangs on another one. `kind` is `child` (a sub-agent with a context of its own, started
    by the call `call_id`, empty when nothing says which) or `fork` (another way the session went: it shares
    the first `at` events of its parent and holds only its own)."""

    kind: Literal["child", "fork"]
    imported: Imported
    call_id: str = ""
    at: int = 0


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded file: `value` when it is one JSON value, `records` with their line numbers when it is JSON
    lines (a single object is both), and `text` when it is neither; `reason` says why it is no JSON."""

    name: str = ""
    value: Any = None
    records: tuple[tuple[int, Any], ...] = ()
    text: str = ""
    reason: str = ""


def placed_rows(document: Document, key: str = "messages") -> Iterator[tuple[str, Any]]:
    """(path, entry) of what a file lists: an object's list under `key`, a list, else its lines."""
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get(key), list):
        return ((f"{key}[{at}]", row) for at, row in enumerate(value[key]))
    if isinstance(value, list):
        return ((f"[{at}]", row) for at, row in enumerate(value))
    return ((f"line {number}", record) for number, record in document.records)


def has_messages(events: Iterable[Event]) -> bool:
    """Whether anything was said or done: control events alone are no conversation."""
    return any(event.role != "control" for event in events)


def nothing_to_import(document: Document, lacks: str = "message") -> WireError:
    """The error of a file that is in a known format and holds no conversation."""
    return WireError(document.name or "file", f"holds no {lacks}; there is nothing to import.")


class Notes:
    """Collects what needs saying about one file: a warning for each unknown type, not for each record."""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self._unknown: dict[str, int] = {}
        self._lines: list[str] = []

    def warn(self, text: str) -> None:
        if text not in self._lines:
            self._lines.append(text)

    def kept(self, kind: str, raw: Any, path: str, *, provider: str, **fields: Any) -> Event:
        """The control event of a record whose type nobody knows. Raises WireError when strict."""
        if self.strict:
            raise WireError(path, f"records of type {kind!r} are unknown, and strict reading was asked for.")
        self._unknown[kind] = self._unknown.get(kind, 0) + 1
        return control(kind, raw if isinstance(raw, dict) else {"value": raw}, provider=provider, **fields)

    def lines(self) -> tuple[str, ...]:
        unknown = (
            f"{count} record(s) of unknown type {kind!r} are kept as control events and never sent"
            for kind, count in self._unknown.items()
        )
        return (*self._lines, *unknown)


class Format(msgspec.Struct, frozen=True):
    """A transcript format: its name, a cheap look that recognises it, the reader, and whether its files are
    plain text (then it is never asked about JSON, and the others are never asked about text)."""

    name: str
    sniff: Callable[[Document], bool]
    read: Callable[[Document, Notes], list[Imported]]
    is_text: bool = False


def derived_id(format: str, events: tuple[Event, ...] | list[Event]) -> str:
    """The id of a session that has none of its own: the format and the fingerprint of its first event."""
    first = next((event for event in events if event.role != "control"), None)
    return f"{format}-{fingerprint(first)[:16] if first else 'empty'}"


def seconds(value: Any) -> float | None:
    """A time of a transcript as Unix seconds: ISO text, seconds, or milliseconds (numbers over a hundred billion). A
    clock time without a zone is UTC, so that the same file gives the same times everywhere."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, (int, float)):
            return (value / 1000 if value > 1e11 else float(value)) if isfinite(value) else None
        moment = datetime.fromisoformat(str(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
