"""A tool call in words: its short arguments whole, of long ones what fits, of an edit the lines that change. Knows
nothing of events, results or secrets: the call comes redacted.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds import clean_text
from foldmark.parting import beginning, fits
from foldmark.profiles import decode
from foldmark.tokens import TokenCounter

PLAIN_VALUE = 200
"""Characters: a shorter argument (a path, a command) stands whole before longer ones get what is left."""

_MOST_COMPARED = 40_000
"""Characters of an edit whose lines are compared: the comparison takes time with the square of their number."""
_PAIRS = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("search", "replace"),
)
"""Names under which editors of Claude Code, SWE-agent, pi and others take a text and what replaces it."""


def call_words(call: ToolCall, room: int, count: TokenCounter) -> str:
    """The call within `room` tokens (nearly): `bash command: pytest -q`."""
    name = clean_text(call.name)
    values = decode(call.arguments)
    if not values:
        bare = call.arguments.strip()
        return beginning(clean_text(name if bare in ("", "{}") else f"{name} {bare}"), room, count)
    texts = {clean_text(key): clean_text(text).strip("\n") for key, text in _changes(_texts(values)).items()}
    short = {key: text for key, text in texts.items() if len(text) <= PLAIN_VALUE and "\n" not in text}
    long = {key: text for key, text in texts.items() if key not in short}
    head = beginning(" ".join([name, *(f"{key}: {text}" for key, text in short.items())]), room, count)
    if not short and len(long) == 1:
        ((key, text),) = long.items()
        return _argument(f"{name} {key}: {text}", room, count)
    left = room - count(head)
    lines = [head]
    for number, (key, text) in enumerate(long.items()):
        share = left // (len(long) - number)
        if share < 12:  # a line of less says nothing
            lines.append(f"{key}: {len(text):,} characters")
            continue
        lines.append(_argument(f"{key}: {text}", share, count))
        left -= count(lines[-1])
    return "\n".join(lines)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")
        for key, value in values.items()
    }


def _changes(texts: Mapping[str, str]) -> dict[str, str]:
    """The arguments with an old and a new text as the lines between which they differ."""
    for old, new in _PAIRS:
        if old in texts and new in texts and len(texts[old]) + len(texts[new]) <= _MOST_COMPARED:
            rows = unified_diff(texts[old].split("\n"), texts[new].split("\n"), n=0, lineterm="")
            lines = [row for row in rows if not row.startswith(("--- ", "+++ ", "@@"))]
            rest = {key: text for key, text in texts.items() if key not in (old, new)}
            return {**rest, "change": "\n".join(["", *lines]) if lines else "none"}
    return dict(texts)


def _argument(text: str, room: int, count: TokenCounter) -> str:
    if fits(text, room, count):
        return text
    cut = beginning(text, max(1, room - 8), count)
    return f"{cut} … {len(text) - len(cut):,} more characters"
