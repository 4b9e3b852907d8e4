"""Cuts a text into units of about 160 characters: lines, sentences, small objects. Knows nothing of scores or events.

A number, path or URL is never split. A short label line is glued to the line of its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONG = 240  # characters; a longer line is cut
AIM = 160  # what a piece of a long line comes to; 320 lost 23 points of planted facts at 10% size, 120 lost 3-7
RICH = 4  # plain words; a line that has as many begins a unit of its own
ENOUGH = 5  # plain words; poorer units go on with the next line
MOST = 200
LABEL = 40  # a line up to this long that ends in a colon is a label

ASSIGNMENT = re.compile(r"(?:\w+ )?[A-Za-z][\w.-]{4,60}(?:: ?\w+)? ?(?:=|:|:=) ?[\"']?[\w.+-]*\d[\w.+-]*[\"']?[,;]?")
"""A name that gets a value, alone on its line: never glued to other lines."""

LOUD_LINE = re.compile(
    r"\b(?:FAIL(?:ED|URE)?|ERROR|FATAL|CRITICAL|PANIC|Traceback|[A-Z]\w*(?:Error|Exception):)|^not ok|^E  "
)
"""A line of a log or test run that says that something failed: a unit of its own too."""

_VIEW = re.compile(r"^\d{1,7}(?:→|\t| ?\| )\s*")
_NUMBERED = re.compile(r"^\d{1,7}(?:→|\t|:\s| ?\| |\s{2,}|-\s)\s*")
_BREAK = re.compile(r"(?<=[.!?;])\s+(?=\S)|(?<=[}\]]),\s*(?=[{\[\"])|,\s*(?=\"[\w -]{1,40}\"\s*:)|\s+(?=\{)")
_SPACE = re.compile(r"\s+|(?<=,)(?=\D)")


def strip_number(line: str) -> str:
    """The line without the line number that file views put in front; what duplicates are compared by."""
    line = line.strip()
    return _NUMBERED.sub("", line, count=1).strip() if line[:1].isdigit() else line


_LOUD_HINTS = ("FAIL", "ERROR", "FATAL", "CRITICAL", "PANIC", "Traceback", "Error:", "Exception:", "not ok", "\nE  ")


def is_loud(text: str) -> bool:
    """Whether a text may hold a loud line at all: a quick look that spares most texts the slow one."""
    return any(map(text.__contains__, _LOUD_HINTS))


def is_assignment(text: str) -> bool:
    return len(text) < 130 and ("=" in text or ":" in text) and ASSIGNMENT.fullmatch(text) is not None


def template(text: str) -> str:
    """The plain words of a text: equal for lines that differ in names and numbers only. Empty where that says
    nothing: an assignment, a failure, a line with fewer than three plain words."""
    words = list(filter(str.isalpha, text.split()))
    if len(words) < 3 or (is_loud(text) and LOUD_LINE.search(text)):
        return ""
    return " ".join(words)


def cut(text: str) -> list[tuple[int, str]]:
    """(1-based line, unit) of a text in order. Lines poor in plain words are glued until they say something."""
    out: list[tuple[int, str]] = []
    glued, glued_at, words, label = "", 0, 0, False
    loud = is_loud(text)
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line:
            continue
        if line[0].isdigit() and (numbered := _VIEW.match(line)):
            line = line[numbered.end() :] or line
        size = len(line)
        start = line if size <= LONG else line[:LONG]
        alone = is_assignment(line) or (loud and LOUD_LINE.search(start))
        here = ENOUGH if alone else sum(map(str.isalpha, start.split()))  # plain words
        if glued and not label and (here >= RICH or len(glued) + size > MOST):
            out.append((glued_at, glued))
            glued = ""
        if size > LONG:
            if glued:
                line, glued = f"{glued} {line}", ""
            out += [(number, piece) for piece in cut_line(line)]
            label = False
            continue
        if glued:
            glued, words = f"{glued} {line}", words + here
        else:
            glued, glued_at, words = line, number, here
        label = size <= LABEL and line[-1] == ":"
        if words >= ENOUGH and not label:
            out.append((glued_at, glued))
            glued = ""
    if glued:
        out.append((glued_at, glued))
    return out


def cut_line(line: str) -> Iterator[str]:
    """Pieces of a long line: at sentences and object borders, else at spaces; short neighbours stay together."""
    piece = ""
    for part in _parts(line):
        if piece and len(piece) + len(part) > AIM:
            yield piece
            piece = part
        else:
            piece = f"{piece} {part}" if piece else part
    if piece:
        yield piece


def _parts(line: str) -> Iterator[str]:
    for part in _BREAK.split(line):
        if len(part) <= LONG:
            if part:
                yield part
            continue
        words = _SPACE.split(part)
        piece = ""
        for word in words:
            if piece and len(piece) + len(word) > AIM:
                yield piece
                piece = word
            else:
                piece = f"{piece} {word}" if piece else word
        if piece:
            yield piece
