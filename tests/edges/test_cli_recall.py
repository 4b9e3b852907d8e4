"""Recall on the command line: search with limits, load by rounds and calls, looks into a big result."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from test_cli_control import Desk, keys
from typer.testing import CliRunner

from foldmark import Session, SQLiteStore
from foldmark.cli.app import app
from foldmark.cli.search_command import moment
from foldmark.errors import PolicyError
from foldmark.events import ToolCall, assistant, result, user
from foldmark.store import Key

DAY = 86_400.0
MARCH = 1_772_323_200.0  # 2026-03-01T00:00:00Z
CSV = "id,name,status\n" + "".join(f"{n},name {n},{'failed' if n % 7 == 0 else 'ok'}\n" for n in range(3_000))
USERS = json.dumps({"users": [{"id": n, "name": f"user {n}"} for n in range(3_000)]})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Two sessions of one user: a zebra is named on three days of March, by each speaker, in each of them."""
    made = Desk(tmp_path)
    store = SQLiteStore(made.db)
    other = Session("other", store=store)
    other.record(user("The zebra of the other session.", time=MARCH))
    session = Session("s", store=store)
    session.record(
        user("Where is the zebra?", time=MARCH),
        assistant("", ToolCall("call_1", "grep", '{"path": "src/zoo.py"}'), time=MARCH + DAY, branch="main"),
        result("call_1", "zebra in src/zoo.py", name="grep", time=MARCH + DAY),
        assistant("The zebra is in the zoo.", time=MARCH + 2 * DAY),
        user("Show me the table.", time=MARCH + 3 * DAY),
        assistant("", ToolCall("call_2", "query", "{}"), ToolCall("call_3", "query", "{}"), time=MARCH + 3 * DAY),
        result("call_2", CSV, name="query", time=MARCH + 3 * DAY),
        result("call_3", USERS, name="query", time=MARCH + 3 * DAY),
        assistant("Done.", time=MARCH + 4 * DAY),
    )
    return made


def found(desk: Desk, *words: object) -> list[str]:
    return [hit["ref"] for hit in desk.json("search", "zebra", "--session", "s", *words)]


# -- search


def test_a_search_is_limited_by_speaker_tool_file_and_time(desk: Desk) -> None:
    assert sorted(found(desk)) == ["event:1", "event:3", "event:4"]
    assert found(desk, "--role", "user") == ["event:1"]
    assert sorted(found(desk, "--role", "user", "--role", "assistant")) == ["event:1", "event:4"]
    assert found(desk, "--tool", "gr*") == ["event:3"]
    assert found(desk, "--file", "zoo.py") == ["event:3"]
    assert sorted(found(desk, "--since", "2026-03-02")) == ["event:3", "event:4"]
    assert sorted(found(desk, "--until", "2026-03-02")) == ["event:1", "event:3"]
    assert found(desk, "--since", "2026-03-02", "--until", "2026-03-02T12:00") == ["event:3"]
    assert found(desk, "--since", "2026-04") == []
    assert found(desk, "--limit", "1") == found(desk)[:1]


def test_a_search_looks_where_it_is_told_to(desk: Desk) -> None:
    def sessions(where: str) -> set[str | None]:
        hits = desk.json("search", "zebra", "--session", "s", "--where", where)
        return {hit["session"] for hit in hits}

    assert sessions("session") == sessions("children") == {None}
    assert sessions("others") == {"other"}
    assert sessions("user") == {None, "other"}
    assert sessions("covered") == set()


def test_without_words_the_newest_that_the_limits_allow_are_shown(desk: Desk) -> None:
    hits = desk.json("search", "--session", "s", "--role", "user")
    assert [hit["ref"] for hit in hits] == ["event:5", "event:1"]
    assert "say what to look for" in desk.json("search", "--session", "s", code=2)["message"]


def test_a_hit_says_all_that_the_contract_lists(desk: Desk) -> None:
    (hit, *_) = desk.json("search", "zebra", "--session", "s")
    assert set(hit) == keys("search")
    shown = desk.run("search", "zebra", "--session", "s", "--role", "tool")
    assert "event:3" in shown
    assert "tool grep" in shown
    assert "2026-03-02T00:00:00Z" in shown
    assert "Or limit it less" in desk.run("search", "walrus", "--session", "s", "--role", "tool")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--since", "someday"], "--since takes a date or time such as 2026-03-01"),
        (["--until", "2026-13-01"], "--until takes a date or time"),
        (["--role", "narrator"], "--role takes one of user, assistant, tool, injected, system, not 'narrator'"),
    ],
)
def test_a_limit_that_makes_no_sense_is_bad_input(desk: Desk, words: list[str], said: str) -> None:
    assert said in desk.json("search", "zebra", *words, code=2)["message"]


def test_days_are_named_as_people_name_them() -> None:
    noon = MARCH + DAY / 2
    assert moment("today", "--since", now=noon) == MARCH
    assert moment("Yesterday", "--since", now=noon) == MARCH - DAY
    assert moment("yesterday", "--until", end=True, now=noon) == pytest.approx(MARCH, abs=1)
    assert moment("3d", "--since", now=noon) == noon - 3 * DAY
    assert moment("12h ago", "--since", now=noon) == MARCH
    assert moment("2 days ago", "--since", now=noon) == noon - 2 * DAY
    assert moment("2026-03-01T12:00:00+02:00", "--since", now=0) == MARCH + 10 * 3_600
    assert moment("2026-03", "--until", end=True, now=0) == pytest.approx(MARCH + 31 * DAY, abs=1)
    assert moment("", "--since") is None
    for text in ("tomorrow", "d", "-3d", "123456d"):
        with pytest.raises(PolicyError, match="--since"):
            moment(text, "--since", now=0)


# -- load


def test_neighbours_are_counted_in_events_or_in_whole_rounds(desk: Desk) -> None:
    def refs(*words: object) -> list[str]:
        return [event["ref"] for event in desk.json("load", "event:3", "--session", "s", *words)["events"]]

    assert refs("--before", 1) == ["event:2", "event:3"]
    assert refs("--rounds") == ["event:1", "event:2", "event:3"]
    assert refs("--rounds", "--after", 1) == ["event:1", "event:2", "event:3", "event:4"]


def test_a_call_is_loaded_by_its_id_with_its_result(desk: Desk) -> None:
    loaded = desk.json("load", "--session", "s", "--call", "call_1")
    assert [event["ref"] for event in loaded["events"]] == ["event:2", "event:3"]
    assert loaded == desk.json("load", "--session", "s", "call:call_1")
    assert set(loaded) <= keys("load")
    assert "no tool call" in desk.json("load", "--session", "s", "--call", "nope", code=2)["message"].lower()


def test_a_load_names_one_thing(desk: Desk) -> None:
    for words in ([], ["event:1", "--call", "call_1"], ["--call", "call_1", "--lines", "1-2"]):
        assert desk.json("load", "--session", "s", *words, code=2)["message"].startswith("load: ")


def test_events_of_another_session_have_refs_that_open_them(desk: Desk) -> None:
    (event,) = desk.json("load", "--session", "s", "event:1@other")["events"]
    assert event["ref"] == "event:1@other"
    assert desk.json("load", "--session", "s", event["ref"])["events"] == [event]
    assert "[event:1@other]" in desk.run("load", "--session", "s", "event:1@other")


# -- artifact

LOOKS: dict[str, list[str]] = {
    "stat": ["stat", "artifact:7"],
    "head": ["head", "artifact:7", "--lines", "3"],
    "tail": ["tail", "artifact:7", "--lines", "2"],
    "lines": ["lines", "artifact:7", "9-10"],
    "grep": ["grep", "artifact:7", "FAILED", "--ignore-case", "--context", "1", "--limit", "2"],
    "json": ["json", "artifact:8", "users[?id < `3`].name"],
    "table": ["table", "artifact:7", "--where", "status=failed", "--rows", "3", "--column", "name"],
}


def look(desk: Desk, name: str) -> Any:
    return desk.json("artifact", *LOOKS[name], "--session", "s")


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_prints_the_keys_of_the_contract(desk: Desk, name: str) -> None:
    section = "artifact head, tail and lines" if name in ("head", "tail", "lines") else f"artifact {name}"
    assert set(look(desk, name)) == keys(section)


def test_each_look_shows_what_it_found_and_where_to_go_on(desk: Desk) -> None:
    def shown(name: str) -> str:
        return desk.run("artifact", *LOOKS[name], "--session", "s")

    assert shown("stat").startswith("artifact:7: result, table, ")
    assert "status text: ok" in shown("stat")
    assert shown("head") == "id,name,status\n0,name 0,failed\n1,name 1,ok\nnext: artifact:7#L4-3001\n"
    assert shown("tail") == "2998,name 2998,ok\n2999,name 2999,ok\nnext: artifact:7#L1-2999\n"
    assert shown("lines") == "7,name 7,failed\n8,name 8,ok\nnext: artifact:7#L11-3001\n"
    assert shown("grep").splitlines()[:4] == ["1- id,name,status", "2: 0,name 0,failed", "3- 1,name 1,ok", "--"]
    assert shown("grep").splitlines()[-1] == "next: artifact:7#L16-3001"
    assert shown("json") == '"user 0"\n"user 1"\n"user 2"\n'
    assert "429 of 3,000 rows, 3 shown" in shown("table")
    assert "2998 | name 2996" in shown("table")


def test_a_range_and_a_next_are_refs_for_every_look(desk: Desk) -> None:
    page = look(desk, "head")
    after = desk.json("artifact", "head", page["next"], "--lines", "1", "--session", "s")
    assert after["text"] == "2,name 2,ok\n"
    assert desk.json("load", page["ref"], "--session", "s")["text"] == page["text"]
    assert desk.json("artifact", "grep", "artifact:7#L2-9", "failed", "--session", "s")["count"] == 2


def test_a_body_is_named_by_artifact_event_call_or_hash(desk: Desk) -> None:
    (artifact,) = (
        Session("s", store=SQLiteStore(desk.db))
        .store.event(Key(session="s", tenant="local", user="local"), "7")
        .artifacts
    )
    for ref in ("event:7", "call:call_2", f"artifact:sha256:{artifact.sha256}"):
        assert desk.json("artifact", "head", ref, "--lines", "1", "--session", "s")["text"] == "id,name,status\n"
    assert desk.run("artifact", "head", "event:3", "--session", "s") == "zebra in src/zoo.py\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stat", "nonsense"], "is no ref"),
        (["stat", "artifact:99"], "99"),
        (["stat", "compaction:1"], "compaction:1"),
        (["head", "event:1-3"], "stretch of the log"),
        (["lines", "artifact:7", "9-3"], "no range of lines"),
        (["lines", "artifact:7", "5000-6000"], "ends at line 3,001"),
        (["grep", "artifact:7", "("], "no regular expression"),
        (["json", "artifact:7"], "no JSON"),
        (["json", "artifact:8", "users["], "no JMESPath query"),
        (["table", "artifact:8", "--column", "town"], "no column 'town'"),
        (["table", "event:1"], "no table"),
    ],
)
def test_what_cannot_be_looked_into_is_bad_input(desk: Desk, words: list[str], said: str) -> None:
    answered = desk.json("artifact", *words, "--session", "s", code=2)
    assert said in answered["message"]
    assert set(answered) == {"error", "message"}


def test_nothing_found_is_no_failure(desk: Desk) -> None:
    assert desk.run("artifact", "grep", "artifact:7", "walrus", "--session", "s") == "artifact:7: no line matches\n"
    assert look(desk, "grep")["note"] is not None
    assert desk.json("artifact", "json", "artifact:8", "nobody", "--session", "s")["text"] == "null"


def test_what_a_terminal_would_carry_out_is_shown_and_not_done(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    session = Session("s", store=SQLiteStore(desk.db))
    session.record(
        user("go"), assistant("", ToolCall("c", "run", "{}")), result("c", "a\x1b[2Jb,\x07\n" * 9, name="run")
    )
    for words in (["head", "event:3"], ["grep", "event:3", "a"], ["stat", "event:3"]):
        shown = CliRunner().invoke(app, ["artifact", *words, "--db", str(desk.db)]).output
        assert "\x1b" not in shown
        assert "\x07" not in shown


# -- a transcript without times


@pytest.mark.parametrize("command", ["import", "compact"])
def test_an_undated_transcript_did_not_happen_today(tmp_path: Path, command: str) -> None:
    desk = Desk(tmp_path)
    desk.run(command, desk.write([user("Where is the zebra?"), assistant("The zebra is in the zoo.")]))
    assert [hit["date"] for hit in desk.json("search", "zebra")] == ["", ""]
    assert desk.run("search", "zebra").count("no date") == 2
    for limits in (["--since", "today"], ["--since", "1970-01-01"], ["--until", "today"], ["--until", "2999"]):
        assert desk.json("search", "zebra", *limits) == [], limits
    assert "time" not in desk.json("load", "event:1")["events"][0]


def test_load_says_the_time_that_search_says(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    store = SQLiteStore(desk.db)
    session = Session("s", store=store, clock=lambda: MARCH)
    session.record(user("A zebra of now."), user("A zebra of then.", time=MARCH - DAY))
    session.follow([user("A zebra of now."), user("A zebra of then.", time=MARCH - DAY), user("A zebra.")], live=False)
    store.close()
    shown = {event["ref"]: event.get("time") for event in desk.json("load", "event:1-3")["events"]}
    assert shown == {"event:1": MARCH, "event:2": MARCH - DAY, "event:3": None}
    assert {hit["ref"]: hit["date"] for hit in desk.json("search", "zebra")} == {
        "event:1": "2026-03-01T00:00:00Z", "event:2": "2026-02-28T00:00:00Z", "event:3": "",
    }  # fmt: skip


@pytest.mark.parametrize("said", ["last Tuesday", "yesterday", "3d", "12h ago", "letzten Dienstag", "1772323200"])
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_a_search_says_which_moment_it_took_for_words(option: str, said: str, tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    Session("s", store=SQLiteStore(db)).record(user("The otter."))
    for words in ([], ["--json"]):
        done = CliRunner().invoke(app, ["search", "otter", option, said, "--db", str(db), *words])
        assert done.exit_code == 0, done.output
        found = re.search(rf"note: {option} '{said}' is (\d{{4}}-\d\d-\d\d \d\d:\d\d) UTC\n", done.stderr)
        assert found, done.stderr
        if "ienstag" in said or "Tuesday" in said:
            day = datetime.strptime(found[1], "%Y-%m-%d %H:%M")
            assert (day.weekday(), day.hour) == (1, 0 if option == "--since" else 23)


@pytest.mark.parametrize(
    "said", ["2026", "2026-03-01", "20260301", "2026-03", "2026-03-01T14:30", "2026-03-01T14:30+02:00"]
)
def test_of_a_plain_date_nothing_is_said(said: str, tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    Session("s", store=SQLiteStore(db)).record(user("The otter."))
    assert not CliRunner().invoke(app, ["search", "otter", "--since", said, "--db", str(db)]).stderr


def test_a_preview_says_first_how_the_whole_is_shown(desk: Desk) -> None:
    head, preview, *_ = desk.run("load", "--session", "s", "event:7").split("\n")
    assert head.startswith("[event:7] tool")
    assert preview == "(a preview; foldmark load artifact:7 shows the whole, 3,001 lines)"
