from __future__ import annotations

import gc
import multiprocessing
import os
import select
import signal
import sqlite3
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from foldmark.checkpoint import Checkpoint
from foldmark.errors import HeadMoved, NotFound, SchemaTooNew, StaleBoundary, StoreError
from foldmark.events import ToolCall, assistant, result, user
from foldmark.seeking import Piece
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.sqlite.schema import MIGRATIONS
from foldmark.store import Key
from foldmark.words import words

MAIN = Key(session="main")


def add(store: SQLiteStore, *texts: str, key: Key = MAIN) -> None:
    """Record user messages, again when another writer was faster."""
    while True:
        context = store.context(key, [user(text) for text in texts])
        pieces = [Piece(event.seq, 0, event.text) for event in context.new]
        try:
            store.append(key, context.new, head=context.head, pieces=pieces, now=1.0)
            return
        except HeadMoved:
            continue


def texts(store: SQLiteStore, key: Key = MAIN) -> list[str]:
    return [event.text for event in store.log(key)]


def test_a_reopened_store_has_everything(tmp_path: Path) -> None:
    first = SQLiteStore(tmp_path / "a.db")
    add(first, "walrus", "zebra")
    first.commit(MAIN, Checkpoint(version=1, boundary=1, text="t", tokens=1), expected=0)
    view, secret = first.view(MAIN), first.context(MAIN, []).secret
    first.close()
    second = SQLiteStore(tmp_path / "a.db")
    assert second.view(MAIN) == view
    assert second.context(MAIN, []).secret == secret
    assert second.tally(MAIN).words["walrus"] == 1
    assert [found.piece.seq for found in second.find(MAIN, words("zebra")).found] == [2]


def test_two_stores_on_one_file_see_each_others_events(tmp_path: Path) -> None:
    one, two = SQLiteStore(tmp_path / "a.db"), SQLiteStore(tmp_path / "a.db")
    add(one, "1")
    add(two, "2")
    add(one, "3")
    assert texts(one) == texts(two) == ["1", "2", "3"]
    stale = one.context(MAIN, [user("4")])
    add(two, "4 first")
    with pytest.raises(HeadMoved):
        one.append(MAIN, stale.new, head=stale.head, now=1.0)
    assert two.tally(MAIN).events == one.tally(MAIN).events == 4


def test_a_session_that_another_process_erased_and_made_anew_is_read_anew(tmp_path: Path) -> None:
    one, two = SQLiteStore(tmp_path / "a.db"), SQLiteStore(tmp_path / "a.db")
    add(one, "old", "older")
    assert len(texts(two)) == 2
    one.delete(MAIN)
    add(one, "new")
    assert texts(two) == ["new"]


def test_a_failed_append_leaves_file_and_process_as_they_were(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    add(store, "1")
    context = store.context(MAIN, [user("2", id="two")])
    unfit = [Piece(2, 0, "stray"), Piece(2, 1, None)]  # type: ignore[arg-type]
    with pytest.raises(AttributeError):  # when the events and the first piece were written
        store.append(MAIN, context.new, head=1, pieces=unfit, now=1.0)
    assert texts(store) == ["1"]
    assert store.find(MAIN, words("stray")).found == ()
    add(store, "2")
    assert texts(store) == texts(SQLiteStore(tmp_path / "a.db")) == ["1", "2"]


def test_counts_survive_a_restart_before_and_after_they_were_written_down(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    for number in range(600):
        add(store, f"common word{number % 10}")
    again = SQLiteStore(tmp_path / "a.db").tally(MAIN)
    assert again.words == store.tally(MAIN).words
    assert again.names == store.tally(MAIN).names
    assert (again.events, again.words["common"]) == (600, 600)


def test_a_file_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    SQLiteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (len(MIGRATIONS) + 1,))
    with pytest.raises(SchemaTooNew, match="Update foldmark"):
        SQLiteStore(path)


def test_an_index_of_another_analyser_is_built_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
    add(store, "walrus")
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO search (search) VALUES ('delete-all')")
    assert SQLiteStore(path).find(MAIN, ["walru"]).found == SQLiteStore(path).find(MAIN, words("walrus")).found == ()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = 0 WHERE key = 'words_version'")
    assert len(SQLiteStore(path).find(MAIN, words("walrus")).found) == 1


def test_what_is_no_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, only words " * 100)
    for path in (tmp_path / "text.db", tmp_path / "nowhere" / "a.db"):
        with pytest.raises(StoreError, match="cannot be opened"):
            SQLiteStore(path)
    with pytest.raises(StoreError, match="MemoryStore"):
        SQLiteStore(":memory:")


def test_an_erased_session_leaves_no_word_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
    add(store, *(f"walrusword{number} in a text" for number in range(50)))
    add(store, "zebraword", key=Key(session="other"))
    store.delete(MAIN)
    store.close()
    data = b"".join(file.read_bytes() for file in tmp_path.glob("a.db*") if file.is_file())
    assert b"zebraword" in data
    assert b"walrusword" not in data


def test_durability_sets_how_the_disk_is_waited_for(tmp_path: Path) -> None:
    for durability, level in (("normal", 1), ("full", 2)):
        store = SQLiteStore(tmp_path / f"{durability}.db", durability=durability)  # type: ignore[arg-type]
        assert store._db.execute("PRAGMA synchronous").fetchone() == (level,)
        assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_many_threads_may_append_to_one_session(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")

    def write(name: int) -> None:
        for number in range(20):
            add(store, f"{name} {number}")

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = texts(store)
    assert sorted(found) == sorted(f"{name} {number}" for name in range(4) for number in range(20))
    for name in range(4):
        mine = [text for text in found if text.startswith(f"{name} ")]
        assert mine == [f"{name} {number}" for number in range(20)]
    assert texts(SQLiteStore(tmp_path / "a.db")) == found


def _append_and_commit(path: Path, name: int, won: object) -> None:
    store = SQLiteStore(path)
    for number in range(15):
        add(store, f"{name} {number}")
    for version in range(1, 6):
        try:
            store.commit(
                MAIN,
                Checkpoint(version=version, boundary=version, text=f"{name}", tokens=1),
                expected=version - 1,
            )
            won.put((name, version))  # type: ignore[attr-defined]
        except StaleBoundary:
            continue


def test_of_several_processes_every_append_is_kept_and_each_boundary_is_won_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    SQLiteStore(path).open(MAIN)
    spawn = multiprocessing.get_context("spawn")
    won = spawn.Queue()
    workers = [spawn.Process(target=_append_and_commit, args=(path, name, won)) for name in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    winners = [won.get() for _ in range(5)]
    store = SQLiteStore(path)
    assert sorted(texts(store)) == sorted(f"{name} {number}" for name in range(2) for number in range(15))
    assert sorted(version for _, version in winners) == [1, 2, 3, 4, 5]
    assert [(int(each.text), each.version) for each in store.checkpoints(MAIN)] == sorted(winners, key=lambda w: w[1])


def _append_until_killed(path: Path, acknowledged: object) -> None:
    store = SQLiteStore(path)
    for number in range(10_000):
        add(store, f"needle{number}")
        acknowledged.send(number)  # type: ignore[attr-defined]


def test_a_killed_writer_loses_nothing_that_was_acknowledged_and_leaves_index_and_log_in_step(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    SQLiteStore(path).open(MAIN)
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    writer = spawn.Process(target=_append_until_killed, args=(path, sender))
    writer.start()
    last = -1
    while last < 40:
        last = receiver.recv()
    assert writer.pid
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    while receiver.poll():
        last = receiver.recv()
    store = SQLiteStore(path)
    found = texts(store)
    assert len(found) in (last + 1, last + 2)
    assert found == [f"needle{number}" for number in range(len(found))]
    assert [len(store.find(MAIN, [text]).found) for text in found] == [1] * len(found)
    assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def in_a_fork(work: Callable[[], object]) -> str:
    """What the work says in a forked process; "still running" when it hangs for 20 s."""
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:  # pragma: no cover
        try:
            os.write(writes, repr(work()).encode())
        except BaseException as error:
            os.write(writes, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writes)
    ended, _, _ = select.select([reads], [], [], 20)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reads) as file:
        return file.read() if ended else "still running"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_works_while_another_thread_of_the_parent_holds_the_lock(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    add(store, "1")
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store._writing():
            holds.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    try:
        assert in_a_fork(lambda: texts(store)) == "['1']"
    finally:
        done.set()
        thread.join()
    add(store, "2")
    assert in_a_fork(lambda: [add(store, "3"), in_a_fork(lambda: add(store, "4")), texts(store)][2]) == repr(
        ["1", "2", "3", "4"]
    )
    assert texts(store) == ["1", "2", "3", "4"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_opens_connections_of_its_own_and_leaves_those_of_the_parent_alone(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    add(store, "1")
    ready, done = threading.Event(), threading.Event()

    def read() -> None:
        texts(store)
        assert store._db
        ready.set()
        done.wait(60)

    thread = threading.Thread(target=read)
    thread.start()
    ready.wait()
    inherited = [db for _, db, _ in store._places._open]
    assert len(inherited) == 2

    def child() -> tuple[bool, int, list[bool]]:
        add(store, "2")
        mine = store._db
        own = [db for _, db, _ in store._places._open]
        store.close()
        return mine not in inherited, len(own), [is_open(db) for db in inherited]

    try:
        assert in_a_fork(child) == repr((True, 1, [True, True]))
        assert [is_open(db) for db in inherited] == [True, True]
        assert texts(store) == ["1", "2"]
    finally:
        done.set()
        thread.join()


def is_open(db: sqlite3.Connection) -> bool:
    """Asks nothing of SQLite: a connection of another thread or process may be asked this."""
    try:
        return db.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def test_a_store_that_nobody_holds_is_not_kept_for_forks(tmp_path: Path) -> None:
    place = weakref.ref(SQLiteStore(tmp_path / "a.db")._places)
    gc.collect()
    assert place() is None


@pytest.mark.parametrize("ref", ["event:300", "event:300-310", "call:c", "event:300#L1-1", "event:599"])
@pytest.mark.parametrize("by", ["events", "rounds"])
def test_a_ref_of_a_session_that_nobody_holds_is_opened_without_reading_its_log(
    tmp_path: Path, ref: str, by: str
) -> None:
    path = tmp_path / "store.db"
    made = Session("s", store=SQLiteStore(path))
    made.record(*(event for n in range(299) for event in (user(f"word {n}"), assistant(f"said {n}"))))
    made.record(assistant("", ToolCall("c", "x")), result("c", "done"))
    several = {"before": 2, "after": 1, "by": by} if ref in ("event:300", "event:599") else {}
    expected = made.load(ref, **several)  # type: ignore[arg-type]
    store = SQLiteStore(path)
    again = Session("s", store=store, create=False)
    assert again.load(ref, **several) == expected  # type: ignore[arg-type]
    assert again.search("word 7") == made.search("word 7")
    assert not store._known, "the log was folded"
    again.record(user("and on"))
    assert again.load("event:601").events[0].text == "and on"
    assert again.load("event:300").events == made.load("event:300").events
    made.control.delete()
    with pytest.raises(NotFound):
        SQLiteStore(path).event(Key(session="s"), "300")


def test_what_a_process_wrote_before_is_written_again_when_another_one_wrote_over_it(tmp_path: Path) -> None:
    one, two = SQLiteStore(tmp_path / "a.db"), SQLiteStore(tmp_path / "a.db")
    add(one, "1")
    for store, word in ((one, "x"), (two, "y"), (one, "x"), (one, "x"), (two, "y")):
        store.wrote(MAIN, {"h": word})
        assert one.written(MAIN, ["h"]) == two.written(MAIN, ["h"]) == {"h": word}
