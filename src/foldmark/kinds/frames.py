"""What every reader of stack traces needs: what it gives, lines from a place on, `file:line`, whose code a frame is.
Knows no language; those are in `frames_at` and `frames_of`.

Every reader goes through the lines once and says where to read on, so that many broken traces cost no more than one
long one. Traces that stand in a log with something in front of every line are read like bare ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from foldmark.kinds.base import clip
from foldmark.kinds.terminal import clean_text


class Found(msgspec.Struct, frozen=True):
    """What a reader found. `frames` are (`file:line`, character position), innermost first; `end` is where the
    trace ends and reading may go on; `error` is "" when there is no trace after all."""

    language: str
    start: int
    end: int
    error: str = ""
    error_at: int = 0
    causes: tuple[tuple[str, int], ...] = ()
    frames: tuple[tuple[str, int], ...] = ()


_MOST_FRAMES = 100_000  # lines of one trace; deeper ones are recursion
KEPT_FRAMES = 64
_LONG = 1_000  # characters of a line that are read

_LIBRARY = re.compile(
    r"site-packages|dist-packages|[/\\]lib[/\\]python\d|<frozen |<string>|node_modules|node:|internal/"
    r"|/usr/(?:local/)?(?:lib|go|share)/"
    r"|/rustc/|\.cargo/registry|/go/pkg/mod/|/gems/|/vendor/|\.\./sysdeps|libsanitizer|/libc[-.]|webpack/bootstrap"
    r"|^(?:java|javax|jdk|sun|kotlin|kotlinx|scala|jakarta|com\.sun|org\.(?:junit|springframework|apache|gradle|hibernate))\.|^(?:System|Microsoft)\."
)


def is_library(place: str) -> bool:
    """Whether a frame stands in somebody else's code: a standard library, a runtime, an installed package."""
    return bool(_LIBRARY.search(place))


def lines_from(text: str, at: int) -> Iterator[tuple[int, str]]:
    """(position, line) from the line that holds a character position on."""
    start = text.rfind("\n", 0, at) + 1
    for _ in range(_MOST_FRAMES):
        if start >= len(text):
            return
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        yield start, text[start : min(end, start + _LONG)].rstrip("\r")
        start = end + 1


def line_before(text: str, start: int) -> tuple[int, str]:
    """(position, line) in front of the line that begins at `start`; position -1 when there is none."""
    if start <= 0:
        return -1, ""
    before = text.rfind("\n", 0, start - 1) + 1
    return before, text[before : min(start - 1, before + _LONG)].rstrip("\r")


def error_words(text: str) -> str:
    """The words of an error as one clean line."""
    return clip(clean_text(text), 240)


def place_at_end(words: str) -> str:
    """`file:line` that ends a frame, in brackets or not, with or without a column; "" when there is none."""
    words = words.rstrip().removesuffix("{").rstrip().removesuffix(")")
    token = words.rpartition("(")[2].split()[-1:]
    pieces = token[0].rsplit(":", 2) if token else []
    if len(pieces) == 3 and pieces[1].isdecimal() and pieces[2].isdecimal():
        return f"{pieces[0]}:{pieces[1]}"
    head, _, number = (token[0] if token else "").rpartition(":")
    return f"{head}:{number}" if head and number.isdecimal() else ""


_ERROR_NAME = re.compile(r"(?:Error|Exception|Throwable)\b")
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.:\\"
_IN_THREAD = re.compile(r'Exception in thread "[^"]*" ')


def error_name(line: str) -> str:
    """The part of a line from an error's name on: `app.BadError: message`; "" when it names none."""
    if match := _IN_THREAD.search(line):
        line = line[match.end() :]
    found = _ERROR_NAME.search(line)
    return line[len(line[: found.start()].rstrip(_NAME)) :].lstrip(":") if found else ""
