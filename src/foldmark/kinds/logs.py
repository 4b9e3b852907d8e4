"""Logs: lines with a time or a level in front. Knows nothing of who wrote them.

A log repeats itself: lines that are alike but for their numbers are shown once, the rarest first, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural, sample, share
from foldmark.kinds.body import Body, Count, compose, count_lines, edges
from foldmark.kinds.lines import Line, is_whole, lines, not_yet, shape, unlike
from foldmark.kinds.terminal import clean_text

_LINE = re.compile(
    r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d\b|\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|\d{10}(?:\.\d+)?\b"
    r"|(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE|debug|info|warn|error)\b)"
)
LEVELS = ("FATAL", "CRITICAL", "ERROR", "WARN")
_MOST_SHAPES = 2_000  # different lines that are told apart; a text with more of them repeats little


def _recognise(text: str, call: ToolCall | None) -> float:
    lines = sample(text)
    if len(lines) < 4:
        return 0.0
    dated = share(lines, _LINE.match)
    return 0.8 * dated if dated >= 0.5 else 0.0


def levels(text: str) -> dict[str, int]:
    """How often each word of alarm stands in the text (occurrences, not lines)."""
    return {word: number for word in LEVELS if (number := text.count(word))}


def say(text: str) -> str:
    found = ", ".join(f"{word} {number:,}×" for word, number in levels(text).items())
    return f"log of {plural(count_lines(text), 'line')}{'; ' + found if found else ''}"


def forms(body: Body) -> list[tuple[int, Line]]:
    """(how often, first line) of every form of line, in order; lines of one form are alike but for their numbers."""
    known: dict[str, list[int]] = {}
    first: list[Line] = []
    for number, line in lines(body):
        form = shape(line[:300])
        if form in known:
            known[form][0] += 1
        elif form and len(known) < _MOST_SHAPES:
            known[form] = [1, len(first)]
            first.append((number, line))
    return [(times, first[at]) for times, at in known.values()]


def _repeats(found: list[tuple[int, Line]], body: Body) -> str:
    """`860 lines alike but for numbers: line 3 and later ones`, of the form that fills most of the log."""
    times, (number, _) = max(found, key=lambda one: one[0], default=(0, (0, "")))
    is_most = times > 3 and times * 5 >= body.total and is_whole(body)
    return f"; {times:,} lines are like line {number:,} but for numbers" if is_most else ""


def outcome(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    first = next(iter(body.trouble(12).values()), "") or (body.line(body.total) or "")
    return f"{say(text)}; {clip(clean_text(first), 200)}" if first else say(text)


def _wanted(body: Body, found: list[tuple[int, Line]]) -> Iterator[Line]:
    """Both ends, every different line of trouble, one line of every other form (rare ones tell most), both ends."""
    yield from edges(body, 2, 4)
    yield from unlike(body.trouble(40).items())
    yield from (line for _, line in sorted(found, key=lambda one: (one[0], one[1][0]))[:40])
    yield from edges(body, 30, 60)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    found = forms(body)
    return compose(body, not_yet(_wanted(body, found)), budget_tokens, count, say(text) + _repeats(found, body))


LOG = Kind("log", _recognise, outcome, preview)
