"""Profiles: where the time went, by the profiler's own table. Knows nothing of the program.

Made for cProfile, pprof, perf, py-spy, gprof, node --prof, xctrace-like tables and folded stacks. Rows are shown whole
and in the profiler's own order; folded stacks have none, there the largest come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural, profile, sample
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import Line, clipped, is_whole, lines
from foldmark.kinds.terminal import clean_text


class Timings(msgspec.Struct, frozen=True):
    """A profile: the tool, its line of totals ("" none), the number of its header line, its rows most costly first."""

    tool: str
    total: str = ""
    header: int = 0
    rows: tuple[Line, ...] = ()


_LONG = 1_000  # characters of a line that are read
_FORMS: tuple[tuple[str, re.Pattern[str], re.Pattern[str], re.Pattern[str]], ...] = (  # tool, header, total, row
    (
        "cProfile",
        re.compile(r"^ *ncalls +tottime +percall +cumtime"),
        re.compile(r"^ *\d+ function calls (?:\(\d+ primitive calls\) )?in [\d.]+ (?:CPU )?seconds"),
        re.compile(r"^ *\d+(?:/\d+)? +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ \S"),
    ),
    (
        "pprof",
        re.compile(r"^ *flat +flat% +sum% +cum +cum%"),
        re.compile(r"^(?:Showing nodes accounting for |Duration: )"),
        re.compile(r"^ *\d[\w.]* +[\d.]+% +[\d.]+% +\d[\w.]* +[\d.]+% +\S"),
    ),
    (
        "perf",
        re.compile(r"^# (?:Children +Self|Overhead) +"),
        re.compile(r"^# (?:Samples: |Event count)"),
        re.compile(r"^ +\d+\.\d+% +\S"),
    ),
    (
        "py-spy",
        re.compile(r"^ *%Own +%Total +OwnTime +TotalTime"),
        re.compile(r"^Total Samples \d+"),
        re.compile(r"^ *[\d.]+% +[\d.]+% +[\d.]+m?s +[\d.]+m?s +\S"),
    ),
    (
        "gprof",
        re.compile(r"^ *% +cumulative +self +|^ *time +seconds +seconds +calls"),
        re.compile(r"^Each sample counts as "),
        re.compile(r"^ *\d+\.\d+ +\d+\.\d+ +\d+\.\d+ +\S"),
    ),
    (
        "node --prof",
        re.compile(r"^ *ticks +total +nonlib +name"),
        re.compile(r"^Statistical profiling result"),
        re.compile(r"^ +\d+ +\d+\.\d+%(?: +\d+\.\d+%)? +\S"),
    ),
    (
        "line_profiler",
        re.compile(r"^Line # +Hits +Time +Per Hit"),
        re.compile(r"^Total time: "),
        re.compile(r"^ +\d+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+ "),
    ),
)

_HEADER = re.compile("|".join(f"(?:{header.pattern})" for _, header, _, _ in _FORMS), re.MULTILINE)


def parse_timings(text_lines: Iterable[Line]) -> Timings | None:
    """Read the first profile of a text; None when it holds none."""
    found: Timings | None = None
    totals: dict[str, str] = {}
    rows: list[Line] = []
    row_form: re.Pattern[str] | None = None
    for number, line in ((number, line[:_LONG]) for number, line in text_lines):
        if row_form and row_form.match(line):
            rows.append((number, line))
            continue
        for tool, header, total, row in _FORMS:
            if total.match(line):
                totals.setdefault(tool, line.strip())
            elif found is None and header.match(line):
                found, row_form = Timings(tool, header=number), row
    if found is None:
        return None
    if found.tool == "line_profiler":  # the rows are in the order of the source
        rows.sort(key=lambda row: -float(row[1].split()[4]))
    return msgspec.structs.replace(found, total=totals.get(found.tool, ""), rows=tuple(rows))


def _samples(line: str) -> int:
    """The number behind a folded stack, 0 when the line is none."""
    stack, _, value = line.rpartition(" ")
    return int(value) if ";" in stack and value.isdecimal() and value.isascii() and len(value) < 20 else 0


def parse_folded(text_lines: Iterable[Line]) -> Timings | None:
    """Read folded stacks (`main;run;load 123`), largest first; None when a line is none."""
    rows = []
    for number, line in text_lines:
        if not line.strip():
            continue
        if not (value := _samples(line)):
            return None
        rows.append((value, number, line))
    if not rows:
        return None
    samples = sum(value for value, _, _ in rows)
    ranked = sorted(rows, key=lambda row: (-row[0], row[1]))
    total = f"{samples:,} samples in {plural(len(rows), 'stack')}"
    return Timings("folded stacks", total, rows=tuple((number, line) for _, number, line in ranked))


_HEAD = 20_000  # characters in which a table of timings begins
_WORDS = ("tottime", "flat%", "Overhead", "Children", "%Own", "cumulative", "nonlib", "Per Hit")


def _read(body: Body) -> Timings | None:
    if not is_whole(body):
        return None
    if any(map(body.text[:_HEAD].__contains__, _WORDS)):
        return parse_timings(lines(body))
    return parse_folded(lines(body))


def say(found: Timings) -> str:
    """`cProfile: 197 function calls in 0.002 seconds; 12 rows`."""
    head = clip(clean_text(found.total), 160)
    return "; ".join(filter(None, [f"profile by {found.tool}: {head}".rstrip(": "), plural(len(found.rows), "row")]))


def _recognise(text: str, call: ToolCall | None) -> float:
    if call is not None and profile(call).role == "searches":
        return 0.0
    head = text[:_HEAD]
    if any(map(head.__contains__, _WORDS)):
        found = parse_timings(enumerate(head.split("\n"), 1)) if _HEADER.search(head) else None
        return 0.86 if found and found.rows else 0.0
    first = sample(text, 6)
    is_folded = len(first) > 2 and all(_samples(line) and line.count(";") > 1 for line in first)
    # Rows of a table have different first cells and as many cells each; stacks share their root.
    return 0.87 if is_folded and len({line.partition(";")[0] for line in first}) == 1 else 0.0


def outcome(text: str, call: ToolCall | None) -> str:
    found = _read(Body(text))
    if found is None:
        return ""
    tops = clipped(found.rows[:3], 140)
    return f"{say(found)}; top: {' | '.join(tops)}" if tops else say(found)


def _wanted(body: Body, found: Timings | None) -> Iterator[Line]:
    if found:
        texts = dict(lines(body))
        yield from ((number, texts[number]) for number in (found.header,) if number)
        yield from found.rows[:200]
    yield from edges(body, 20, 4)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    found = _read(body)
    return compose(body, _wanted(body, found), budget_tokens, count, say(found) if found else "")


PROFILE = Kind("profile", _recognise, outcome, preview)
