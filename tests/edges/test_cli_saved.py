"""`foldmark history`: what was billed against what would have been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore, Usage, assistant, result, user
from foldmark.cli.app import app
from making import call

CONTRACT = Path(__file__).resolve().parents[2] / "docs" / "json-contract.md"


def run(folder: Path, *words: str) -> str:
    done = CliRunner().invoke(app, ["history", "--db", str(folder / "foldmark.db"), *words])
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout


def keys(section: str) -> set[str]:
    """The keys that a section of the JSON contract lists."""
    body = CONTRACT.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in body.splitlines() if line.startswith("| `")]
    return {word.strip(" `") for cell in cells for word in cell.split(",")}


def recorded(folder: Path, *, model: str = "claude-sonnet-4-5", reports: bool = True) -> Session:
    """A session that was compacted once, whose replies report what a provider without a cache would."""
    made = Session("s", store=SQLiteStore(folder / "foldmark.db"), policy=Policy.coding())
    made.record(user("Read the files."))
    for number in range(30):
        if number == 20:
            made.compact(force=True)
        size = made.request(window=200_000, model=model).tokens.total
        usage = Usage(input=size, output=20) if reports else None
        made.record(assistant("Next.", call("read", number), usage=usage, model=model))
        made.record(result(f"c{number}", f"{number} is a number of the ledger\n" * 150))
    return made


def test_history_says_what_was_saved_in_two_sentences_and_in_numbers(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    found: dict[str, Any] = json.loads(run(tmp_path, "--json"))["saved"]
    assert set(found) == keys("history: saved")
    assert found["requests"] == 30
    assert found["saved_units"] == found["whole_units"] - found["billed_units"] > 0
    assert found["not_sent_tokens"] == found["whole_prompt_tokens"] - found["prompt_tokens"] > 0
    assert found["saved_dollars"] > 0
    assert found["text"] == str(made.saved())
    assert " ".join(str(made.saved()).split()) in " ".join(run(tmp_path).split())


def test_a_model_of_unknown_price_has_tokens_and_no_amounts(tmp_path: Path) -> None:
    recorded(tmp_path, model="nobody-knows-it")
    found = json.loads(run(tmp_path, "--json"))["saved"]
    assert [found[name] for name in ("billed_units", "whole_units", "saved_units", "saved_dollars")] == [None] * 4
    assert found["not_sent_tokens"] > 0
    assert "nothing is said of money" in found["text"]


def test_without_reported_usage_there_is_nothing_to_compare(tmp_path: Path) -> None:
    recorded(tmp_path, reports=False)
    assert json.loads(run(tmp_path, "--json"))["saved"] is None
    assert "saved" not in run(tmp_path)
