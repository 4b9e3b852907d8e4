"""Searches bytes line by line, bounded in number and time. Knows nothing of where the bytes come from.

A pattern may come from a model. `regex` (which the tokenizer needs anyway) stops at a time limit inside a
match; the standard library's engine cannot be stopped, and holds every other thread while it backtracks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import regex  # type: ignore[import-untyped]

from foldmark.errors import PolicyError, StoreError

LONGEST_LINE = 65_536
"""Of a longer matching line, this many bytes around the match are given."""
LONGEST_PATTERN = 1_000
BATCH_BYTES = 1 << 14
ENDLESS_BYTES = 1 << 22


def grep(stretches: Iterator[bytes], search: Search, limit: int, seconds: float) -> Iterator[tuple[int, bytes]]:
    """(line number, line without its end) of at most `limit` matching lines. Raises OutOfTime when late."""
    return ((found.number, found.line) for found in matches(stretches, search, limit, seconds))


class Match(NamedTuple):
    """A line that matched: its number, the line without its end (of an endless one the bytes around the match), where
    in these the match begins, and at which byte of all that was searched."""

    number: int
    line: bytes
    place: int
    offset: int


def matches(stretches: Iterator[bytes], search: Search, limit: int, seconds: float) -> Iterator[Match]:
    """At most `limit` matching lines, in order. Raises OutOfTime when `seconds` have passed.

    Between stretches of lines that is time on the wall. Inside a match `regex` counts the processor's time of the whole
    process: on a busy machine one that backtracks may run longer than `seconds`, beside busy threads shorter.
    """
    until, number, last, begun = time.monotonic() + seconds, 0, 0, 0
    for batch in _batches(stretches):
        if limit <= 0:
            return
        if search.may_match(batch, until, number + 1):
            lines = batch.split(b"\n")
            for at, line in enumerate(lines if lines[-1] else lines[:-1], number + 1):
                if limit > 0 and at != last and (found := search.line(line, until, at)):
                    limit, last = limit - 1, at
                    before = sum(len(each) + 1 for each in lines[: at - number - 1])
                    yield found._replace(offset=begun + before + found.offset)
        number += batch.count(b"\n")
        begun += len(batch)


def _batches(stretches: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, about BATCH_BYTES at a time; an endless line comes in parts, so memory stays bounded."""
    begun = b""
    for stretch in stretches:
        data, place = begun + stretch, 0
        while (cut := data.find(b"\n", place + BATCH_BYTES) + 1) or len(data) - place > ENDLESS_BYTES:
            cut = cut or len(data)
            yield data[place:cut]
            place = cut
        begun = data[place:]
    if begun:
        yield begun


class Search:
    """A pattern, tried line by line under a deadline.

    The pattern may come from a model. `regex` (which the tokenizer needs anyway) stops at a time limit
    inside a match; the standard library's engine cannot be stopped, and holds every other thread while it
    backtracks.
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        if not pattern or len(pattern) > LONGEST_PATTERN:
            raise PolicyError(f"grep: a pattern has 1 to {LONGEST_PATTERN} characters; this has {len(pattern)}.")
        if _HUGE_REPEAT.search(pattern):
            raise PolicyError(f"grep: {pattern!r} repeats something 1,000 times or more; write it with less.")
        self.pattern = pattern
        self.literal = b""
        self.many: Any = None
        if not ignore_case and not re.search(r"[\\^$.|?*+()\[\]{}]", pattern):
            self.literal = pattern.encode("utf-8", "surrogatepass")
            return
        flags = regex.IGNORECASE if ignore_case else 0
        try:
            self.compiled = regex.compile(pattern, flags)
            if not _SEES_BEYOND.search(pattern):
                self.many = regex.compile(pattern, flags | regex.MULTILINE)
        except (regex.error, RecursionError, OverflowError, ValueError) as error:
            raise PolicyError(
                f"grep: {pattern!r} is no regular expression ({error}). If its signs are meant as they stand, write "
                f"{regex.escape(pattern, special_only=True)}"
            ) from error

    def may_match(self, batch: bytes, until: float, number: int) -> bool:
        """Whether any of these lines may match: one search in place of hundreds."""
        if time.monotonic() > until:
            raise self._late(number)
        if self.literal:
            return self.literal in batch
        return self.many is None or self._place(self.many, batch, until, number) >= 0

    def line(self, line: bytes, until: float, number: int) -> Match | None:
        """The matching line, shortened round the match when it is endless; None when it does not match."""
        place = line.find(self.literal) if self.literal else self._place(self.compiled, line, until, number)
        if place < 0:
            return None
        if len(line) <= LONGEST_LINE:
            return Match(number, line, place, place)
        start = max(0, place - LONGEST_LINE // 2)
        return Match(number, line[start : start + LONGEST_LINE], place - start, place)

    def _place(self, compiled: Any, line: bytes, until: float, number: int) -> int:
        left = until - time.monotonic()
        if left <= 0:
            raise self._late(number)
        text = line.decode("utf-8", "surrogateescape")
        try:
            found = compiled.search(text, timeout=left)
        except TimeoutError:
            raise self._late(number) from None
        return len(text[: found.start()].encode("utf-8", "surrogateescape")) if found else -1

    def _late(self, number: int) -> OutOfTime:
        return OutOfTime(self.pattern, number)


class OutOfTime(StoreError):
    """A search was stopped by its deadline. `line` is where: all lines before it were looked at."""

    def __init__(self, pattern: str, line: int) -> None:
        super().__init__(
            f"grep for {pattern!r} ran out of time at line {line}. Look for plain text, or read lines by number."
        )
        self.line = line


# What may tell a line alone from the same line among others: groups with a question mark, anchors of the
# whole text, possessive repeats; and negated sets, which would run on through all lines.
_SEES_BEYOND = re.compile(r"\(\?|\[\^|\\[AZzGKRX]|[*+?}]\+")
_HUGE_REPEAT = re.compile(r"\{[^{}]*\d{4,}[^{}]*\}")  # compiled, these may fill the memory
