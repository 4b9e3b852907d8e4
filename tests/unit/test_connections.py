"""Connections of a SQLite store: threads that go on while somebody closes it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from foldmark import SQLiteStore, StoreError, user
from foldmark.sqlite.connections import Connections
from foldmark.store import Key
from waiting import LONG


@pytest.fixture
def places(tmp_path: Path) -> Connections:
    store = SQLiteStore(tmp_path / "a.db")
    store.open(Key(session="s"))
    store.close()
    return Connections(str(tmp_path / "a.db"), threading.RLock(), full=True)


def test_a_read_that_runs_while_the_store_is_closed_is_read_to_its_end(places: Connections) -> None:
    begun, closed, found = threading.Event(), threading.Event(), list[object]()

    def read() -> None:
        with places.reading() as db:
            begun.set()
            assert closed.wait(LONG)
            found.extend(db.execute("SELECT count(*) FROM session").fetchone())

    thread = threading.Thread(target=read)
    thread.start()
    assert begun.wait(LONG)
    places.close()
    closed.set()
    thread.join(LONG)
    assert found == [1]


def test_an_idle_connection_of_another_thread_is_closed_and_that_thread_gets_a_new_one(places: Connections) -> None:
    read, closed, found = threading.Event(), threading.Event(), list[object]()

    def reads_twice() -> None:
        with places.reading() as db:
            found.append(db)
        read.set()
        assert closed.wait(LONG)
        with places.reading() as db:
            found.extend(db.execute("SELECT count(*) FROM session").fetchone())
        places.close()

    thread = threading.Thread(target=reads_twice)
    thread.start()
    assert read.wait(LONG)
    places.close()
    with pytest.raises(StoreError, match="closed"):
        found[0].execute("SELECT 1")  # type: ignore[attr-defined]
    closed.set()
    thread.join(LONG)
    assert found[1:] == [1]


def test_threads_that_read_while_a_store_is_closed_again_and_again_bring_nobody_down(tmp_path: Path) -> None:
    store, key = SQLiteStore(tmp_path / "a.db"), Key(session="s")
    store.append(key, store.context(key, [user("hello")]).new, head=0, now=1.0)
    over, wrong = threading.Event(), list[BaseException]()

    def reads() -> None:
        while not over.is_set():
            try:
                assert store.info(key).head == 1
            except StoreError:
                pass  # closed between two steps: an error that can be caught
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=reads) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        store.close()
    over.set()
    for thread in threads:
        thread.join(LONG)
    store.close()
    assert wrong == []
