"""DUR on a real disk: processes killed at any instant, full disks, read-only files, locks, odd clocks, schemas."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scenes import SMALL, checked, fresh

from foldmark import Policy, Session, SQLiteStore
from foldmark.artifacts import FileArtifacts
from foldmark.cli.work import Place
from foldmark.errors import SchemaTooNew, StoreError
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.sqlite import connections, refusals
from foldmark.wire import anthropic

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
TINY = Policy.coding(admission={"limit_tokens": 200, "preview_tokens": 120}, budget={"target_tokens": 4_000})


def step(name: str) -> list[Event]:
    """A call and a result that is big enough to leave its event as an artifact."""
    text = "\n".join(f"{name} line {number} of the listing: value {number * 37}" for number in range(400))
    return [assistant(f"Step {name}.", ToolCall(name, "bash", '{"command":"list"}')), result(name, text, name="bash")]


def in_a_process(work: Callable[[int], None]) -> tuple[int, int]:
    """(pid, the end of a pipe to read from) of a forked process that does the work; it gets the pipe to write to."""
    reads, writes = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:  # pragma: no cover
        try:
            os.close(reads)
            work(writes)
        finally:
            os._exit(0)
    os.close(writes)
    return pid, reads


def acknowledged(pipe: int) -> list[str]:
    with os.fdopen(pipe) as file:
        return file.read().split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_hundred_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """S-DUR-01, S-DUR-02: kill -9 at any instant of recording, storing bodies, compacting and building requests. All
    that was acknowledged is there, bodies are whole, nothing is there by half, and the next start just works."""
    path = tmp_path / "agent.db"
    dice = random.Random(20261130)
    known: list[str] = []
    lengths = []

    def write(pipe: int, number: int) -> None:
        session = Session("s", store=SQLiteStore(path), policy=TINY)
        for at in range(10_000):
            session.record(*step(f"r{number}s{at}"))
            os.write(pipe, f"r{number}s{at}\n".encode())
            session.request(window=32_000, wire=anthropic)

    for number in range(200):
        pid, pipe = in_a_process(lambda end, number=number: write(end, number))  # type: ignore[misc]
        if dice.random() < 0.8:
            os.read(pipe, 1)  # it is at work
        time.sleep(dice.random() * 0.03)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        rest = acknowledged(pipe)
        lengths.append(len(rest))
        if number % 10 == 9:
            with sqlite3.connect(path) as db:
                assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
            db.close()
        known += [name if name.startswith("r") else f"r{name}" for name in rest]
    assert sum(lengths) > 50, "the processes did get something done"
    session = Session("s", store=SQLiteStore(path), policy=TINY)
    log = session.store.log(session.key)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    results = {event.result.call_id: event for event in log if event.result}
    assert set(known) <= set(results)
    assert len(log) == 2 * len(results), "a batch is there whole or not at all"
    for event in results.values():
        assert event.result
        [artifact] = event.artifacts
        body = session.artifacts.read(session.key.tenant, artifact.sha256)
        assert hashlib.sha256(body).hexdigest() == artifact.sha256
        assert body.decode().startswith(f"{event.result.call_id} line 0 ")
    assert [each.version for each in session.control.history()] == list(range(1, len(session.control.history()) + 1))
    assert session.search(f"{known[-1]}")
    session.record(*step("after"))
    checked(session)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_four_processes_write_one_session_and_every_step_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    SQLiteStore(path).close()

    def write(pipe: int, number: int) -> None:
        session = Session("s", store=SQLiteStore(path), policy=TINY)
        for at in range(12):
            session.record(*step(f"w{number}s{at}"))
            if at % 4 == 3:
                session.compact(force=True)
            os.write(pipe, f"w{number}s{at}\n".encode())

    running = [in_a_process(lambda end, number=number: write(end, number)) for number in range(4)]  # type: ignore[misc]
    names = sorted(name for _, pipe in running for name in acknowledged(pipe))
    for pid, _ in running:
        os.waitpid(pid, 0)
    assert len(names) == 48
    session = Session("s", store=SQLiteStore(path), policy=TINY)
    log = session.store.log(session.key)
    assert sorted(event.result.call_id for event in log if event.result) == names
    for before, after in pairwise(log):
        assert not before.calls or (after.result and after.result.call_id == before.calls[0].id), "batches stay whole"
    checked(session)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for a lock 50 ms, not 30 s."""
    monkeypatch.setattr("foldmark.sqlite.schema.BUSY_SECONDS", 0.05)


def test_a_file_that_another_process_holds_is_a_clear_error_and_works_again_when_it_lets_go(
    tmp_path: Path, impatient: None
) -> None:
    path = tmp_path / "agent.db"
    session = fresh(SMALL, SQLiteStore(path))
    session.record(user("Go."))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"agent\.db: .*another process holds it.*Nothing was written"):
        session.record(user("More."))
    holder.execute("ROLLBACK")
    holder.close()
    session.record(user("More."))
    assert [event.text for event in session.store.log(session.key)] == ["Go.", "More."]


def test_a_full_disk_is_a_clear_error_and_nothing_is_written_by_half(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    session = fresh(SMALL, store)
    session.record(user("Go."))
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 4}")

    def fill() -> None:
        for number in range(200):
            session.record(user(f"Message {number}. " + f"word{number} " * 400))

    with pytest.raises(StoreError, match=r"the disk is full.*Nothing was written"):
        fill()
    kept = session.store.log(session.key)
    assert [event.seq for event in kept] == list(range(1, len(kept) + 1))
    assert fresh(SMALL, SQLiteStore(path)).store.log(session.key) == kept
    store._db.execute("PRAGMA max_page_count = 1000000")
    session.record(user("There is room again."))
    assert session.search("room again")[0].ref == f"event:{len(kept) + 1}"
    checked(session)


BIG = """
import resource, signal, sys
from foldmark import Policy, Session, SQLiteStore
from foldmark.errors import StoreError
from test_durability import TINY, step
session = Session("s", store=SQLiteStore({path!r}), policy=TINY)
session.record(*step("first"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))
try:
    session.record(*step("second"))
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
session.record(*step("third"))
print(*[event.result.call_id for event in session.store.log(session.key) if event.result])
"""


def test_a_body_that_cannot_be_written_records_nothing_and_leaves_no_rubbish(tmp_path: Path) -> None:
    """The disk gives up in the middle of a body: between artifact and event nothing is lost."""
    path = tmp_path / "agent.db"
    here = Path(__file__).resolve().parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", BIG.format(path=str(path))], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stderr == ""
    said, names = done.stdout.splitlines()
    assert said.startswith("artifact:sha256:")
    assert "nothing was recorded" in said
    assert names.split() == ["first", "third"]
    assert not list((tmp_path / "agent.db.artifacts").rglob(".new-*"))


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda data: data[:-9], id="cut"),
        pytest.param(lambda data: data[: len(data) // 2], id="half"),
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:], id="one bit in the middle"),
        pytest.param(lambda data: data[:100] + bytes(200) + data[300:], id="zeros in the middle"),
    ],
)
def test_a_body_that_was_damaged_says_so_and_comes_back_when_it_is_recorded_again(
    tmp_path: Path, harm: Callable[[bytes], bytes]
) -> None:
    session = Session("s", store=SQLiteStore(tmp_path / "agent.db"), policy=TINY)
    session.record(*step("one"))
    sha256 = session.store.log(session.key)[1].artifacts[0].sha256
    [file] = (tmp_path / "agent.db.artifacts").rglob(sha256)
    file.write_bytes(harm(file.read_bytes()))
    again = Session("s", store=SQLiteStore(tmp_path / "agent.db"), policy=TINY)
    with pytest.raises(StoreError, match=f"{sha256}.*damaged"):
        again.load("artifact:2#L400-400")
    other = Session("other", store=SQLiteStore(tmp_path / "agent.db"), policy=TINY)
    other.record(*step("one"))
    body = "\n".join(f"one line {number} of the listing: value {number * 37}" for number in range(400))
    for reader in (session, again, other):
        assert reader.load("artifact:2#L400-400").text == body.splitlines()[-1]
        assert reader.artifacts.read(reader.key.tenant, sha256).decode() == body


def a_sweep(path: Path) -> None:
    Place(path, "").sweep(0.0)


def a_deletion(path: Path) -> None:
    Session("a", store=SQLiteStore(path), policy=TINY).control.delete()


@pytest.mark.parametrize("tidy", [a_sweep, a_deletion])
@pytest.mark.parametrize("moment", ["put", "append"])
def test_a_body_that_is_tidied_away_while_it_is_recorded_is_there_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tidy: Callable[[Path], None], moment: str
) -> None:
    """Another process deletes the only other session that holds the body, or sweeps, between `put` and `append`."""
    path = tmp_path / "agent.db"
    Session("a", store=SQLiteStore(path), policy=TINY).record(*step("one"))
    store = SQLiteStore(path)
    session = Session("b", store=store, policy=TINY)
    where, name = (store.artifacts, "put") if moment == "put" else (store, "append")
    plain, met = getattr(where, name), []

    def disturbed(*given: Any, **named: Any) -> Any:
        if moment == "append" and not met:
            met.append(tidy(path))
        done = plain(*given, **named)
        if moment == "put" and not met:
            met.append(tidy(path))
        return done

    monkeypatch.setattr(where, name, disturbed)
    if tidy is a_sweep:
        Session("a", store=SQLiteStore(path), policy=TINY).control.delete()
    session.record(*step("one"))
    assert met
    [artifact] = store.log(session.key)[1].artifacts
    body = store.artifacts.read(session.key.tenant, artifact.sha256)
    assert hashlib.sha256(body).hexdigest() == artifact.sha256


def test_a_sweep_spares_what_was_recorded_again_since_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    orphan, renewed = store.artifacts.put("local", b"orphan" * 900), store.artifacts.put("local", b"renewed" * 900)
    for file in (tmp_path / "agent.db.artifacts").rglob("*"):
        os.utime(file, (1, 1))
    delete = FileArtifacts.delete

    def late(self: FileArtifacts, tenant: str, hashes: Iterable[str], **named: Any) -> int:
        store.artifacts.put("local", b"renewed" * 900)
        return delete(self, tenant, hashes, **named)

    monkeypatch.setattr(FileArtifacts, "delete", late)
    assert Place(path, "").sweep(1.0) == 1
    assert not store.artifacts.has("local", orphan)
    assert store.artifacts.has("local", renewed)


@pytest.mark.parametrize(
    ("days", "hours", "stays"), [(1.0, 25, False), (1.0, 23, True), (0.0, 2, False), (0.0, 0.9, True)]
)
def test_a_sweep_takes_what_killed_writers_left_but_nothing_that_may_still_be_written(
    tmp_path: Path, days: float, hours: float, stays: bool
) -> None:
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    sha256 = store.artifacts.put("local", b"x" * 9_000)
    [file] = (tmp_path / "agent.db.artifacts").rglob(sha256)
    left = file.with_name(".new-abc")
    left.write_bytes(b"half")
    os.utime(left, (time.time() - hours * 3_600,) * 2)
    Place(path, "").sweep(days)
    assert left.exists() is stays


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write anything")
def test_a_file_that_nobody_may_write_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    fresh(SMALL, SQLiteStore(path)).record(user("Go."))
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(StoreError, match="permissions"):
            fresh(SMALL, SQLiteStore(path)).record(user("More."))
    finally:
        tmp_path.chmod(0o755)


def test_a_file_that_turned_read_only_is_a_clear_error_and_can_still_be_read(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "agent.db")
    session = fresh(SMALL, store)
    session.record(user("The walrus is called Ada."))
    store._db.execute("PRAGMA query_only = ON")  # what SQLite says of a read-only file, without a mount
    with pytest.raises(StoreError, match=r"cannot be written.*permissions.*Nothing was written"):
        session.record(user("More."))
    assert session.search("walrus")[0].ref == "event:1"
    store._db.execute("PRAGMA query_only = OFF")
    session.record(user("More."))
    assert len(session.store.log(session.key)) == 2


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([1e9, 5e8, 4e8, 3e8], id="backwards"),
        pytest.param([0.0, -1e9, 1e18, -1e18], id="wild"),
        pytest.param([1e9, 1e9, 1e9, 1e9], id="standing"),
        pytest.param([float("inf"), 1.0, float("-inf"), 2.0], id="infinite"),
        pytest.param([float("nan"), 1.0, float("nan"), 2.0], id="no number"),
    ],
)
def test_a_clock_that_jumps_changes_no_order_and_stops_no_compaction(tmp_path: Path, times: list[float]) -> None:
    ticks = [0]

    def clock() -> float:
        ticks[0] += 1
        return times[ticks[0] % len(times)]

    session = Session("s", store=SQLiteStore(tmp_path / "agent.db"), policy=TINY, clock=clock)
    session.record(user("Go. Never touch the schema."))
    for number in range(40):
        session.record(*step(f"s{number}"))
        session.request(window=32_000, wire=anthropic)
    log = session.store.log(session.key)
    assert [event.result.call_id for event in log if event.result] == [f"s{number}" for number in range(40)]
    assert session.control.history(), "compactions did happen"
    assert "Never touch the schema." in str(checked(session).payload())
    again = Session("s", store=SQLiteStore(tmp_path / "agent.db"), policy=TINY)
    assert again.store.log(again.key) == log


def test_a_store_that_an_earlier_release_wrote_opens_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    path.write_bytes(gzip.decompress((SAMPLES / "store-0.1.0.db.gz").read_bytes()))
    shutil.copytree(SAMPLES / "store-0.1.0.artifacts", tmp_path / "agent.db.artifacts")
    session = Session("old", store=SQLiteStore(path))
    log = session.store.log(session.key)
    assert len(log) == 33
    assert len(session.control.history()) == 1
    assert session.search("greenhouse")[0].ref == "event:1"
    assert session.load("artifact:3#L400-400").text == "bed 399 holds 2793 ml"
    session.record(user("Now open the roof."))
    assert "never open the roof above 30 degrees" in str(checked(session).payload()).lower()


def test_a_store_of_a_later_release_is_refused_with_what_to_do_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    fresh(SMALL, SQLiteStore(path)).record(user("Go."))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")
    db.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"schema 99.*Update foldmark"):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_every_refusal_of_sqlite_says_what_to_do() -> None:
    for said in ("database is locked", "database or disk is full", "attempt to write a readonly database",
                 "database disk image is malformed", "file is not a database", "disk I/O error",
                 "unable to open database file"):  # fmt: skip
        error = str(refusals.refused("agent.db", sqlite3.OperationalError(said)))
        assert error.startswith(f"agent.db: {said} (")
        assert error.count(".") >= 3, error
    assert connections.refused is refusals.refused
    assert resource.getrlimit(resource.RLIMIT_FSIZE)
