"""Plain text: what no other kind claims. Knows nothing of the others."""

from __future__ import annotations

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural
from foldmark.kinds.body import Body, count_lines
from foldmark.kinds.cuts import without_controls


def outcome(text: str, call: ToolCall | None) -> str:
    if not text.strip():
        return "no output"
    lines = count_lines(text)
    if len(text) <= 160 and lines <= 2:
        return clip(without_controls(text))
    first = next(
        (line for line in (Body(text).line(n) or "" for n in range(1, min(lines, 20) + 1)) if line.strip()),
        "",
    )
    said = plural(lines, "line") if lines > 1 else f"{len(text):,} characters"
    return f"{said}; first line: {clip(without_controls(first[:2_000]), 160)}" if len(first) < 2_000 else said


PLAIN = Kind("text", lambda text, call: 0.1, outcome)
