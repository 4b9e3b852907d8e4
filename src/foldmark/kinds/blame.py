"""What `git blame` says of lines: who wrote them, when, in which commits. Knows nothing of what the lines hold."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, listed, plural, sample
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import is_whole, lines
from foldmark.kinds.terminal import clean_text


class Blamed(msgspec.Struct, frozen=True):
    """One line of a blame: who wrote it, when (a day), in which commit, and its number in the file."""

    hash: str
    author: str
    day: str
    number: int


_HASH = re.compile(r"^\^?([0-9a-f]{7,40}) ")
_WHEN = re.compile(r" (\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d [+-]\d{4} +(\d+)\)")


def parse_blame(line: str) -> Blamed | None:
    """Read one line of `git blame`; None when it is none."""
    line = line[:400]
    known, when = _HASH.match(line), _WHEN.search(line)
    if not known or not when:
        return None
    author = line[: when.start()].partition("(")[2].strip()
    return Blamed(known[1], author, when[1], int(when[2])) if author else None


def _recognise(text: str, call: ToolCall | None) -> float:
    found = sample(text, 8)
    return 0.88 if found and all(map(parse_blame, found)) else 0.0


def outcome(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    found = [one for _, line in lines(body) if (one := parse_blame(line))]
    if not found or not is_whole(body):
        return f"{plural(body.total, 'line')} of git blame"
    authors = Counter(one.author for one in found).most_common()
    dates = sorted(one.day for one in found)
    commits = len({one.hash for one in found})
    who = listed([f"{name} ({plural(number, 'line')})" for name, number in authors], 5)
    where = f"lines {found[0].number:,}-{found[-1].number:,}"
    return clean_text(f"blame of {where}: {plural(commits, 'commit')}, {dates[0]} to {dates[-1]}, by {who}")


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    top = outcome(text, None)
    order = edges(body, 400, 40)
    return compose(body, order, budget_tokens, count, top if count(top) <= budget_tokens // 2 else "")


BLAME = Kind("git blame", _recognise, outcome, preview)
