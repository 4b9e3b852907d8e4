"""Lines of an aider chat history as blocks: who said what. Knows nothing of edits or events.

aider ends every line it writes itself with two spaces (Markdown's line break): the user's behind `#### `, its
own output behind `> `. A `> ` or `#### ` line without them is the model's Markdown, or the first line of a
longer message of the program, which ends at the first line with two spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_BREAK = "  "


class Block(msgspec.Struct, frozen=True):
    """Neighbouring lines of one speaker: `user`, `console` (the program), or `assistant`; `line` is the first."""

    speaker: str
    text: str
    line: int


class Chat(msgspec.Struct, frozen=True):
    """One chat: when it started (empty for what stands before the first start) and its blocks."""

    started: str
    blocks: tuple[Block, ...]


def chats(text: str) -> Iterator[Chat]:
    """The chats of a history, in order; blank stretches are no blocks."""
    started, rows = "", list[tuple[int, str]]()
    for number, line in enumerate(text.split("\n"), 1):
        if match := STARTED.fullmatch(line.rstrip()):
            yield Chat(started, tuple(_blocks(rows)))
            started, rows = match[1], []
        else:
            rows.append((number, line))
    yield Chat(started, tuple(_blocks(rows)))


def _blocks(rows: list[tuple[int, str]]) -> Iterator[Block]:
    speaker, first = "", 0
    lines: list[str] = []
    for number, now, words in _spoken(rows):
        if now != speaker:
            yield from _block(speaker, lines, first)
            speaker, first, lines = now, number, []
        lines.append(words)
    yield from _block(speaker, lines, first)


def _block(speaker: str, lines: list[str], first: int) -> Iterator[Block]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Block(speaker, text, first)


def _spoken(rows: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """(line number, speaker, words) of every line. Blank lines belong to the speaker before them, but for the
    user's: blank lines of a message are marked too, so a bare one ends it."""
    speaker, is_open = "assistant", False
    for number, line in rows:
        is_ended = line.endswith(_BREAK)
        if line.startswith("#### ") and is_ended:
            speaker, is_open = "user", False
            yield number, speaker, line[5:-2]
        elif line.startswith("> ") and (is_ended or (speaker != "assistant" and not is_open)):
            speaker, is_open = "console", not is_ended
            yield number, speaker, line[2:].rstrip()
        elif is_open:
            is_open = not (is_ended and line.strip())
            yield number, speaker, line.rstrip()
        elif line.strip():
            speaker = "assistant"
            yield number, speaker, line
        else:
            yield number, "" if speaker == "user" else speaker, line
