"""Edits in the words of a model as aider takes them, and what the program said became of each. Knows nothing of
chats.

An edit is a SEARCH/REPLACE block, or a unified diff in a `diff` fence, under the path of its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

_SEARCH = re.compile(r"<{5,9} SEARCH\s*")
_DIVIDER = re.compile(r"={5,9}\s*")
_REPLACE = re.compile(r">{5,9} REPLACE\s*")
_FENCE = re.compile(r"\s*(?:```+|</?(?:source|code|pre|codeblock|sourcecode)>)\s*([\w.+#-]*)\s*")
_PATH = re.compile(r"[\s#*`]*([^\s`*#][^`*]*?)[\s:`*]*")
_APPLIED = re.compile(r"Applied edit to (.+?)\s*")
_OTHERS_APPLIED = re.compile(r"# The other \d+ SEARCH/REPLACE blocks? (?:was|were) applied successfully.*")
_FAILED = re.compile(r"## SearchReplaceNoExactMatch: .* in (.+?)\s*")


class Edit(msgspec.Struct, frozen=True):
    """One edit: the file, and either the text to find and what to put there, or a diff."""

    path: str
    search: str = ""
    replace: str = ""
    diff: str = ""

    @property
    def arguments(self) -> dict[str, str]:
        if self.diff:
            return {"path": self.path, "diff": self.diff}
        return {"path": self.path, "search": self.search, "replace": self.replace}


class Outcome(msgspec.Struct, frozen=True):
    """What the program said of an edit, in its own words."""

    text: str
    is_error: bool = False


def split_edits(text: str) -> tuple[str, list[Edit]]:
    """(the words around the edits, the edits in order). A block that has no end is no edit: its lines stay."""
    words: list[str] = []
    edits: list[Edit] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        taken = _edit_at(lines, at, words, edits)
        if not taken:
            words.append(lines[at])
        at += taken or 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(words)).strip("\n"), edits


def _edit_at(lines: Sequence[str], at: int, words: list[str], edits: list[Edit]) -> int:
    """How many lines the edit here takes, 0 when none begins. Takes its fence and path out of the words."""
    fence = _FENCE.fullmatch(lines[at])
    if fence and fence[1] == "diff" and (end := _next(lines, at + 1, _FENCE)):
        body = "\n".join(lines[at + 1 : end])
        if target := re.search(r"^\+\+\+ (?:b/)?(.+?)\s*$", body, re.MULTILINE):
            edits.append(Edit(target[1], diff=body))
            return end + 1 - at
    middle, end = _bounds(lines, at)
    if not end:
        return 0
    path = _path_before(words) or (edits[-1].path if edits else "")
    edits.append(Edit(path, "\n".join(lines[at + 1 : middle]), "\n".join(lines[middle + 1 : end])))
    has_fence = end + 1 < len(lines) and bool(_FENCE.fullmatch(lines[end + 1]))
    return end + 1 - at + has_fence


def _bounds(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Where the block that begins here has its divider and its end; (0, 0) when it is cut before them."""
    if not _SEARCH.fullmatch(lines[at]):
        return 0, 0
    middle = 0
    for place in range(at + 1, len(lines)):
        if _SEARCH.fullmatch(lines[place]):  # going on behind it would read a text of many cut blocks again and again
            break
        if middle and _REPLACE.fullmatch(lines[place]):
            return middle, place
        middle = middle or (place if _DIVIDER.fullmatch(lines[place]) else 0)
    return 0, 0


def _next(lines: Sequence[str], start: int, pattern: re.Pattern[str]) -> int:
    return next((at for at in range(start, len(lines)) if pattern.fullmatch(lines[at])), 0)


def _path_before(words: list[str]) -> str:
    """The path that stands before a block, on either side of its fence; both leave the words."""
    found = ""
    for _ in range(2):
        while words and not words[-1].strip():
            words.pop()
        is_fence = bool(words and _FENCE.fullmatch(words[-1]))
        name = _path_in(words[-1]) if words and not is_fence and not found else ""
        if is_fence or name:
            words.pop()
        found = found or name
    return found


def _path_in(line: str) -> str:
    """The path that a line is, empty when it is more or less than that: one word with a dot or a slash, or a bare
    name like `Makefile`."""
    match = _PATH.fullmatch(line)
    name = match[1] if match else ""
    is_path = " " not in name and (bool(re.search(r"[./]", name)) or name.isidentifier())
    return name if is_path else ""


def outcomes(edits: Sequence[Edit], console: str) -> list[Outcome | None]:
    """For each edit what the program printed about it: its failure, else that its file was changed or that the
    blocks which did not fail were applied, else None."""
    failures = list(_failures(console))
    lines = console.split("\n")
    applied = {match[1]: line for line in lines if (match := _APPLIED.fullmatch(line))}
    others = next((line for line in lines if _OTHERS_APPLIED.fullmatch(line)), "")
    return [_outcome(edit, failures, applied.get(edit.path) or others) for edit in edits]


def _outcome(edit: Edit, failures: list[tuple[str, str]], applied: str) -> Outcome | None:
    for path, section in failures:
        _, failed = split_edits(section)
        if path == edit.path and any(_same(each.search, edit.search) for each in failed):
            return Outcome(section, is_error=True)
    return Outcome(applied) if applied else None


def _same(one: str, other: str) -> bool:
    """Equal but for white space at line ends, which the history's line breaks swallow."""
    return [line.rstrip() for line in one.split("\n")] == [line.rstrip() for line in other.split("\n")]


def _failures(console: str) -> Iterator[tuple[str, str]]:
    """(path, section) of every block that the program says did not match."""
    path, lines = "", list[str]()
    for line in console.split("\n"):
        match = _FAILED.fullmatch(line)
        if match or line.startswith("# The other "):
            if path:
                yield path, "\n".join(lines).strip("\n")
            path, lines = (match[1] if match else ""), []
        lines.append(line)
    if path:
        yield path, "\n".join(lines).strip("\n")
