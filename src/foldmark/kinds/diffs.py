"""Diffs: which files change, by how many lines, and the commit they are shown with. Knows nothing of what they
mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, listed, plural
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.terminal import clean_text


class FileDiff(msgspec.Struct, frozen=True):
    """One file of a diff with its added and removed lines."""

    path: str
    added: int
    removed: int


_BOUND = 4_000_000  # characters: a larger diff is not counted, its lines are shown all the same
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def diff_stat(text: str) -> list[FileDiff]:
    """Files of a unified diff, in order. Lines are counted inside hunks only, so `--- a` in a file is no
    header."""
    if len(text) > _BOUND:
        return []
    rows: list[list[int]] = []
    names: list[str] = []
    old = new = 0
    for line in text.split("\n"):
        if old > 0 or new > 0:
            mark = line[:1]
            if mark == "+":
                rows[-1][0] += 1
                new -= 1
            elif mark == "-":
                rows[-1][1] += 1
                old -= 1
            elif mark in (" ", ""):
                old, new = old - 1, new - 1
            elif mark != "\\":
                old = new = 0
            if mark in ("+", "-", " ", "", "\\"):
                continue
        if line.startswith("--- "):
            names.append(_path(line))
            rows.append([0, 0])
        elif line.startswith("+++ ") and names and (path := _path(line)) != "/dev/null":
            names[-1] = path
        elif rows and (hunk := _HUNK.match(line)):
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
    return [FileDiff(name, *row) for name, row in zip(names, rows, strict=True)]


def _path(line: str) -> str:
    name = line[4:].partition("\t")[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name


def say(files: list[FileDiff], limit: int = 6) -> str:
    """`2 files, +40 -12: src/a.py (+30 -2), src/b.py (+10 -10)`."""
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    names = [f"{file.path} (+{file.added:,} -{file.removed:,})" for file in files]
    return f"{plural(len(files), 'file')}, +{added:,} -{removed:,}: {listed(names, limit)}"


_SUBJECT = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)
_COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b")


def shown_commit(text: str) -> str:
    """`commit 1a2b3c4d5e6f Fix it; ` of what `git show` prints, "" for a bare diff."""
    head = text[:4_000].partition("\ndiff --git ")[0]
    if not (commit := _COMMIT.match(head)):
        return ""
    subject = _SUBJECT.search(head)
    return f"commit {commit[1][:12]} {clip(clean_text(subject[1]), 120) if subject else ''}".rstrip() + "; "


def _recognise(text: str, call: ToolCall | None) -> float:
    head = text[:6_000]
    has_header = head.startswith(("diff --git ", "--- ")) or "\ndiff --git " in head or "\n--- " in head
    if not (has_header and re.search(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", head, re.MULTILINE)):
        return 0.0
    return 0.85 if head.lstrip().startswith(("diff ", "--- ", "Index: ", "commit ")) else 0.55


def outcome(text: str, call: ToolCall | None) -> str:
    files = diff_stat(text)
    return shown_commit(text) + say(files) if files else shown_commit(text).rstrip("; ")


def _wanted(body: Body) -> Iterator[tuple[int, str]]:
    """Commit and subject, names of files, hunks, changed lines, both ends."""
    if _COMMIT.match(body.text):
        yield from ((number, body.line(number) or "") for number in range(1, 6))
    lines = [(number, line) for number in body.numbers() if (line := body.line(number)) is not None]
    yield from ((number, line) for number, line in lines if line.startswith(("diff --git ", "+++ ")))
    yield from ((number, line) for number, line in lines if line.startswith("@@ "))
    yield from ((number, line) for number, line in lines if line[:1] in "+-" and len(line) > 1)
    yield from edges(body)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    files = diff_stat(text)
    tops = (say(files, limit) for limit in (12, 6, 3, 1)) if files else ()
    top = next((line for line in tops if count(line) <= budget_tokens // 2), "")
    return compose(body, _wanted(body), budget_tokens, count, top)


DIFF = Kind("diff", _recognise, outcome, preview)
