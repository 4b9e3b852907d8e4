"""Where the header and the rows of a table stand in a text, for each way of writing one. Knows nothing of types or
previews.

A row is a record: a quoted CSV cell may hold line ends, a row of a grid may be several lines.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from foldmark.kinds.columns import kind_of


@dataclass(frozen=True)
class Table:
    """A table in a text: `lead` its header as it stands, `header` the names, `footer` a count that its writer put
    below, "" none. `spans` are start and end of each row, in pairs."""

    text: str
    form: str
    lead: str
    header: list[str]
    cells: Callable[[str], list[str]]
    footer: str = ""
    spans: array[int] = field(default_factory=lambda: array("q"))

    @property
    def total(self) -> int:
        return len(self.spans) // 2

    def row(self, index: int) -> str:
        return self.text[self.spans[index * 2] : self.spans[index * 2 + 1]].rstrip("\r\n")


_NAME = re.compile(r"\ufeff?[\w .,()/%#$&'@:*+?\[\]<>-]{1,80}\Z")
_CODE = re.compile(r"[{};]\s*\Z|^\s*(?:#|//|import |from |def |return |[<\[{(])")
DELIMITERS = {",": "CSV", "\t": "TSV", ";": "CSV with semicolons", "|": "table with bars"}


def record_pattern(delimiter: str) -> re.Pattern[str]:
    """A pattern that matches one record: to the line end that is in no quoted cell.

    A quote opens a cell only at its start, as in the csv module; possessive, so that every text is read once.
    """
    mark = re.escape(delimiter)
    return re.compile(rf'(?:[^"\n]++|(?<![^{mark}\n])"(?:[^"]++|"")*+(?:"|\Z)|")++\n?|\n')


def split_record(record: str, delimiter: str) -> list[str]:
    """The cells of one record."""
    if '"' not in record:
        return record.split(delimiter)
    try:
        return next(csv.reader([record], delimiter=delimiter), [])
    except csv.Error:  # a cell over the module's limit, which belongs to the whole process and is not ours to move
        return record.split(delimiter)


def delimited(text: str) -> Table | None:
    """CSV, TSV, and lines with semicolons or bars; None when the first records do not agree on their cells."""
    first, _, _ = text[:20_000].partition("\n")
    for delimiter, form in DELIMITERS.items():
        if delimiter in first and _agrees(text, delimiter):
            return _delimited(text, delimiter, form)
    return None


def _agrees(text: str, delimiter: str) -> bool:
    head = text[:20_000]
    records = [match[0] for match, _ in zip(record_pattern(delimiter).finditer(head), range(24), strict=False)]
    records = [record.rstrip("\r\n") for record in records if record.strip()]
    if len(text) > len(head) and len(records) < 24:
        records = records[:-1]
    if len(records) < 3:
        return False
    rows = [split_record(record, delimiter) for record in records]
    header = rows[0]
    width = len(header)
    same = sum(1 for row in rows if len(row) == width)
    if width < 2 or same * 10 < len(rows) * 9 or len(set(header)) < width:
        return False
    if not all(_NAME.match(name) and not name.strip().replace(".", "").isdecimal() for name in header if name):
        return False
    return not _is_prose(records, rows, delimiter) and header.count("") <= 1


def _is_prose(records: list[str], rows: list[list[str]], delimiter: str) -> bool:
    """Whether lines that hold as many commas as each other are sentences or code all the same."""
    if delimiter == "\t":
        return False
    if sum(1 for record in records if _CODE.search(record)) * 4 > len(records):
        return True
    if any(name.count("(") != name.count(")") for name in rows[0]):
        return True
    spaced = sum(record.count(delimiter + " ") for record in records)
    if delimiter != "|" and spaced * 2 > sum(len(row) - 1 for row in rows) and not _has_numbers(rows):
        return True
    return len(rows[0]) == 2 and any(len(name.split()) > 3 for name in rows[0])


def _has_numbers(rows: list[list[str]]) -> bool:
    """Whether some column holds nothing but numbers below its header."""
    return any(
        all(kind_of(cell.strip()) in ("integer", "number") for cell in column)
        for column in zip(*rows[1:], strict=False)
    )


def _delimited(text: str, delimiter: str, form: str) -> Table:
    spans = array("q")
    for match in record_pattern(delimiter).finditer(text):
        start, end = match.span()
        if end - start > 2 or text[start:end].strip():
            spans.extend((start, end))
    lead = text[spans[0] : spans[1]].rstrip("\r\n")
    names = [name.strip().lstrip("\ufeff") for name in split_record(lead, delimiter)]
    return Table(text, form, lead, names, lambda record: split_record(record, delimiter), "", spans[2:])


_PSQL = re.compile(r" ?-{2,}(?:\+-{2,})*\s*\Z")
_MARKDOWN = re.compile(r"\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*\Z")
_DASHES = re.compile(r"-{2,}(?: {1,2}-{2,})+\s*\Z")
_BORDER = re.compile(r"\s*[+┌├└╭╰╞╔╠╚┏┡┗┢╟]")
_BAR = re.compile(r"\s*[|│┃║]")
_COUNTED = re.compile(r"\s*(?:\(?\d[\d,]* rows?(?: affected| in set.{0,40})?\)?|[│|]?\s*\d[\d,]* rows.{0,80})\s*\Z")
_BARS = re.compile(r"[|│┃║]")
_SIDES = ("|", "│", "┃", "║")
_ESCAPED = "\uf8ff"  # a private character stands for an escaped bar while a line is split
_LINE = re.compile(r"[^\n]*\n?")


def drawn(text: str) -> Table | None:
    """A table with rules: Markdown, psql, MySQL and other boxes, SQLite's columns."""
    lines = text[:20_000].split("\n", 9)[:9]
    if _BORDER.match(lines[0]) and len(lines) > 2 and len(lines[0].strip()) > 4:
        return _boxed(text)
    if len(lines) < 3:
        return None
    rule = lines[1].rstrip("\r")
    if "|" in lines[0] and "+" in rule and _PSQL.match(rule):
        return _ruled(text, "psql table", "|")
    if "|" in lines[0] and "|" in rule and "-" in rule and _MARKDOWN.match(rule):
        return _ruled(text, "Markdown table", "|")
    if _DASHES.match(rule) and len(lines[0].split()) >= len(rule.split()) > 1:
        return _ruled(text, "table in columns", "")
    if lines[0][:1] == " " and _PSQL.match(rule) and len(lines[0].split()) == 1 and len(lines[0]) <= len(rule) + 1:
        return _ruled(text, "psql table", "")
    return None


def _lines(text: str, at: int = 0) -> Iterable[tuple[int, int]]:
    for match in _LINE.finditer(text, at):
        if match.end() > match.start():
            yield match.span()


def _ruled(text: str, form: str, bar: str) -> Table | None:
    """A header line, a rule, rows, perhaps a footer. None when most of the text lies behind the rows."""
    top = text.find("\n")
    start = text.find("\n", top + 1) + 1
    spans, footer, end = array("q"), "", start
    for low, high in _lines(text, start):
        line = text[low : min(high, low + 400)].rstrip("\r\n")
        if not line.strip() or _COUNTED.match(line) or (bar and bar not in text[low:high]):
            footer = line.strip() if _COUNTED.match(line) else ""
            end = high
            if not line.strip() and high < len(text):
                continue
            break
        spans.extend((low, high))
        end = high
    if not spans or (len(text) - end) * 5 > len(text):
        return None
    lead = text[:top].rstrip("\r")
    split = _bars if bar else _columns(text[top + 1 : start - 1])
    return Table(text, form, lead, split(lead), split, footer, spans)


def _bars(line: str) -> list[str]:
    """Cells between bars; an escaped bar is part of its cell."""
    line = line.strip()
    if "\\|" in line or line[:1] in _SIDES[1:]:
        parts = [part.replace(_ESCAPED, "\\|").strip() for part in _BARS.split(line.replace("\\|", _ESCAPED))]
    else:
        parts = [part.strip() for part in line.split("|")]
    return parts[1 if line[:1] in _SIDES else 0 : -1 if line[-1:] in _SIDES else None]


def _columns(rule: str) -> Callable[[str], list[str]]:
    """Cells by the places of dashes in a rule."""
    starts = [match.start() for match in re.finditer("-+", rule)]
    ends = [*starts[1:], None]
    return lambda line: [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def _boxed(text: str) -> Table | None:
    """A box: groups of lines with bars between borders; the first group is the header."""
    groups: list[list[tuple[int, int]]] = [[]]
    end = 0
    for low, high in _lines(text):
        head = text[low : low + 40]
        if _BORDER.match(head):
            groups.append([])
        elif _BAR.match(head):
            groups[-1].append((low, high))
        else:
            break
        end = high
    held = [group for group in groups if group]
    if len(held) < 2 or len(groups) < 4 or (len(text) - end) * 5 > len(text):
        return None
    rest = text[end : end + 200].strip()
    lines, behind = held[1], held[2:]
    footer = rest.partition("\n")[0] if _COUNTED.match(rest.partition("\n")[0]) else ""
    if behind and (len(held) > 3 or len(lines) == len(behind[0]) == 1):  # a rule under every row
        lines = [(group[0][0], group[-1][1]) for group in held[1:]]
    elif behind:
        said = " ".join(text[low:high].strip("│║|┃ \r\n") for low, high in behind[0])
        footer = " ".join(said.split())[:80]
    spans = array("q", (place for span in lines for place in span))
    low, high = held[0][0][0], held[0][-1][1]
    lead = text[low:high].rstrip("\r\n")
    return Table(text, "table in a box", lead, _bars(lead.partition("\n")[0]), _bars, footer, spans)


_CAPITALS = re.compile(r"[A-Z%#][A-Z0-9%_/().#-]*\Z")


def aligned(text: str) -> Table | None:
    """Columns aligned by spaces under a header in capitals (`NAME  READY  STATUS`), and `df`."""
    first = text[:2_000].partition("\n")[0].rstrip("\r")
    words = first.split()
    is_disk = words[:1] == ["Filesystem"] and len(words) > 4
    if len(words) < 3 or not (is_disk or all(map(_CAPITALS.match, words))):
        return None
    if words[-2:] == ["Mounted", "on"]:
        words = [*words[:-2], "Mounted on"]
    spans = array("q")
    for low, high in _lines(text, len(first) + 1):
        if text[low:high].strip():
            spans.extend((low, high))
    rows = [text[spans[at] : min(spans[at + 1], spans[at] + 2_000)] for at in range(0, min(len(spans), 40), 2)]
    names = _aligned_names(first, words, rows)
    if len(rows) < 2 or not names:
        return None
    return Table(text, "table in columns", first, names, lambda line: _spaced(line, len(names)), "", spans)


_WIDE = re.compile(r" {2,}|\t+")


def _aligned_names(first: str, words: list[str], rows: list[str]) -> list[str]:
    """The names of columns that the rows agree with: between two spaces and more, or single words; none for a shouted
    sentence. A cell may be missing between wide columns."""
    wide = _WIDE.split(first.strip())
    cells = [len(_WIDE.split(row.strip())) for row in rows]

    def agree(tenths: int, sizes: list[bool]) -> bool:
        return sum(sizes) * 10 >= len(rows) * tenths

    if len(wide) > 2 and agree(6, [size == len(wide) for size in cells]):
        return wide
    are_words = len(words) > 4 and sum(len(word) == 1 for word in words) * 2 < len(words)
    if are_words and agree(9, [len(row.split()) >= len(words) for row in rows]):
        return words
    return wide if len(wide) > 2 and agree(7, [len(wide) - 1 <= size <= len(wide) for size in cells]) else []


def _spaced(line: str, width: int) -> list[str]:
    """Cells between two spaces or more, else between single ones, the last cell taking what is left."""
    wide = _WIDE.split(line.strip())
    return wide if len(wide) == width else line.split(maxsplit=width - 1)
