"""CPU seconds and memory: messages to request, warm request, record, and whether a request is flat in the log."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.generated import generate
from bench.methods import WINDOW, payload, policy_of, session_of
from bench.sizes import size
from foldmark.events import ToolCall, assistant, result, user
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.tokens import count
from foldmark.wire import openai_chat

Message = dict[str, Any]
REPEATS = 3


def cpu(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU seconds of this process."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def messages_to_request(messages: Sequence[Message], target: int) -> dict[str, float]:
    """From a message list to a compacted request: in memory, through SQLite, on units that are stored already."""
    policy = policy_of("coding", target)

    def in_memory() -> None:
        session = session_of(messages, policy)
        session.compact(force=True, window=WINDOW)
        payload(session)

    def through_sqlite() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = SQLiteStore(str(Path(folder) / "bench.db"))
            session = session_of(messages, policy, store)
            session.compact(force=True, window=WINDOW)
            payload(session)
            store.close()

    log = session_of(messages, policy)
    scopes = iter(range(1_000))

    def on_stored_units() -> None:
        session = Session("bench", store=log.store, policy=policy, scope=f"again-{next(scopes)}")
        session.compact(force=True, window=WINDOW)
        payload(session)

    return {"memory": cpu(in_memory), "sqlite": cpu(through_sqlite), "stored": cpu(on_stored_units)}


def warm_request(messages: Sequence[Message], turns: int = 30) -> float:
    """Median CPU milliseconds of `request` with one new event, nothing compacted, the payload written."""
    session = session_of(messages, Policy.coding(run="manual"))
    payload(session)
    times = []
    for turn in range(turns):
        session.record(user(f"Go on with step {turn}."))
        start = time.process_time()
        payload(session)
        times.append(time.process_time() - start)
    return 1_000 * statistics.median(times)


def record_times(messages: Sequence[Message], store: Any) -> float:
    """Median CPU milliseconds to record one event, one by one, units and search index included."""
    session = Session("bench", store=store, policy=Policy.coding())
    times = []
    for event in openai_chat.read_messages(messages).events:
        start = time.process_time()
        session.record(event)
        times.append(time.process_time() - start)
    return 1_000 * statistics.median(times)


def flat_in_log(events: int) -> float:
    """Median CPU milliseconds of a warm request with so many small events behind the boundary."""
    session = Session("bench", store=MemoryStore(), policy=Policy.coding(run="manual"))
    batch = []
    for number in range(events // 2):
        call = ToolCall(f"c{number}", "run", f'{{"command": "step {number}"}}')
        batch += [assistant(f"Step {number}.", call), result(f"c{number}", f"done {number} with code {number % 7}")]
    session.record(user("Go through all steps."))
    for at in range(0, len(batch), 1_000):
        session.record(*batch[at : at + 1_000])
    session.compact(force=True, window=128_000)
    payload(session)
    times = []
    for turn in range(15):
        session.record(user(f"Turn {turn}."))
        start = time.process_time()
        payload(session)
        times.append(time.process_time() - start)
    return 1_000 * statistics.median(times)


def peak_memory() -> float:
    """MiB above idle (messages made, vocabulary loaded) at the peak of messages to request, in a fresh process.

    Linux only. Raises CalledProcessError elsewhere.
    """
    code = "from bench.speed import measure_peak; measure_peak()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.strip())


def measure_peak() -> None:
    messages = generate(1).messages
    count("ready " * 100)
    target = size(messages) // 5
    gc.collect()
    idle = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew from here
    session = session_of(messages, policy_of("coding", target))
    session.compact(force=True, window=WINDOW)
    payload(session)
    print((_status("VmHWM") - idle) / 1024)


def _status(field: str) -> int:
    """A figure of this process in KiB, as Linux keeps it."""
    rows = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(row for row in rows if row.startswith(field)).split()[1])


def run() -> list[tuple[str, str, str]]:
    """Rows (measure, value, aim)."""
    messages = generate(1).messages
    tokens = size(messages)
    count("ready")
    times = messages_to_request(messages, tokens // 5)
    few, many = flat_in_log(4_000), flat_in_log(20_000)  # fewer would not be compacted at all
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(str(Path(folder) / "bench.db"))
        recorded = record_times(messages, store)
        store.close()
    return [
        (f"messages to request, {tokens:,} tokens, in memory", f"{times['memory']:.2f} s", "0.25 s"),
        ("the same through SQLite, one batch", f"{times['sqlite']:.2f} s", "0.8 s"),
        ("the same on stored units", f"{times['stored']:.2f} s", "0.1 s"),
        ("warm request, 2,000 messages, one new event", f"{warm_request(messages):.1f} ms", "5 ms"),
        ("flat in the log: 4,000 / 20,000 events behind the boundary", f"{few:.1f} / {many:.1f} ms", "ratio near 1"),
        ("record, SQLite, median", f"{recorded:.2f} ms", "1 ms"),
        ("peak memory over idle", f"{peak_memory():.0f} MiB", "60 MiB"),
    ]
