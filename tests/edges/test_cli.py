"""The command line keeps its JSON contract and its exit codes, on a session of our own."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foldmark import Policy, Price, Reply, Session, SQLiteStore, Summarizer, Usage
from foldmark.cli.app import app
from foldmark.cli.compacting import Asked, compact_transcript
from foldmark.cli.options import Reading
from foldmark.cli.output import print_compaction
from foldmark.cli.place import Place
from foldmark.events import Event
from foldmark.testing import ScriptedModel, items_json
from foldmark.wire import by_name
from making import long_session

CONTRACT = {
    "outcome", "session", "db", "input_tokens", "request_tokens", "budget_tokens", "boundary", "events", "in_request",
    "covered", "left_out", "demoted", "artifacts", "left_out_refs", "epoch", "warnings",
}  # fmt: skip


class Desk:
    """A folder with a database and the commands run on it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.db = folder, folder / "foldmark.db"

    def write(self, events: list[Event], name: str = "talk.json") -> Path:
        payload = by_name("openai-chat").write("You are careful.", [], events)
        path = self.folder / name
        path.write_text(json.dumps(payload), encoding="utf-8")
        return path

    def run(self, *words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*map(str, words), "--db", str(self.db)])
        assert done.exit_code == code, done.output + str(done.exception)
        return done.stdout

    def json(self, *words: object, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_compact_keeps_its_contract(desk: Desk) -> None:
    out = desk.folder / "next.json"
    path = desk.write(long_session(60))
    done = desk.json("compact", path, "--target", 12_000, "--out", out, "--model", "m", "--max-output", 900)
    assert set(done) >= CONTRACT
    assert done["outcome"] == "applied"
    assert done["events"] == done["in_request"] + done["covered"] + done["left_out"] == 121
    assert done["request_tokens"] <= done["budget_tokens"] == 12_000
    assert done["request_tokens"] >= 0.97 * 12_000 or "no more to say" in str(done["warnings"])
    assert done["request_tokens"] >= 0.9 * 12_000
    assert done["input_tokens"] > 40_000
    assert done["boundary"].startswith("event:")
    payload = json.loads(out.read_text(encoding="utf-8"))
    assert payload["model"] == "m"
    assert payload["messages"][0] == {"role": "system", "content": "You are careful."}


def test_a_grown_file_is_followed_and_not_due_again(desk: Desk) -> None:
    events = long_session(60)
    desk.json("compact", desk.write(events), "--target", 12_000)
    again = desk.json("compact", desk.write(events), "--target", 12_000)
    assert (again["outcome"], again["new_events"], again["epoch"]) == ("not_due", 0, None)
    grown = desk.json("compact", desk.write(long_session(61)), "--target", 12_000)
    assert (grown["outcome"], grown["new_events"]) == ("not_due", 2)
    assert grown["request_tokens"] > again["request_tokens"]


def test_between_compactions_the_request_only_grows_at_its_end(desk: Desk) -> None:
    first, second = desk.folder / "a.json", desk.folder / "b.json"
    desk.json("compact", desk.write(long_session(60)), "--target", 12_000)
    desk.json("compact", desk.write(long_session(61)), "--target", 12_000, "--out", first)
    desk.json("compact", desk.write(long_session(62)), "--target", 12_000, "--out", second)
    assert second.read_bytes().startswith(first.read_bytes().removesuffix(b"]}"))


def test_explain_gives_one_class_to_every_event_and_agrees_with_compact(desk: Desk) -> None:
    done = desk.json("compact", desk.write(long_session(60)), "--target", 12_000)
    found = desk.json("explain")
    assert [entry["ref"] for entry in found] == [f"event:{n}" for n in range(1, 122)]
    assert all(set(entry) >= {"ref", "status", "artifact", "tokens", "reason"} for entry in found)
    counts = {
        status: sum(entry["status"] == status for entry in found) for status in ("covered", "demoted", "left_out")
    }
    assert counts == {name: done[name] for name in counts}
    assert "kept" in {entry["status"] for entry in found}
    assert "next compaction" in desk.run("explain")


def test_a_fact_that_left_the_request_is_one_search_and_one_load_away(desk: Desk) -> None:
    out = desk.folder / "next.json"
    desk.json("compact", desk.write(long_session(60)), "--target", 8_000, "--out", out)
    hits = desk.json("search", "value_7_33")
    assert set(hits[0]) >= {"ref", "date", "speaker", "snippet", "score"}
    assert "value_7_33" in hits[0]["snippet"]
    loaded = desk.json("load", hits[0]["ref"])
    assert "value_7_33 = charge(733)" in json.dumps(loaded["events"])


def test_pages_of_an_artifact_join_without_loss(desk: Desk) -> None:
    body = "\n".join(f"line {n} of a very long log, token {n * 31}" for n in range(3_000))
    events = long_session(1)
    events[2] = Event(role="tool", origin="tool", parts=(events[2].parts[0].__class__("c1", body),))
    desk.json("import", desk.write(events))
    shown = desk.json("load", "event:3")
    ref = shown["events"][0]["artifacts"][0]
    pages, text = 0, ""
    while ref:
        page = desk.json("load", ref)
        assert len(page["text"]) <= 8_000
        text, ref, pages = text + page["text"], page["next"], pages + 1
    assert text == body
    assert pages > 10
    assert (
        desk.json("load", "artifact:3", "--lines", "10-12")["text"].splitlines()[0]
        == "line 9 of a very long log, token 279"
    )


def test_import_lists_what_came_in_and_export_gives_it_back(desk: Desk) -> None:
    path = desk.write(long_session(3))
    assert desk.json("import", path)["new"] == 7
    assert desk.json("import", path)["new"] == 0
    lines = [json.loads(line) for line in desk.run("export").splitlines()]
    assert len(lines) == 7
    payload = json.loads(desk.run("export", "--wire", "openai-chat"))
    assert payload["messages"][1:] == json.loads(path.read_text())["messages"][1:]


def test_both_wires_can_be_asked_for(desk: Desk) -> None:
    out = desk.folder / "next.json"
    desk.json("compact", desk.write(long_session(60)), "--target", 12_000, "--wire", "anthropic", "--out", out)
    payload = json.loads(out.read_text(encoding="utf-8"))
    assert payload["system"]
    assert payload["max_tokens"] == 15_360
    assert payload["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compact", "missing.json"], "missing.json"),
        (["explain"], "no database"),
        (["search", "x"], "no database"),
        (["load", "event:1"], "no database"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(desk: Desk, words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, [*words, "--db", str(desk.db)])
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert not desk.db.exists()


def test_unknown_refs_sessions_policies_and_wires_exit_with_2(desk: Desk) -> None:
    path = desk.write(long_session(2))
    desk.json("import", path)
    for words in (
        ["load", "event:99"],
        ["load", "nonsense"],
        ["load", "artifact:1.7"],
        ["search", "x", "--session", "nobody"],
        ["compact", path, "--policy", "codng"],
        ["compact", path, "--wire", "smoke-signals"],
        ["compact", path, "--window", "12"],
        ["compact", path, "--format", "klingon"],
    ):
        assert "message" in desk.json(*words, code=2)


def test_a_broken_file_names_the_place_and_changes_nothing(desk: Desk) -> None:
    path = desk.folder / "bad.json"
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "tool", "content": 5}]')
    assert "[1]" in desk.json("import", path, code=2)["message"]
    assert not desk.db.exists()


def test_a_short_session_is_left_alone(desk: Desk) -> None:
    done = desk.json("compact", desk.write(long_session(2)))
    assert (done["outcome"], done["covered"], done["demoted"]) == ("not_due", 0, 0)
    assert "too short" in done["reason"]


def test_what_cannot_fit_fails_with_exit_code_4_and_the_arithmetic(desk: Desk) -> None:
    path = desk.write(
        [*long_session(1), Event(role="user", origin="user", parts=long_session(1, 1, ask="word " * 6_000)[0].parts)]
    )
    done = desk.json("compact", path, "--window", 4_000, code=4)
    assert done["outcome"] == "failed"
    assert "context window" in done["message"]


def test_pin_and_delete(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(60)))
    assert "event:5" in desk.run("pin", "event:5")
    desk.json("compact", desk.write(long_session(60)), "--target", 12_000)
    kept = [entry["ref"] for entry in desk.json("explain") if entry["status"] == "kept"]
    assert "event:5" in kept
    session = desk.json("sessions")[0]["session"]
    desk.run("delete", session, "--yes")
    assert desk.json("sessions") == []


def test_reading_commands_use_the_policy_of_the_last_compaction(desk: Desk) -> None:
    policy = desk.folder / "mine.toml"
    policy.write_text('preset = "chat"\n[prices]\nread = 0.1\nwrite = 1.25\n[cleanup]\nkeep_results = 1\n')
    done = desk.json("compact", desk.write(long_session(60)), "--policy", policy)
    found = desk.json("explain")
    assert sum(entry["status"] == "demoted" for entry in found) == done["demoted"]
    assert "rent rule" in desk.run("explain")


def remembered(desk: Desk, session: str = "") -> tuple[str, int | None]:
    policy = Place(desk.db, session).open().policy
    return policy.name, policy.budget.target_tokens


def test_compact_without_a_policy_keeps_the_sessions_own(desk: Desk) -> None:
    path = desk.write(long_session(6))
    desk.json("compact", path)
    assert remembered(desk) == ("coding", None)
    desk.json("compact", path, "--policy", "chat")
    for words in (["compact", desk.write(long_session(7))], ["import", path], ["compact", path, "--target", 9_000]):
        desk.json(*words)
        assert remembered(desk)[0] == "chat", words
    desk.json("import", path, "--policy", "research")
    desk.json("compact", path)
    assert remembered(desk) == ("research", None)


def test_a_target_is_for_one_compaction_and_what_reads_the_session_knows_it(desk: Desk) -> None:
    policy = desk.folder / "mine.toml"
    policy.write_text('preset = "chat"\n[budget]\ntarget_tokens = 30000\n')
    path = desk.write(long_session(6))
    desk.json("compact", path, "--policy", policy, "--target", 9_000)
    assert remembered(desk) == ("chat", 9_000)
    done = desk.json("compact", path)
    assert done["target_tokens"] is None
    assert remembered(desk) == ("chat", 30_000)


def test_a_fork_keeps_a_policy_of_its_own(desk: Desk) -> None:
    desk.json("compact", desk.write(long_session(6)))
    edited = desk.write([*long_session(4), *long_session(1, ask="Something else")])
    fork = desk.json("compact", edited, "--policy", "chat")["session"]
    assert desk.json("compact", edited)["session"] == fork
    assert desk.json("import", edited)["session"] == fork
    assert remembered(desk, fork)[0] == "chat"


def test_the_model_that_is_named_is_the_one_that_the_request_is_built_for(desk: Desk) -> None:
    desk.json("compact", desk.write(long_session(2)), "--model", "some-model")
    opened = Place(desk.db, "").open()
    frame = opened.store.view(opened.key).state.frame
    assert frame is not None
    assert frame.model == "some-model"


def test_a_window_that_nobody_named_is_assumed_aloud(desk: Desk) -> None:
    path = desk.write(long_session(2))
    assert "128,000 tokens are assumed" in " ".join(desk.json("compact", path)["warnings"])
    policy = desk.folder / "mine.toml"
    policy.write_text('preset = "coding"\nwindow = 64000\n')
    for words in (["--policy", policy], ["--policy", "coding", "--window", 90_000], []):
        assert "assumed" not in str(desk.json("compact", path, *words)["warnings"]), words


@pytest.mark.parametrize("command", ["compact", "export"])
def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(
    desk: Desk, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.write(long_session(2))
    desk.json("import", path)
    out = desk.folder / "out.json"
    out.write_text("old")
    words = [command, *([path] if command == "compact" else []), "--out", out]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        desk.run(*words, code=2)
    assert out.read_text() == "old"
    assert not list(desk.folder.glob(".out*"))
    desk.run(*words)
    assert out.read_text() != "old"
    assert "no folder" in CliRunner().invoke(app, [*map(str, words[:-1]), str(desk.folder / "no" / "x")]).stderr


def full_disk(_handle: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_is_written_keeps_its_mode_its_link_and_its_device(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(2)))
    held, link, pipe = desk.folder / "held.json", desk.folder / "link.json", desk.folder / "pipe"
    held.write_text("old")
    held.chmod(0o640)
    link.symlink_to(held)
    desk.run("export", "--out", link)
    assert link.is_symlink()
    assert held.read_text() == desk.run("export")
    assert held.stat().st_mode & 0o777 == 0o640
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    desk.run("export", "--out", pipe)
    assert os.read(reader, 1_000_000).decode() == desk.run("export")
    assert pipe.is_fifo()
    os.close(reader)


def test_a_search_place_that_does_not_exist_is_bad_input(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(2)))
    desk.run("search", "x", "--where", "nowhere", code=2)


def test_an_older_copy_of_a_transcript_changes_nothing_and_says_so(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(6)))
    older = desk.write(long_session(4), "older.json")
    for _ in range(2):
        found = desk.json("import", older)
        assert (found["new"], found["forked_at"]) == (0, None)
        assert "older copy" in found["warnings"][0]
    assert len(desk.json("sessions")) == 1


def test_an_edited_transcript_becomes_a_fork_once(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(6)))
    edited = [*long_session(4), *long_session(1, ask="Something else")]
    first = desk.json("import", desk.write(edited))
    again = desk.json("import", desk.write(edited))
    assert (first["forked_at"], first["new"]) == ("event:9", 3)
    assert (again["forked_at"], again["new"], again["session"]) == (None, 0, first["session"])


SAMPLES = Path(__file__).resolve().parents[1] / "samples"
SESSION = Path(__file__).resolve().parents[2] / "examples" / "session.json"


def test_the_same_transcript_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    made = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.json"
        words = ["compact", str(SESSION), "--target", "12000", "--db", str(tmp_path / f"{seed}.db"), "--out", str(out)]
        env = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-m", "foldmark", *words], check=True, capture_output=True, env=env)
        made.append(out.read_bytes())
    assert made[0] == made[1]


def test_a_sub_agent_of_a_transcript_is_named_and_can_be_compacted(desk: Desk) -> None:
    path = SAMPLES / "claude-code.jsonl"
    done = desk.json("compact", path)
    assert "--session NAME" in " ".join(done["warnings"])
    child = next(row["session"] for row in desk.json("sessions") if row["kind"] == "child")
    events = desk.json("compact", path, "--session", child)["events"]
    again = desk.json("compact", path, "--session", child)
    assert (again["session"], again["events"], again["new_events"]) == (child, events, 0)
    assert len(desk.json("sessions")) == len({row["session"] for row in desk.json("sessions")}) == 3


def test_a_file_of_many_sessions_knows_no_session_that_is_not_in_it(desk: Desk) -> None:
    message = desk.json("compact", SAMPLES / "tau-bench.json", "--session", "nope", code=2)["message"]
    assert "holds no session 'nope'" in message
    assert not desk.db.exists()


def test_an_out_folder_that_is_not_there_is_found_before_anything_is_done(desk: Desk) -> None:
    path = desk.write(long_session(60))
    out = desk.folder / "no" / "next.json"
    assert "there is no folder" in desk.json("compact", path, "--target", 12_000, "--out", out, code=2)["message"]
    assert not desk.db.exists()


def test_lines_behind_the_end_are_not_found(desk: Desk) -> None:
    desk.json("import", desk.write(long_session(2)))
    assert "behind the end" in desk.json("load", "event:3#L999-1000", code=2)["message"]


def test_a_file_that_cannot_be_read_is_named_in_a_sentence(desk: Desk) -> None:
    path = desk.folder / "nothing.json"
    assert desk.json("import", path, code=2)["message"] == f"No such file: {path}. Look at its name and folder."


def test_before_the_first_compaction_the_target_itself_is_announced(desk: Desk) -> None:
    desk.json("compact", desk.write(long_session(6)), "--target", 90_000)
    assert "near 90,000 tokens" in desk.run("explain")


def test_what_a_wire_cannot_carry_is_said(desk: Desk) -> None:
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}, {"type": "text", "text": "I look."}]
    rows = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": blocks}]
    path = desk.folder / "thinks.json"
    path.write_text(json.dumps({"messages": rows, "tools": [{"name": "read", "input_schema": {"type": "object"}}]}))
    for wire, told in (("anthropic", False), ("openai-chat", True), ("openai-responses", True), ("gemini", True)):
        done = desk.json("compact", path, "--wire", wire)
        assert (f"{wire} cannot carry 1 x reasoning of anthropic" in done["warnings"]) is told
        exported = CliRunner().invoke(app, ["export", "--wire", wire, "--db", str(desk.db)])
        assert ("cannot carry 1 x reasoning of anthropic" in exported.stderr) is told
        assert json.loads(exported.stdout)


@pytest.mark.parametrize("wire", ["events", "openai-chat", "anthropic", "openai-responses", "gemini"])
def test_every_export_can_be_imported_and_says_the_same(desk: Desk, wire: str) -> None:
    desk.run("import", desk.write(long_session(20)))
    out = desk.folder / "out.json"
    desk.run("export", "--raw", "--wire", wire, "--out", out)
    other = Desk(desk.folder / "other")
    other.folder.mkdir()
    other.run("import", out)
    before, after = desk.json("show", "--log"), other.json("show", "--log")

    def said(events: list[Any]) -> list[tuple[str, list[str]]]:
        return [
            (event["role"], [str(part.get("text", part.get("name"))) for part in event["parts"]]) for event in events
        ]

    assert said(after) == said(before)


# -- summaries by a model, history


def test_history_shows_every_attempt_with_its_cost(desk: Desk) -> None:
    model = ScriptedModel(TimeoutError(), name="small")
    policy = Policy.coding(prices=Price(read=0.1, write=1.25, dollars_per_million=3.0))
    made = Session("s", store=SQLiteStore(desk.db), model=model, policy=policy)
    made.record(*long_session(60))
    assert "nothing was compacted yet" in desk.run("history")
    made.compact(force=True)
    shown = desk.json("history")
    (attempt,) = shown["attempts"]
    assert (attempt["outcome"], attempt["failure"], attempt["model"]) == ("degraded", "timeout", "small")
    assert attempt["compaction"] == "compaction:1"
    assert attempt["before_tokens"] > attempt["after_tokens"] > 0
    assert "$" in attempt["money"]
    text = desk.run("history")
    assert "degraded" in text
    assert "compaction:1" in text


SPECS = {
    "an unknown kind": ("llama:3", "it takes openai:…"),
    "no name": ("openai:", "it takes openai:…"),
    "a file that is not there": ("gguf:/nowhere/model.gguf", "no such file"),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_summarizer_that_cannot_be_used_is_bad_input_and_nothing_is_recorded(name: str, desk: Desk) -> None:
    spec, words = SPECS[name]
    path = desk.write(long_session(3))
    said = desk.json("compact", path, "--summarizer", spec, code=2)
    assert words in said["message"]
    assert not desk.db.exists()


def test_the_contract_tells_of_calls_and_money(desk: Desk) -> None:
    done = desk.json("compact", desk.write(long_session(60)), "--target", 12_000, "--focus", "ledger row 7")
    assert (done["mode"], done["model_calls"], done["narrative_items"], done["coverage"]) == ("code", [], 0, None)
    assert (done["money"], done["resume"]) == (None, True)


NOTES = items_json(decisions=[("Read the files one by one, beginning with src/file_1.py", [2])])
ASKED: dict[str, tuple[Any, str, str, int, float]] = {
    "one that answers": (Reply(text=NOTES, usage=Usage(input=900, output=90)), "applied", "used", 1, 1.0),
    "one that does not": (TimeoutError(), "degraded", "timeout", 0, 0.0),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_model_was_asked_stands_in_the_contract_and_in_the_text(
    name: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, outcome, word, items, coverage = ASKED[name]
    model = ScriptedModel(answer, name="small", window=200_000)
    done = compact_transcript(
        Place(desk.db, ""), desk.write(long_session(60)),
        Asked(target=12_000, summarizer=Summarizer(models=(model,))), Reading(),
    )  # fmt: skip
    contract = json.loads(json.dumps(done.contract))
    assert (contract["outcome"], contract["mode"], contract["coverage"]) == (outcome, "standalone", coverage)
    assert contract["narrative_items"] == items
    (asked,) = contract["model_calls"]
    assert (asked["model"], asked["failure"] or "used") == ("small", word)
    assert contract["resume"] is True
    print_compaction(done)
    text = capsys.readouterr().out
    assert text.startswith(f"{outcome}: ")
    assert "asked: small (standalone)" in text
    assert f": {word}" in text


def test_history_shows_what_was_paid_for_a_compaction_that_another_one_beat(desk: Desk) -> None:
    store = SQLiteStore(desk.db)

    def beaten(ask: object) -> Reply:
        Session("s", store=store, policy=Policy.coding()).compact(force=True, by_code=True)
        return Reply(text=NOTES, usage=Usage(input=900, output=90))

    made = Session("s", store=store, model=ScriptedModel(beaten, name="small", window=200_000), policy=Policy.coding())
    made.record(*long_session(60))
    assert made.compact().outcome == "deferred"
    attempts = desk.json("history")["attempts"]
    assert [(one["outcome"], one["model_calls"], one["prompt_tokens"]) for one in attempts] == [
        ("applied", 0, 0),
        ("deferred", 1, 900),
    ]
    assert "deferred" in desk.run("history")
