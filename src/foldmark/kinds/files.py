"""File reads: numbered or bare text of a file, whole or a window of it. Knows nothing of what the file is
for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural, profile, sample
from foldmark.kinds.body import Body, Count, compose, count_lines, edges
from foldmark.kinds.commands import error_lines
from foldmark.kinds.cuts import without_controls

_NUMBERED = re.compile(r"^\s{0,8}(\d{1,7})(?:→|\t|: ?|\| ?)")
_WINDOW = re.compile(r"^\[File: (.+?) \((\d+) lines total\)\]", re.MULTILINE)
_OUTLINE = re.compile(
    r"^(?:\s{0,8}\d{1,7}(?:→|\t|: ?|\| ?))?(?:\s{0,4}(?:async )?def \w|\s{0,4}class \w|"
    r"(?:export |public |pub |static |async )*(?:function|interface|type|enum|struct|trait|impl|fn|"
    r"func|const|class|module|namespace) \w|#{1,4} \S)"
)


def numbered_range(text: str) -> tuple[int, int] | None:
    """First and last line number of a numbered read; None when the lines bear none."""
    lines = [*sample(text, 4), *text[-3_000:].split("\n")]
    first = next((at for at, line in enumerate(lines) if _NUMBERED.match(line)), len(lines))
    last = next((at for at in range(len(lines) - 1, first, -1) if _NUMBERED.match(lines[at])), first)
    if first == last:
        return None
    low, high = (int(match[1]) for line in (lines[first], lines[last]) if (match := _NUMBERED.match(line)))
    return (low, high) if low <= high else None


def _recognise(text: str, call: ToolCall | None) -> float:
    if _WINDOW.search(text[:400]):
        return 0.8
    if call is not None and profile(call).role == "searches":
        return 0.0
    lines = sample(text)
    numbers = [int(match[1]) for match in map(_NUMBERED.match, lines) if match]
    if len(numbers) > 2 and len(numbers) / len(lines) >= 0.6 and numbers == sorted(numbers):
        return 0.8
    reads = call is not None and profile(call).role == "reads" and (not profile(call).is_shell or len(lines) > 3)
    return 0.6 if reads else 0.0


def outcome(text: str, call: ToolCall | None) -> str:
    lines = count_lines(text)
    if lines <= 1 and len(text) <= 160:
        return clip(without_controls(text)) or "empty"
    span = numbered_range(text)
    if window := _WINDOW.search(text[:400]):
        total = int(window[2])
        said = f"lines {span[0]:,}-{span[1]:,} of {total:,}" if span else f"window on {plural(total, 'line')}"
    elif span:
        said = plural(span[1], "line") if span[0] == 1 else f"lines {span[0]:,}-{span[1]:,}"
    else:
        return plural(lines, "line")
    first = next(iter(sample(text, 1)), "")
    if _NUMBERED.match(first) or _WINDOW.match(first):
        return said
    # Words in front of the numbered lines are the tool's own: an editor that refuses says why there.
    head = text[:1_000]
    errors = error_lines(head[: head.rfind("\n") + 1], 2)
    return "; ".join([clip(without_controls(first), 160), *errors, said])


def _wanted(body: Body) -> Iterator[tuple[int, str]]:
    """The beginning, the outline, the end."""
    yield from edges(body, 6, 2)
    outline = (n for n in body.numbers() if _OUTLINE.match(body.line(n) or ""))
    yield from ((n, body.line(n) or "") for n in outline)
    yield from edges(body, 200, 20)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    return compose(body, _wanted(body), budget_tokens, count)


FILE = Kind("file", _recognise, outcome, preview)
