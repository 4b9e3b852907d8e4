"""Listings: `ls -l`, `ls -R`, `tree`, `find`, `dir` and lists of paths. Knows nothing of why one was made.

A name that is missing here would be read as "it does not exist": names come before sizes and rights, and which ones
are left out is said in place.
"""

from __future__ import annotations

import re

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, plural, profile, sample, share
from foldmark.kinds.body import Body, Count, compose, count_lines, edges
from foldmark.kinds.cuts import shorten, without_controls
from foldmark.kinds.entries import Entry, is_long, is_tree, read_entries, read_tree, say_entries

_PATH = re.compile(r"^(?:[A-Za-z]:[\\/]|\.{0,2}/|~/)?[\w@~+.()\[\]-]+(?:[\\/][\w@~+.()\[\] -]+)*[\\/*@|=]?$")
_FOLDER = re.compile(r"^(?:\.{0,2}/|~|[\w.-]+/).*:$|^\.:$")
_WINDOWS = re.compile(r"^ ?(?:Volume in drive|Directory of|    Directory: )", re.MULTILINE)
_READ = 2_000_000
"""Characters of a listing that are read entry by entry; a larger one is shown by lines."""
_PIECE = 160
"""Characters of names in one piece: about forty tokens, so that a small budget holds some."""


def _is_path(line: str) -> bool:
    return bool(_PATH.match(line.strip()))


def _recognise(text: str, call: ToolCall | None) -> float:
    lines = sample(text)
    if not lines:
        return 0.0
    if share(lines, is_long) >= 0.6 or is_tree(lines):
        return 0.8
    if _WINDOWS.search(text[:400]) and any("<DIR>" in line or line.startswith(("d-", "-a")) for line in lines):
        return 0.8
    searches = call is not None and profile(call).role == "searches"
    folders = list(filter(_FOLDER.match, lines))
    names = [line for line in lines if line not in folders] if folders else lines
    likely = names if searches or folders else [line for line in names if "/" in line or "\\" in line]
    looks = 0 < 0.8 * len(names) <= sum(map(_is_path, likely))
    if looks and (searches or len(names) > 3) and (not folders or searches or len(folders) > 1):
        return 0.65
    return 0.5 if call is not None and call.name.lower() in ("ls", "tree", "glob") else 0.0


def outcome(text: str, call: ToolCall | None) -> str:
    lines = [line for line in text[:20_000].split("\n") if line.strip() and not line.startswith("total ")]
    if count_lines(text) <= 3:
        return "; ".join(without_controls(line.strip()) for line in lines if len(line) < 200) or "nothing"
    read = read_tree if is_tree(sample(text)) else read_entries
    entries, _ = read(text[:20_000])
    names = [without_controls(entry.path) for entry in (entries[:-1] if len(text) > 20_000 else entries)]
    room, shown = 240, []
    for name in names[:8]:
        room -= len(name) + 2
        if room > 0:
            shown.append(name)
    said = plural(count_lines(text), "line")
    return f"{said}; among them: {', '.join(shown)}" if shown else said


class Groups:
    """The names of a listing folder by folder, about 160 characters of them in a piece."""

    def __init__(self, text: str, entries: list[Entry]) -> None:
        self.text = text
        self._entries = entries
        self._starts: list[int] = []
        size = 0
        for at, entry in enumerate(entries):
            size += len(entry.name) + 2
            if not self._starts or entry.folder != entries[at - 1].folder or size > _PIECE:
                self._starts.append(at)
                size = len(entry.name) + 2
        self.total = len(self._starts)

    def _span(self, number: int) -> list[Entry]:
        end = self._starts[number] if number < self.total else len(self._entries)
        return self._entries[self._starts[number - 1] : end]

    def line(self, number: int) -> str | None:
        if not 1 <= number <= self.total:
            return None
        group = self._span(number)
        folder = group[0].folder
        if any(", " in entry.shown for entry in group):
            return "\n".join(entry.path for entry in group)
        names = ", ".join(entry.shown for entry in group)
        if not folder:
            return names
        return group[0].path if len(group) == 1 else f"{folder}: {names}"

    def gap(self, first: int, last: int) -> str:
        low, high = self._starts[first - 1], self._starts[last] if last < self.total else len(self._entries)
        ends = [entry.path for entry in (self._entries[low], self._entries[high - 1])]
        total = len(self._entries)
        if high - low == 1:
            return f"… entry {low + 1:,} of {total:,} not shown …"
        between = f" ({without_controls(ends[0])} to {without_controls(ends[1])})" if max(map(len, ends)) <= 80 else ""
        return f"… entries {low + 1:,}-{high:,} of {total:,} not shown{between} …"


def preview(text: str, budget_tokens: int, count: Count) -> str:
    """Whole lines where that tells as much; names alone, by folder, where that is shorter. Of a tree the outer levels
    come first."""
    body, tree = Body(text), is_tree(sample(text))
    entries, notes = ([], []) if len(text) > _READ else read_tree(text) if tree else read_entries(text)
    top = without_controls(say_entries(entries)) if len(entries) > 1 else ""
    if count(top) > budget_tokens // 3:
        top = plural(len(entries), "entry", "entries")
    groups = Groups(text, entries)
    size = sum(len(groups.line(number) or "") + 1 for number in range(1, groups.total + 1))
    if entries and (tree or size * 10 <= len(text) * 7):
        top += ", outer levels first" if tree else ""
        top += "; names alone, without rights, sizes and times" if any(entry.mark == "-" for entry in entries) else ""
        top = "\n".join([top, *(shorten(note, 160) for note in notes[:3])])
        top += f"\n… {plural(len(notes) - 3, 'more line')} that name no entry …" if len(notes) > 3 else ""
        return compose(groups, edges(groups, 2_000, 0 if tree else 3), budget_tokens, count, top, cut=without_controls)
    return compose(body, edges(body, 2_000, 20), budget_tokens, count, top)


LISTING = Kind("listing", _recognise, outcome, preview)
