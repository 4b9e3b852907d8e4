"""Coverage reports: the total, the files that miss most, their missing lines. Knows nothing of how the tests went.

Made for coverage.py and pytest-cov, istanbul and nyc (jest, vitest, c8), go tool cover and lcov. Percentages and line
lists are the report's own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, listed, plural, profile
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import Line, is_whole, lines
from foldmark.kinds.terminal import clean_text


class Covered(msgspec.Struct, frozen=True):
    """One row: a file (or function) with its share covered as printed (`85%`, `71.43`); `line` is its number."""

    name: str
    share: str
    line: int

    @property
    def percent(self) -> float:
        return float(self.share.rstrip("%"))


class Report(msgspec.Struct, frozen=True):
    """A report's total row (None when it has none) and its other rows, in order."""

    total: Covered | None
    rows: tuple[Covered, ...]
    header: int = 0


def _python_row(line: str) -> tuple[str, str] | None:
    """`src/a.py  100  88  12%  3-40`: the name ends where the numbers begin."""
    words = line.split()
    at = next((at for at in range(3, min(len(words), 40)) if words[at][-1:] == "%" and _PERCENT.match(words[at])), 0)
    if not at or not (words[at - 1].isdecimal() and words[at - 2].isdecimal()):
        return None
    numbers = next((back for back in range(at - 1, 0, -1) if not words[back].isdecimal()), 0)
    return " ".join(words[: numbers + 1]), words[at]


def _piped_row(line: str) -> tuple[str, str] | None:
    """`  a.js |   60.00 |  50 | …` (istanbul), `src/a.c |85.3%   120|…` (lcov)."""
    name, bar, rest = line.partition("|")
    share = rest.replace("|", " ").split()[:1]
    return (name.strip(), share[0]) if bar and share and _PERCENT.match(share[0]) and name.strip() else None


_LONG = 1_000  # characters of a line that are read
_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,4})?%?$")
_Row = Callable[[str], tuple[str, str] | None]
_HEADERS: tuple[tuple[re.Pattern[str], _Row], ...] = (
    (re.compile(r"^Name +Stmts +Miss .*\bCover\b"), _python_row),
    (re.compile(r"^File +\| +% Stmts \|"), _piped_row),
    (re.compile(r"^ +\|Lines +\|Functions|^Filename +\|Rate +Num"), _piped_row),
)
_GO = re.compile(r"^(\S+\.go:\d+):\s+(\S+)\s+(\d+\.\d%)$")
_GO_TOTAL = re.compile(r"^total:\s+\(statements\)\s+(\d+\.\d%)$")
_LCOV = re.compile(r"^ *(lines|functions|branches)\.+: (\d+(?:\.\d+)?%) \((\d+ of \d+ \w+)\)")
_TOTALS = ("TOTAL", "All files", "Total:|", "Total:")


def parse_coverage(text_lines: Iterable[Line]) -> Report | None:
    """Read a coverage report; None when the lines hold none."""
    rows: list[Covered] = []
    total: Covered | None = None
    form: _Row | None = None
    header = 0
    for number, line in ((number, line[:_LONG]) for number, line in text_lines):
        if form and (found := form(line)):
            row = Covered(*found, number)
            if row.name in _TOTALS:
                total = row
            else:
                rows.append(row)
        elif begun := next((row for head, row in _HEADERS if head.match(line)), None):
            form, header = begun, header or number
        elif match := _GO.match(line):
            rows.append(Covered(f"{match[1]} {match[2]}", match[3], number))
        elif match := _GO_TOTAL.match(line):
            total = Covered("total", match[1], number)
        elif (match := _LCOV.match(line)) and match[1] == "lines":
            total = Covered("lines", match[2], number)
        elif form and line.strip("-=| ") and "|" not in line:
            form = None
    return Report(total, tuple(rows), header) if total or (rows and header) else None


def say(report: Report, limit: int = 6) -> str:
    """`coverage 83% in total; 12 rows, 8 below 100%; lowest: a.py 12%, b.py 40%`."""
    total = f"coverage {_share(report.total)} in total" if report.total else "coverage"
    short = sorted((row for row in report.rows if row.percent < 100), key=lambda row: row.percent)
    rows = f"{plural(len(report.rows), 'row')}, {len(short):,} below 100%" if report.rows else ""
    lowest = f"lowest: {listed([f'{row.name} {_share(row)}' for row in short], limit)}" if short else ""
    return clean_text("; ".join(filter(None, [total, rows, lowest])))


def _share(row: Covered) -> str:
    return row.share if row.share.endswith("%") else f"{row.share}%"


def total(text: str) -> str:
    """`coverage 83% in total` of a text that holds a report among other things, else ""."""
    if not any(map(text.__contains__, _WORDS)):
        return ""
    body = Body(text)
    report = parse_coverage(lines(body)) if is_whole(body) else None
    return f"coverage {_share(report.total)} in total" if report and report.total else ""


_WORDS = ("Stmts", "% Stmts", "total:", "lines...", "|Lines")


def _recognise(text: str, call: ToolCall | None) -> float:
    if call is not None and profile(call).role in ("reads", "searches"):
        return 0.0
    if not any(map(text.__contains__, _WORDS)):
        return 0.0
    ends = Body(text)
    found = parse_coverage((number, ends.line(number) or "") for number in ends.numbers())
    return 0.84 if found else 0.0


def outcome(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    report = parse_coverage(lines(body)) if is_whole(body) else None
    return say(report) if report else f"coverage report of {plural(body.total, 'line')}"


def worst_first(body: Body, report: Report) -> Iterator[Line]:
    """The header, the total, then whole rows, least covered first."""
    texts = dict(lines(body))
    rows = sorted(report.rows, key=lambda row: (row.percent, row.line))
    for number in [report.header, report.total.line if report.total else 0, *(row.line for row in rows)]:
        if number:
            yield number, texts[number]


def _wanted(body: Body, report: Report | None) -> Iterator[Line]:
    if report:
        yield from worst_first(body, report)
    yield from edges(body, 20, 40)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    report = parse_coverage(lines(body)) if is_whole(body) else None
    top = say(report, 0).partition("; lowest")[0] if report else ""
    return compose(body, _wanted(body, report), budget_tokens, count, top)


COVERAGE = Kind("coverage", _recognise, outcome, preview)
