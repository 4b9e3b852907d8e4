"""The entries of a listing: names, folders, sizes, times. Knows nothing of previews."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from foldmark.kinds.base import listed, plural

_RIGHTS = re.compile(r"^(?:[-dlcbpsD][rwxsStTlL-]{9}[@+.]?\s|total \d+$)")
_LONG = re.compile(
    r"^(?P<type>[-dlcbpsD])[rwxsStTlL-]{9}[@+.]?\s+\d+\s+\S+\s+(?:\S+\s+)?(?P<size>[\d.,]+[KMGTP]?)\s+"
    r"(?P<when>\w{3}\s+\d{1,2}\s+[\d:]{4,5}|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: [+-]\d{4})?"
    r"|\d{1,2}\s+\w{3}\s+[\d:]{4,5})\s(?P<name>.+)$"
)
_WINDOWS = re.compile(
    r"^(?P<when>\d\d[/.-]\d\d[/.-]\d{4}|\d{4}-\d\d-\d\d)\s+\d\d:\d\d(?: ?[AP]M)?\s+"
    r"(?P<size><DIR>|<JUNCTION>|\d[\d,.]*)\s+(?P<name>\S.*)$"
)
_POWER = re.compile(
    r"^(?P<type>[dl-])[a-z-]{4,5}\s+\d{1,4}[/.-]\d\d?[/.-]\d{2,4}\s+\d\d?:\d\d(?: [AP]M)?\s+"
    r"(?P<size>\d*)\s+(?P<name>\S.*)$"
)
_HEADING = re.compile(r"^(?: Directory of |    Directory: )(.+)$")
_SILENT = re.compile(r"^(?:total \d+|\s*\d+ (?:File|Dir)\(s\).*| Volume .*|Mode\s+LastWriteTime.*|-{4}\s+-+.*|`{3}.*)$")
"""Lines that only say what the entries say."""
_NOTE = re.compile(
    r"^(?:(?:find|ls|tree|lsd|eza|dir|Error|error|fatal): .*|Exit code -?\d+|No files found|\d+ director(?:y|ies)\b.*"
    r"|(?:\.\.\.|…|[\[(]).*\s.*)$"
)
"""Lines of the program or of whoever cut its output."""
_EXACT = re.compile(r"\d+\Z")


class Entry(NamedTuple):
    """One name in a listing. `mark` is d, l or - where the listing says what it is, "" where it does not; `size` in
    bytes, -1 unknown; `when` as spelled, only where its spelling sorts."""

    folder: str
    name: str
    mark: str = ""
    size: int = -1
    when: str = ""

    @property
    def shown(self) -> str:
        return f"{self.name}/" if self.mark == "d" and not self.name.endswith(("/", "\\")) else self.name

    @property
    def path(self) -> str:
        if not self.folder:
            return self.shown
        sign = "\\" if "\\" in self.folder and "/" not in self.folder else "/"
        return f"{self.folder}{'' if self.folder.endswith(('/', chr(92))) else sign}{self.shown}"


def is_long(line: str) -> bool:
    return bool(_RIGHTS.match(line))


_BRANCH = re.compile(r"([│|\s\u00a0]*+)(?:[├└`+\\][─-]{1,3}|-{2,3})[\s\u00a0]?")
_TREE_SIGNS = ("├", "└", "|--", "`--", "+--", "\\--")


def is_tree(lines: list[str]) -> bool:
    """Whether lines are those of `tree`, with its lines drawn or in ASCII."""
    if len(lines) < 3 or not any(sign in line for line in lines[1:3] for sign in _TREE_SIGNS):
        return False
    return sum(1 for line in lines if _BRANCH.match(line)) * 10 >= len(lines) * 6


def read_tree(text: str) -> tuple[list[Entry], list[str]]:
    """The entries of `tree`, outer levels first, each level in the order of the text, and its other lines; no entries
    when names stand among comments or rights, which only whole lines tell."""
    notes: list[str] = []
    levels: dict[int, list[Entry]] = {}
    names: list[tuple[int, str]] = []  # the column where an open folder's sign stands, and its path
    root = ""
    for line in text.split("\n"):
        found = _BRANCH.match(line)
        name = line[found.end() :].strip().partition(" -> ")[0] if found else ""
        if not found or not name:
            if line.strip("│| \t\r") and not _SILENT.match(line[:400]):
                notes.append(line.strip())
                root = line.strip() if not names else root
            continue
        if "  " in name or name.startswith("["):
            return [], notes
        column = found.end(1) - (line[found.end(1) - 1 : found.end(1)] == "|" and line[found.end(1)] == "-")
        while names and names[-1][0] >= column:
            names.pop()
        above = "" if root == "." or re.search(r"[\s`]", root) else root.rstrip("/")
        entry = Entry(names[-1][1].rstrip("/") if names else above, name)
        levels.setdefault(len(names), []).append(entry)
        names.append((column, entry.path))
    return [entry for level in sorted(levels) for entry in levels[level]], [note for note in notes if note != root]


def read_entries(text: str) -> tuple[list[Entry], list[str]]:
    """All entries of a listing in order, and the lines that are none but tell something (an error, a count). A line
    that ends in a colon and has a blank line before it names the folder of those below."""
    notes: list[str] = []
    return list(_entries(text, notes)), notes


def _entries(text: str, notes: list[str]) -> Iterator[Entry]:
    folder, after_blank = "", True
    for raw in text.split("\n"):
        line = raw.rstrip("\r")
        if not line.strip():
            after_blank = True
            continue
        if found := _HEADING.match(line):
            folder = found[1]
        elif after_blank and line.endswith(":") and len(line) > 1:
            folder = line[:-1]
        elif _NOTE.match(line[:400]):
            notes.append(line)
        elif not _SILENT.match(line[:400]) and (entry := _entry(line, folder)):
            yield entry
        after_blank = False


def _entry(line: str, folder: str) -> Entry | None:
    head = line[:500]
    if found := _LONG.match(head) if _RIGHTS.match(head) else None:
        name, mark = found["name"].strip(), found["type"]
        name = name.partition(" -> ")[0] if mark == "l" else name
        size = int(found["size"]) if _EXACT.match(found["size"]) else -1
        when = found["when"] if found["when"][:4].isdigit() else ""
        if "/" in name.rstrip("/") and not folder:
            folder, _, name = name.rpartition("/")
        return None if name in (".", "..") else Entry(folder, name, "-" if mark not in "dl" else mark, size, when)
    if (found := _WINDOWS.match(head)) or (found := _POWER.match(head)):
        name, size_text = found["name"], found["size"]
        is_folder = size_text.startswith("<") or ("type" in found.groupdict() and found["type"] == "d")
        digits = re.sub(r"[,. ]", "", size_text)
        size = int(digits) if digits.isdigit() and not is_folder else -1
        return None if name in (".", "..") else Entry(folder, name, "d" if is_folder else "-", size)
    bare = line.strip()
    if bare in (".", ".."):
        return None
    return Entry(folder, bare) if folder else _split(bare)


def _split(path: str) -> Entry:
    sign = "\\" if "\\" in path and "/" not in path else "/"
    body = path[:-1] if path.endswith(sign) else path
    folder, _, name = body.rpartition(sign)
    is_rooted = not folder and path.startswith(sign) and len(path) > 1
    return Entry(sign if is_rooted else folder, name + path[len(body) :], "d" if len(body) < len(path) else "")


def say_entries(entries: list[Entry]) -> str:
    """`900 entries: 850 files, 50 directories, 12,345 bytes together; .py 600, .md 40; largest …; newest …`."""
    marks = Counter(entry.mark for entry in entries)
    said = plural(len(entries), "entry", "entries")
    if not marks[""]:
        parts = [(marks["-"], "file", ""), (marks["d"], "directory", "directories"), (marks["l"], "link", "")]
        said += ": " + ", ".join(plural(number, word, many) for number, word, many in parts if number)
    elif (folders := len({entry.folder for entry in entries})) > 1:
        said += f" in {plural(folders, 'folder')}"
    sized = [entry for entry in entries if entry.size >= 0 and entry.mark == "-"]
    if sized and len(sized) == marks["-"]:
        said += f", {sum(entry.size for entry in sized):,} bytes in files"
    endings = Counter(_ending(entry.name) for entry in entries if entry.mark in ("", "-"))
    endings.pop("", None)
    shown = [f"{ending} {number:,}" for ending, number in sorted(endings.items(), key=lambda one: (-one[1], one[0]))]
    said += f"; {listed(shown, 6)}" if shown else ""
    if len(sized) > 1:
        largest = max(sized, key=lambda entry: entry.size)
        said += f"; largest {largest.path} {largest.size:,} bytes" if len(largest.path) <= 120 else ""
    dated = [entry for entry in entries if entry.when]
    if len(dated) > 1 and len(dated) == len(entries):
        newest = max(dated, key=lambda entry: entry.when)
        said += f"; newest {newest.path} {newest.when[:16]}" if len(newest.path) <= 120 else ""
    return said


def _ending(name: str) -> str:
    stem, dot, ending = name.rstrip("/*@|=").rpartition(".")
    return (
        f".{ending}"
        if dot and stem.strip(".") and 0 < len(ending) <= 10 and ending.isalnum() and not ending.isdecimal()
        else ""
    )
