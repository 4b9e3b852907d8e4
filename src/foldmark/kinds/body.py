"""A long text seen as numbered lines without splitting it, and the making of a preview from chosen lines.

Knows nothing of what sort of result the text is. A preview shows whole lines, and says in place which
lines of how many it leaves out; a line too long to show is cut where a word ends, with the number of
characters left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

Count = Callable[[str], int]

EDGE = 64_000
"""Characters of head and of tail that are looked at line by line; between them only trouble words are
sought."""
LONG_LINE = 600
"""A longer line is cut in a preview: 600 characters are about 150 tokens, the most that one line may take."""

TROUBLE = (
    "Traceback (most recent", "Error:", "error:", "ERROR", "Exception:", "FAILED", "FAIL", "FATAL", "fatal:",
    "Fatal", "panic:", "panicked at", "CRITICAL", "SEVERE", "Segmentation fault", "assert", "not ok ",
    "npm ERR!", "denied", "✗", "✕", "Caused by", "undefined reference", "failed", "Error ", "error[",
    "[error]",
)  # fmt: skip
_TROUBLE = re.compile("|".join(map(re.escape, TROUBLE)))
_HARMLESS = re.compile(r"\b(?:0|no) (?:errors?|failed|failures?)\b|\bfailed[:=] ?0\b", re.IGNORECASE)


def clean_text(text: str) -> str:
    """Text that may stand in a request: no NULs, lone surrogates, terminal colours or control characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _ANSI.sub("", text) if "\x1b" in text else text
    return _UNFIT.sub("\ufffd", text)


_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def count_lines(text: str) -> int:
    """Lines of a text, as a reader of line ranges counts them: ended by a line feed, the last one with or
    without."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


class Body:
    """A text with its lines reachable by number or place. Lines are 1-based and shown without their line
    end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.total = count_lines(text)
        self._is_small = len(text) <= 2 * EDGE
        head = text if self._is_small else text[: text.rfind("\n", 0, EDGE) + 1]
        self.head = head.split("\n")[: self.total if self._is_small else -1]
        start = len(text) if self._is_small else text.find("\n", len(text) - EDGE) + 1 or len(text)
        tail = text[start:]
        self.tail = tail.split("\n") if tail else []
        if self.tail and self.tail[-1] == "":
            self.tail.pop()
        if not self.head and text:  # the first line alone is longer than the edge
            self.head = [text[: text.find("\n") if "\n" in text else len(text)]]

    def line(self, number: int) -> str | None:
        """A line of head or tail by number, None for one between them."""
        if not 1 <= number <= self.total:
            return None
        if number <= len(self.head):
            found = self.head[number - 1]
        elif number > self.total - len(self.tail):
            found = self.tail[number - self.total - 1]
        else:
            return None
        return found.rstrip("\r")

    def numbers(self) -> Iterable[int]:
        """Numbers of the lines that can be looked at."""
        yield from range(1, len(self.head) + 1)
        yield from range(max(len(self.head), self.total - len(self.tail)) + 1, self.total + 1)

    def at(self, place: int) -> tuple[int, str]:
        """(number, line) around a character position."""
        start = self.text.rfind("\n", 0, place) + 1
        end = self.text.find("\n", place)
        line = self.text[start : end if end >= 0 else len(self.text)]
        return self.text.count("\n", 0, start) + 1, line.rstrip("\r")

    def trouble(self, limit: int = 12) -> dict[int, str]:
        """Lines that tell of trouble, at most `limit`: the first ones and the last few.

        Substring search, one pass per word: a hundred times a regular expression's speed on 20 MB.
        """
        places: set[int] = set()
        for word in TROUBLE:
            at = -1
            for _ in range(limit):
                at = self.text.find(word, at + 1)
                if at < 0:
                    break
                places.add(self.text.rfind("\n", 0, at) + 1)
            if at >= 0:
                places.add(self.text.rfind("\n", 0, self.text.rfind(word)) + 1)
        found: list[tuple[int, str]] = []
        number, last = 1, 0
        for place in sorted(places):
            number += self.text.count("\n", last, place)
            last = place
            end = self.text.find("\n", place)
            line = self.text[place : end if end >= 0 else len(self.text)].rstrip("\r")
            if is_trouble(line[:2_000]):
                found.append((number, line))
        return dict(found if len(found) <= limit else found[: limit - 4] + found[-4:])


def is_trouble(line: str) -> bool:
    """Whether a line tells of an error or a failure (`0 failed` does not)."""
    if not _TROUBLE.search(line):
        return False
    return not _HARMLESS.search(line) or bool(_TROUBLE.search(_HARMLESS.sub("", line)))


def shorten(line: str, limit: int = LONG_LINE) -> str:
    """A long line up to a word's end, with the number of characters left out; nothing of it when no word
    ends."""
    if len(line) <= limit:
        return clean_text(line)
    cut = word_border(line, limit)
    left = len(line) - cut
    if cut:
        return f"{clean_text(line[:cut]).rstrip()} … {left:,} more characters of this line not shown …"
    return f"… {left:,} characters without a space not shown …"


_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def word_border(text: str, limit: int) -> int:
    """The last place at or before `limit` where text may be cut: beside a space, or between two CJK characters.

    Never inside a grapheme, number, path, URL or key; 0 when there is no such place.
    """
    for at in range(min(limit, len(text) - 1), 0, -1):
        before, after = text[at - 1], text[at]
        if unicodedata.combining(after) or after in "\u200d\ufe0f\ufe0e":
            continue
        if after.isspace() or before.isspace() or (_WIDE.match(before) and _WIDE.match(after)):
            return at
    return 0


def hidden(first: int, last: int, total: int) -> str:
    """The words for lines left out, in place."""
    if first == last:
        return f"… line {first:,} of {total:,} not shown …"
    return f"… lines {first:,}-{last:,} of {total:,} not shown …"


def compose(body: Body, order: Iterable[tuple[int, str]], budget_tokens: int, count: Count, top: str = "") -> str:
    """A preview of chosen lines. `order` gives (number, line), most wanted first; `top` is a first line of
    ours.

    Takes lines while they fit `budget_tokens`; a body that fits whole is returned whole, and no preview is
    longer than its body.
    """
    whole = clean_text(body.text) if len(body.text) <= budget_tokens * 12 else ""
    if whole and count(whole) <= budget_tokens:
        return whole
    chosen: dict[int, str] = {}
    spent, misses = count(top) + 18, 0
    for number, line in order:
        if number in chosen:
            continue
        shown = shorten(line)
        cost = count(shown) + 1
        # A line away from all others brings a new gap, which costs a marker.
        gap = 0 if number - 1 in chosen or number + 1 in chosen else 16
        if spent + cost + gap > budget_tokens:
            misses += 1
            if misses > 8:
                break
            continue
        chosen[number] = shown
        spent += cost + gap
    for number in [number + 1 for number in chosen if number + 2 in chosen and number + 1 not in chosen]:
        alone = body.line(number)
        if alone is not None and len(alone) <= 40:  # the marker for one line costs more than most lines
            chosen[number] = shorten(alone)
    text = _render(chosen, body.total, top)
    while count(text) > budget_tokens and chosen:
        chosen.popitem()
        text = _render(chosen, body.total, top)
    return text if len(text) < len(body.text) else clean_text(body.text)


def _render(chosen: dict[int, str], total: int, top: str) -> str:
    out, last = [top] if top else [], 0
    for number in sorted(chosen):
        if number > last + 1:
            out.append(hidden(last + 1, number - 1, total))
        out.append(chosen[number])
        last = number
    if last < total:
        out.append(hidden(last + 1, total, total))
    return "\n".join(out)


def edges(body: Body, head: int = 40, tail: int = 40) -> Iterable[tuple[int, str]]:
    """Lines from both ends inwards, two of the head for each of the tail's first, so that both are shown."""
    for step in range(max(head, tail)):
        if step < head and (line := body.line(step + 1)) is not None:
            yield step + 1, line
        number = body.total - step
        if step < tail and number > step + 1 and (line := body.line(number)) is not None:
            yield number, line


def usual(body: Body) -> Iterable[tuple[int, str]]:
    """The plain order: three lines of each end, lines of trouble, then more of the ends."""
    yield from edges(body, 3, 3)
    yield from body.trouble().items()
    yield from edges(body, 400, 400)
