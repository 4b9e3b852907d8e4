"""Which files a SQLite store takes: its own of any version and empty ones; another program's stays as it is."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foldmark import SQLiteStore, StoreError, user
from foldmark.cli.app import app
from foldmark.sqlite.schema import MIGRATIONS
from foldmark.store import Key

MAIN = Key(session="s")
OTHERS = {
    "a table": "CREATE TABLE cookies (host, value)",
    "a table named like one of ours": "CREATE TABLE session (id, name)",
    "a meta table of its own": "CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('schema_version', 3)",
    "a view alone": "CREATE VIEW answer AS SELECT 42",
    "a version of its own": "CREATE TABLE t (x); PRAGMA user_version = 77; PRAGMA application_id = 7",
    "a write-ahead log": "PRAGMA journal_mode = WAL; CREATE TABLE cookies (host, value)",
    "full text": "CREATE VIRTUAL TABLE mail USING fts5 (body)",
}


def another(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)


def files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.mark.parametrize("script", OTHERS.values(), ids=OTHERS)
def test_a_database_of_another_program_is_refused_and_stays_to_the_byte(tmp_path: Path, script: str) -> None:
    path = tmp_path / "a #1?.db"  # signs that mean something in an address
    another(path, script)
    before = files(tmp_path)
    with pytest.raises(StoreError, match=r"#1\?\.db: a database of another program \(it holds the table.*Name another"):
        SQLiteStore(path)
    assert files(tmp_path) == before


@pytest.mark.parametrize("words", ["sessions", "queue", "search charge", "gc", "show", "import TRANSCRIPT"])
def test_every_command_refuses_a_database_of_another_program(tmp_path: Path, words: str) -> None:
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "Water the beds."}]')
    path = tmp_path / "cookies.db"
    another(path, OTHERS["a table"])
    before = files(tmp_path)
    asked = [word.replace("TRANSCRIPT", str(tmp_path / "talk.json")) for word in words.split(" ")]
    done = CliRunner().invoke(app, [*asked, "--db", str(path)])
    assert done.exit_code == 2, done.output
    assert "cookies.db: a database of another program" in done.stderr
    assert files(tmp_path) == before


def test_a_database_that_another_program_has_open_is_refused_and_its_log_stays(tmp_path: Path) -> None:
    path = tmp_path / "cookies.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(OTHERS["a write-ahead log"])
        db.execute("INSERT INTO cookies VALUES ('example.org', 'x')")
        before = {name: body for name, body in files(tmp_path).items() if not name.endswith("-shm")}
        assert before["cookies.db-wal"]
        with pytest.raises(StoreError, match="another program"):
            SQLiteStore(path)
        after = {name: body for name, body in files(tmp_path).items() if not name.endswith("-shm")}
        assert after == before
        assert db.execute("SELECT count(*) FROM cookies").fetchone() == (1,)


def test_a_database_whose_tables_stand_in_its_log_alone_is_refused_and_both_stay(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "left").mkdir()
    with closing(sqlite3.connect(tmp_path / "live" / "a.db", isolation_level=None)) as db:
        db.executescript(OTHERS["a write-ahead log"])
        for name in ("a.db", "a.db-wal"):  # as a crash leaves them
            shutil.copy(tmp_path / "live" / name, tmp_path / "left" / name)
    before = files(tmp_path / "left")
    with pytest.raises(StoreError, match="another program"):
        SQLiteStore(tmp_path / "left" / "a.db")
    after = files(tmp_path / "left")
    assert {name: after[name] for name in before} == before


@pytest.fixture(params=["not there", "no bytes", "no tables"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    if request.param == "no bytes":
        path.touch()
    if request.param == "no tables":
        another(path, "PRAGMA journal_mode = WAL; CREATE TABLE t (x); DROP TABLE t")
    return path


def test_a_file_that_holds_nothing_becomes_a_store(empty: Path) -> None:
    store = SQLiteStore(empty)
    store.append(MAIN, store.context(MAIN, [user("hello")]).new, head=0, now=1.0)
    assert SQLiteStore(empty).info(MAIN).head == 1  # while the first is open, its log not yet in the file
    store.close()
    assert SQLiteStore(empty).info(MAIN).head == 1


def test_a_look_at_a_file_takes_no_lock_from_who_has_it_open_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    first = SQLiteStore(path)
    SQLiteStore(path).close()
    alone = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('PRAGMA journal_mode = DELETE')"
    done = subprocess.run([sys.executable, "-c", alone, path], capture_output=True, text=True, check=False)
    assert "locked" in done.stderr
    first.close()
    assert subprocess.run([sys.executable, "-c", alone, path], check=False).returncode == 0


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_a_store_of_every_version_opens(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID")
        for step in MIGRATIONS[:version]:
            db.executescript(step)
        db.execute("INSERT INTO meta VALUES ('schema_version', ?), ('secret', ?)", (version, b"x" * 32))
    store = SQLiteStore(path)
    store.append(MAIN, store.context(MAIN, [user("hello")]).new, head=0, now=1.0)
    assert store.info(MAIN).head == 1


@pytest.mark.parametrize("change", [
    "UPDATE meta SET value = 'x' WHERE key = 'schema_version'", "UPDATE meta SET value = 7 WHERE key = 'secret'",
    "UPDATE meta SET key = 'sec' WHERE key = 'secret'", "UPDATE meta SET key = 's' WHERE key = 'schema_version'",
    "UPDATE meta SET key = CAST(x'73ff' AS TEXT) WHERE key = 'secret'", "DELETE FROM meta",
])  # fmt: skip
def test_a_store_whose_own_words_about_itself_are_damaged_is_refused_and_gets_no_new_secret(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "a.db"
    SQLiteStore(path).close()
    another(path, change)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"damaged.*backup"):
        SQLiteStore(path)
    assert path.read_bytes() == before
