"""Search hits: lines that each name a place. Knows nothing of what was sought.

A line that is missing here would be read as "it does not exist", so hits are whole lines, never merged,
and what is left out is said in place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, listed, plural, profile, sample, share
from foldmark.kinds.body import Body, Count, compose, count_lines
from foldmark.kinds.cuts import without_controls

_HIT = re.compile(r"^(?=\S)(.{1,300}?)[:](\d+)[:](?!//)")
_PLAIN_HIT = re.compile(r"^((?:[A-Za-z]:[\\/])?[\w@~+./\\-]*[./\\][\w@~+.\\/ -]*?):(?!//)(?=.)")


def hit_path(line: str) -> str:
    """The file of a hit line `path:12:text` or `path:text`, "" when it is none."""
    line = line[:400]  # a longer path is none, and the patterns must not walk through a giant line
    found = _HIT.match(line) or _PLAIN_HIT.match(line)
    return found[1] if found else ""


_NUMBER = re.compile(r"^(\d+)[:-]")


def _recognise_hits(text: str, call: ToolCall | None) -> float:
    lines = sample(text)
    if not lines:
        return 0.0
    searches = call is not None and profile(call).role == "searches"
    if searches and share(lines, _NUMBER.match) >= 0.6:
        return 0.85  # grep -n in one file
    if not any(_HIT.match(line) for line in lines[:6]):
        return 0.7 if searches and share(lines, hit_path) >= 0.6 else 0.0
    if share(lines, _HIT.match) >= 0.6 and (len(lines) > 2 or searches):
        return 0.75 if not _looks_like_trace(lines) else 0.2
    return 0.7 if searches and share(lines, hit_path) >= 0.6 else 0.0


def _looks_like_trace(lines: list[str]) -> bool:
    return any("Traceback" in line or line.startswith(("Error", "  File ")) for line in lines[:4])


def _by_file(text: str) -> Counter[str]:
    return Counter(path for line in text.split("\n") if (path := hit_path(line)))


def outcome_hits(text: str, call: ToolCall | None) -> str:
    files = _by_file(text) if len(text) < 2_000_000 else Counter()
    names = [f"{path} ({number:,})" for path, number in files.most_common()]
    said = f"{plural(count_lines(text), 'line')} of hits"
    lines = [line for line in text.split("\n") if line] if len(text) < 100_000 else []
    if lines and all(_NUMBER.match(line) for line in (lines[0], lines[-1])):
        first = without_controls(lines[0].strip())
        return f"{said} ({clip(first, 100)} …)" if len(lines) > 1 else clip(first)
    return f"{said} in {plural(len(files), 'file')}: {listed(names, 8)}" if files else said


def _wanted_hits(body: Body) -> Iterator[tuple[int, str]]:
    """One hit of every file first, then a second …, so that no file goes unnamed."""
    ranked: Counter[str] = Counter()
    rows = []
    for number in body.numbers():
        line = body.line(number) or ""
        path = hit_path(line)
        rows.append((ranked[path], number, line))
        ranked[path] += 1
    yield from ((number, line) for _, number, line in sorted(rows))


def preview_hits(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    top = outcome_hits(text, None)
    if count(top) > budget_tokens // 2:
        top = f"{plural(body.total, 'line')} of hits"
    return compose(body, _wanted_hits(body), budget_tokens, count, without_controls(top))


HITS = Kind("hits", _recognise_hits, outcome_hits, preview_hits)
