"""A column of an event, of its index or of an excerpt that holds what no store wrote: the session is told, can be
erased, and costs the others nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from foldmark import NotFound, Session, SQLiteStore, StoreError
from foldmark.events import user
from foldmark.store import Key
from toy_embedder import toy

WRONG = {
    "a text": "'abc'", "bytes": "x'ff'", "no UTF-8": "CAST(x'ff' AS TEXT)", "a fraction": "2.5", "endless": "9e999",
}  # fmt: skip
COLUMNS = {
    "event": ("time", "body"),
    "piece": ("line", "end_line", "number", "place", "head", "text"),
    "unit": ("place", "score", "tokens", "line", "text"),
    "vector": ("body",),
}
DAMAGES = {
    f"{table}.{column}: {how}": f"UPDATE {table} SET {column} = {value} WHERE session = 1 AND seq = 3"
    for table, columns in COLUMNS.items()
    for column in columns
    for how, value in WRONG.items()
}


ASKED: tuple[Callable[[Session], object], ...] = (
    lambda session: session.search("walrus"), lambda session: session.search("", since="2020"),
    lambda session: session.overview(), lambda session: session.load("event:3"),
    lambda session: session.compact(force=True), lambda session: session.request(window=9_000),
)  # fmt: skip


def filled(path: Path) -> None:
    store = SQLiteStore(path)
    for name, tenant in (("bad", "local"), ("good", "local"), ("theirs", "acme")):
        session = Session(name, store=store, tenant=tenant, embedder=toy())
        session.record(*(user(f"The walrus of {name} reads /srv/app_{n}.py, number {n}.") for n in range(8)))
        session.embed()
    store.close()


def damaged(path: Path, sql: str) -> SQLiteStore:
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(sql)
    return SQLiteStore(path)


def told(ask: Callable[[], object]) -> None:
    """It goes well, or the store says what is wrong."""
    said = "damaged"
    try:
        ask()
    except StoreError as error:
        said = str(error)
    assert "damaged" in said, said
    assert "walrus" not in said, "what stands in a text is nobody's business here"


@pytest.mark.parametrize("sql", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_row_costs_the_other_sessions_nothing_and_its_session_can_be_erased(
    tmp_path: Path, sql: str
) -> None:
    store = damaged(tmp_path / "a.db", sql)
    good = Session("good", store=store, embedder=toy())
    for where in ("session", "user"):
        hits = good.search("walrus of good", where=where, limit=100)  # type: ignore[arg-type]
        assert [hit.ref for hit in hits if not hit.session] == [hit.ref for hit in good.search("walrus", limit=100)]
        assert len([hit for hit in hits if not hit.session]) == 8
    assert good.overview()
    for session in (Session("bad", store=store, embedder=toy()), Session("bad", store=store)):
        for ask in ASKED:
            told(lambda ask=ask, session=session: ask(session))
    store.delete(Key(session="bad"))
    with pytest.raises(NotFound):
        store.info(Key(session="bad"))
    assert {hit.session for hit in good.search("walrus", where="user", limit=100)} == {""}
    assert len(Session("theirs", store=store, tenant="acme").search("walrus", limit=100)) == 8


def test_the_other_rows_of_a_session_with_a_damaged_one_are_found_from_elsewhere(tmp_path: Path) -> None:
    store = damaged(tmp_path / "a.db", "UPDATE event SET body = x'ff' WHERE session = 1 AND seq = 3")
    hits = Session("good", store=store).search("walrus", where="user", limit=100)
    assert len([hit for hit in hits if hit.session == "bad"]) == 7


def test_a_damaged_session_of_one_tenant_stops_no_deletion_of_another(tmp_path: Path) -> None:
    filled(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as db:
        db.execute("UPDATE piece SET text = x'ff' WHERE session = 1")
        db.execute("UPDATE event SET time = 'abc' WHERE session = 3")
    store = SQLiteStore(tmp_path / "a.db")
    store.delete(Key(session="bad"))
    assert len(Session("theirs", store=store, tenant="acme").search("walrus", limit=100)) == 8


def test_a_damaged_table_of_tables_is_told_as_that(tmp_path: Path) -> None:
    filled(tmp_path / "a.db")
    raw = bytearray((tmp_path / "a.db").read_bytes())
    at = raw.index(b"CREATE TABLE")
    raw[at + 13] = 0xFF
    (tmp_path / "a.db").write_bytes(bytes(raw))
    with pytest.raises(StoreError):
        SQLiteStore(tmp_path / "a.db").sessions("local", "local")
