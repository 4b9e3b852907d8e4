"""A byte that changed on the disk, in any text or packed value of a SQLite store: every command says what is damaged or
goes on without it, and nothing else of the file is lost."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from foldmark import Policy, Session, SQLiteStore, StoreError
from foldmark.cli.app import app
from foldmark.events import user
from foldmark.sqlite.rows import rebuild_search
from foldmark.store import Key, SessionInfo
from foldmark.words import words
from making import tool_round
from toy_embedder import toy

TINY = Policy.coding(
    budget={"target_tokens": 1_500}, admission={"limit_tokens": 200, "inline_bytes": 300}, window=12_000
)
MAIN, OTHER = Key(session="s"), Key(session="other")
OPENING = (  # what reads the log of a session
    "show", "explain", "plan", "preview", "export", "compact --force", "search ledger", "load event:5", "pin event:5",
    "edit --pin event:7", "undo",
)  # fmt: skip
COMMANDS = (
    *(f"{words} --session s" for words in OPENING), "sessions", "queue", "gc --dry-run", "scopes --session s",
    "history --session s", "load compaction:1 --session s", "artifact stat artifact:3 --session s",
    "show --session s-2", "search ledger --where user --session other", "work --drain", "gc",
)  # fmt: skip
KEPT = ("event", "fact", "unit", "piece", "artifact", "checkpoint", "vector")
"""Tables whose rows nothing but `delete` takes away."""


def build(path: Path) -> None:
    """A store with a session that was compacted twice, a fork and a child of it, and another session."""
    store = SQLiteStore(path)
    store.describe(MAIN, {"policy": TINY.to_json()})
    session = Session("s", store=store, policy=TINY, embedder=toy())
    session.record(user("Fix the duplicate charges. Never touch the schema. Café 日本"))
    for number in range(1, 9):
        text = "\n".join(f"ledger row {line} of {number} is paid, é" for line in range(9 + 60 * (number == 1)))
        session.record(*tool_round(number, text))
    session.control.pin("event:5")
    session.compact(force=True)
    for number in range(9, 22):
        session.record(*tool_round(number, f"ledger row {number} is late " * 20))
    session.compact(force=True)
    session.request(system="Be careful.")
    session.embed()
    session.record(user("Go on."))
    store.open(Key(session="s-2"), info=SessionInfo(session="s-2", kind="fork", parent="s", parent_seq=12))
    child = SessionInfo(session="kid", kind="child", parent="s", parent_seq=4, parent_call="c1", title="a child")
    store.open(Key(session="kid"), info=child)
    Session("s-2", store=store, policy=TINY).record(user("Another walrus over the ledger."))
    Session("other", store=store, policy=TINY).record(user("The ledger of a pelican."))
    store.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "a.db"
    build(path)
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return copied(whole, tmp_path / "copy")


def copied(whole: Path, folder: Path) -> Path:
    return Path(shutil.copytree(whole.parent, folder)) / whole.name


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(sql, values)


def run(path: Path, words: str) -> Result:
    return CliRunner().invoke(app, [*words.split(" "), "--db", str(path)])


def kept(path: Path, session: str = "") -> Counter[tuple[object, ...]]:
    """The rows of all sessions, or of one, whatever bytes they hold."""
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        where = f" WHERE session = (SELECT id FROM session WHERE name = '{session}')" if session else ""
        return Counter((table, *row) for table in KEPT for row in db.execute(f"SELECT * FROM {table}{where}"))


def body_of(path: Path, seq: int) -> bytes:
    with closing(sqlite3.connect(path)) as db:
        return bytes(db.execute("SELECT body FROM event WHERE session = 1 AND seq = ?", (seq,)).fetchone()[0])


# -- one event

BROKEN: dict[str, Any] = {
    "no UTF-8": lambda body: body[: len(body) // 2] + b"\xff" + body[len(body) // 2 + 1 :],
    "no JSON": lambda body: body.replace(b"{", b"[", 1),
    "a cut end": lambda body: body[:-1] + b"\x00",
    "no event": lambda body: b"42".ljust(len(body)),
    "no role of ours": lambda body: body.replace(b'"role":"', b'"role":"x'),
    "nothing": lambda body: b"",
    "no bytes": lambda body: 42,
    "a damaged frame": lambda body: zstandard.compress(body)[:9] + b"\xff" * 40,
    "a frame of a giant": lambda body: b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + body,
    "deep lists": lambda body: b"[" * 200_000,
    "another number": lambda body: body.replace(b'"seq":5', b'"seq":6'),
}


@pytest.mark.parametrize("breaks", BROKEN.values(), ids=BROKEN)
def test_an_event_that_cannot_be_read_is_told_with_its_session_and_what_to_do(path: Path, breaks: Any) -> None:
    change(path, "UPDATE event SET body = ? WHERE session = 1 AND seq = 5", breaks(body_of(path, 5)))
    with pytest.raises(StoreError, match=r"a\.db: event:5 of session 's' is damaged.*backup.*`foldmark delete`"):
        SQLiteStore(path).log(MAIN)
    assert len(SQLiteStore(path).log(OTHER)) == 1


@pytest.mark.parametrize("words", OPENING)
def test_every_command_that_needs_a_damaged_event_says_so_and_ends_as_bad_input(path: Path, words: str) -> None:
    change(path, "UPDATE event SET body = ? WHERE session = 1 AND seq = 5", BROKEN["no UTF-8"](body_of(path, 5)))
    before = kept(path)
    done = run(path, f"{words} --session s")
    assert done.exit_code == 2, done.output
    assert "event:5 of session 's' is damaged" in done.stderr
    assert kept(path) == before


def test_what_does_not_need_a_damaged_event_goes_on(path: Path) -> None:
    change(path, "UPDATE event SET body = ? WHERE session = 1 AND seq = 5", BROKEN["no UTF-8"](body_of(path, 5)))
    for asked in ("sessions", "load event:3 --session s", "show --session other", "search pelican --session other"):
        assert run(path, asked).exit_code == 0, asked


PLACES = {
    "checkpoint SET body = x'7bff'": "the compaction up to event:.* of session 's' is damaged.*`foldmark delete`",
    "scope_state SET body = x'7bff'": "what is kept of a scope of session 's' is damaged.*`foldmark delete`",
    "attempt SET body = x'7bff'": "an attempt to compact of session 's' is damaged.*`foldmark delete`",
    "fact SET body = x'7bff'": "a fact of event:.* of session 's' is damaged.*`foldmark delete`",
    "unit SET text = x'7bff'": "an excerpt of event:.* of session 's' is damaged.*`foldmark delete`",
    "piece SET text = x'7bff'": "the index of event:.* of session 's' is damaged.*`foldmark delete`",
    "piece SET head = x'7bff'": "the index of event:.* of session 's' is damaged.*`foldmark delete`",
    "session SET meta = x'7bff' WHERE name = 's'": "the meta of session 's' is damaged.*`foldmark delete`",
    "session SET title = x'7bff' WHERE name = 's'": "the title of session 's' is damaged.*`foldmark delete`",
    "session SET title = CAST(x'ff' AS TEXT)": "the title of session 's' is damaged.*`foldmark delete`",
}


@pytest.mark.parametrize(("sql", "said"), PLACES.items(), ids=PLACES)
def test_what_else_cannot_be_read_is_told_with_its_place(path: Path, sql: str, said: str) -> None:
    change(path, f"UPDATE {sql}")
    with pytest.raises(StoreError, match=said):
        needs_everything(SQLiteStore(path))


def needs_everything(store: SQLiteStore) -> None:
    store.info(MAIN)
    store.view(MAIN)
    store.attempts(MAIN)
    store.find(MAIN, words("ledger"))
    session = Session("s", store=store, policy=TINY)
    session.compact(force=True)
    session.control.history()


# -- erasing

HURT = {
    "an event": "UPDATE event SET body = x'ff' WHERE session = 1 AND seq = 5",
    "all events": "UPDATE event SET body = x'ff' WHERE session = 1",
    "a fact": "UPDATE fact SET body = x'ff' WHERE session = 1",
    "a piece": "UPDATE piece SET text = CAST(x'6cff6c' AS TEXT) WHERE session = 1 AND seq = 5",
    "a packed piece": "UPDATE piece SET text = x'6cff6c' WHERE session = 1 AND seq = 5",
    "a head": "UPDATE piece SET head = CAST(x'ff' AS TEXT) WHERE session = 1 AND seq = 5",
    "an excerpt": "UPDATE unit SET text = x'ff' WHERE session = 1",
    "a checkpoint": "UPDATE checkpoint SET body = x'ff' WHERE session = 1",
    "a scope": "UPDATE scope_state SET body = x'ff' WHERE session = 1",
    "a hash": "UPDATE artifact SET sha256 = CAST(x'ff' AS TEXT) WHERE session = 1",
    "a vector": "UPDATE vector SET body = x'ff' WHERE session = 1",
}


@pytest.mark.parametrize("sql", HURT.values(), ids=HURT)
def test_a_damaged_session_can_be_erased_with_all_its_words_and_nothing_else(path: Path, sql: str) -> None:
    change(path, sql)
    before = kept(path, "other")
    done = run(path, "delete s --descendants --yes")
    assert done.exit_code == 0, done.output
    assert kept(path) == kept(path, "other") == before
    after = terms(path)
    with closing(sqlite3.connect(path)) as db:
        rebuild_search(db)
        db.commit()
    assert after == terms(path)
    assert len(SQLiteStore(path).find(OTHER, words("pelican")).found) == 1


def terms(path: Path) -> list[tuple[object, ...]]:
    """What the index holds: each token, in which column, of how many pieces."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO search (search) VALUES ('optimize')")
        db.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, search, col)")
        return db.execute("SELECT term, col, doc FROM terms ORDER BY 1, 2").fetchall()


# -- anything


def columns(path: Path) -> list[tuple[str, str]]:
    """Every column of every table that holds a text or a packed value somewhere."""
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
        mine = [name for name in tables if not name.startswith(("sqlite_", "search"))]
        names = [(table, row[1]) for table in mine for row in db.execute(f"PRAGMA table_info({table})")]
        found = "SELECT 1 FROM {} WHERE typeof({}) IN ('text', 'blob') AND length({})"
        return [(table, name) for table, name in names if db.execute(found.format(table, name, name)).fetchone()]


def flip(path: Path, table: str, column: str, random: Random) -> None:
    """Change one to three bytes of a value, as a disk would: its type and length stay."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rows = db.execute(
            f"SELECT typeof({column}), CAST({column} AS BLOB) FROM {table} "
            f"WHERE typeof({column}) IN ('text', 'blob') AND length({column})"
        ).fetchall()
        kind, old = random.choice(rows)
        new = bytearray(old)
        for _ in range(random.randint(1, 3)):
            new[random.randrange(len(new))] ^= random.randint(1, 255)
        value = "CAST(? AS TEXT)" if kind == "text" else "?"
        with contextlib.suppress(sqlite3.IntegrityError):  # it became the name of another row
            db.execute(f"UPDATE {table} SET {column} = {value} WHERE CAST({column} AS BLOB) = ?", (bytes(new), old))


@settings(max_examples=60)
@given(random=st.randoms(use_true_random=False), data=st.data())
def test_whatever_byte_is_damaged_every_command_ends_as_it_should_and_loses_nothing(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, random: Random, data: st.DataObject
) -> None:
    path = copied(whole, tmp_path_factory.mktemp("damaged") / "copy")
    table, column = data.draw(st.sampled_from(columns(whole)))
    flip(path, table, column, random)
    before = kept(path)
    for asked in random.sample(COMMANDS, 4):
        done = run(path, asked)
        assert done.exit_code in (0, 2, 3, 4), (table, column, asked, done.exception)
        assert done.exit_code in {0, 3} or done.stderr.startswith("foldmark: "), asked
        assert not before - kept(path), (table, column, asked)
    shutil.rmtree(path.parent)
