"""What a kind of result is: four functions under a name. Knows no kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from foldmark.events import ToolCall
from foldmark.kinds.body import Body, Count, compose, usual
from foldmark.kinds.cuts import word_border
from foldmark.profiles import Profile, profile_of_call

T = TypeVar("T")


def plain_preview(text: str, budget_tokens: int, count: Count) -> str:
    """Both ends, and lines of trouble between them."""
    body = Body(text)
    return compose(body, usual(body), budget_tokens, count)


SURE = 0.9
"""A kind this sure is believed without asking those after it, which are never surer."""


@dataclass(frozen=True)
class Kind:
    """A sort of result. `recognise(text, call)` answers 0 (not mine) to 1 (surely); it must be cheap: it
    looks at the ends of the text only. `preview(text, budget_tokens, count)` is the text itself or a
    shorter true picture of it. `outcome(text, call)` is one line without brackets: what still matters
    when the body is gone."""

    name: str
    recognise: Callable[[str, ToolCall | None], float]
    outcome: Callable[[str, ToolCall | None], str]
    preview: Callable[[str, int, Count], str] = plain_preview


@lru_cache(maxsize=1)  # ten kinds ask for the same call in a row
def profile(call: ToolCall | None) -> Profile:
    return profile_of_call(call)


def sample(text: str, lines: int = 24) -> list[str]:
    """The first lines of a text, blank ones left out, whole ones only (from its first 4,000 characters)."""
    found = _sample(text[:4_000])
    return found[: lines if len(text) <= 4_000 else max(1, min(lines, len(found) - 1))]


@lru_cache(maxsize=4)
def _sample(head: str) -> list[str]:
    return [line for line in head.split("\n") if line.strip()]


def share(lines: list[str], test: Callable[[str], object]) -> float:
    """Which part of some lines passes a test, 0 of none."""
    return sum(map(bool, map(test, lines))) / len(lines) if lines else 0.0


_REMEMBERED = 4_000_000
"""Characters: a larger text is read again rather than held in memory for as long as the process lives."""


def remembered(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader that knows its last text: the same one is recognised, previewed and named in a row. What it returns
    must not be changed."""
    last = lru_cache(maxsize=1)(read)
    return lambda text: last(text) if len(text) <= _REMEMBERED else read(text)


def plural(number: int, word: str, many: str = "") -> str:
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def clip(text: str, limit: int = 160) -> str:
    """One line of at most `limit` characters, cut at a word's end; of a longer text its number of characters is said
    when no word ends there."""
    head = text[: limit * 4]
    line = " ".join(head.split())
    is_whole = len(head) == len(text)
    if is_whole and len(line) <= limit:
        return line
    # A blank at the end tells the border that the words before it are whole; without one the last may be half.
    cut = word_border(f"{line} " if is_whole or head[-1:].isspace() else line, limit)
    return f"{line[:cut].rstrip()} …" if cut else f"({len(text):,} characters)"


def listed(names: list[str], limit: int = 6) -> str:
    """`a, b, c (+4 more)`."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" (+{more:,} more)" if more > 0 else "")
