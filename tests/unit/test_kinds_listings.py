"""Listings: every name that is not there is said to be hidden, and names come before sizes."""

from __future__ import annotations

import re

import pytest

from foldmark import kinds
from foldmark.kinds.entries import read_entries, read_tree
from foldmark.tokens import count

LONG = "total 1200\n" + "".join(
    f"{'d' if n % 10 == 0 else '-'}rw-r--r--  1 ann staff {n * 100:8} 2026-05-{n % 28 + 1:02} 10:{n % 60:02} "
    f"file_{n}{'' if n % 10 == 0 else '.py' if n % 2 else '.md'}\n"
    for n in range(1, 301)
)
RECURSIVE = "".join(f"./d{n}:\n" + "".join(f"file_{k}.py\n" for k in range(12)) + "\n" for n in range(40))
FOUND = "".join(f"./source/package_{n // 25}/module_{n}.py\n" for n in range(600))
WINDOWS = (
    " Volume in drive C has no label.\n\n Directory of C:\\work\n\n"
    + "".join(
        f"05/01/2026  10:00 AM    {'<DIR>         ' if n % 10 == 0 else f'{n * 10:14,}'} name {n}.txt\n"
        for n in range(1, 201)
    )
    + "             180 File(s)        181,000 bytes\n"
)
TREE = (
    "Demo\n"
    + "".join(
        f"├── folder_{n}\n" + "".join(f"│   ├── f{k}.py\n" for k in range(8)) + "│   └── last.py\n" for n in range(50)
    )
    + "└── README.md\n\n50 directories, 451 files\n"
)


@pytest.mark.parametrize("text", [LONG, FOUND, WINDOWS, TREE])
def test_listings_are_recognised_and_within_budget(text: str) -> None:
    assert kinds.recognise(text).name == "listing"
    for budget in (100, 250, 600):
        assert count(kinds.preview(text, None, budget, count)) <= budget


def test_a_long_listing_says_files_folders_bytes_endings_largest_and_newest() -> None:
    rows = [line.split() for line in LONG.split("\n")[1:-1]]
    row = max(rows, key=lambda row: row[5:7])
    newest = f"{row[7]}{'/' if row[0][0] == 'd' else ''} {row[5]} {row[6]}"
    assert kinds.preview(LONG, None, 300, count).split("\n")[0] == (
        "300 entries: 270 files, 30 directories, 4,050,000 bytes in files; .py 150, .md 120; "
        f"largest file_299.py 29,900 bytes; newest {newest}; names alone, without rights, sizes and times"
    )


@pytest.mark.parametrize(("text", "total"), [(LONG, 300), (FOUND, 600), (WINDOWS, 200), (TREE, 501)])
def test_shown_and_hidden_names_make_the_whole(text: str, total: int) -> None:
    shown = kinds.preview(text, None, 300, count)
    hidden = sum(
        int((last or first).replace(",", "")) - int(first.replace(",", "")) + 1
        for first, last in re.findall(rf"… entr(?:y|ies) ([\d,]+)(?:-([\d,]+))? of {total:,} not shown", shown)
    )
    rows = [line for line in shown.split("\n")[1:] if not line.startswith("…") and "directories," not in line]
    names = sum(line.count(", ") + 1 for line in rows)
    assert hidden + names == total


def test_names_of_a_hidden_range_are_its_first_and_last() -> None:
    shown = kinds.preview(FOUND, None, 200, count)
    first, last = re.findall(r"not shown \((\S+) to (\S+)\) …", shown)[0]
    names = FOUND.split()
    low, high = re.findall(r"entries ([\d,]+)-([\d,]+) of 600", shown)[0]
    assert (names[int(low) - 1], names[int(high) - 1]) == (first, last)


def test_a_tree_shows_its_outer_levels_first() -> None:
    shown = kinds.preview(TREE, None, 350, count)
    assert all(f"folder_{n}" in shown for n in range(50))
    assert "README.md" in shown
    assert "50 directories, 451 files" in shown
    entries, notes = read_tree(TREE)
    assert [entry.path for entry in entries[:2]] == ["Demo/folder_0", "Demo/folder_1"]
    assert entries[51].path == "Demo/folder_0/f0.py"
    assert notes == ["50 directories, 451 files"]


def test_a_tree_with_comments_is_shown_by_lines() -> None:
    text = "Demo/\n" + "".join(f"├── part_{n}/      # does thing {n}\n" for n in range(200))
    shown = kinds.preview(text, None, 200, count)
    assert "├── part_0/      # does thing 0" in shown.split("\n")
    assert " of 201 not shown …" in shown


def test_names_of_ls_r_belong_to_their_folder() -> None:
    entries, _ = read_entries(RECURSIVE)
    assert len(entries) == 480
    assert entries[13].path == "./d1/file_1.py"


def test_errors_and_notes_between_names_are_neither_entries_nor_lost() -> None:
    text = "find: ‘/root’: Permission denied\n" + FOUND + "... [560 lines truncated] ...\n"
    shown = kinds.preview(text, None, 250, count)
    assert shown.split("\n")[0].startswith("600 entries in 24 folders; .py 600")
    assert "find: ‘/root’: Permission denied" in shown
    assert "... [560 lines truncated] ..." in shown


def test_links_and_full_paths_of_ls_are_read() -> None:
    text = "".join(f"lrwxrwxrwx 1 a b 9 May  1 10:00 link_{n} -> target_{n}\n" for n in range(9)) + "".join(
        f"-rw-r--r-- 1 a b 1.2K May  1  2025 /srv/app/file {n}.txt\n" for n in range(9)
    )
    entries, _ = read_entries(text)
    assert (entries[0].name, entries[0].mark) == ("link_0", "l")
    assert (entries[9].path, entries[9].size) == ("/srv/app/file 0.txt", -1)
