"""What the commands say of what they did or did not do: why nothing was compacted, what is erased, what was not
searched, whose a saving was."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_cli_control import Desk, keys
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore, Usage
from foldmark.cli import embed_command
from foldmark.cli.app import app
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.reports import Attempt
from foldmark.store import Key, SessionInfo
from making import long_session

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "claude-code.jsonl"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def run(desk: Desk, *words: object) -> Any:
    return CliRunner().invoke(app, [*map(str, words), "--db", str(desk.db)])


# -- after an attempt that came to nothing


TRIED: dict[str, list[object]] = {
    "by force": ["--force"],
    "up to an event": ["--force", "--upto", "event:1"],
    "by force to another target": ["--force", "--target", 9_000],
}


@pytest.mark.parametrize("name", TRIED)
def test_what_is_asked_for_anew_is_tried_whatever_came_to_nothing_before(desk: Desk, name: str) -> None:
    """Other numbers than the attempt in vain had: the same is done as in a database that saw no such attempt."""
    transcript = desk.write(long_session(6, 12))
    desk.json("import", transcript)
    fresh = desk.json("plan", "--target", 1_500)
    assert desk.json("compact", *TRIED[name], code=3)["outcome"] == "ineffective"
    again = desk.json("plan", "--target", 1_500)
    assert (again["outcome"], again["boundary"]) == ("applied", fresh["boundary"])
    done = desk.json("compact", "--target", 1_500)
    assert (done["outcome"], done["request_tokens"]) == ("applied", fresh["after_tokens"])


@pytest.mark.parametrize("outcome", ["failed", "ineffective"])
@pytest.mark.parametrize(("aims", "tried"), [([9_000], True), ([1_500, 9_000], False), ([9_000, 1_501], True)])
def test_of_several_attempts_in_vain_the_one_with_the_same_aim_counts(
    desk: Desk, outcome: Any, aims: list[int], tried: bool
) -> None:
    """Two agents that ask for different sizes in turn do not make each other's attempts anew."""
    desk.json("import", desk.write(long_session(6, 12)))
    name, size = desk.json("sessions")[0]["session"], desk.json("plan")["before_tokens"]
    store = SQLiteStore(desk.db)
    for aim in aims:
        store.note(Key(session=name, tenant="local", user="local"), Attempt(
            time=1.0, outcome=outcome, before=size, after=size, target=aim
        ))  # fmt: skip
    store.close()
    assert (desk.json("compact", "--target", 1_500)["outcome"] == "applied") is tried


def test_the_same_target_is_not_tried_again_at_once_and_it_says_why(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(1, 40)))
    assert desk.json("compact", "--target", 600, code=3)["outcome"] == "ineffective"
    again = run(desk, "compact", "--target", 600).output
    assert again.startswith("not_due")
    assert "the target is 600; the last attempt gained nothing" in " ".join(again.split())
    assert "now: " not in again


def test_an_attempt_in_vain_names_what_held_it_back_and_a_target_that_does_not(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(6, 12)))
    said = " ".join(run(desk, "compact", "--force").output.split("\n"))
    assert said.startswith("ineffective")
    assert re.search(r"aims at [\d,]+ tokens, and the request has [\d,]+: a smaller target covers more", said)
    (aim,) = re.findall(r" now: --target (\d+) makes", said)
    assert desk.json("compact", "--target", aim)["outcome"] == "applied"


def test_no_target_is_named_that_would_do_nothing(desk: Desk) -> None:
    """A request that is one round cannot get smaller, however long it is."""
    desk.json("import", desk.write([user("word " * 3_000)]))
    assert "--target" not in run(desk, "compact").output
    assert "--target" not in run(desk, "plan").output


# -- a target


def test_below_a_target_it_says_so_and_above_it_where_the_next_is_due(desk: Desk) -> None:
    transcript = desk.write(long_session(60))
    desk.json("import", transcript)
    assert "within the target of 90,000" in desk.json("compact", "--target", 90_000)["reason"]
    desk.json("compact", "--target", 12_000)
    name = desk.json("sessions")[0]["session"]
    session = Session(name, store=SQLiteStore(desk.db))
    session.record(user("And now?"), assistant("word " * 800))
    session.store.close()
    later = desk.json("compact", "--target", 12_000)
    size, due = later["request_tokens"], desk.json("plan", "--target", 12_000)["next_tokens"]
    assert later["outcome"] == "not_due"
    assert 12_000 < size < due
    assert later["reason"] == f"{size:,} tokens; compacted to the target of 12,000 already, due again over {due:,}."


def test_help_of_target_says_when_one_is_due() -> None:
    said = " ".join(CliRunner().invoke(app, ["compact", "--help"], env={"COLUMNS": "200"}).output.split())
    assert "the first one is due once it is passed, each later one at 5/3 of it" in said


@pytest.mark.parametrize("command", ["plan", "compact"])
def test_a_compaction_that_gains_little_says_that_the_cache_is_rewritten(desk: Desk, command: str) -> None:
    desk.json("import", desk.write(long_session(60)))
    size = desk.json("compact", "--target", 12_000)["request_tokens"]
    told = desk.json(command, "--target", size - 500)
    assert told["outcome"] == "applied"
    assert any("written to the provider's cache anew" in one for one in told["warnings"])


def test_one_that_gains_much_does_not_say_so(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(60)))
    for command in ("plan", "compact"):
        assert not any("cache anew" in one for one in desk.json(command, "--target", 12_000)["warnings"])


# -- what is erased


def family(desk: Desk) -> None:
    """`boss` with two sub-agents, one of which has its own; a fork, and somebody else."""
    store = SQLiteStore(desk.db)
    for name, kind, parent in (
        ("boss", "", ""), ("other", "", ""), ("boss/a", "child", "boss"), ("boss/b", "child", "boss"),
        ("boss/a/c", "child", "boss/a"),
    ):  # fmt: skip
        if kind:
            info = SessionInfo(session=name, kind="child", parent=parent, parent_call="c1", parent_seq=2)
            store.open(Key(session=name), info=info)
        Session(name, store=store).record(user("Go."), assistant("", ToolCall("c1", "task", "{}")))
    store.close()


def test_the_question_and_the_result_name_the_sub_agents_that_go(desk: Desk) -> None:
    family(desk)
    asked = CliRunner().invoke(app, ["delete", "boss", "--db", str(desk.db)], input="n\n")
    assert "with its 3 sub-agent sessions" in asked.output
    assert len(desk.json("sessions")) == 5
    done = run(desk, "delete", "boss", "--yes").output
    assert "Session boss is erased, with 3 sub-agent sessions (boss/a, boss/a/c, boss/b) and 0 artifacts." in done
    assert [row["session"] for row in desk.json("sessions")] == ["other"]


def test_what_is_erased_alone_names_nobody(desk: Desk) -> None:
    family(desk)
    assert "sub-agent" not in CliRunner().invoke(app, ["delete", "other", "--db", str(desk.db)], input="n\n").output
    assert run(desk, "delete", "other", "--yes").output.strip() == "Session other is erased, with 0 artifacts."


def test_forks_go_only_when_asked_and_are_named(desk: Desk) -> None:
    family(desk)
    store = SQLiteStore(desk.db)
    store.open(Key(session="way"), info=SessionInfo(session="way", kind="fork", parent="boss", parent_seq=1))
    store.close()
    assert run(desk, "delete", "boss", "--yes").exit_code == 2
    gone = desk.json("delete", "boss", "--yes", "--descendants")
    assert set(gone) == keys("delete")
    assert gone == {
        "session": "boss", "children": ["boss/a", "boss/a/c", "boss/b"], "forks": ["way"], "artifacts": 0,
    }  # fmt: skip


def test_help_says_that_sub_agents_always_go() -> None:
    said = " ".join(CliRunner().invoke(app, ["delete", "--help"], env={"COLUMNS": "200"}).output.split())
    assert "sub-agents go with their parent in any case" in said


# -- the form of a sub-agent's request


def test_a_sub_agent_without_a_request_has_the_form_of_its_transcript(desk: Desk) -> None:
    child = desk.json("import", SAMPLE)["children"][0]
    out = desk.folder / "next.json"
    desk.json("compact", "--session", child, "--out", out)
    parent = desk.folder / "parent.json"
    desk.json("compact", "--session", child.partition("/")[0], "--out", parent)
    assert "max_tokens" in json.loads(parent.read_text(encoding="utf-8"))
    assert "max_tokens" in json.loads(out.read_text(encoding="utf-8"))
    assert desk.json("show", "--session", child).keys() == json.loads(out.read_text(encoding="utf-8")).keys()


# -- whose a saving was


def billed(number: int, size: int, time: float | None = None) -> list[Event]:
    return [
        assistant("Next.", ToolCall(f"c{number}", "read", "{}"), usage=Usage(input=size, output=20), time=time),
        result(f"c{number}", f"{number} is a number of the ledger\n" * 150, name="read"),
    ]


@pytest.mark.parametrize("time", [None, 1_700_000_000.0])
def test_what_others_left_out_before_the_first_compaction_is_no_saving(desk: Desk, time: float | None) -> None:
    """The agent of the transcript cut its own past: sizes fell by themselves, and nothing of it is ours. Where replies
    are older than the session, what a request has cleaned since says nothing of them."""
    sizes = [2_000 + 1_500 * (number % 10) for number in range(30)]
    session = Session("s", store=SQLiteStore(desk.db), policy=Policy.coding())
    replies = [event for at, size in enumerate(sizes) for event in billed(at, size, time)]
    session.record(user("Read the files."), *replies)
    if time:
        session.request(window=200_000)
    assert session.compact(force=True).outcome == "applied"
    session.store.close()
    said = " ".join(run(desk, "history").output.split())
    assert "not sent" not in said
    assert "30 requests took 262,500 prompt tokens before anything was compacted here; nothing was saved" in said
    assert desk.json("history")["saved"] is None


# -- what was not searched


def test_hits_of_a_parent_say_that_its_sub_agents_were_not_searched(desk: Desk) -> None:
    family(desk)
    found = run(desk, "search", "go", "--session", "boss")
    assert found.stdout.endswith("2 sub-agents of this session were not searched: --where children does.\n")
    for words in (["--session", "boss", "--where", "children"], ["--session", "other"], ["--where", "user"]):
        assert "not searched" not in run(desk, "search", "go", *words).output


# -- artifacts and vectors


@pytest.fixture
def table(desk: Desk) -> str:
    rows = "\n".join(f"{number},name {number}" for number in range(6_000))
    session = Session("s", store=SQLiteStore(desk.db))
    session.record(user("Read."), assistant("", ToolCall("c1", "read", "{}")), result("c1", f"id,name\n{rows}\n"))
    session.store.close()
    return "artifact:3"


def test_a_sample_has_no_next_and_rows_in_order_do(desk: Desk, table: str) -> None:
    assert "next: " not in desk.run("artifact", "table", table, "--rows", 3)
    assert "next: artifact:3#L5-6001" in desk.run("artifact", "table", table, "--rows", 3, "--take", "first")


def test_lines_are_named_as_load_takes_them(desk: Desk, table: str) -> None:
    loaded, named = (desk.run(*words, table, "--lines", "10-12") for words in (["load"], ["artifact", "lines"]))
    assert loaded.splitlines()[:3] == named.splitlines()[:3]
    assert desk.run("artifact", "lines", table, "10-12") == named
    for words in ([], ["10-12", "--lines", "10-12"]):
        assert run(desk, "artifact", "lines", table, *words).exit_code == 2


def test_embed_tells_how_far_it_is_where_there_is_no_terminal(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line at most every ten seconds, on standard error."""
    ticks = count(0, 6)
    monkeypatch.setattr(embed_command, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    with embed_command._counting(50) as told:
        for done in (10, 20, 30, 40):
            told(done)
    assert capsys.readouterr().err.splitlines() == ["20 of 50 pieces", "40 of 50 pieces"]
