"""What the docs show, runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pages import COLUMNS, PAGES, ROOT, Shown, blocks, expect, name_of, renewed, run

RUNNABLE = [page for page in PAGES if {block.language for block in blocks(page)} & {"python", "console", "toml"}]
SHOWN = ("python", "output", "console", "toml", "json", "text")
NEEDS = {
    "docs/how-to/observe-with-opentelemetry.md": "opentelemetry.sdk",
    "docs/how-to/serve-recall-over-mcp.md": "mcp",
}
"""Pages about an extra: without it they are skipped, as their readers would have it."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the sample session, as the current one."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", COLUMNS)
    return tmp_path


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_every_block_of_a_page_runs_and_prints_what_is_shown(page: Path, folder: Path) -> None:
    if name_of(page) in NEEDS:
        pytest.importorskip(NEEDS[name_of(page)])
    assert run(page) > 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks(page):
        assert block.language in SHOWN, f"{name_of(page)}:{block.line}"
        if block.language == "json":
            json.loads(block.text)


def test_the_tutorial_the_readme_and_the_main_ways_in_are_run() -> None:
    names = {name_of(page) for page in RUNNABLE}
    assert names >= {
        "README.md", "docs/tutorial.md", "docs/how-to/compact-a-transcript.md", "docs/how-to/use-in-your-loop.md",
        "docs/how-to/follow-a-message-list.md",
    }  # fmt: skip


# -- the runner itself


def test_a_shown_number_that_is_not_the_printed_one_is_found_out() -> None:
    shown = Shown("a …: 61 events\n", "page.md:1", 1)
    expect(shown, "first\na b: 61 events\n")
    with pytest.raises(AssertionError, match=r"shown is 'a …: 61 events'"):
        expect(shown, "a b: 95 events\n")


def test_the_numbers_of_now_take_the_place_of_old_ones_and_nothing_else_does() -> None:
    printed = "session x-17: 95 events\n    8,523  of 25,608\n    12  of 30\nother words\n"
    assert renewed("session …: 61 events\n  8,518  of 25,600\n…\nwords 1\n", printed) == (
        "session …: 95 events\n    8,523  of 25,608\n…\nwords 1"
    )
    assert renewed("12 of 30\n", printed) == "12 of 30"
