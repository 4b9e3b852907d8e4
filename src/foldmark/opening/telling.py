"""Says what a look into a body found, as readable text. Knows nothing of who reads it, and marks nothing.

What was stored stands in `text` alone; the rest are our own words, where a name or two of it may stand.
"""

from __future__ import annotations

import msgspec

from foldmark.opening.pages import Page
from foldmark.opening.querying import Answer
from foldmark.opening.searching import Matches
from foldmark.opening.stating import Stat
from foldmark.opening.tabling import Sample


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A look in words: `ref` is what was looked at, `head` says what it is, `text` is what was found, `note` what else
    there is to know, `next` the ref (or query) to go on with."""

    ref: str
    head: str
    text: str = ""
    note: str = ""
    next: str = ""


def told(look: Stat | Page | Matches | Answer | Sample) -> Told:
    """Any look in words."""
    match look:
        case Stat():
            return _stat(look)
        case Page():
            return _page(look)
        case Matches():
            return _matches(look)
        case Answer():
            return _answer(look)
        case Sample():
            return _sample(look)


def _stat(look: Stat) -> Told:
    about = "" if look.counted else "about "
    size = f"{_several(look.size, 'byte')}, {_several(look.lines, 'line')}, {about}{_several(look.tokens, 'token')}"
    ends = f", line ends {look.line_ends}" if look.line_ends not in ("", "LF") else ""
    text = "\n".join([look.what, *look.columns])
    head = f"{look.kind}, {look.form}, {size}, {look.encoding}{ends}"
    return Told(ref=look.ref, head=head, text=text, next=look.next)


def _page(look: Page) -> Told:
    whole = _several(look.lines, "line") if look.first else _several(look.size, "byte")
    return Told(ref=look.ref, head=f"of {whole}", text=look.text, next=look.next)


def _matches(look: Matches) -> Told:
    lines: list[str] = []
    last = 0
    for line in look.lines:
        if last and line.number > last + 1:
            lines.append("--")
        lines.append(f"{line.number}{':' if line.matched else '-'} {line.text}")
        last = line.number
    found = (
        f"{_several(look.count, 'line')} match{'es' if look.count == 1 else ''}" if look.count else "no line matches"
    )
    return Told(ref=look.ref, head=found, text="\n".join(lines), note=look.note, next=look.next)


def _answer(look: Answer) -> Told:
    some = f", {look.shown:,} shown" if look.shown < look.count else ""
    return Told(ref=look.ref, head=f"{look.what}{some}", text=look.text, note=look.note, next=look.next)


def _sample(look: Sample) -> Told:
    asked = f"{look.total:,} of {_several(look.searched, 'row')}" if look.total < look.searched else _rows(look.total)
    head = f"{look.form}, {asked}" + (f", {len(look.rows):,} shown" if len(look.rows) < look.total else "")
    place = "line" if look.rows and look.rows[0].ref else "row"
    lines = [f"{place} | {' | '.join(look.columns)}"] if look.rows else []
    lines += [f"{_place(row.ref) or row.number} | {' | '.join(row.cells)}" for row in look.rows]
    return Told(ref=look.ref, head=head, text="\n".join([*look.told, *lines]), note=look.note, next=look.next)


def _place(ref: str) -> str:
    """The number of the line that a ref opens."""
    return ref.rpartition("-")[2]


def _rows(count: int) -> str:
    return _several(count, "row")


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
