"""What a person does with a session on the command line: plan, edit, undo, history, scopes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foldmark import Policy, Price, Reply, Session, SQLiteStore, Summarizer, Usage
from foldmark.cli.app import app
from foldmark.events import Event, assistant, user
from foldmark.testing import FixedClock, ScriptedModel, items_json
from foldmark.wire import by_name
from making import long_session

CONTRACT = Path(__file__).resolve().parents[2] / "docs" / "json-contract.md"


class Desk:
    """A folder with a database and the commands run on it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.db = folder, folder / "foldmark.db"

    def write(self, events: list[Event], system: str = "You are careful.") -> Path:
        path = self.folder / "talk.json"
        path.write_text(json.dumps(by_name("openai-chat").write(system, [], events)), encoding="utf-8")
        return path

    def run(self, *words: object, code: int = 0, input: str = "") -> str:
        done = CliRunner().invoke(app, [*map(str, words), "--db", str(self.db)], input=input)
        assert done.exit_code == code, done.output + repr(done.exception)
        return done.stdout

    def json(self, *words: object, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def compacted(desk: Desk) -> Desk:
    """A session with one record."""
    desk.json("compact", desk.write(long_session(60)), "--target", 12_000)
    return desk


def keys(section: str) -> set[str]:
    """The keys that a section of the JSON contract lists."""
    body = CONTRACT.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in body.splitlines() if line.startswith("| `")]
    return {word.strip(" `") for cell in cells for word in cell.split(",")}


# -- plan


def test_a_plan_says_what_the_compaction_then_does(desk: Desk) -> None:
    path = desk.write(long_session(60))
    desk.json("import", path)
    plan = desk.json("plan", "--target", 12_000)
    done = desk.json("compact", path, "--target", 12_000)
    assert (plan["outcome"], plan["trigger"]) == ("applied", "target")
    assert (plan["boundary"], plan["after_tokens"]) == (done["boundary"], done["request_tokens"])
    assert len(plan["goes"]) == done["covered"]
    assert set(plan) == keys("plan") - {"checkpoint"}


def test_a_plan_writes_nothing(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(60)))
    before = desk.run("history"), desk.run("show"), desk.json("sessions")
    desk.run("plan", "--force", "--target", 9_000, "--preview", "--ids")
    assert (desk.run("history"), desk.run("show"), desk.json("sessions")) == before


def test_a_file_is_planned_without_a_database(desk: Desk) -> None:
    path = desk.write(long_session(60))
    plan = desk.json("plan", path, "--target", 12_000)
    assert not desk.db.exists()
    done = desk.json("compact", path, "--target", 12_000)
    assert (plan["boundary"], plan["after_tokens"]) == (done["boundary"], done["request_tokens"])
    assert plan["session"] == done["session"]


def test_a_plan_is_readable_in_a_few_lines_and_lists_events_when_asked(compacted: Desk) -> None:
    text = compacted.run("plan", "--force", "--target", 6_000)
    assert len(text.splitlines()) <= 15
    for word in ("goes", "stays", "size", "boundary", "asks", "price", "cache"):
        assert f"\n{word}" in text
    listed = compacted.run("plan", "--force", "--target", 6_000, "--ids")
    found = compacted.json("plan", "--force", "--target", 6_000)
    for one in (*found["goes"], *found["kept"], *found["stays"]):
        assert f"{one['ref']} {one['role']}, " in listed


def test_a_preview_shows_the_very_text_that_is_written(desk: Desk) -> None:
    path = desk.write(long_session(60))
    desk.json("import", path)
    shown = desk.json("plan", "--target", 12_000, "--preview")
    assert set(shown) == keys("plan")
    assert shown["checkpoint"] in desk.run("plan", "--target", 12_000, "--preview")
    desk.json("compact", path, "--target", 12_000)
    store = SQLiteStore(desk.db)
    (info,) = store.sessions("local", "local")
    assert Session(info.session, store=store).control.history()[-1].text == shown["checkpoint"]


def test_a_session_that_is_not_due_plans_nothing_and_a_preview_says_so(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(2)))
    plan = desk.json("plan")
    assert (plan["outcome"], plan["goes"], plan["compaction"], plan["asks"]) == ("not_due", [], None, None)
    assert "No checkpoint would be written." in desk.run("plan", "--preview")


def test_a_plan_that_is_not_due_says_what_it_waits_for(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(2)))
    for words in ([], ["--target", 9_000], ["--window", 30_000], ["--policy", "chat"]):
        plan = desk.json("plan", *words)
        assert plan["outcome"] == "not_due"
        assert plan["next_tokens"] > plan["before_tokens"]
        assert f"due near {plan['next_tokens']:,} tokens ({plan['next_why']})" in desk.run("plan", *words)
    assert desk.json("plan", "--target", 9_000)["next_why"].startswith("target")
    small, large = (desk.json("plan", "--window", size)["next_tokens"] for size in (20_000, 900_000))
    assert small < large
    due = desk.json("plan", "--force")
    assert (due["next_tokens"], due["next_why"]) == (None, None)


def test_preview_is_another_word_for_a_plan_with_its_text(desk: Desk) -> None:
    path = desk.write(long_session(60))
    desk.json("import", path)
    words = ["--force", "--target", 9_000]
    assert desk.json("preview", *words) == desk.json("plan", "--preview", *words)
    assert desk.run("preview", path, *words) == desk.run("plan", path, "--preview", *words)
    assert desk.json("preview", *words)["checkpoint"]


def test_a_plan_of_a_file_takes_only_a_session_that_is_in_it(desk: Desk) -> None:
    path = desk.write(long_session(5))
    name = desk.json("plan", path)["session"]
    message = desk.json("plan", path, "--session", "nope", code=2)["message"]
    assert "talk.json holds no session 'nope'" in message
    assert name in message
    assert desk.json("plan", path, "--session", name)["session"] == name


def test_upto_chooses_what_goes_and_focus_does_not(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(60)))
    upto = desk.json("plan", "--force", "--target", 12_000, "--upto", "event:40")
    assert int(upto["boundary"].partition(":")[2]) <= 40
    plain = desk.json("plan", "--force", "--target", 12_000)
    focused = desk.json("plan", "--force", "--target", 12_000, "--focus", "ledger row 7")
    assert plain["goes"] == focused["goes"] != upto["goes"]


def test_a_plan_tells_what_a_model_would_be_asked_and_asks_nobody(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel(name="small", window=200_000)
    monkeypatch.setattr("foldmark.cli.plan_command.summarizer_of", lambda name, window: Summarizer(models=(model,)))
    desk.json("import", desk.write(long_session(60)))
    plan = desk.json("plan", "--force", "--target", 12_000)
    assert (plan["asks"]["model"], plan["asks"]["calls"]) == ("small", 1)
    assert plan["asks"]["first"] > 1_000
    assert plan["told_tokens"] > 0
    assert model.asks == []


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "openai-responses", "gemini"])
def test_compact_covers_no_more_than_it_is_told_and_as_was_planned(desk: Desk, wire: str) -> None:
    path = desk.write(long_session(60))
    desk.json("import", path)
    plan = desk.json("plan", "--target", 30_000, "--upto", "event:60")
    done = desk.json("compact", path, "--target", 30_000, "--upto", "event:60", "--wire", wire)
    assert done["outcome"] == plan["outcome"] == "applied"
    assert done["boundary"] == plan["boundary"]
    assert int(done["boundary"].partition(":")[2]) <= 60
    assert len(desk.json("history")["compactions"]) == 1
    assert desk.json("show", "--wire", wire)
    assert "covered" not in {entry["status"] for entry in desk.json("explain") if int(entry["ref"][6:]) > 60}


def test_compact_up_to_an_event_that_is_not_there_is_bad_input(desk: Desk) -> None:
    path = desk.write(long_session(60))
    assert "no event '999'" in desk.json("compact", path, "--target", 9_000, "--upto", "event:999", code=2)["message"]


def test_a_sub_agent_inside_a_file_is_planned_when_it_is_named(desk: Desk) -> None:
    sample = Path(__file__).resolve().parents[1] / "samples" / "claude-code.jsonl"
    whole = desk.json("plan", sample)
    assert not desk.db.exists()
    child = desk.json("import", sample)["children"][0]
    inside = desk.json("plan", sample, "--session", child)
    assert (whole["session"], inside["session"]) == (child.partition("/")[0], child)
    assert inside["stays"] != whole["stays"]


BAD_PLANS: dict[str, tuple[list[str], str]] = {
    "an event that is not there": (["--force", "--upto", "event:999"], "no event '999'"),
    "no event": (["--force", "--upto", "compaction:1"], "no event"),
    "a window too small": (["--window", "12"], "at least 1,000"),
    "a target that makes no sense": (["--target", "3"], "--target: budget.target_tokens is 3"),
    "an unknown policy": (["--policy", "codng"], "coding"),
    "a sight that there is none of": (["--scope", "a", "--sees", "much"], "exact, lineage, subtree, all"),
}


@pytest.mark.parametrize("name", BAD_PLANS)
def test_a_plan_that_makes_no_sense_is_bad_input(compacted: Desk, name: str) -> None:
    words, message = BAD_PLANS[name]
    assert message in compacted.json("plan", *words, code=2)["message"]


# -- edit


def test_an_edit_changes_what_is_told_and_names_its_author(compacted: Desk) -> None:
    done = compacted.json(
        "edit", "--set", "next_steps=Call Zebediah", "--set", "next_steps=Then rest", "--author", "Ann"
    )
    assert set(done) == keys("edit and undo")
    assert (done["outcome"], done["compaction"]) == ("applied", "compaction:2")
    shown = compacted.run("show")
    assert "Call Zebediah" in shown
    assert "Then rest" in shown
    assert "Ann" in compacted.run("history")
    compacted.json("edit", "--set", "next_steps=")
    assert "Zebediah" not in compacted.run("show")


def test_what_edit_prints_edit_takes_back(compacted: Desk) -> None:
    compacted.run("edit", "--set", "decisions=Keep the schema", "--set", "next_steps=Call Zebediah")
    printed = compacted.run("edit")
    told = json.loads(printed)
    assert set(told) == {"compaction", "narrative"}
    assert [item["text"] for item in told["narrative"]["decisions"]] == ["Keep the schema"]
    path = compacted.folder / "n.json"
    path.write_text(printed, encoding="utf-8")
    same = compacted.json("edit", "--file", path)
    assert (same["outcome"], same["compaction"]) == ("not_due", "compaction:2")
    path.write_text(printed.replace("Zebediah", "Hezekiah"), encoding="utf-8")
    assert compacted.json("edit", "--file", path)["compaction"] == "compaction:3"
    assert "Call Hezekiah" in compacted.run("show")
    assert "Keep the schema" in compacted.run("show")


def test_a_file_that_was_printed_from_an_older_record_is_refused(compacted: Desk) -> None:
    printed = compacted.run("edit")
    compacted.run("edit", "--set", "next_steps=Call Zebediah")
    done = CliRunner().invoke(
        app, ["edit", "--file", "-", "--db", str(compacted.db)], input=printed.replace("[]", '["Too late"]', 1)
    )
    assert done.exit_code == 2
    assert "came first" in done.stderr
    assert "Zebediah" in compacted.run("show")


def test_what_a_file_leaves_as_it_was_stays_proven(compacted: Desk) -> None:
    store = SQLiteStore(compacted.db)
    (info,) = store.sessions("local", "local")
    control = Session(info.session, store=store, policy=Policy.from_json(info.meta["policy"])).control
    control.edit(
        {"decisions": [{"text": "Read the files one by one, beginning with src/file_1.py", "refs": ["event:2"]}]}
    )
    assert control.history()[-1].narrative[0].verified
    told = json.loads(compacted.run("edit"))
    told["narrative"]["next_steps"] = ["Call Zebediah"]
    compacted.run("edit", "--file", "-", input=json.dumps(told))
    kept = {item.field: item.verified for item in control.history()[-1].narrative}
    assert kept == {"decisions": True, "next_steps": False}


def test_pins_of_an_edit_are_shown_at_once(compacted: Desk) -> None:
    def kept() -> set[str]:
        return {entry["ref"] for entry in compacted.json("explain") if entry["status"] == "kept"}

    before = kept()
    compacted.run("edit", "--pin", "event:5")
    assert kept() == before | {"event:5"}
    compacted.run("edit", "--unpin", "event:5")
    assert kept() == before


BAD_EDITS: dict[str, tuple[list[str], str]] = {
    "an unknown field": (["--set", "next_step=x"], "next_steps"),
    "no equals sign": (["--set", "next_steps"], 'field="text"'),
    "too long": (["--set", f"next_steps={'word ' * 60}"], "240"),
    "an author without a change": (["--author", "Ann"], "--pin"),
    "both sources": (["--set", "next_steps=x", "--file", "n.json"], "one of them"),
    "a file that is not there": (["--file", "/nowhere/n.json"], "/nowhere/n.json"),
    "an event that is not there": (["--pin", "event:999"], "999"),
    "on and off": (["--pin", "event:3", "--pin", "event:4", "--unpin", "4"], "both name event:4"),
}


@pytest.mark.parametrize("name", BAD_EDITS)
def test_an_edit_that_makes_no_sense_changes_nothing(compacted: Desk, name: str) -> None:
    words, message = BAD_EDITS[name]
    before = compacted.run("history")
    assert message in compacted.json("edit", *words, code=2)["message"]
    assert compacted.run("history") == before


@pytest.mark.parametrize("text", ["no json", "[]", '{"decisions": "x"}', '{"decision": []}', '{"narrative": 3}'])
def test_a_file_that_is_no_narrative_is_bad_input(compacted: Desk, text: str) -> None:
    compacted.run("edit", "--file", "-", input=text, code=2)


def test_a_field_that_there_is_none_of_is_named_alike_in_a_file_and_in_set(compacted: Desk) -> None:
    path = compacted.folder / "n.json"
    for value in ('"x"', "[]", '["x"]'):
        path.write_text(f'{{"narrative": {{"next_step": {value}}}}}', encoding="utf-8")
        by_file = compacted.json("edit", "--file", path, code=2)["message"]
        by_set = compacted.json("edit", "--set", "next_step=x", code=2)["message"]
        assert by_file == by_set.replace("--set", "--file")
        assert "next_steps" in by_file
    path.write_text('{"decisions": "x"}', encoding="utf-8")
    assert "--file decisions is 'x'" in compacted.json("edit", "--file", path, code=2)["message"]


def test_before_the_first_compaction_there_is_nothing_to_edit_or_undo(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(3)))
    assert "compact first" in desk.json("edit", code=2)["message"]
    assert "nothing to undo" in desk.json("undo", code=2)["message"]


# -- undo


def test_undo_brings_the_request_back_and_can_be_undone(desk: Desk) -> None:
    path = desk.write(long_session(60))
    desk.json("compact", path, "--target", 12_000)
    first = desk.run("show", "--json")
    desk.run("edit", "--set", "next_steps=Call Zebediah")
    second = desk.run("show", "--json")
    assert desk.json("undo")["compaction"] == "compaction:3"
    assert desk.run("show", "--json") == first
    assert desk.json("undo", "--to", "compaction:2")["compaction"] == "compaction:4"
    assert desk.run("show", "--json") == second
    assert desk.json("undo", "--to", 0)["boundary"] is None
    assert "covered" not in {entry["status"] for entry in desk.json("explain")}


def test_undo_of_a_version_that_there_is_none_of_is_bad_input(compacted: Desk) -> None:
    assert "compaction:1" in compacted.json("undo", "--to", 7, code=2)["message"]
    assert "no ref" in compacted.json("undo", "--to", "yesterday", code=2)["message"]
    assert "it takes a version" in compacted.json("undo", "--to", "event:3", code=2)["message"]
    assert compacted.json("undo", "--to", 1)["outcome"] == "not_due"


# -- history


def test_history_shows_compactions_undos_edits_and_where_each_comes_from(compacted: Desk) -> None:
    compacted.run("edit", "--set", "next_steps=Call Zebediah", "--author", "Ann")
    compacted.run("undo", "--to", "1")
    found = compacted.json("history")
    entries = found["compactions"]
    assert [(one["compaction"], one["kind"], one["source"]) for one in entries] == [
        ("compaction:1", "compaction", None),
        ("compaction:2", "edit", "compaction:1"),
        ("compaction:3", "undo", "compaction:1"),
    ]
    assert set(entries[0]) == keys("history: a compaction")
    assert set(found["totals"]) == keys("history: totals")
    assert all(one["before_tokens"] and one["after_tokens"] for one in entries)
    text = compacted.run("history")
    for word in ("3 version(s)", "edited by Ann", "undo", "target"):
        assert word in text


def test_a_fork_names_the_session_that_it_has_a_version_from(desk: Desk) -> None:
    events = long_session(60)
    desk.json("compact", desk.write([*events, user("And now?"), assistant("Done.")]), "--target", 12_000)
    parent = desk.json("sessions")[0]["session"]
    fork = desk.json("import", desk.write([*events, user("And now?"), assistant("Not done.")]))
    (entry,) = desk.json("history", "--session", fork["session"])["compactions"]
    assert (entry["inherited"], entry["compaction"]) == (parent, "compaction:1")
    assert f"inherited from {parent}" in desk.run("history", "--session", fork["session"])


NOTES = items_json(decisions=[("Read the files one by one, beginning with src/file_1.py", [2])])


def ledger(desk: Desk, *replies: Any, scope: str = "", clock: FixedClock = FixedClock()) -> tuple[list[Usage], Session]:
    """Compact a session with a model that keeps its own books."""
    books: list[Usage] = []
    waiting = list(replies)

    def answer(ask: object) -> Reply:
        reply: Reply = waiting.pop(0)
        books.append(reply.usage)
        return reply

    model = ScriptedModel(*[answer] * len(replies), name="gpt-5-mini", window=200_000)
    policy = Policy.coding(prices=Price(read=0.1, write=1.25, dollars_per_million=3.0))
    made = Session("s", store=SQLiteStore(desk.db), model=model, policy=policy, scope=scope, clock=clock)
    return books, made


def test_totals_equal_the_ledger_of_whoever_was_asked(desk: Desk) -> None:
    """S-OBS-03: every call that was billed is in the totals, used or not."""
    bad = Reply(text="I would rather not.", usage=Usage(input=500, cache_read=100, output=7))
    good = Reply(text=NOTES, usage=Usage(input=192_000, cache_read=64_000, output=900))
    books, made = ledger(desk, bad, bad, good, good)
    for number in range(3):
        made.record(*long_session(40, ask=f"Task {number}: fix the duplicate charges."))
        made.compact(force=True)
    assert len(books) >= 3
    total = desk.json("history")["totals"]
    assert total["purpose"] == "compaction"
    assert total["model_calls"] == len(books)
    assert total["prompt_tokens"] == sum(usage.input for usage in books)
    assert total["cached_tokens"] == sum(usage.cache_read for usage in books)
    assert total["output_tokens"] == sum(usage.output for usage in books)
    assert total["dollars"] > 0
    assert f"{len(books)} calls of summary models" in desk.run("history")


def test_totals_are_of_all_scopes_of_a_session(desk: Desk) -> None:
    reply = Reply(text=NOTES, usage=Usage(input=1_000, output=90))
    books, whole = ledger(desk, reply)
    whole.record(*long_session(60))
    whole.compact(force=True)
    more, branch = ledger(desk, reply, scope="a")
    branch.compact(force=True)
    assert (len(books), len(more)) == (1, 1)
    for words in ([], ["--scope", "a", "--sees", "all"]):
        assert desk.json("history", *words)["totals"]["prompt_tokens"] == 2_000


# -- scopes


def test_scopes_lists_what_exists_and_how_far_each_is_compacted(desk: Desk) -> None:
    store = SQLiteStore(desk.db)
    whole = Session("s", store=store, policy=Policy.coding())
    whole.record(*long_session(60))
    assert desk.json("scopes") == []
    assert "no scope exists yet" in desk.run("scopes")
    whole.request(window=200_000)
    whole.compact(force=True)
    Session("s", store=store, scope="team/coder", sees="lineage").control.enlist()
    rows = desk.json("scopes")
    assert set(rows[0]) == keys("scopes")
    found = {row["scope"]: row for row in rows}
    assert set(found) == {"", "team/coder"}
    assert (found[""]["version"], found[""]["sees"]) == (1, "all")
    assert found[""]["behind"] == 121 - int(found[""]["boundary"].partition(":")[2])
    assert (found["team/coder"]["version"], found["team/coder"]["boundary"]) == (0, None)
    assert found["team/coder"]["behind"] == found["team/coder"]["events"]
    assert "team/coder" in desk.run("scopes")
    assert [row["dirty"] for row in rows] == [False, False]
    store.want(whole.key, 0.0)
    assert {row["scope"]: (row["dirty"], row["leased"]) for row in desk.json("scopes")} == {
        "": (True, False),
        "team/coder": (False, False),
    }
    store.claim(time.time(), 60)
    assert {row["scope"]: row["leased"] for row in desk.json("scopes")} == {"": True, "team/coder": False}


def test_history_and_undo_of_one_scope_leave_the_others_alone(desk: Desk) -> None:
    store = SQLiteStore(desk.db)
    whole = Session("s", store=store, policy=Policy.coding())
    whole.record(*long_session(60))
    branch = Session("s", store=store, policy=Policy.coding(), scope="team")
    for each in (whole, branch):
        each.compact(force=True)
    words = ["--scope", "team", "--sees", "all"]
    desk.json("undo", "--to", 0, *words)
    assert [one["kind"] for one in desk.json("history", *words)["compactions"]] == ["compaction", "undo"]
    assert [one["kind"] for one in desk.json("history")["compactions"]] == ["compaction"]
