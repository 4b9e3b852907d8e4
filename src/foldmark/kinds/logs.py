"""Logs: lines with a time or a level in front. Knows nothing of who wrote them."""

from __future__ import annotations

import re

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural, sample
from foldmark.kinds.body import Body, Count, clean_text, compose, count_lines, edges

_LINE = re.compile(
    r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d\b|\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|\d{10}(?:\.\d+)?\b"
    r"|(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE|debug|info|warn|error)\b)"
)
LEVELS = ("FATAL", "CRITICAL", "ERROR", "WARN")


def _recognise(text: str, call: ToolCall | None) -> float:
    lines = sample(text)
    if len(lines) < 4:
        return 0.0
    share = sum(map(bool, map(_LINE.match, lines))) / len(lines)
    return 0.8 * share if share >= 0.5 else 0.0


def levels(text: str) -> dict[str, int]:
    """How often each word of alarm stands in the text (occurrences, not lines)."""
    return {word: number for word in LEVELS if (number := text.count(word))}


def say(text: str) -> str:
    found = ", ".join(f"{word} {number:,}×" for word, number in levels(text).items())
    return f"log of {plural(count_lines(text), 'line')}{'; ' + found if found else ''}"


def outcome(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    first = next(iter(body.trouble(12).values()), "") or (body.line(body.total) or "")
    return f"{say(text)}; {clip(clean_text(first), 200)}" if first else say(text)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    wanted = [*edges(body, 2, 4), *body.trouble(20).items(), *edges(body, 30, 60)]
    return compose(body, wanted, budget_tokens, count, say(text))


LOG = Kind("log", _recognise, outcome, preview)
