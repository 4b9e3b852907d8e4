"""A worker as a process of its own: `foldmark work` and `queue` on a database that others write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_cli_control import keys
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore, Summarizer
from foldmark.cli.app import app
from foldmark.errors import SummarizerFailed
from foldmark.store import Key
from foldmark.testing import ScriptedModel, items_json
from making import long_session

BACKGROUND = Policy.coding(run="background", budget={"landing_tokens": 4_000, "trigger_tokens": 8_000})


class Desk:
    """A database in a folder, with sessions that others write."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.db = folder, folder / "agent.db"
        self.store = SQLiteStore(self.db)

    def talk(self, name: str, rounds: int = 60, *, kept: Policy = BACKGROUND) -> Session:
        """A session with work: its scope exists, and so its events raise it."""
        session = Session(name, store=self.store, policy=kept)
        session.remember({"policy": kept.to_json()})
        session.control.enlist()
        session.record(*long_session(rounds))
        return session

    def run(self, *words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*map(str, words), "--db", str(self.db)])
        assert done.exit_code == code, done.output + repr(done.exception)
        return done.stdout

    def lines(self, *words: object, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*words, "--json", code=code).splitlines()]

    def dirty(self) -> int:
        return self.store.backlog(time.time()).dirty


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# -- one, or all


def test_once_does_the_oldest_work_and_ends(desk: Desk) -> None:
    desk.talk("first")
    desk.talk("second")
    (report,) = desk.lines("work", "--once")
    assert set(report) == keys("work")
    assert (report["session"], report["outcome"], report["run"]) == ("first", "applied", "background")
    assert desk.dirty() == 1
    assert desk.store.view(Key(session="first")).checkpoint is not None
    assert desk.store.view(Key(session="second")).checkpoint is None


def test_once_with_nothing_to_do_says_so(desk: Desk) -> None:
    assert "nothing to do" in desk.run("work", "--once")
    assert desk.lines("work", "--once") == []


def test_once_tells_of_work_that_was_not_due(desk: Desk) -> None:
    desk.talk("short", 2)
    assert "short: not_due" in desk.run("work", "--once")


def test_drain_does_all_that_can_be_claimed_and_prints_what_was_due(desk: Desk) -> None:
    for number in range(4):
        desk.talk(f"s{number}")
    desk.talk("short", 2)
    reports = desk.lines("work", "--drain", "--workers", 3)
    assert sorted(one["session"] for one in reports) == ["s0", "s1", "s2", "s3"]
    assert {one["outcome"] for one in reports} == {"applied"}
    assert desk.dirty() == 0
    assert desk.lines("work", "--drain") == []


def test_drain_leaves_what_rests_and_ends_all_the_same(desk: Desk) -> None:
    later = Policy.coding(run="background", background={"idle_seconds": 3_600.0})
    desk.talk("later", kept=later)
    assert "1 resting" in desk.run("work", "--drain"), "and waits no hour for it"
    assert desk.dirty() == 1


def test_the_lines_are_readable(desk: Desk) -> None:
    desk.talk("first")
    text = desk.run("work", "--drain")
    assert "first: applied" in text
    assert "compaction:1 by code" in text
    assert "1 compaction(s) done, 0 failed; nothing waits" in text


def failing(*_: Any) -> Summarizer:
    return Summarizer(
        models=(ScriptedModel(SummarizerFailed("no", retryable=False), window=200_000),), require_model=True
    )


@pytest.mark.parametrize("mode", ["--once", "--drain"])
def test_a_job_that_failed_is_exit_code_4_and_comes_again_later(
    desk: Desk, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foldmark.cli.worker_command.summarizer_of", failing)
    desk.talk("first")
    (report,) = desk.lines("work", mode, code=4)
    assert report["outcome"] == "failed"
    assert report["failure"]
    found = json.loads(desk.run("queue", "--json"))
    assert (found["dirty"], found["resting"]) == (1, 1)


BAD: dict[str, tuple[list[str], str]] = {
    "both ends": (["--once", "--drain"], "one of them"),
    "all and nothing": (["--drain", "--no-drain"], "one of them"),
    "no time": (["--poll-seconds", "0"], "poll_seconds"),
    "a lease below nothing": (["--lease-seconds", "-1"], "lease_seconds"),
    "a model that cannot be used": (["--summarizer", "llama:3"], "it takes openai:…"),
}


@pytest.mark.parametrize("name", BAD)
def test_options_that_make_no_sense_are_bad_input(desk: Desk, name: str) -> None:
    words, message = BAD[name]
    desk.talk("first")
    (said,) = desk.lines("work", *words, code=2)
    assert message in said["message"]
    assert desk.dirty() == 1


def test_a_database_that_is_not_there_is_bad_input_and_is_not_made(tmp_path: Path) -> None:
    for command in (["work", "--drain"], ["queue"]):
        done = CliRunner().invoke(app, [*command, "--db", str(tmp_path / "none.db")])
        assert done.exit_code == 2
        assert "There is no database" in done.stderr
    assert not (tmp_path / "none.db").exists()


# -- the queue


def test_the_queue_counts_what_waits(desk: Desk) -> None:
    assert desk.run("queue").strip() == "nothing waits"
    desk.talk("first")
    desk.talk("second")
    desk.store.claim(time.time(), 60)
    found = json.loads(desk.run("queue", "--json"))
    assert set(found) == keys("queue")
    assert (found["dirty"], found["leased"], found["resting"]) == (2, 1, 0)
    assert 0 < found["oldest_seconds"] < 60
    assert "2 scopes dirty: 1 in work" in desk.run("queue")


# -- as a process


SLOW = """
import sys, time
from foldmark import cli
from foldmark.cli import app, worker_command
from foldmark import Summarizer
from foldmark.testing import ScriptedModel, items_json

def slow(ask):
    print("asked", file=sys.stderr, flush=True)
    time.sleep({seconds})
    {ends}

model = ScriptedModel(slow, window=200_000)
worker_command.summarizer_of = lambda *_: Summarizer(models=(model,), require_model={is_required})
app.main()
"""


def start(
    desk: Desk, *words: str, seconds: float = 0.0, raises: str = "", is_required: bool = False
) -> subprocess.Popen[str]:
    """A worker in a process of its own; with `seconds` its model takes so long to answer, and it `raises` that."""
    source = Path(__file__).resolve().parents[2] / "src"
    ends = f"raise {raises}" if raises else "return ''"
    slow = SLOW.format(seconds=seconds, ends=ends, is_required=is_required)
    code = ["-c", slow] if seconds or raises else ["-m", "foldmark"]
    heard = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # where the suite runs under nohup, it would be ignored
    try:
        return subprocess.Popen(
            [sys.executable, *code, "work", "--db", str(desk.db), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(source)},
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGHUP, heard)


@pytest.mark.parametrize("raised", ["SystemExit(7)", "SystemExit(0)", "GeneratorExit()", "KeyboardInterrupt()"])
def test_what_a_models_code_raises_to_end_a_program_ends_the_work_alone(desk: Desk, raised: str) -> None:
    desk.talk("first")
    worker = start(desk, "--once", raises=raised)
    out, error = worker.communicate(timeout=60)
    assert worker.returncode == 4, error
    assert f"a model's code raised {raised}; the session is as it was" in error
    assert "Traceback" not in error + out
    assert (desk.store.backlog(time.time()).leased, desk.dirty()) == (0, 1)


@pytest.mark.parametrize("raised", ["SystemExit(7)", "SystemExit(0)", "GeneratorExit()", "KeyboardInterrupt()"])
@pytest.mark.parametrize("is_required", [True, False])
def test_drain_tells_by_its_exit_code_whether_such_work_was_done_in_the_end(
    desk: Desk, raised: str, is_required: bool
) -> None:
    """Code makes the checkpoint at the second attempt, unless a model is required."""
    desk.talk("first")
    worker = start(desk, "--drain", raises=raised, is_required=is_required)
    out, error = worker.communicate(timeout=60)
    done = desk.store.view(Key(session="first")).checkpoint is not None
    assert (worker.returncode, done) == ((4, False) if is_required else (0, True)), out + error
    assert f"raised {raised}, which is to end a program" in error
    assert "Traceback" not in error + out
    assert f"{int(done)} compaction(s) done, {int(not done)} failed" in out
    assert desk.store.backlog(time.time()).leased == 0


def test_drain_ends_with_4_where_one_of_several_failed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([SummarizerFailed("no", retryable=False)])
    model = ScriptedModel(lambda ask: raised_or(next(answers, None)), window=200_000)
    required = Summarizer(models=(model,), require_model=True)
    monkeypatch.setattr("foldmark.cli.worker_command.summarizer_of", lambda *_: required)
    desk.talk("bad")
    desk.talk("good")
    out = desk.run("work", "--drain", "--workers", 1, code=4)
    assert "bad: failed" in out
    assert "good: applied" in out
    assert "1 compaction(s) done, 1 failed" in out


def raised_or(error: Exception | None) -> str:
    if error:
        raise error
    return items_json(decisions=[("Fix the duplicate charges", [1])])


def test_a_trace_in_the_log_carries_nothing_out_in_a_terminal(desk: Desk) -> None:
    code = (
        "import logging\nfrom foldmark.cli.terminal import run\n"
        "def build():\n"
        "    try:\n        raise ValueError('\\x1b]0;owned\\x07')\n"
        "    except ValueError:\n        logging.getLogger('foldmark.worker').warning('It stumbled.', exc_info=True)\n"
        "run(build)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "It stumbled." in done.stderr
    assert "Traceback" in done.stderr, "a fault is told with its trace"
    assert "\\x1b]0;owned\\x07" in done.stderr
    assert "\x1b" not in done.stderr


def test_more_threads_than_a_machine_has_are_refused(desk: Desk) -> None:
    words = ["work", "--drain", "--workers", "100000", "--db", str(desk.db)]
    assert CliRunner().invoke(app, words).exit_code == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_worker_that_is_stopped_does_first_what_can_be_claimed(desk: Desk, number: signal.Signals) -> None:
    worker = start(desk, "--workers", "1", "--poll-seconds", "0.05")
    try:
        assert worker.stdout is not None
        assert "worker started" in worker.stdout.readline()
        for at in range(5):
            desk.talk(f"s{at}")
        worker.send_signal(number)
        out, error = worker.communicate(timeout=60)
    finally:
        worker.kill()
    assert worker.returncode == 0, error
    assert "5 compaction(s) done" in out
    assert "stopping" in error
    assert desk.dirty() == 0


def test_with_no_drain_leases_are_given_back_at_once(desk: Desk) -> None:
    desk.talk("first")
    desk.talk("second")
    worker = start(desk, "--workers", "1", "--no-drain", seconds=600)
    try:
        assert worker.stderr is not None
        assert worker.stderr.readline() == "asked\n"
        worker.send_signal(signal.SIGTERM)
        _, error = worker.communicate(timeout=60)  # long before its model would answer
    finally:
        worker.kill()
    assert worker.returncode == 0, error
    waiting = desk.store.backlog(time.time())
    assert (waiting.dirty, waiting.leased) == (2, 0)
    assert desk.store.view(Key(session="first")).checkpoint is None


@pytest.mark.parametrize("mode", [[], ["--drain"]])
def test_a_second_signal_gives_back_what_is_being_done(desk: Desk, mode: list[str]) -> None:
    desk.talk("first")
    worker = start(desk, *mode, seconds=600)
    try:
        assert worker.stderr is not None
        assert worker.stderr.readline() == "asked\n"
        worker.send_signal(signal.SIGTERM)
        if not mode:
            assert "once more" in worker.stderr.readline()
            worker.send_signal(signal.SIGTERM)
        _, error = worker.communicate(timeout=60)
    finally:
        worker.kill()
    assert worker.returncode == 130, error
    assert "given back" in error
    assert desk.store.backlog(time.time()).leased == 0
    assert desk.dirty() == 1


def test_once_gives_its_work_back_when_it_is_stopped(desk: Desk) -> None:
    desk.talk("first")
    worker = start(desk, "--once", seconds=600)
    try:
        assert worker.stderr is not None
        assert worker.stderr.readline() == "asked\n"
        worker.send_signal(signal.SIGTERM)
        _, error = worker.communicate(timeout=60)
    finally:
        worker.kill()
    assert worker.returncode == 130, error
    assert desk.store.backlog(time.time()).leased == 0
    assert desk.dirty() == 1


def test_a_reader_that_is_gone_stops_no_work(desk: Desk) -> None:
    for at in range(3):
        desk.talk(f"s{at}")
    worker = start(desk, "--drain", "--workers", "1")
    try:
        assert worker.stdout is not None
        worker.stdout.close()
        worker.wait(timeout=60)
    finally:
        worker.kill()
    assert worker.returncode == 0
    assert desk.dirty() == 0


def test_a_session_that_is_deleted_while_it_is_worked_on_keeps_no_worker(desk: Desk) -> None:
    desk.talk("first")
    worker = start(desk, "--drain", seconds=2)
    try:
        assert worker.stderr is not None
        assert worker.stderr.readline() == "asked\n"
        desk.store.delete(Key(session="first"))
        worker.communicate(timeout=60)
    finally:
        worker.kill()
    assert worker.returncode == 0
    assert desk.store.sessions("local", "local") == []
