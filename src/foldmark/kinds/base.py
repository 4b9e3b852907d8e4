"""What a kind of result is: four functions under a name. Knows no kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from foldmark.events import ToolCall
from foldmark.kinds.body import Body, Count, compose, usual
from foldmark.profiles import Profile, profile_of_call


def plain_preview(text: str, budget_tokens: int, count: Count) -> str:
    """Both ends, and lines of trouble between them."""
    body = Body(text)
    return compose(body, usual(body), budget_tokens, count)


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


def profile(call: ToolCall | None) -> Profile:
    return profile_of_call(call)


def sample(text: str, lines: int = 24) -> list[str]:
    """The first lines of a text, blank ones left out, whole ones only (from its first 4,000 characters)."""
    found = _sample(text[:4_000])
    return found[: lines if len(text) <= 4_000 else max(1, min(lines, len(found) - 1))]


@lru_cache(maxsize=4)
def _sample(head: str) -> list[str]:
    return [line for line in head.split("\n") if line.strip()]


def plural(number: int, word: str, many: str = "") -> str:
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def clip(text: str, limit: int = 160) -> str:
    """One line of at most `limit` characters, cut at a word's end."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    head = line[:limit].rpartition(" ")[0]
    return f"{head} …" if head else f"({len(text):,} characters)"


def listed(names: list[str], limit: int = 6) -> str:
    """`a, b, c (+4 more)`."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" (+{more:,} more)" if more > 0 else "")
