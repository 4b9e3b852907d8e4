"""What background work costs an append, and whether workers that are killed forget anything.

    python -m bench.background [appends] [killed] [--sessions 1000] [--kills 40] [--blocks 20]

`appends`: one process records the same mix of events, in blocks by turns with a worker beside it (work is raised and
done) and without one; the time of each `record` is taken. `killed`: sessions that are due (and some that are not) in
one SQLite file, four workers in two processes, which are killed (SIGKILL) at random and started again, while a tenth of
the sessions grows; then every scope is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from foldmark import Event, Policy, Session, SQLiteStore, ToolCall, assistant, result, user
from foldmark.asking import Ask
from foldmark.reports import Observation, Raised, Report
from foldmark.store import Backlog, Key
from foldmark.testing import items_json
from foldmark.worker import Worker

POLICY = Policy.coding(
    run="background",
    window=128_000,
    budget={"landing_tokens": 2_000, "trigger_tokens": 4_000, "nothing_below": 1_000},
)
"""Compacts early, so that a thousand sessions of a few thousand tokens each are due."""
LEASE_SECONDS = 1.0
LONGEST_SECONDS = 600.0


# -- what appends cost


class Appends(NamedTuple):
    """Milliseconds of `record`, by turns without and with background work, and what was done meanwhile."""

    without: list[float]
    beside: list[float]
    reports: list[Report]

    @property
    def ratio(self) -> float:
        """Of the medians: with background work over without."""
        return statistics.median(self.beside) / statistics.median(self.without)


def measure_appends(blocks: int = 20, *, appends: int = 60, sessions: int = 8, pause: float = 0.01) -> Appends:
    """Record by turns in a store without and in one with a worker; `pause` seconds lie between two appends (an agent
    waits for its model far longer)."""
    out = Appends([], [], [])
    with tempfile.TemporaryDirectory() as folder:
        plain = _Arm(Path(folder) / "plain.db", sessions, POLICY.replace(run="manual"))
        busy = _Arm(Path(folder) / "busy.db", sessions, POLICY)
        worker = Worker(busy.store, policy=POLICY, on_report=out.reports.append, poll_seconds=0.05)
        for _ in range(blocks):
            out.without.extend(plain.record(appends, pause))
            worker.start()
            out.beside.extend(busy.record(appends, pause))
            worker.stop()
        plain.store.close()
        busy.store.close()
    return out


class _Arm:
    """Sessions that grow one after the other by the same mix of events."""

    def __init__(self, path: Path, sessions: int, policy: Policy) -> None:
        self.store = SQLiteStore(path)
        self.sessions = [Session(f"s{number}", store=self.store, policy=policy) for number in range(sessions)]
        for session in self.sessions:
            self.store.enlist(session.key)
        self.mix = _mix(random.Random(7), sessions)

    def record(self, appends: int, pause: float) -> list[float]:
        """Milliseconds of so many appends."""
        times = []
        for _ in range(appends):
            number, event = next(self.mix)
            started = time.perf_counter()
            self.sessions[number].record(event)
            times.append(1_000 * (time.perf_counter() - started))
            time.sleep(pause)
        return times


def _mix(rng: random.Random, sessions: int) -> Any:
    """(session, event) for ever: turns of tool rounds, results from a line to forty kilobytes."""
    turns = [_turn(rng, number) for number in range(sessions)]
    while True:
        for number, turn in enumerate(turns):
            yield number, next(turn)


def _turn(rng: random.Random, session: int) -> Any:
    step = 0
    while True:
        yield user(f"Look into ticket {rng.randrange(10_000)} of session {session}.")
        for _ in range(rng.randrange(3, 12)):
            step += 1
            call = ToolCall(f"c{step}", "read", json.dumps({"path": f"src/file_{rng.randrange(60)}.py"}))
            yield assistant(f"Step {step}.", call)
            yield result(call.id, _body(rng, rng.choice((1, 1, 10, 10, 40, 40, 100, 800))), name="read")
        yield assistant("Done with it.")


def _body(rng: random.Random, lines: int) -> str:
    return "\n".join(
        f"{line:4}\tvalue_{rng.randrange(10**6)} = charge({rng.randrange(10**4)})  # row {line}"
        for line in range(lines)
    )


# -- who forgets


class Killed(NamedTuple):
    """What workers that were killed left behind. `due` scopes had to be compacted; `retaken` claims followed one that
    came to no end; `forgotten` were not compacted, or are due still; `twice` have two checkpoints at one boundary;
    `needless` were compacted without being due. `ages` are seconds between work and its first claim, `backlogs`
    (seconds, what waited) over time."""

    sessions: int
    due: int
    compactions: int
    kills: int
    claims: int
    retaken: int
    forgotten: list[str]
    twice: list[str]
    needless: list[str]
    ages: list[float]
    backlogs: list[tuple[float, Backlog]]
    seconds: float


def measure_killed(
    sessions: int = 1_000, *, kills: int = 40, processes: int = 2, seed: int = 1, pause: float = 0.8
) -> Killed:
    """Let workers that are killed, `pause` seconds on average after one another, do the work of so many sessions."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        store = SQLiteStore(path)
        due = _fill(store, sessions, rng)
        grows = rng.sample(sorted(due), len(due) // 10)
        crew = _Crew(path, processes, rng)
        backlogs, started, killed, next_kill = list[tuple[float, Backlog]](), time.monotonic(), 0, pause
        while (now := time.monotonic() - started) < LONGEST_SECONDS:
            waiting = store.backlog(time.time())
            backlogs.append((now, waiting))
            if not waiting.dirty and not grows and (killed or not kills):
                break
            if killed < kills and now > next_kill:
                killed, next_kill = killed + 1, now + rng.uniform(0.5, 1.5) * pause
                crew.kill_one()
            if grows and waiting.dirty < 0.8 * sessions:
                session = Session(grows.pop(), store=store, policy=POLICY)
                session.record(*_rounds(rng, 12, 500), assistant("And more."))
            time.sleep(0.02)
        crew.end()
        out = _looked_at(store, sessions, due, crew.claims())._replace(
            kills=killed, backlogs=backlogs, seconds=time.monotonic() - started
        )
        store.close()
    return out


def _looked_at(store: SQLiteStore, sessions: int, due: set[str], claims: Sequence[tuple[int, float]]) -> Killed:
    """Every scope, as it was left."""
    made = {name: store.checkpoints(Key(session=name)) for name in (f"s{number}" for number in range(sessions))}
    boundaries = {name: [one.boundary for one in found] for name, found in made.items()}
    return Killed(
        sessions=sessions,
        due=len(due),
        compactions=sum(map(len, made.values())),
        kills=0,
        claims=len(claims),
        retaken=sum(attempts > 1 for attempts, _ in claims),
        forgotten=sorted(name for name in due if not made[name] or _is_due(store, name)),
        twice=sorted(name for name, found in boundaries.items() if len(set(found)) < len(found)),
        needless=sorted(name for name, found in made.items() if found and name not in due),
        ages=[seconds for attempts, seconds in claims if attempts == 1],
        backlogs=[],
        seconds=0.0,
    )


def _fill(store: SQLiteStore, sessions: int, rng: random.Random) -> set[str]:
    """Sessions with work; returns those that are due. Every fifth is too short to be."""
    due = set[str]()
    for number in range(sessions):
        session = Session(f"s{number}", store=store, policy=POLICY)
        store.enlist(session.key)
        is_long = number % 5 != 4
        events = [user("Fix the duplicate charges."), *_rounds(rng, 12 if is_long else 1, 1), assistant("All done.")]
        session.record(*events)
        if is_long:
            due.add(session.name)
    return due


def _rounds(rng: random.Random, rounds: int, first: int) -> list[Event]:
    out: list[Event] = []
    for number in range(first, first + rounds):
        call = ToolCall(f"c{number}", "read", json.dumps({"path": f"src/file_{number}.py"}))
        out += [assistant(f"Step {number}.", call), result(call.id, _body(rng, 20), name="read")]
    return out


def _is_due(store: SQLiteStore, name: str) -> bool:
    return Session(name, store=store, policy=POLICY).compact(by_code=True).outcome == "applied"


class _Crew:
    """Processes with workers, and who of them is killed."""

    def __init__(self, path: Path, processes: int, rng: random.Random) -> None:
        self._path, self._rng, self._started = path, rng, 0
        self._running = [self._begin() for _ in range(processes)]

    def kill_one(self) -> None:
        """Kill one at random; another one takes its place."""
        number = self._rng.randrange(len(self._running))
        self._running[number].kill()
        self._running[number].wait()
        self._running[number] = self._begin()

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()

    def claims(self) -> list[tuple[int, float]]:
        """(attempts, seconds of waiting) of every claim that any of them made; a line that a kill cut is left out."""
        out = []
        for file in sorted(self._path.parent.glob("claims-*")):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            out += [tuple(json.loads(line)) for line in lines if line.endswith("\n")]
        return out

    def _begin(self) -> subprocess.Popen[bytes]:
        self._started += 1
        notes = self._path.parent / f"claims-{self._started}"
        command = [sys.executable, "-m", "bench.background", "--serve", str(self._path), "--notes", str(notes)]
        root = Path(__file__).parents[1]
        return subprocess.Popen(
            [*command, "--seed", str(self._started)], cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src"), *sys.path])},
        )  # fmt: skip


def serve(path: Path, notes: Path, seed: int) -> None:
    """Two workers of one process, until it is killed. Its model takes 5 to 40 ms."""
    rng = random.Random(seed)
    told = items_json(decisions=[("Read the files one by one, beginning with src/file_1.py", [2])])

    def model(ask: Ask) -> str:
        time.sleep(rng.uniform(0.005, 0.04))
        return told

    with notes.open("ab", buffering=0) as file:

        def note(seen: Observation) -> None:
            if isinstance(seen, Raised) and seen.what == "claimed":
                file.write(json.dumps([seen.attempts, seen.seconds]).encode() + b"\n")

        Worker(
            SQLiteStore(path), policy=POLICY, model=model, workers=2, lease_seconds=LEASE_SECONDS, poll_seconds=0.05,
            observer=note,
        ).start()  # fmt: skip
        while True:
            time.sleep(60.0)


# -- what it came to


def share(values: Sequence[float], at: float) -> float:
    """The value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(at * len(ordered)))] if ordered else 0.0


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def show_appends(found: Appends) -> None:
    outcomes = [report.outcome for report in found.reports]
    rows = [
        [name, f"{len(times):,}", *(f"{value:.2f} ms" for value in _three(times))]
        for name, times in (("without", found.without), ("with a worker beside", found.beside))
    ]
    table(["appends, SQLite", "count", "median", "p95", "p99"], rows)
    table(
        ["measure", "measured", "aim"],
        [
            ["ratio of medians", f"{found.ratio:.2f}", "1.1 at most"],
            ["work that was done meanwhile", f"{len(outcomes):,} ({outcomes.count('applied')} compactions)", ""],
        ],
    )


def _three(times: Sequence[float]) -> tuple[float, float, float]:
    return statistics.median(times), share(times, 0.95), share(times, 0.99)


def show_killed(found: Killed) -> None:
    ages = ", ".join(f"{value:.1f} s" for value in (share(found.ages, 0.5), share(found.ages, 0.95), max(found.ages)))
    rows = [
        ["sessions / due", f"{found.sessions:,} / {found.due:,}", ""],
        ["processes killed / claims retaken from them", f"{found.kills} / {found.retaken}", ""],
        ["claims / compactions", f"{found.claims:,} / {found.compactions:,}", ""],
        ["forgotten", str(len(found.forgotten)), "0"],
        ["compacted twice at one boundary", str(len(found.twice)), "0"],
        ["compacted without being due", str(len(found.needless)), "0"],
        ["queue age at the first claim: p50, p95, max", ages, ""],
        ["seconds until all was done", f"{found.seconds:.1f}", ""],
    ]
    table(["4 workers in 2 processes", "measured", "aim"], rows)
    steps = [found.backlogs[round(at * (len(found.backlogs) - 1) / 10)] for at in range(11)]
    table(
        ["backlog at", *(f"{seconds:.1f} s" for seconds, _ in steps)],
        [
            ["dirty", *(f"{waiting.dirty:,}" for _, waiting in steps)],
            ["leased", *(str(waiting.leased) for _, waiting in steps)],
            ["oldest, s", *(f"{waiting.oldest_seconds:.1f}" for _, waiting in steps)],
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.background", description=__doc__)
    parser.add_argument("measures", nargs="*", choices=["appends", "killed", []], help="default: both")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--notes", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.notes, options.seed)
    wanted = options.measures or ["appends", "killed"]
    if "appends" in wanted:
        show_appends(measure_appends(options.blocks))
    if "killed" in wanted:
        show_killed(measure_killed(options.sessions, kills=options.kills, seed=options.seed))


if __name__ == "__main__":
    main()
