"""Events read from their rows are those that the folded log gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from foldmark.errors import NotFound
from foldmark.events import user
from foldmark.sqlite import SQLiteStore
from foldmark.sqlite.reading import FEW, event, serves, stretch
from foldmark.sqlite.sessions import Known, find_row, lineage
from foldmark.store import Key, SessionInfo

MAIN, FORK = Key(session="main"), Key(session="fork")


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    made = SQLiteStore(tmp_path / "store.db")
    for key, names in ((MAIN, "abcdef"), (FORK, "xyz")):
        if key == FORK:
            made.open(FORK, info=SessionInfo(session="fork", kind="fork", parent="main", parent_seq=4))
        new = made.context(key, [user(f"text {name}", id=name) for name in names])
        made.append(key, new.new, head=new.head, now=1.0)
    new = made.context(FORK, [user("said again under the number of another", id="2")])
    made.append(FORK, new.new, head=new.head, now=1.0)
    return made


def unfolded(store: SQLiteStore, key: Key) -> Known:
    found = find_row(store._db, key)
    assert found
    return Known(*found, lineage(store._db, found[0]))


@pytest.mark.parametrize("key", [MAIN, FORK])
def test_a_stretch_is_that_of_the_log(store: SQLiteStore, key: Key) -> None:
    for first in range(-1, 11):
        for last in (None, *range(-1, 11)):
            assert stretch(store._db, unfolded(store, key), first, last) == store.log(key, first, last), (first, last)


NAMES = ("1", "02", "2", "5", "8", "9", "0", "-1", "a", "e", "f", "x", "nobody", "", "²", "1" * 30, "0" * 18 + "5")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", [MAIN, FORK])
def test_an_event_is_found_by_the_names_by_which_the_log_finds_it(store: SQLiteStore, key: Key, name: str) -> None:
    def found(look: object) -> object:
        try:
            return look()  # type: ignore[operator]
        except NotFound as error:
            return str(error)

    assert found(lambda: event(store._db, unfolded(store, key), name)) == found(lambda: store.event(key, name))


def test_rows_are_read_for_a_short_stretch_of_a_whole_session_that_is_not_folded(store: SQLiteStore) -> None:
    known = unfolded(store, MAIN)
    assert serves(known, MAIN)
    assert serves(known, MAIN, 1, None)
    assert not serves(known, Key(session="main", scope="a", sees="exact"))
    known.row = known.row._replace(head=FEW + 1)
    assert not serves(known, MAIN, 1, None)
    assert serves(known, MAIN, 2, None)
    known.log.extend(stretch(store._db, unfolded(store, MAIN)))
    assert not serves(known, MAIN)
