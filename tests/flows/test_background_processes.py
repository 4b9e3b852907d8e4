"""Workers in processes of their own: at the end of a process, after a fork, and two on one file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from background import POLICY, grown
from foldmark import SQLiteStore
from foldmark.store import Key
from foldmark.testing import FixedClock
from foldmark.worker import Worker
from waiting import LONG

SOURCE = Path(__file__).parents[2] / "src"


def run(code: str, *arguments: str, seconds: float = 2 * LONG) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[1]), str(Path(__file__).parent)])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=seconds, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


def test_a_worker_that_is_not_stopped_never_holds_up_the_end(tmp_path: Path) -> None:
    code = """
import asyncio, sys, threading, time
from foldmark import SQLiteStore
from foldmark.worker import Worker
from background import POLICY, grown
begun = threading.Barrier(3)
def plain(ask):
    begun.wait(60); time.sleep(600)
async def awaited(ask):
    await asyncio.to_thread(begun.wait, 60); await asyncio.sleep(600)
store = SQLiteStore(sys.argv[1])
grown(store, time.time, "a"); grown(store, time.time, "b")
Worker(store, policy=POLICY, model=plain, workers=1).start()
Worker(store, policy=POLICY, model=awaited, workers=1).start()
begun.wait(60)
print("end")
"""
    done = run(code, str(tmp_path / "a.db"))  # would time out
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr
    later = FixedClock(time.time() + 200.0)
    reports = Worker(SQLiteStore(tmp_path / "a.db"), policy=POLICY, clock=later).drain()
    assert [report.outcome for report in reports] == ["applied", "applied"], "the leases ran out"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_worker_that_is_not_started(tmp_path: Path) -> None:
    code = """
import os, sys, time
from foldmark import SQLiteStore
from foldmark.worker import Worker, running
from waiting import until
rests, rest = [], running._Shift._rest
def tells(self, *arguments):
    rests.append(self)
    rest(self, *arguments)
running._Shift._rest = tells
from background import POLICY, grown, versions
store = SQLiteStore(sys.argv[1])
worker = Worker(store, policy=POLICY, poll_seconds=600.0).start()
until(lambda: len(rests) == 2)  # its threads sleep: none is inside of SQLite, whose locks a fork would carry across
pid = os.fork()
if not pid:
    assert worker.stop(), "nothing to stop"
    mine = grown(store, time.time, "child")
    worker.start(); assert worker.stop(); assert versions(mine) == [1]
    print("child", flush=True); os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
mine = grown(store, time.time, "parent")
assert worker.stop(); assert versions(mine) == [1]
print("parent", flush=True)
"""
    done = run("import warnings; warnings.simplefilter('ignore')\n" + code, str(tmp_path / "a.db"))
    assert (done.returncode, done.stdout.split()) == (0, ["child", "parent"]), done.stderr


def test_two_processes_on_one_file_compact_each_boundary_once(tmp_path: Path) -> None:
    path, count = tmp_path / "a.db", 12
    store = SQLiteStore(path)
    for number in range(count):
        grown(store, time.time, f"s{number}")
    code = """
import sys
from foldmark import SQLiteStore
from foldmark.worker import Worker
from background import POLICY
print("ready", flush=True); sys.stdin.readline()
print(*(report.outcome for report in Worker(SQLiteStore(sys.argv[1]), policy=POLICY).drain()))
"""
    paths = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[1]), str(Path(__file__).parent)])
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        for _ in range(2)
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout
        assert worker.stdout.readline() == "ready\n"
    outcomes = " ".join(worker.communicate("go\n", timeout=LONG)[0] for worker in workers).split()
    assert outcomes == ["applied"] * count
    for number in range(count):
        made = store.checkpoints(Key(session=f"s{number}"))
        assert len(made) == 1
    assert store.backlog(time.time()).dirty == 0
