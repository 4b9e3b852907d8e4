"""Speed of recall at a million events: `python -m bench.recall_speed [--folder FOLDER] [--events N] [--sessions N]`.

A file that exists is measured as it is, so that it is built once. Made-up words of a made-up frequency (Zipf), sessions
of lognormal length whose turns come interleaved, ten tenants, one user for ten sessions. Wall times: of a busy machine
take the medians.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from foldmark.events import Event, assistant, fingerprint, linked, user
from foldmark.retrieval import question
from foldmark.seeking import Piece, Sought, Where
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.sqlite.rows import insert_events, insert_pieces, put
from foldmark.sqlite.sessions import create
from foldmark.store import Key, SessionInfo

TENANTS, USERS = 10, 1_000
CHARACTERS = 280
VOCABULARY = 60_000
COMMON = 20
"""The most frequent words stand for those that say nothing, which a search leaves out: no question is made of them."""
BEGIN = 1_750_000_000.0
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "ist")]


class Size(NamedTuple):
    """How much is made."""

    events: int
    sessions: int


def vocabulary(rng: random.Random) -> list[str]:
    """Distinct made-up words, the most frequent first."""
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        found["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(found)


class Writer:
    """Makes texts of Zipf-distributed words."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = vocabulary(random.Random(7))
        total, self.upto = 0.0, []
        for place in range(len(self.words)):
            total += 1 / (place + 3)
            self.upto.append(total)

    def text(self) -> str:
        drawn = self.rng.choices(self.words, cum_weights=self.upto, k=45)
        return " ".join(drawn)[:CHARACTERS]

    def question(self, text: str, terms: int = 5) -> str:
        """Words of a text, none of the most frequent; where it has too few, of the whole vocabulary."""
        common = set(self.words[:COMMON])
        told = [word for word in dict.fromkeys(text.split()[:-1]) if word not in common]
        drawn = self.rng.sample(told, min(terms, len(told)))
        return " ".join(drawn + self.rng.sample(self.words[COMMON:], terms - len(drawn)))


def lengths(size: Size, rng: random.Random) -> list[int]:
    """Events of each session: lognormal, their sum as asked."""
    drawn = [rng.lognormvariate(0, 1) for _ in range(size.sessions)]
    share = size.events / sum(drawn)
    found = [max(1, round(each * share)) for each in drawn]
    found[found.index(max(found))] += size.events - sum(found)
    return found


def key_of(number: int) -> Key:
    owner = number % USERS
    return Key(session=f"session-{number}", tenant=f"tenant-{owner % TENANTS}", user=f"user-{owner}")


def turns(size: Size, rng: random.Random) -> list[tuple[int, int]]:
    """(session, events) in the order of writing: turns of one to six events, of all sessions in turn."""
    out: list[tuple[float, int, int]] = []
    for number, length in enumerate(lengths(size, rng)):
        done = 0
        while done < length:
            taken = min(length - done, rng.randint(1, 6))
            out.append((rng.random(), number, taken))
            done += taken
    return [(number, taken) for _, number, taken in sorted(out)]


class Line:
    """A session while it is written."""

    def __init__(self, db: sqlite3.Connection, number: int) -> None:
        key = key_of(number)
        row, tenant = create(db, key, SessionInfo(session=key.session, created=BEGIN))
        self.id, self.scope, self.session = row.id, f"t{tenant} u{row.user} s{row.id}", key.session
        self.seq, self.chain = 0, ""

    def numbered(self, event: Event) -> Event:
        plain = fingerprint(event)
        self.seq, self.chain = self.seq + 1, linked(self.chain, plain)
        return msgspec.structs.replace(
            event, session=self.session, seq=self.seq, id=f"e{self.chain}", plain=plain, chain=self.chain
        )


def build(path: Path, size: Size) -> None:
    """Write the file through the store's own row functions, some thousand events in a transaction."""
    store, writer = SQLiteStore(path), Writer(1)
    db, lines = store._db, dict[int, Line]()
    db.execute("PRAGMA cache_size=-500000")
    done, before, now = 0, 0, BEGIN
    db.execute("BEGIN IMMEDIATE")
    for number, taken in turns(size, random.Random(3)):
        line, now = lines.get(number) or lines.setdefault(number, Line(db, number)), now + 20
        made = [(user, assistant)[n % 2](writer.text(), time=now + n) for n in range(taken)]
        write(db, line, [line.numbered(event) for event in made], now)
        done += taken
        if done - before >= 20_000:
            db.execute("COMMIT")
            print(f"\r{done:,} events", end="", flush=True)
            before = done
            db.execute("BEGIN IMMEDIATE")
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    print()


def write(db: sqlite3.Connection, line: Line, events: Sequence[Event], now: float) -> None:
    insert_events(db, line.id, events, now)
    times = {event.seq: now if event.time is None else event.time for event in events}
    insert_pieces(db, line.id, line.scope, [Piece(event.seq, 0, event.text) for event in events], times)
    db.execute(
        "UPDATE session SET head = ?, updated = ?, title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
        (line.seq, now, put(events[0].text[:80]), line.id),
    )


# -- measuring


class Took(NamedTuple):
    """Milliseconds: of the wall clock, of this thread's processor."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Took:
    wall, cpu = time.perf_counter(), time.thread_time()
    work()
    return Took(1_000 * (time.perf_counter() - wall), 1_000 * (time.thread_time() - cpu))


def head() -> None:
    print("\n| | n | p50 ms | p95 ms | p50 CPU ms | p95 CPU ms | |\n|---|---|---|---|---|---|---|")


def row(name: str, times: Sequence[Took], note: str = "") -> None:
    cells = [f"{each:.2f}" for column in zip(*times, strict=True) for each in (statistics.median(column), p95(column))]
    print(f"| {name} | {len(times)} | {' | '.join(cells)} | {note} |", flush=True)


def p95(column: Sequence[float]) -> float:
    return sorted(column)[min(len(column) - 1, int(0.95 * len(column)))]


def asked(store: SQLiteStore, count: int, size: Size, writer: Writer) -> Iterator[tuple[Key, str]]:
    """Sessions with a question of five words of one of their events; drawn by events, so that long ones come often."""
    db, rng = store._db, writer.rng
    last = db.execute("SELECT max(id) FROM piece").fetchone()[0]
    for _ in range(count):
        found = db.execute(
            "SELECT session.name, text FROM piece JOIN session ON session.id = piece.session WHERE piece.id >= ? "
            "ORDER BY piece.id LIMIT 1",
            (rng.randint(1, last),),
        ).fetchone()
        yield key_of(int(found[0].split("-")[1])), writer.question(found[1])


def measure(path: Path, size: Size, count: int) -> None:
    store, writer = SQLiteStore(path), Writer(11)
    head()
    questions = list(asked(store, count, size, writer))
    for where, name in (("session", "inside a session"), ("others", "the user's others"), ("user", "all of a user's")):
        for_where(store, questions, where, name)  # type: ignore[arg-type]
    loads(store, questions)
    records(store, questions)
    store.close()


def for_where(store: SQLiteStore, questions: Sequence[tuple[Key, str]], where: Where, name: str) -> None:
    """First touch apart: every question of a session that the process does not know, then the same ones again."""
    sought = Sought(where=where)
    finds, cold, searches, brought = [], [], [], []
    for key, query in questions:
        terms, session = question(query, BEGIN).terms, session_of(store, key)
        store._known.clear()
        cold.append(timed(lambda key=key, terms=terms: store.find(key, terms, sought=sought)))  # type: ignore[misc]
        store.view(key)
        finds.append(timed(lambda key=key, terms=terms: store.find(key, terms, sought=sought)))  # type: ignore[misc]
        brought.append(store.find(key, terms, sought=sought))
        searches.append(timed(lambda it=session, query=query: it.search(query, where=where)))  # type: ignore[misc]
    row(f"{name}: find, first touch", cold)
    mean = statistics.mean(sum(one.frequencies.values()) for one in brought)
    counts = statistics.mean(len(one.found) for one in brought), statistics.mean(len(one.near) for one in brought)
    note = f"on average {mean:.0f} matches of terms, {counts[0]:.0f} pieces brought and {counts[1]:.0f} near them"
    row(f"{name}: find", finds, note)
    row(f"{name}: search with the second ranking", searches)


def session_of(store: SQLiteStore, key: Key) -> Session:
    return Session(key.session, store=store, tenant=key.tenant, user=key.user, clock=lambda: BEGIN)


def loads(store: SQLiteStore, questions: Sequence[tuple[Key, str]]) -> None:
    cold, warm = [], []
    for key, query in questions:
        session = session_of(store, key)
        hits = session.search(query)
        store._known.clear()
        for times in (cold, warm):
            times += [timed(lambda it=session, hit=hit: it.load(hit.ref, before=2, after=2)) for hit in hits[:1]]  # type: ignore[misc]
    row("load of a hit with two events each side, first touch", cold)
    row("load of a hit with two events each side", warm)


_FIRST = """
import sys, time
from foldmark import Session, SQLiteStore
path, session, tenant, user, ref = sys.argv[1:]
wall, cpu = time.perf_counter(), time.process_time()
Session(session, store=SQLiteStore(path), tenant=tenant, user=user, create=False).load(ref, before=2, after=2)
print(1_000 * (time.perf_counter() - wall), 1_000 * (time.process_time() - cpu))
"""


def first_loads(path: Path, events: int) -> None:
    """Each in a process of its own that knows nothing yet; its imports are not counted."""
    key, times = key_of(0), []
    for place in range(1, 11):
        asked_for = [str(path), key.session, key.tenant, key.user, f"event:{place * events // 11}"]
        run = subprocess.run([sys.executable, "-c", _FIRST, *asked_for], capture_output=True, text=True, check=True)
        times.append(Took(*map(float, run.stdout.split())))
    row("load of an event with two events each side, first of a new process", times)


def records(store: SQLiteStore, questions: Sequence[tuple[Key, str]]) -> None:
    """One event a call; the same session again, as an agent does."""
    writer, times = Writer(13), []
    for key, _ in questions[:20]:
        session = session_of(store, key)
        session.record(user("hello"))
        times += [timed(lambda it=session, text=writer.text(): it.record(user(text))) for _ in range(20)]  # type: ignore[misc]
    row("record of one event, with its index", times)


def sizes(path: Path) -> None:
    """Megabytes of the texts, of the index and of the file."""
    db = sqlite3.connect(path)
    text = db.execute("SELECT sum(length(CAST(text AS BLOB))) FROM piece").fetchone()[0]
    index = db.execute("SELECT sum(length(block)) FROM search_data").fetchone()[0]
    whole = path.stat().st_size
    print(f"\ntexts {text / 1e6:.0f} MB, index {index / 1e6:.0f} MB ({index / text:.2f} of the texts), ", end="")
    print(f"file {whole / 1e6:.0f} MB")
    db.close()


def one_long_session(folder: Path, events: int, count: int) -> None:
    """The scale check: one session alone in its file."""
    path = folder / f"long-{events}.db"
    if not path.exists():
        build(path, Size(events, 1))
    print(f"\none session of {events:,} events", end="")
    measure(path, Size(events, 1), count)
    first_loads(path, events)


def main() -> None:
    given: Any = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--folder", type=Path, help="where the files are kept for the next time")
    given.add_argument("--events", type=int, default=1_000_000)
    given.add_argument("--sessions", type=int, default=10_000)
    given.add_argument("--long", type=int, default=100_000, help="events of the one long session; 0 for none")
    given.add_argument("--questions", type=int, default=300)
    given = given.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        size = Size(given.events, given.sessions)
        path = folder / f"recall-{size.events}-{size.sessions}.db"
        if not path.exists():
            print(f"built in {timed(lambda: build(path, size)).wall / 1_000:.0f} s")
        print(f"{size.events:,} events in {size.sessions:,} sessions", end="")
        measure(path, size, given.questions)
        sizes(path)
        if given.long:
            one_long_session(folder, given.long, max(20, given.questions // 10))


if __name__ == "__main__":
    main()
