"""Scopes on the command line: which one is meant, and that a slip of the pen is no scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_cli_control import Desk
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore
from foldmark.cli.app import app
from making import long_session


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A session with a whole, a scope that sees its own events alone, and one that exists in two ways."""
    made = Desk(tmp_path)
    store = SQLiteStore(made.db)
    whole = Session("s", store=store, policy=Policy.coding())
    whole.record(*(msgspec.structs.replace(event, scope="support") for event in long_session(40)))
    whole.record(*long_session(5, ask="Now the billing task."))
    opened(store, "support", "exact").compact(force=True)
    for sees in ("exact", "subtree"):
        opened(store, "team", sees).control.enlist()
    whole.remember({"policy": Policy.coding().to_json()})
    return made


def opened(store: SQLiteStore, scope: str, sees: Any) -> Session:
    return Session("s", store=store, policy=Policy.coding(), scope=scope, sees=sees)


COMMANDS: dict[str, list[str]] = {
    "plan": ["plan", "--force"],
    "preview": ["preview", "--force"],
    "history": ["history"],
    "edit": ["edit", "--set", "next_steps=Rest"],
    "undo": ["undo"],
    "show": ["show"],
    "explain": ["explain"],
    "search": ["search", "charge"],
    "load": ["load", "event:2"],
    "pin": ["pin", "event:2"],
    "compact": ["compact", "--force"],
}


def rows(desk: Desk) -> list[tuple[str, str, int]]:
    return [(row["scope"], row["sees"], row["version"]) for row in desk.json("scopes")]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_scope_that_does_not_exist_is_an_error_that_lists_those_there_are(desk: Desk, name: str) -> None:
    before = rows(desk)
    for words in (["--scope", "nope"], ["--scope", "support", "--sees", "lineage"], ["--sees", "exact"]):
        done = CliRunner().invoke(app, [*COMMANDS[name], *words, "--db", str(desk.db)])
        assert done.exit_code == 2, words
        assert "support (exact), team (exact), team (subtree)" in done.stderr
        assert "foldmark scopes" in done.stderr
    assert rows(desk) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_a_key_alone_names_the_only_scope_that_has_it(desk: Desk, name: str) -> None:
    done = CliRunner().invoke(app, [*COMMANDS[name], "--scope", "support", "--db", str(desk.db)])
    assert done.exit_code in (0, 3), done.stderr
    if name not in ("load", "pin"):
        assert "s, scope support (exact)" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_key_of_several_scopes_needs_what_it_sees(desk: Desk, name: str) -> None:
    done = CliRunner().invoke(app, [*COMMANDS[name], "--scope", "team", "--db", str(desk.db)])
    assert done.exit_code == 2
    assert "--sees chooses one of exact, subtree" in done.stderr


def test_an_empty_scope_is_not_the_whole_session(desk: Desk) -> None:
    """As a shell has it when a variable was never set."""
    for command in COMMANDS.values():
        done = CliRunner().invoke(app, [*command, "--scope", "", "--db", str(desk.db)])
        assert done.exit_code == 2
        assert "foldmark scopes" in done.stderr


def test_the_json_of_a_scope_names_it(desk: Desk) -> None:
    words = ["--scope", "support"]
    for command in (["history"], ["plan", "--force"], ["undo"], ["compact", "--force"]):
        found = desk.json(*command, *words)
        assert (found["session"], found["scope"], found["sees"]) == ("s", "support", "exact"), command
        whole = desk.json(*command) if command[0] != "undo" else {"scope": "", "sees": "all"}
        assert (whole["scope"], whole["sees"]) == ("", "all"), command


def test_what_reads_a_scope_sees_what_the_scope_sees(desk: Desk) -> None:
    words = ["--scope", "support"]
    assert len(desk.json("explain", *words)) == 81 < len(desk.json("explain"))
    assert desk.json("search", "billing")
    assert not desk.json("search", "billing", *words)
    assert "billing" in desk.run("show")
    assert "billing" not in desk.run("show", *words)
    assert desk.json("load", "compaction:1", *words)["events"]
    desk.json("load", "compaction:1", code=2)


def test_compacting_a_scope_leaves_the_whole_alone(desk: Desk) -> None:
    before = desk.json("history")["compactions"]
    done = desk.json("compact", "--force", "--scope", "support", "--target", 3_000)
    assert (done["outcome"], done["scope"]) == ("applied", "support")
    assert len(desk.json("history", "--scope", "support")["compactions"]) == 2
    assert desk.json("history")["compactions"] == before
    assert desk.json("plan")["next_why"] != "target"


def test_a_file_has_no_scope(desk: Desk) -> None:
    path = desk.write(long_session(3))
    for command in ("plan", "compact"):
        assert "import it first" in desk.json(command, path, "--scope", "support", code=2)["message"]


def test_before_the_first_scope_the_error_says_how_one_comes(tmp_path: Path) -> None:
    made = Desk(tmp_path)
    Session("s", store=SQLiteStore(made.db)).record(*long_session(2))
    assert "none yet" in made.json("history", "--scope", "a", code=2)["message"]
