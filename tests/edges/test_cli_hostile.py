"""Hostile and broken input at the command line: an exit code and a message, never a traceback, and nothing lost."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from foldmark.cli.app import app
from foldmark.cli.terminal import say_json, visible

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b2J\x08\r\u202egnp.exe\u2066\x00\ud800"
GOOD = [{"role": "user", "content": "Water the beds."}, {"role": "assistant", "content": "Done."}]


def run(folder: Path, *words: object, stdin: bytes | str | None = None) -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--db", str(folder / "a.db")], input=stdin)


def refused(done: Result) -> str:
    """The message of a command that ended as bad input should."""
    assert done.exit_code == 2, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.stderr.startswith("foldmark: ")
    assert "Traceback" not in done.output
    assert len(done.stderr.strip().splitlines()) == 1
    return done.stderr


def deep(levels: int, opening: str = "[", closing: str = "]") -> str:
    return opening * levels + closing * levels


BROKEN: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\n\t\n",
    "binary": bytes(range(256)) * 8,
    "words": b"these are only words, no transcript\n" * 9,
    "a number": b"42",
    "a text": b'"only a text"',
    "null": b"null",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "no messages": b'{"messages": []}',
    "messages that are text": b'{"messages": "hello"}',
    "messages that are numbers": b'{"messages": [1, 2, 3]}',
    "a list of lists": b"[[[[]]], [[]]]",
    "deep lists": deep(200_000).encode(),
    "deep objects": deep(100_000, '{"a":', "}").replace('{"a":}', '{"a":1}').encode(),
    "a cut object": b'{"messages": [{"role": "user", "content": "hel',
    "a cut first line": b'{"type":"user","message":{"role":"us',
    "a cut line in the middle": b'{"role":"user","content":"a"}\n{"role":"assis\n{"role":"user","content":"b"}\n',
    "utf-16 without a mark": "[{}]".encode("utf-16-le"),
    "a zip": b"PK\x03\x04" + bytes(200),
    "gzip": b"\x1f\x8b\x08\x00" + bytes(200),
    "sqlite": b"SQLite format 3\x00" + bytes(500),
    "NaN": b'{"messages": [{"role": "user", "content": NaN}]}',
    "a huge number": b'{"messages": [{"role": "user", "content": ' + b"9" * 5_000 + b"}]}",
    "a role that is a list": b'[{"role": ["user"], "content": "a"}, {"role": {}, "content": "b"}]',
    "content that is a number": b'[{"role": "user", "content": 5}]',
    "calls that are text": b'[{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": "x"}]',
    "a call without a name": b'[{"role": "assistant", "tool_calls": [{"id": "a"}]}]',
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["import", "compact"])
def test_a_broken_file_ends_with_a_sentence_and_leaves_no_session(tmp_path: Path, name: str, command: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(BROKEN[name])
    done = run(tmp_path, command, path)
    if done.exit_code == 0:
        pytest.fail(f"{name} was taken: {done.output}")
    refused(done)
    assert "no session" in refused(run(tmp_path, "sessions")) or not (tmp_path / "a.db").exists()


@pytest.mark.parametrize("name", ["empty", "words", "deep lists", "binary"])
def test_standard_input_is_read_with_the_same_care(tmp_path: Path, name: str) -> None:
    refused(run(tmp_path, "import", "-", stdin=BROKEN[name]))


def test_folders_missing_files_and_places_that_cannot_hold_a_database_are_named(tmp_path: Path) -> None:
    assert str(tmp_path) in refused(run(tmp_path, "import", tmp_path))
    assert "nowhere.json" in refused(run(tmp_path, "compact", tmp_path / "nowhere.json"))
    path = tmp_path / "good.json"
    path.write_text(json.dumps(GOOD))
    done = CliRunner().invoke(app, ["import", str(path), "--db", str(tmp_path / "no" / "such" / "folder" / "a.db")])
    assert "folder" in refused(done)
    (tmp_path / "text.db").write_text("not a database " * 400)
    for command in (["import", str(path)], ["sessions"], ["show"], ["gc"]):
        done = CliRunner().invoke(app, [*command, "--db", str(tmp_path / "text.db")])
        assert "text.db is no database" in refused(done), command
    (tmp_path / "half.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4_000)
    for command in (["import", str(path)], ["sessions"], ["show"], ["gc"]):
        done = CliRunner().invoke(app, [*command, "--db", str(tmp_path / "half.db")])
        assert "cannot be opened as a SQLite store" in refused(done), command


@pytest.mark.parametrize(
    "command", [["show"], ["explain"], ["search", "x"], ["load", "event:1"], ["export"], ["pin", "event:1"]]
)
def test_commands_on_a_database_without_a_session_say_what_brings_one(tmp_path: Path, command: list[str]) -> None:
    assert "foldmark import" in refused(run(tmp_path, *command))


REFS = ["x", "event:", "event:0", "event:-1", "event:99999999999999999999", "artifact:1.99", "artifact:sha256:zz",
        "compaction:7",
        "event:1@nobody", "event:1#L0-0", "artifact:1#B9-1", "event:\x1b[2J", "event:\u2028"]  # fmt: skip


@pytest.mark.parametrize("ref", REFS)
def test_a_ref_that_leads_nowhere_is_bad_input(tmp_path: Path, ref: str) -> None:
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    assert run(tmp_path, "import", tmp_path / "good.json").exit_code == 0
    said = refused(run(tmp_path, "load", ref))
    assert "\x1b" not in said


def transcript(folder: Path, *extra: dict[str, Any], title: str = "") -> Path:
    path = folder / "talk.json"
    rows = [{"role": "user", "content": f"Look at this. {title}"}, *extra, *GOOD]
    path.write_text(json.dumps({"id": title or "talk", "messages": rows}), encoding="utf-8")
    return path


def test_terminal_sequences_of_a_transcript_are_shown_and_never_carried_out(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "fetch", "arguments": json.dumps({"url": ESCAPES})}}
    rows = (
        {"role": "assistant", "content": ESCAPES, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": ESCAPES + " walrus"},
    )
    path = transcript(tmp_path, *rows, title=ESCAPES)
    for command in (
        ["import", path], ["sessions"], ["show"], ["show", "--log"], ["explain"], ["search", "walrus"],
        ["load", "event:3"], ["compact", path, "--target", "20000"], ["load", "event:2"],
    ):  # fmt: skip
        done = run(tmp_path, *command)
        assert done.exit_code == 0, (command, done.output, done.exception)
        for bad in "\x1b\x9b\x07\x08\x00\u202e\u2066":
            assert bad not in done.output, (command, bad)
    assert "\\x1b[2J" in run(tmp_path, "load", "event:3").output


def test_json_keeps_every_character(tmp_path: Path) -> None:
    path = transcript(tmp_path, {"role": "assistant", "content": ESCAPES})
    assert run(tmp_path, "import", path, "--json").exit_code == 0
    done = run(tmp_path, "load", "event:2", "--json")
    assert json.loads(done.stdout)["events"][0]["parts"][0]["text"] == ESCAPES


@given(st.text(st.characters(max_codepoint=0x2FFF) | st.sampled_from(ESCAPES), max_size=40))
@example("".join(map(chr, range(0x3000))))
@example("a lone half \ud800 and \U0001f600")
def test_json_says_the_same_and_holds_nothing_that_a_terminal_carries_out(text: str) -> None:
    for encoding in ("utf-8", "ascii"):
        raw = io.BytesIO()
        with contextlib.redirect_stdout(io.TextIOWrapper(raw, encoding, errors="backslashreplace")) as stream:
            say_json({"text": text, text: 1})
            stream.flush()
        said = raw.getvalue().decode(encoding)
        assert visible(said) == said
        assert not set(said) & {"\u2028", "\u2029"}
        assert json.loads(said) == {"text": text, text: 1}


def test_session_ids_with_markup_paths_and_secrets_in_them_do_no_harm(tmp_path: Path) -> None:
    for title in ("[/bold] [red]", "../../etc/passwd", "a" * 5_000, "x'; DROP TABLE event; --", "[link=file:///]"):
        done = run(tmp_path, "import", transcript(tmp_path, title=title))
        assert done.exit_code == 0, (title, done.output, done.exception)
        assert run(tmp_path, "sessions").exit_code == 0
        shown = run(tmp_path, "show", "--session", title)
        assert shown.exit_code == 0, (title, shown.output)
    assert not (tmp_path.parent / "etc").exists()


def test_times_from_the_future_and_from_nowhere_are_taken(tmp_path: Path) -> None:
    times = ["9999-12-31T23:59:59Z", "-1", 1e300, -1e300, "0000-00-00", "tomorrow", 253402300800, None, True, [], {}]
    rows = [{"role": "user", "content": f"message {n}", "timestamp": time} for n, time in enumerate(times)]
    path = tmp_path / "times.json"
    path.write_text(json.dumps(rows))
    for command in (["import", path], ["compact", path], ["show", "--log"], ["explain"], ["search", "message"]):
        done = run(tmp_path, *command)
        assert done.exit_code == 0, (command, done.output, done.exception)
    assert run(tmp_path, "search", "message", "--json").exit_code == 0


def test_ids_that_collide_stay_apart(tmp_path: Path) -> None:
    call = {"id": "same", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    rows = [GOOD[0]]
    for number in range(3):
        rows += [
            {"role": "assistant", "content": None, "tool_calls": [call, call]},
            {"role": "tool", "tool_call_id": "same", "content": f"first {number}"},
            {"role": "tool", "tool_call_id": "same", "content": f"second {number}"},
        ]
    path = tmp_path / "ids.json"
    path.write_text(json.dumps(rows))
    for wire in ("openai-chat", "anthropic"):
        out = tmp_path / f"{wire}.json"
        done = run(tmp_path, "compact", path, "--wire", wire, "--out", out)
        assert done.exit_code == 0, (done.output, done.exception)
        payload = out.read_text()
        assert all(f"{word} {number}" in payload for word in ("first", "second") for number in range(3))


def test_two_sessions_of_one_id_in_one_file_get_names_of_their_own(tmp_path: Path) -> None:
    one = tmp_path / "one.json"
    one.write_text(json.dumps({"id": "same", "messages": GOOD}))
    two = tmp_path / "two.json"
    two.write_text(json.dumps({"id": "same", "messages": [{"role": "user", "content": "Other words."}]}))
    assert run(tmp_path, "import", one).exit_code == 0
    done = run(tmp_path, "import", two, "--json")
    assert done.exit_code == 0
    other = json.loads(done.stdout)["session"]
    assert other != "same"
    for name, own, strange in (("same", "Water the beds.", "Other words."), (other, "Other words.", "Water the beds.")):
        shown = run(tmp_path, "show", "--session", name)
        assert shown.exit_code == 0
        assert own in shown.output
        assert strange not in shown.output


def test_visible_text_holds_nothing_that_a_terminal_carries_out() -> None:
    every = "".join(map(chr, range(0x3000))) + "\ud800\udfff"
    shown = visible(every)
    assert shown.encode()
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert visible("plain words, ünïcödé 漢字 👩‍👩‍👧\n\ttab") == "plain words, ünïcödé 漢字 👩‍👩‍👧\n\ttab"


def test_a_pipe_that_closes_early_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps([{"role": "user", "content": f"{n} " + "words " * 2_000} for n in range(60)]))
    assert run(tmp_path, "import", path).exit_code == 0
    words = map(shlex.quote, (sys.executable, "-m", "foldmark", "show", "--log", "--db", str(tmp_path / "a.db")))
    command = f"{' '.join(words)} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def without_reader(*words: object, unbuffered: bool = False) -> tuple[int, str]:
    """Exit code and standard error of a command whose output nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, *(["-u"] if unbuffered else []), "-m", "foldmark", *map(str, words)]
    try:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    finally:
        os.close(writing)
    return done.returncode, done.stderr


def test_every_command_that_prints_takes_a_closed_pipe_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps([{"role": "user", "content": f"{n} " + "words " * 2_000} for n in range(20)]))
    assert run(tmp_path, "import", path).exit_code == 0
    for words in (
        ["sessions"], ["show"], ["show", "--log"], ["show", "--json"], ["search", "words"], ["explain", "--all"],
        ["load", "event:1"], ["export"], ["gc"], ["compact", path],
    ):  # fmt: skip
        assert without_reader(*words, "--db", tmp_path / "a.db") == (0, ""), words
    assert without_reader("--help") == (0, "")


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_closed_pipe_hides_no_other_exit_code(tmp_path: Path, unbuffered: bool) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps([GOOD[0], {"role": "tool", "tool_call_id": "nobody", "content": "x"}]))
    assert without_reader("doctor", path, unbuffered=unbuffered) == (3, "")
    code, said = without_reader("show", "--json", "--db", tmp_path / "none.db", unbuffered=unbuffered)
    assert code == 2
    assert said.startswith("foldmark: There is no database")
    assert without_reader("show", "--nonsense", unbuffered=unbuffered)[0] == 2


def test_a_terminal_of_another_encoding_gets_escapes(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": "日本語 words ✓"}]))
    assert run(tmp_path, "import", path).exit_code == 0
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "foldmark", "show", "--log", "--db", str(tmp_path / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u65e5" in done.stdout
