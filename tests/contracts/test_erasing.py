"""What is erased is gone at once for whoever asks, and from the file as soon as nobody reads there: to delete a session
waits for no reader."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from test_search import remains, search
from test_stores import MAIN, add

from foldmark.errors import NotFound, StoreError
from foldmark.events import user
from foldmark.sqlite import SQLiteStore, erasing
from foldmark.store import Key

KEPT = Key(session="kept")
SECRET = b"foxfoxfox"


def filled(path: Path) -> SQLiteStore:
    store = SQLiteStore(path)
    add(store, KEPT, user("owl"))
    add(store, MAIN, user("foxfoxfox is the secret"))
    return store


def reader(path: Path) -> sqlite3.Connection:
    """Another process in the middle of a read."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM event").fetchone()
    return db


def patience(lines: list[str]) -> list[str]:
    """For how long each attempt to empty the log would have waited for others (ms)."""
    waits, out = "30000", list[str]()
    for line in lines:
        waits = line.rpartition(" ")[2] if "busy_timeout" in line else waits
        out += [waits] if "wal_checkpoint" in line else []
    return [*out, waits]


def test_what_is_erased_is_in_no_file_while_the_store_stays_open(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")
    assert remains(tmp_path / "a.db", SECRET)
    store.delete(MAIN)
    assert not remains(tmp_path / "a.db", SECRET)


def test_to_delete_waits_for_nobody_who_reads_and_the_file_is_cleaned_by_the_next_write_after_that(
    tmp_path: Path,
) -> None:
    store = filled(tmp_path / "a.db")
    lines = list[str]()
    with closing(reader(tmp_path / "a.db")) as other:
        store._db.set_trace_callback(lines.append)
        store.delete(MAIN)
        assert remains(tmp_path / "a.db", SECRET), "somebody reads it still"
        with pytest.raises(NotFound):
            store.log(MAIN)
        assert search(store, KEPT, "foxfoxfox", where="user") == []
        assert [info.session for info in store.sessions("local", "local")] == ["kept"]
        add(store, KEPT, user("more"))
        assert remains(tmp_path / "a.db", SECRET)
        assert other.execute("SELECT count(*) FROM event").fetchone() == (2,), "as it was when that read began"
        other.execute("COMMIT")
    add(store, KEPT, user("and more"))
    store._db.set_trace_callback(None)
    assert not remains(tmp_path / "a.db", SECRET)
    assert patience(lines) == ["0", "0", "0", "30000"]
    add(store, KEPT, user("and that is all"))
    assert len(store.log(KEPT)) == 4


def test_when_the_last_process_closes_the_file_it_is_cleaned_in_any_case(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.db")
    with closing(reader(tmp_path / "a.db")):
        store.delete(MAIN)
    store.close()
    assert not remains(tmp_path / "a.db", SECRET)


@pytest.mark.parametrize("step", ["merge", "wal_checkpoint"])
def test_a_session_is_erased_also_where_the_file_cannot_be_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*arguments: object) -> bool:
        raise StoreError("the disk is full")

    store = filled(tmp_path / "a.db")
    if step == "merge":
        monkeypatch.setattr(erasing, "_is_merging", full)
    else:
        store._db.set_authorizer(lambda action, first, *rest: sqlite3.SQLITE_DENY if first == step else 0)
    assert store.delete(MAIN) == ()
    monkeypatch.undo()
    store._db.set_authorizer(None)
    assert search(store, KEPT, "foxfoxfox", where="user") == []
    add(store, MAIN, user("foxfoxfox once more"))
    store.delete(MAIN)
    assert not remains(tmp_path / "a.db", SECRET)
