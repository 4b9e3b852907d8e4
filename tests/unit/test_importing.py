"""A transcript comes into a store once, whoever else brings it in; children and branches hang where they belong."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from foldmark.events import Event, assistant, control, user
from foldmark.importers import Child, Imported
from foldmark.importing import Brought, bring_in
from foldmark.memory import MemoryStore
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.store import Store
from making import long_session

HEADER = control("session_meta", {"cwd": "/x"})
LATE = control("model_change", {"model": "m"})


def transcript(*events: Event, children: tuple[Child, ...] = (), system: str = "Be kind.") -> Imported:
    return Imported(
        session="s", format="openai-json", wire="openai-chat", system=system, events=events, children=children
    )


def bring(store: Store, imported: Imported) -> Brought:
    return bring_in(imported, store, None)[1]


def texts(store: Store, name: str) -> list[str]:
    return [event.meta.get("control", event.text) for event in store.log(Session(name, store=store).key)]


def bring_file(path: str) -> tuple[int, int]:
    store = SQLiteStore(path)
    brought = bring(store, transcript(*long_session(700, 2)))
    store.close()
    return brought.new, brought.known


def test_three_processes_that_import_one_file_at_once_record_it_once(tmp_path: Path) -> None:
    path, events = str(tmp_path / "a.db"), long_session(700, 2)
    SQLiteStore(path).close()
    with ProcessPoolExecutor(3) as pool:
        counts = list(pool.map(bring_file, [path] * 3))
    store = SQLiteStore(path)
    assert [info.session for info in store.sessions("local", "local")] == ["s"]
    assert texts(store, "s") == [event.text for event in events]
    assert sum(new for new, _ in counts) == len(events)
    assert {new + known for new, known in counts} == {len(events)}


@pytest.mark.parametrize("at", range(5))
def test_a_grown_file_with_a_new_control_record_counts_every_event(at: int) -> None:
    store = MemoryStore()
    old = [HEADER, user("a"), assistant("b"), user("c")]
    assert bring(store, transcript(*old)).new == 4
    grown = [*old[:at], LATE, *old[at:]]
    first, again = bring(store, transcript(*grown)), bring(store, transcript(*grown))
    assert (first.new, first.known) == (1, 4)
    assert (again.new, again.known, again.warnings) == (0, 5, ())
    assert len(texts(store, "s")) == 5


def test_an_older_copy_is_known_whole_and_says_so() -> None:
    store = MemoryStore()
    whole = [HEADER, user("a"), assistant("b"), LATE, user("c")]
    bring(store, transcript(*whole))
    older = bring(store, transcript(*whole[:3]))
    assert (older.new, older.known, older.forked_at) == (0, 3, None)
    assert "older copy" in older.warnings[0]
    assert "event:3" in older.warnings[0]


def branch(at: int, *events: Event) -> Child:
    return Child(imported=Imported(session="way", format="x", wire="openai-chat", events=events), kind="fork", at=at)


@pytest.mark.parametrize("late", range(5))
def test_a_branch_hangs_behind_what_it_shares_though_control_records_came_in_late(late: int) -> None:
    store = MemoryStore()
    main = [HEADER, user("a"), assistant("b"), user("c"), assistant("d")]
    bring(store, transcript(*main))
    grown = [*main[:late], LATE, *main[late:]]
    at = grown.index(main[2]) + 1
    brought = bring(store, transcript(*grown, children=(branch(at, user("other")),)))
    (name,) = brought.children
    assert texts(store, "s") == ["session_meta", "a", "b", "c", "d", "model_change"]
    shared = [text for text in texts(store, name) if text not in ("session_meta", "model_change")]
    assert shared == ["a", "b", "other"]
    assert Session(name, store=store).info.parent_seq == 3
    assert bring(store, transcript(*grown, children=(branch(at, user("other")),))).new == 0
    assert texts(store, name).count("other") == 1


def test_a_file_that_goes_on_in_a_fork_gives_its_system_text_to_the_fork() -> None:
    store = MemoryStore()
    bring(store, transcript(user("a"), assistant("b"), user("c")))
    edited = [user("a"), assistant("other")]
    fork = bring(store, transcript(*edited, system="S2")).session
    assert (fork != "s", Session(fork, store=store).system, Session("s", store=store).system) == (
        True,
        "S2",
        "Be kind.",
    )
    again = bring(store, transcript(*edited, user("more"), system="S3"))
    assert (again.session, again.new, Session("s", store=store).system) == (fork, 1, "Be kind.")


def test_progress_counts_up_to_what_is_new() -> None:
    said: list[tuple[int, int]] = []
    bring_in(
        transcript(*long_session(600, 1)), MemoryStore(), None, progress=lambda done, total: said.append((done, total))
    )
    assert said == [(500, 1201), (1000, 1201), (1201, 1201)]


def bring_edited(path: str) -> str:
    store = SQLiteStore(path)
    brought = bring(store, transcript(user("a"), *long_session(300, 2, ask="Another way.")))
    store.close()
    return brought.session


def test_three_processes_that_import_one_edited_file_at_once_meet_in_one_fork(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    bring(SQLiteStore(path), transcript(user("a"), assistant("b")))
    with ProcessPoolExecutor(3) as pool:
        (fork,) = set(pool.map(bring_edited, [path] * 3))
    store = SQLiteStore(path)
    assert {info.session for info in store.sessions("local", "local")} == {"s", fork}
    assert texts(store, fork) == ["a", *(event.text for event in long_session(300, 2, ask="Another way."))]
