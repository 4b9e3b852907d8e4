"""Searches an opened body line by line: bounded in matches, characters and time. Knows nothing of ranking.

The pattern may come from a model: one that backtracks without end is stopped, and what it found so far is given.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.artifacts.grep import Match, OutOfTime, Search, matches
from foldmark.opening.hiding import hidden
from foldmark.opening.opened import Opened
from foldmark.retrieval import PAGE_CHARACTERS

LINE_CHARACTERS = 400
"""Of a longer line the characters around the match are shown."""
MOST_CONTEXT = 20
MOST_MATCHES = 1_000
_AT_ONCE = 1 << 16
_ROUND = 1_000
"""Bytes before a match in a long line that its ref opens; behind it three times as many."""
_MARGIN = 1 << 12
"""Bytes round a line in which a secret is looked for that the line is part of."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is shown: its number, its text (shortened with … where it is long), and whether it matched or stands
    beside one that did. `ref` opens what stands round the match in a long line, in which only the first match is
    looked for."""

    number: int
    text: str
    matched: bool
    ref: str = ""


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """What a search of a body found: `count` of matching lines are shown among `lines`. `next` is the ref to search on
    in, empty when all of it was searched and shown; `note` says why it stopped, where it did."""

    ref: str
    pattern: str
    lines: tuple[Line, ...] = ()
    count: int = 0
    next: str = ""
    note: str = ""


def grep(
    body: Opened, pattern: str, *, ignore_case: bool = False, context: int = 0, limit: int = 50,
    characters: int = PAGE_CHARACTERS, seconds: float = 2.0,
) -> Matches:  # fmt: skip
    """Lines that match a regular expression, with `context` lines before and after each (at most 20). Stops at `limit`
    matching lines, at so many `characters` and after so many `seconds`.

    Raises PolicyError for a pattern that cannot be used, and where bytes were named in place of lines.
    """
    body = body.of_lines("grep")
    limit, context = max(1, min(limit, MOST_MATCHES)), max(0, min(context, MOST_CONTEXT))
    found, late = _found(body, Search(pattern, ignore_case=ignore_case), limit + 1, seconds)
    shown, full = _shown(body, found[:limit], context, characters)
    count = sum(line.matched for line in shown)
    rest = found[count].number if count < len(found) else late
    if rest and rest == late == body.first:
        rest += 1  # this very line takes too long: going on with it would never end
    return Matches(
        ref=body.name, pattern=pattern, lines=tuple(shown), count=count,
        next=body.at(rest, body.last) if 0 < rest <= body.last else "",
        note=_note(full or count < len(found), late, [line.ref for line in shown if line.ref]),
    )  # fmt: skip


def _found(body: Opened, search: Search, limit: int, seconds: float) -> tuple[list[Match], int]:
    """Matches with the numbers of the body, and the line at which time ran out (0: it did not)."""
    found: list[Match] = []
    before = body.first - 1
    try:
        for match in matches(body.stretches(body.start), search, limit, seconds):
            found.append(match._replace(number=match.number + before))
    except OutOfTime as error:
        return found, error.line + before
    return found, 0


def _shown(body: Opened, found: Sequence[Match], context: int, characters: int) -> tuple[list[Line], bool]:
    """Lines to show, in order, each once; and whether there was no room for more. The first match always has some."""
    shown: list[Line] = []
    room, last = characters, body.first - 1
    for at, match in enumerate(found):
        follower = found[at + 1].number if at + 1 < len(found) else body.last + 1
        before = _beside(body, max(last + 1, match.number - context), match.number - 1)
        after = _beside(body, match.number + 1, min(match.number + context, follower - 1, body.last))
        text = _part(body, match.number, match.line, match.place)
        group = [*before, Line(number=match.number, text=text, matched=True, ref=_ref(body, match)), *after]
        room -= sum(len(line.text) + 10 for line in group)
        if room < 0 and shown:
            return shown, True
        if room < 0:
            group = [line for line in group if line.matched]
        shown += group
        last = group[-1].number
    return shown, False


def _beside(body: Opened, first: int, last: int) -> list[Line]:
    """Lines without a match, read at once where they are short."""
    if first > last:
        return []
    start, stop = body.span(first, last)
    if stop - start <= _AT_ONCE:
        texts = body.read(start, stop).split(b"\n")
    else:
        spans = [body.span(number, number) for number in range(first, last + 1)]
        texts = [body.read(low, min(high, low + 4 * LINE_CHARACTERS)).rstrip(b"\n") for low, high in spans]
    return [
        Line(number=number, text=_part(body, number, text, 0), matched=False)
        for number, text in zip(range(first, last + 1), texts, strict=False)
    ]


def _part(body: Opened, number: int, line: bytes, place: int) -> str:
    """What of a line is shown: all, or what stands around a place in it."""
    start = 0 if len(line) <= LINE_CHARACTERS else max(0, place - LINE_CHARACTERS // 4)
    stop = min(len(line), start + LINE_CHARACTERS)
    text = _text(line[start:stop])
    if body.redact:
        before, after = _round(body, number, line)
        text = hidden(body, text, before + _text(line[:start]), _text(line[stop:]) + after)
    return ("…" if start else "") + text + ("…" if stop < len(line) else "")


def _round(body: Opened, number: int, line: bytes) -> tuple[str, str]:
    """What stands before and after a line, for secrets of several lines. Of an endless line that is more of it."""
    low, high = body.span(number, number)
    if high - low > len(line) + 2:
        return "", ""
    before = body.shelf.read(body.tenant, body.sha256, max(0, low - _MARGIN), low)
    after = body.shelf.read(body.tenant, body.sha256, high, high + _MARGIN)
    return before.decode("utf-8", "replace"), "\n" + after.decode("utf-8", "replace")


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _ref(body: Opened, match: Match) -> str:
    """The bytes round a match in a long line."""
    if len(match.line) <= LINE_CHARACTERS:
        return ""
    start = max(body.start, body.start + match.offset - _ROUND)
    return body.at_bytes(start, min(body.stop, start + 4 * _ROUND))


def _note(more: bool, late: int, long: Sequence[str]) -> str:
    said = []
    if more:
        said.append("There are more matches: search on in what is named next, or narrow the pattern.")
    elif late:
        said.append(f"Time ran out at line {late:,}. Look for plain text, or search fewer lines at a time.")
    if long:
        said.append(f"Of long lines the first match is shown; what stands round it is {', '.join(long[:3])}.")
    return " ".join(said)
