"""`foldmark compact` when a person asks for it: by force, without a transcript, up to an event; and names that are
empty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_cli_control import Desk
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore
from foldmark.cli.app import app
from foldmark.wire import by_name
from making import long_session

MANUAL = Policy.coding(run="manual", budget={"landing_tokens": 4_000, "trigger_tokens": 8_000})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def recorded(desk: Desk, name: str = "s", policy: Policy | None = MANUAL, rounds: int = 90) -> Session:
    """A session that a program records, as the docs say it."""
    made = Session(name, store=SQLiteStore(desk.db), policy=policy)
    made.record(*long_session(rounds))
    if policy:
        made.remember({"policy": policy.to_json()})
    return made


# -- by force


def test_force_compacts_what_is_not_due(desk: Desk) -> None:
    path = desk.write(long_session(20))
    assert desk.json("compact", path)["outcome"] == "not_due"
    plan = desk.json("plan", "--force")
    done = desk.json("compact", path, "--force")
    assert done["outcome"] == plan["outcome"] == "applied"
    assert done["boundary"] == plan["boundary"]


def test_after_an_undo_only_force_compacts_again(desk: Desk) -> None:
    path = desk.write(long_session(60))
    assert desk.json("compact", path, "--target", 12_000)["outcome"] == "applied"
    assert "or force" in desk.json("undo")["text"]
    assert desk.json("compact", path, "--target", 12_000)["outcome"] == "not_due"
    assert desk.json("compact", path, "--target", 12_000, "--force")["outcome"] == "applied"


def test_force_that_gains_nothing_is_exit_code_3(desk: Desk) -> None:
    path = desk.write(long_session(1))
    assert desk.json("compact", path, "--force", code=3)["outcome"] == "ineffective"


# -- up to an event


def test_upto_without_effect_says_so_and_force_gives_it_one(desk: Desk) -> None:
    path = desk.write(long_session(20))
    words = [path, "--upto", "event:30"]
    idle = desk.json("compact", *words)
    assert (idle["outcome"], idle["boundary"]) == ("not_due", None)
    (said,) = [line for line in idle["warnings"] if "--upto" in line]
    assert "event:30" in said
    assert "--force" in said
    assert said in desk.run("compact", *words)
    assert said in desk.json("plan", "--upto", "event:30")["warnings"]
    assert said in desk.run("plan", "--upto", "event:30")
    done = desk.json("compact", *words, "--force")
    assert done["outcome"] == "applied"
    assert 0 < int(done["boundary"].partition(":")[2]) <= 30
    assert not [line for line in done["warnings"] if "--upto" in line]


# -- a session of the database


def test_a_session_that_a_program_recorded_is_compacted_by_hand(desk: Desk) -> None:
    """What `run=manual` promises: only `compact` compacts, and the command line is one way to do it."""
    session = recorded(desk)
    session.describe(system="You are careful.")
    assert session.request(window=100_000).report.outcome == "not_due"
    plan, out = desk.json("plan"), desk.folder / "next.json"
    done = desk.json("compact", "--out", out)
    assert (done["outcome"], done["session"], done["new_events"]) == ("applied", "s", 0)
    assert (done["boundary"], done["request_tokens"]) == (plan["boundary"], plan["after_tokens"])
    assert json.loads(out.read_bytes()) == json.loads(json.dumps(session.request(window=100_000).payload()))
    assert session.policy.run == Policy.from_json(session.info.meta["policy"]).run == "manual"
    assert desk.json("compact")["outcome"] == "not_due"


def test_a_transcript_whose_session_waits_for_a_person_is_compacted_too(desk: Desk) -> None:
    """The session's own policy may leave compaction to others: whoever says `compact` is not one of them."""
    path = desk.write(long_session(90))
    for run in ("manual", "background", "intra_run"):
        rules = desk.folder / f"{run}.toml"
        rules.write_text(f'run = "{run}"\n[budget]\nlanding_tokens = 4000\ntrigger_tokens = 8000\n', encoding="utf-8")
        done = desk.json("compact", path, "--session", run, "--policy", rules)
        assert done["outcome"] == "applied", run


def test_the_session_meant_is_the_one_named_else_the_newest(desk: Desk) -> None:
    recorded(desk, "old")
    recorded(desk, "new")
    assert desk.json("compact", "--session", "old")["session"] == "old"
    assert desk.json("compact")["session"] == "new"
    assert "old" in desk.json("compact", "--session", "nope", code=2)["message"]


def test_what_is_asked_for_is_kept_and_the_rest_is_as_it_was(desk: Desk) -> None:
    path = desk.folder / "talk.json"
    path.write_text(json.dumps(by_name("anthropic").write("Careful.", [], long_session(60))), encoding="utf-8")
    desk.json("import", path, "--policy", "research")
    out = desk.folder / "next.json"
    done = desk.json("compact", "--target", 12_000, "--out", out)
    assert (done["outcome"], done["target_tokens"]) == ("applied", 12_000)
    assert set(json.loads(out.read_bytes())) >= {"system", "messages"}
    kept = SQLiteStore(desk.db).sessions("local", "local")[0].meta
    assert kept["policy"] == Policy.preset("research").to_json()
    assert desk.json("plan")["next_why"] == "target"
    desk.json("compact", "--policy", "chat")
    kept = SQLiteStore(desk.db).sessions("local", "local")[0].meta
    assert (kept["policy"], kept.get("target", "")) == (Policy.preset("chat").to_json(), "")


def test_a_session_without_a_policy_of_its_own_says_by_which_it_is_compacted(desk: Desk) -> None:
    recorded(desk, policy=None)
    assert "coding rules it" in " ".join(desk.json("compact", "--force")["warnings"])
    assert "coding rules it" not in " ".join(desk.json("compact", "--policy", "chat")["warnings"])


BAD = {
    "neither a file nor a database": ([], "neither a transcript nor a database"),
    "a format of no file": (["--format", "pi"], "name a transcript"),
    "strictness of no file": (["--strict"], "name a transcript"),
    "a window too small": (["--window", 12], "at least 1,000"),
    "a target that makes no sense": (["--target", 10], "--target: budget.target_tokens is 10"),
    "a folder that is not there": (["--out", "/nowhere/next.json"], "there is no folder"),
}


@pytest.mark.parametrize("name", BAD)
def test_without_a_transcript_what_makes_no_sense_is_bad_input(desk: Desk, name: str) -> None:
    words, message = BAD[name]
    if words:
        recorded(desk)
    assert message in desk.json("compact", *words, code=2)["message"]
    assert desk.db.exists() == bool(words)


# -- empty names


@pytest.mark.parametrize(
    "words",
    [
        ["undo"], ["edit", "--set", "next_steps=x"], ["plan"], ["history"], ["show"], ["explain"], ["compact"],
        ["pin", "event:2"], ["search", "ledger"], ["load", "event:2"], ["export"], ["scopes"],
    ],
)  # fmt: skip
def test_an_empty_session_name_is_not_the_newest_session(desk: Desk, words: list[str]) -> None:
    """As a shell has it when a variable was never set."""
    session = recorded(desk)
    session.compact(force=True)
    before = len(session.control.history())
    done = CliRunner().invoke(app, [*words, "--session", "", "--db", str(desk.db)])
    assert done.exit_code == 2
    assert "empty" in done.stderr
    assert len(session.control.history()) == before


def test_an_empty_name_erases_nothing(desk: Desk) -> None:
    recorded(desk)
    done = CliRunner().invoke(app, ["delete", "", "--yes", "--db", str(desk.db)])
    assert done.exit_code == 2
    assert "empty" in done.stderr
    assert [row["session"] for row in desk.json("sessions")] == ["s"]
