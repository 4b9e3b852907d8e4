"""What single OpenHands records say: an observation's words and end, a summary, usage. Knows nothing of the stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Text, Usage, control
from foldmark.importers.parts import told
from foldmark.wire.plain import as_count, as_text

NAME = "openhands"

Row = Mapping[str, Any]


def whole_usage(usage: Usage | None, reported: Any) -> Usage | None:
    """Usage with what the proxy adds to OpenAI's fields: tokens that were written to the cache."""
    if usage is None or not isinstance(reported, Mapping):
        return usage
    read = as_count(reported.get("cache_read_input_tokens")) or usage.cache_read
    return msgspec.structs.replace(
        usage, cache_read=read, cache_write=as_count(reported.get("cache_creation_input_tokens"))
    )


def condensation_event(kind: str, row: Row, summary: Any, path: str) -> Event:
    """A compaction by the program: its summary as injected text, a control event when it wrote none."""
    words = as_text(summary, f"{path}.summary")
    if not words:
        return control(kind, dict(row), provider=NAME)
    return told([Text(words)], is_user=False, meta={"foreign": "condensation"})


def shown_words(row: Row, extras: Row, path: str) -> str:
    """An observation as the model was shown it: a command's with the lines the program puts round its output."""
    words = as_text(row.get("content"), f"{path}.content")
    about = extras.get("metadata")
    if not isinstance(about, Mapping):
        return words
    return f"{about.get('prefix') or ''}{words}{about.get('suffix') or ''}"


def has_failed(kind: str, row: Row, extras: Row) -> bool:
    """An exit code of -1 is that of a command which is still running."""
    about = extras.get("metadata")
    code = about.get("exit_code") if isinstance(about, Mapping) else extras.get("exit_code")
    if isinstance(code, int):
        return code > 0
    return kind in ("error", "user_rejected") or row.get("success") is False or bool(extras.get("error"))
