"""A database of another program with a log beside it: whose it is, is seen without a file that was not there before."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from foldmark import SQLiteStore, StoreError, user
from foldmark.sqlite import whose
from foldmark.store import Key

MAIN = Key(session="main")
OTHERS = {
    "a table": "CREATE TABLE cookies (host, value)",
    "a table of a name that we have too": "CREATE TABLE event (what); CREATE TABLE session (who)",
}


def left_over(folder: Path, before: str, script: str) -> Path:
    """A database as a crash leaves it: `before` stands in the file, `script` in the log alone."""
    live = folder / "live"
    live.mkdir()
    with closing(sqlite3.connect(live / "a.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(before)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.executescript(script)
        (folder / "left").mkdir()
        for name in ("a.db", "a.db-wal"):
            shutil.copy(live / name, folder / "left" / name)
    return folder / "left" / "a.db"


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.parametrize("before", ["", "CREATE TABLE jars (name)", "CREATE TABLE meta (key)"])
@pytest.mark.parametrize("script", OTHERS.values(), ids=OTHERS)
def test_no_file_comes_beside_a_left_over_log(tmp_path: Path, script: str, before: str) -> None:
    path = left_over(tmp_path, before, script)
    was = files(path)
    with pytest.raises(StoreError, match="another program"):
        SQLiteStore(path)
    assert files(path) == was


def test_a_database_that_is_too_large_to_be_copied_is_refused_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = left_over(tmp_path, "", OTHERS["a table"])
    was = files(path)
    monkeypatch.setattr(whose, "COPIED_BYTES", 1)
    with pytest.raises(StoreError, match="another program"):
        SQLiteStore(path)
    assert {name: body for name, body in files(path).items() if not name.endswith("-shm")} == was


def test_a_database_that_somebody_writes_while_it_is_copied_is_looked_at_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copied = left_over(tmp_path, "", OTHERS["a table of a name that we have too"]), whose.copyfile

    def meanwhile(*names: object) -> None:
        copied(*names)  # type: ignore[arg-type]
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("CREATE TABLE more (x)")

    monkeypatch.setattr(whose, "copyfile", meanwhile)
    with pytest.raises(StoreError, match="the tables event, session, more"):
        SQLiteStore(path)


@pytest.mark.parametrize("crashed", [False, True])
def test_a_store_whose_tables_stand_in_the_log_alone_is_a_store(tmp_path: Path, crashed: bool) -> None:
    (tmp_path / "left").mkdir()
    first = SQLiteStore(tmp_path / "a.db")
    first.append(MAIN, first.context(MAIN, [user("hello")]).new, head=0, now=1.0)
    for name in ("a.db", "a.db-wal") if crashed else ():
        shutil.copy(tmp_path / name, tmp_path / "left" / name)
    path = tmp_path / ("left" if crashed else "") / "a.db"
    assert whose._tables(str(path), "mode=ro&immutable=1") == []
    assert SQLiteStore(path).info(MAIN).head == 1
    first.close()


def test_to_look_into_a_log_takes_no_lock_from_who_has_it_open_in_this_process(tmp_path: Path) -> None:
    first = SQLiteStore(tmp_path / "a.db")
    first.open(MAIN)
    assert whose.tables_of_another(str(tmp_path / "a.db")) == []
    alone = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('PRAGMA journal_mode = DELETE')"
    done = subprocess.run([sys.executable, "-c", alone, tmp_path / "a.db"], capture_output=True, text=True, check=False)
    assert "locked" in done.stderr
    first.close()
