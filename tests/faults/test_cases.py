"""Holds the table of cases in README.md against the ids that the tests name. Knows nothing of what they assert."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
KINDS = {
    "PAIR": 22, "LOOP": 11, "FIT": 15, "COUNT": 14, "LOSS": 12, "SUMQ": 9, "DUR": 7, "RACE": 4, "THINK": 3,
    "LOSSY": 9, "CACHE": 3, "SEC": 3, "UNI": 2, "OBS": 5,
}  # fmt: skip


def rows() -> dict[str, list[str]]:
    """kind -> the other cells of its row."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line[:2] == "| "]
    return {row[0]: row[1:] for row in cells if row[0] in KINDS}


def cases(kind: str, cell: str) -> list[str]:
    """`01-03, 07` as ids."""
    out: list[str] = []
    for part in filter(None, cell.split(", ")):
        first, _, last = part.partition("-")
        out += [f"{kind}-{number:02}" for number in range(int(first), int(last or first) + 1)]
    return out


def standing() -> dict[str, list[str]]:
    """closed, in part and open -> ids."""
    columns = {"closed": 2, "in part": 3, "open": 4}
    return {name: [i for kind, row in rows().items() for i in cases(kind, row[at])] for name, at in columns.items()}


def named(pattern: str) -> set[str]:
    found: set[str] = set()
    for path in TESTS.rglob(pattern):
        found |= set(re.findall(r"S-([A-Z]+-\d\d)\b", path.read_text(encoding="utf-8")))
    return found


def test_every_case_stands_in_one_column_of_the_table() -> None:
    every = sorted(case for column in standing().values() for case in column)
    assert every == sorted(f"{kind}-{number:02}" for kind, count in KINDS.items() for number in range(1, count + 1))
    assert {kind: int(row[0]) for kind, row in rows().items()} == KINDS
    assert sum(KINDS.values()) == 119


def test_every_case_that_is_closed_or_closed_in_part_is_named_by_a_test() -> None:
    there = named("test_*.py")
    wanted = {*standing()["closed"], *standing()["in part"]}
    assert sorted(wanted - there) == []


def test_no_case_that_is_called_open_is_named_by_a_test() -> None:
    assert sorted(named("test_*.py") & set(standing()["open"])) == []


def test_what_is_missing_is_said_of_every_case_that_is_not_closed() -> None:
    waits = README[README.index("## What the others wait for") :]
    said = set(re.findall(r"\b([A-Z]+-\d\d)\b", waits))
    assert said == {*standing()["open"], *standing()["in part"]}


def test_every_kind_has_its_property_and_the_property_has_cases_as_examples() -> None:
    for kind in KINDS:
        text = (TESTS / "faults" / f"test_property_{kind.lower()}.py").read_text(encoding="utf-8")
        assert "@given(" in text, kind
        assert re.search(rf'via\(\s*"S-{kind}-\d\d', text), f"{kind} has no case as an example"
