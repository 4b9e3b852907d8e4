"""`foldmark gc` erases what the policy says is old, says what it leaves, and can be asked before."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from test_cli_control import keys
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore, assistant, user
from foldmark.cli.app import app
from foldmark.events import result
from foldmark.store import SessionInfo
from making import call

DAY = 86_400.0
MONTH = Policy.coding(retention={"session_days": 30.0})


class Desk:
    """A database with sessions of some age."""

    def __init__(self, folder: Path) -> None:
        self.db = folder / "agent.db"
        self.store = SQLiteStore(self.db)

    def talk(self, name: str, days_ago: float, *, kept: Policy = MONTH, parent: str = "", body: str = "") -> Session:
        if parent:
            info = SessionInfo(session=name, kind="fork", parent=parent, parent_seq=1)
            self.store.open(Session(parent, store=self.store).key.__class__(session=name), info=info)
        session = Session(name, store=self.store, policy=kept, clock=lambda: time.time() - days_ago * DAY)
        session.remember({"policy": kept.to_json()})
        session.record(user(f"In {name}."))
        if body:
            session.record(assistant("Reading.", call()), result("c1", body))
        return session

    def run(self, *words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*map(str, words), "--db", str(self.db)])
        assert done.exit_code == code, done.output + repr(done.exception)
        return done.stdout

    def json(self, *words: object, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))

    def names(self) -> set[str]:
        return {info.session for info in self.store.sessions("local", "local")}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_gc_erases_what_is_older_than_its_own_policy_keeps_it(desk: Desk) -> None:
    desk.talk("old", 31, body="\n".join(f"line {number}" for number in range(5_000)))
    desk.talk("young", 29)
    desk.talk("for ever", 900, kept=Policy.coding())
    done = desk.json("gc")
    assert set(done) == keys("gc")
    assert (done["sessions"], done["session_artifacts"], done["dry_run"]) == (["old"], 1, False)
    assert desk.names() == {"young", "for ever"}
    assert list(desk.store.artifacts.all("local")) == []


def test_session_days_hold_for_all(desk: Desk) -> None:
    desk.talk("old", 5, kept=Policy.coding())
    desk.talk("young", 1)
    text = desk.run("gc", "--session-days", 3)
    assert "session old is erased" in text
    assert desk.names() == {"young"}


def test_a_dry_run_lists_what_would_go_and_leaves_it(desk: Desk) -> None:
    desk.talk("old", 31)
    dry = desk.json("gc", "--dry-run")
    assert (dry["sessions"], dry["dry_run"]) == (["old"], True)
    assert "session old would be erased" in desk.run("gc", "--dry-run")
    assert desk.names() == {"old"}
    assert desk.json("gc")["sessions"] == dry["sessions"]


def test_what_stays_for_a_fork_is_named(desk: Desk) -> None:
    desk.talk("old", 90)
    desk.talk("fork", 1, parent="old")
    assert desk.json("gc", "--dry-run")["kept_for_forks"] == {"old": ["fork"]}
    assert "session old is old and stays for fork" in desk.run("gc")
    assert desk.names() == {"old", "fork"}


def test_a_policy_that_cannot_be_read_is_told_and_stops_nothing(desk: Desk) -> None:
    desk.talk("odd", 90).remember({"policy": '{"retention": {"session_days": "x"}}'})
    desk.talk("old", 90)
    text = desk.run("gc")
    assert "session odd stays: its policy cannot be read" in text
    assert desk.names() == {"odd"}


def test_orphans_are_counted_in_a_dry_run_and_swept_without_one(desk: Desk) -> None:
    desk.talk("young", 1)
    desk.store.artifacts.put("local", b"nobody refers to this " * 1_000)
    assert desk.json("gc", "--days", 0, "--dry-run")["orphans"] == 1
    assert desk.json("gc")["orphans"] == 0  # younger than a day
    assert desk.json("gc", "--days", 0)["orphans"] == 1
    assert desk.json("gc", "--days", 0)["orphans"] == 0


def test_days_below_nothing_are_bad_input(desk: Desk) -> None:
    desk.talk("old", 90)
    desk.run("gc", "--session-days", -1, code=2)
    assert "1000000" in desk.json("gc", "--session-days", 1e9, code=2)["message"].replace(",", "").replace(".0", "")
    assert desk.names() == {"old"}


def test_a_session_that_a_worker_has_just_now_is_named_and_stays(desk: Desk) -> None:
    session = desk.talk("old", 90)
    desk.store.want(session.key, time.time())
    assert desk.store.claim(time.time(), 60) is not None
    assert desk.json("gc")["at_work"] == ["old"]
    assert "session old stays: a worker is at it" in desk.run("gc")
    assert desk.names() == {"old"}
