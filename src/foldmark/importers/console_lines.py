"""Lines of a Claude Code screen as blocks: what each mark begins. Knows nothing of calls or events.

A mark in the first column begins a block (`⎿` stands two or more spaces in); indented and blank lines go on with
it. Text is given without the indentation of its sort. Lines are as wide as the terminal was: where a long line
was wrapped it stays wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

WELCOME = "Welcome to Claude Code"

_MARKS: tuple[tuple[str, re.Pattern[str], int], ...] = (
    ("compacted", re.compile(r"(?=={3,} Previous Conversation Compacted ={3,})"), 0),
    ("user", re.compile(r">(?: |$)"), 2),
    ("user", re.compile(r"(?=!\s?\S)"), 2),
    ("said", re.compile(r"[⏺●]\s"), 2),
    ("thinking", re.compile(r"[✻∴]\s+Thinking\b.*"), 2),
    ("result", re.compile(r" {1,4}⎿\s?\s?"), 5),
    ("program", re.compile(r"(?=claude(?: |$)|Total (?:cost|duration|code)|Token usage|With the \$|\s?※ Tip)"), 0),
    ("box", re.compile(r"(?=╭)"), 0),
)
"""(kind, how its first line begins, how far its other lines are indented). A thinking mark says nothing itself."""


class Block(msgspec.Struct, frozen=True):
    """A mark and what stands behind it; `line` is where it begins."""

    kind: str
    text: str
    line: int


def sessions(text: str) -> Iterator[list[Block]]:
    """The blocks of a file by session: one begins with the program's welcome, and the line that started it."""
    found: list[Block] = []
    for block in _blocks(text):
        if block.kind == "box" and WELCOME in block.text:
            starts = bool(found) and found[-1].kind == "program" and found[-1].text.startswith("claude")
            started = [found.pop()] if starts else []
            if found:
                yield found
            found = [*started, Block("program", block.text, block.line)]
        else:
            found.append(block)
    if found:
        yield found


def _blocks(text: str) -> Iterator[Block]:
    kind, first, indent = "", 1, 0
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        mark = _mark(line)
        if mark is None and _goes_on(line, kind):
            lines.append(_unindented(line, indent))
            continue
        yield from _block(kind, lines, first)
        kind, start, indent = mark or ("other", 0, 0)
        first, lines = number, [line[start:].rstrip()]
    yield from _block(kind, lines, first)


def _mark(line: str) -> tuple[str, int, int] | None:
    """(kind, where its words begin, how far its other lines are indented), None when the line begins nothing."""
    for kind, pattern, indent in _MARKS:
        if match := pattern.match(line):
            return kind, match.end(), indent
    return None


def _goes_on(line: str, kind: str) -> bool:
    """Whether a line without a mark belongs to the block before it."""
    is_inside = not line.strip() or line[0].isspace() or (kind == "box" and line[0] in "│╰")
    return bool(kind) and (is_inside or kind == "other")


def _unindented(line: str, indent: int) -> str:
    blank = len(line) - len(line.lstrip(" "))
    return line[min(blank, indent) :].rstrip()


def _block(kind: str, lines: list[str], first: int) -> Iterator[Block]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Block(kind, text, first)
