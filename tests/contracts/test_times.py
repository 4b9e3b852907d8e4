"""What every store promises of times: an event's own, else the moment of a live recording, else none at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import STORES

from foldmark.events import Event, assistant, user
from foldmark.hooked import EventHooks, hooked
from foldmark.rehearsal import Rehearsal
from foldmark.seeking import Piece, Sought
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, SessionInfo, Store
from foldmark.words import words

MAIN = Key(session="main")
MAY, JUNE = 1_746_100_000.0, 1_750_000_000.0  # 1 May and 15 June 2025


@pytest.fixture(params=[*STORES, "hooked"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES.get(request.param, STORES["memory"])(tmp_path)
    yield hooked(made, EventHooks(on_read=lambda key, event: event)) if request.param == "hooked" else made
    made.close()


def add(store: Store, key: Key, *events: Event, live: bool, now: float = JUNE) -> None:
    context = store.context(key, events)
    pieces = [Piece(event.seq, 0, event.text) for event in context.new]
    store.append(key, context.new, head=context.head, pieces=pieces, now=now, live=live)


def found(store: Store, query: str, **sought: Any) -> list[tuple[str, float | None]]:
    finding = store.find(MAIN, words(query), sought=Sought(**sought))
    return [(one.piece.text, one.time) for one in finding.found]


def test_an_event_without_a_time_happened_when_it_was_recorded_live(store: Store) -> None:
    add(store, MAIN, user("fox one", time=MAY), user("fox two"), live=True)
    assert store.times(MAIN) == {1: MAY, 2: JUNE}
    assert sorted(found(store, "fox")) == [("fox one", MAY), ("fox two", JUNE)]
    assert found(store, "June 2025")[0] == ("fox two", JUNE)


def test_an_event_without_a_time_that_is_not_live_has_none(store: Store) -> None:
    add(store, MAIN, user("fox one", time=MAY), user("fox two"), live=False)
    assert store.times(MAIN) == {1: MAY}
    assert sorted(found(store, "fox"), key=str) == [("fox one", MAY), ("fox two", None)]
    assert found(store, "June 2025") == [("fox one", MAY)], "the year of an event alone, no word of the import's day"


@pytest.mark.parametrize("limits", [{"since": 0.0}, {"until": 1e12}, {"since": -1e15, "until": 1e15}])
def test_what_has_no_time_is_not_brought_where_time_is_limited(store: Store, limits: dict[str, float]) -> None:
    add(store, MAIN, user("fox one", time=MAY), user("fox two"), live=False)
    assert found(store, "fox", **limits) == [("fox one", MAY)]
    assert found(store, "", roles=("user",), **limits) == [("fox one", MAY)]


def test_the_first_recording_of_an_event_says_its_time(store: Store) -> None:
    add(store, MAIN, user("fox one", id="a"), live=False)
    add(store, MAIN, user("fox one", id="a"), user("fox two", id="b"), live=True, now=MAY)
    add(store, MAIN, user("fox two", id="b"), live=False)
    assert store.times(MAIN) == {2: MAY}


def test_a_fork_has_the_times_of_its_lineage_and_its_own(store: Store) -> None:
    add(store, MAIN, user("one"), user("two"), user("three"), live=True, now=MAY)
    fork, second = Key(session="fork"), Key(session="second")
    store.open(fork, info=SessionInfo(session="fork", kind="fork", parent="main", parent_seq=2))
    add(store, fork, assistant("in the fork"), assistant("and on"), live=True)
    store.open(second, info=SessionInfo(session="second", kind="fork", parent="fork", parent_seq=3))
    add(store, second, assistant("no time"), assistant("a time", time=1.0), live=False)
    assert store.times(fork) == {1: MAY, 2: MAY, 3: JUNE, 4: JUNE}
    assert store.times(second) == {1: MAY, 2: MAY, 3: JUNE, 5: 1.0}
    assert store.times(second, 2, 4) == {2: MAY, 3: JUNE}
    assert store.times(second, 9) == store.times(second, 0, 0) == {}
    assert store.times(MAIN) == {1: MAY, 2: MAY, 3: MAY}


def test_a_rehearsal_knows_the_times_of_its_store(store: Store) -> None:
    add(store, MAIN, user("one"), user("two", time=MAY), live=True)
    assert Rehearsal(store).times(MAIN) == {1: JUNE, 2: MAY}


def test_events_that_never_had_a_time_are_erased_from_the_index(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    add(store, MAIN, user("fox one"), user("fox two", time=MAY), live=False)
    store.delete(MAIN)
    add(store, MAIN, user("owl"), live=False)
    assert found(store, "fox") == found(store, "2025") == []
    assert found(store, "owl") == [("owl", None)]
    store.close()
