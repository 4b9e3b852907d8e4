"""What the command line says where there is nothing, or something was written otherwise than it is taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from test_cli_control import Desk
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore
from foldmark.cli.app import app
from foldmark.cli.compacting import due_target
from foldmark.events import ToolCall, assistant, result, user
from foldmark.store import Key, SessionInfo
from making import long_session

MARCH = 1_772_323_200.0  # 2026-03-01T00:00:00Z


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Three sessions of one user, the newest is `refund-2`; a sub-agent of it alone speaks of the walrus."""
    made = Desk(tmp_path)
    store = SQLiteStore(made.db)
    Session("ledger", store=store).record(user("The ledger names the otter.", time=MARCH))
    Session("refund-1", store=store).record(user("The first refund.", time=MARCH))
    session = Session("refund-2", store=store)
    session.record(
        user("Where is the zebra?", time=MARCH),
        assistant("", ToolCall("c1", "grep", '{"path": "src/zoo.py"}'), time=MARCH, branch="main"),
        result("c1", "zebra in src/zoo.py", name="grep", time=MARCH),
        assistant("", ToolCall("c2", "task", "{}"), time=MARCH),
        result("c2", "The zebra is in the zoo.", name="task", time=MARCH),
    )
    child = "refund-2/c2"
    store.open(
        Key(session=child),
        info=SessionInfo(session=child, kind="child", parent="refund-2", parent_call="c2", parent_seq=4),
    )
    Session(child, store=store).record(user("Count the walrus.", time=MARCH))
    store.close()
    return made


def run(desk: Desk, *words: object) -> Any:
    return CliRunner().invoke(app, [*map(str, words), "--db", str(desk.db)])


def said(desk: Desk, *words: object) -> str:
    """What an empty search of the newest session says."""
    done = run(desk, "search", *words, "--session", "refund-2")
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


# -- an empty search


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["zebra", "--tool", "nosuch"], "No event has tool `nosuch`; tools here: grep, task."),
        (["zebra", "--tool", "a", "--tool", "b*"], "No event has tool `a` or `b*`; tools here: grep, task."),
        (["zebra", "--role", "system"], "No event has role `system`; roles here: "),
        (["zebra", "--branch", "other"], "No event is of branch `other`; branches here: main."),
        (["zebra", "--file", "app.py"], "No event names `app.py`; a path is written whole, or with its last parts"),
        (["--file", "app.py"], "No event lies within these limits. No event names `app.py`"),
        (["zebra", "--since", "2026-04"], "--since is 2026-04-01 00:00 UTC, and the newest event is of 2026-03-01"),
        (["zebra", "--until", "2025"], "--until is 2025-12-31 23:59 UTC, and no event is that old."),
        (["walrus"], "--where children has 1 hit."),
        (["otter"], "No event matches 'otter'. --where user has 1 hit."),
        (["otter", "--where", "children"], "--where user has 1 hit."),
        (["zebra", "--where", "covered"], "--where session has "),
        (["unicorn"], "No event matches 'unicorn'. Try fewer or other words, or a name as it was written."),
        (["unicorn", "--role", "user"], "Or limit it less."),
        (["zebra", "--tool", "nosuch"], "Without the limits there are "),
    ],
)
def test_an_empty_search_says_what_shut_everything_out_and_where_there_are_hits(
    desk: Desk, words: list[str], answer: str
) -> None:
    assert answer in said(desk, *words)
    assert desk.json("search", *words, "--session", "refund-2") == []


def test_an_empty_search_blames_no_limit_that_something_meets(desk: Desk) -> None:
    told = said(desk, "walrus", "--tool", "grep", "--since", "2026-02", "--until", "2027", "--file", "zoo.py")
    assert "No event has" not in told
    assert "No event names" not in told
    assert "newest event" not in told
    assert "is that old" not in told


def test_events_without_a_date_are_said_to_have_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.run("import", desk.write([user("Where is the zebra?"), assistant("In the zoo.")]))
    assert "No event here has a date, so --since leaves none." in desk.run("search", "zebra", "--since", "2026")
    assert "No event here has a date, so --until leaves none." in desk.run("search", "zebra", "--until", "2999")


def test_days_the_wrong_way_round_are_refused(desk: Desk) -> None:
    told = desk.json("search", "zebra", "--since", "2026-03-02", "--until", "2026-03-01", code=2)
    assert "--since '2026-03-02' is later than --until '2026-03-01'" in told["message"]
    assert desk.json("search", "zebra", "--since", "2026-03-01", "--until", "2026-03-01") != []


def test_words_need_no_quotes(desk: Desk) -> None:
    spoken = desk.json("search", "the", "zebra", "zoo", "--session", "refund-2")
    assert spoken == desk.json("search", "the zebra zoo", "--session", "refund-2") != []


# -- values that an option does not take


@pytest.mark.parametrize(
    "words",
    [
        ["search", "x", "--where", "bogus"],
        ["artifact", "table", "event:1", "--take", "bogus"],
        ["mcp", "--reach", "bogus"],
    ],
)
def test_a_choice_that_is_none_is_told_with_those_there_are(desk: Desk, words: list[str]) -> None:
    done = run(desk, *words)
    assert done.exit_code == 2
    assert "'bogus' is not one of '" in done.stderr
    assert "Value error" not in done.stderr


def test_a_date_that_is_none_is_shown_as_it_was_written_with_what_is_taken(desk: Desk) -> None:
    told = desk.json("search", "zebra", "--since", "some Day", code=2)["message"]
    assert "not 'some Day'" in told
    for taken in ("2026-03-01", "today", "yesterday", "3d", "last week"):
        assert taken in told


# -- which session


def test_the_beginning_of_a_name_is_enough_where_only_one_begins_so(desk: Desk) -> None:
    def text(name: str) -> str:
        return str(desk.json("load", "event:1", "--session", name)["events"][0]["parts"][0]["text"])

    assert text("led") == "The ledger names the otter."
    assert text("refund-1") == "The first refund."
    assert text("refund-2") == text("refund-2"[:8]) == "Where is the zebra?"
    assert text("refund-2/") == "Count the walrus."
    told = desk.json("load", "event:1", "--session", "refund", code=2)["message"]
    assert "holds 3 sessions that begin with 'refund'" in told
    assert "refund-1" in told


def test_a_session_is_erased_by_its_whole_name_only(desk: Desk) -> None:
    assert "holds no session 'led'. It holds: ledger" in run(desk, "delete", "led", "--yes").stderr
    assert run(desk, "delete", "ledger", "--yes").exit_code == 0


def test_names_that_are_near_come_first_and_few_are_listed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    store = SQLiteStore(desk.db)
    for name in ("invoice-export", *(f"s{number}" for number in range(20))):
        Session(name, store=store).record(user("Hello."))
    store.close()
    told = desk.json("search", "hello", "--session", "invoce-export", code=2)["message"]
    assert "It holds: invoice-export, " in told
    assert told.count("s1") <= 5
    assert "and 16 more (`foldmark sessions` lists them)" in told


READING = [["search", "zebra"], ["load", "event:1"], ["show"], ["show", "--log"], ["export"], ["artifact", "head", "1"]]


@pytest.mark.parametrize("words", READING)
def test_what_reads_says_on_standard_error_which_session_it_took(desk: Desk, words: list[str]) -> None:
    done = run(desk, *words)
    assert done.exit_code == 0, done.output
    assert "; --session names another" in done.stderr
    assert "--session names another" not in done.stdout
    assert "session refund-2" in done.stderr.replace("\n", " ")
    assert "names another" not in run(desk, *words, "--session", "refund-2").stderr
    if words[0] != "export":
        quiet = run(desk, *words, "--json")
        assert quiet.stderr == ""
        assert "names another" not in quiet.stdout


@pytest.mark.parametrize("words", READING)
def test_of_a_single_session_nothing_is_said(tmp_path: Path, words: list[str]) -> None:
    desk = Desk(tmp_path)
    store = SQLiteStore(desk.db)
    Session("only", store=store).record(user("Where is the zebra?"))
    store.close()
    assert run(desk, *words).stderr == ""


# -- nothing is due


@pytest.mark.parametrize("rounds", [12, 40])
@pytest.mark.parametrize("static", [0, 2_000])
def test_where_nothing_is_due_the_target_that_is_named_makes_it_due(tmp_path: Path, rounds: int, static: int) -> None:
    desk = Desk(tmp_path)
    transcript = desk.write(long_session(rounds, 12), system="You are careful. " * (static // 4))
    out = desk.run("compact", transcript)
    assert out.startswith("not_due")
    (aim,) = re.findall(r"^now: --target (\d+) makes it due", out, re.MULTILINE)
    assert f"now      --target {aim} shows one" in desk.run("plan")
    size = desk.json("plan")["sent_tokens"]
    assert static < int(aim) < size
    planned = desk.json("plan", "--target", aim)
    assert (planned["outcome"], planned["trigger"]) == ("applied", "target")
    done = desk.json("compact", "--target", aim)
    assert done["outcome"] == "applied"
    assert done["request_tokens"] <= int(aim)


def test_the_plan_of_a_file_names_such_a_target_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    transcript = desk.write(long_session(12, 12))
    (aim,) = re.findall(r"--target (\d+) shows one", desk.run("plan", transcript))
    assert desk.json("plan", transcript, "--target", aim)["outcome"] == "applied"


def test_where_there_is_next_to_nothing_no_target_is_named(desk: Desk) -> None:
    assert "--target" not in run(desk, "compact").output
    said = run(desk, "plan").output
    assert "--target" not in said
    assert "now      --force shows one whatever the size" in said


def test_what_is_due_names_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    transcript = desk.write(long_session(12, 12))
    for command in ("plan", "compact"):
        assert "now" not in re.findall(r"^\w+", desk.run(command, transcript, "--target", 2_000), re.MULTILINE)


@pytest.mark.parametrize("above", [1_200, 1_201, 1_399, 5_000, 100_000])
@pytest.mark.parametrize("static", [0, 99, 350, 60_000])
def test_such_a_target_is_one_that_a_policy_takes_and_halves_what_can_get_smaller(above: int, static: int) -> None:
    aim = due_target(static + above, static)
    assert aim is not None
    Policy.coding(budget={"target_tokens": aim})
    assert static + above / 2 - 100 <= aim <= static + above / 2
    assert due_target(static + 1_199, static) is None
