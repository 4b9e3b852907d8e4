"""A rehearsal reads through, remembers what is committed on it, and writes nothing into the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark import MemoryStore, Policy, Session, SQLiteStore
from foldmark.checkpoint import Checkpoint, Fact, Mark
from foldmark.errors import NotFound, StaleBoundary
from foldmark.events import user
from foldmark.rehearsal import Rehearsal
from foldmark.reports import Attempt
from foldmark.store import Key, ScopeState, SessionInfo, Work, promised
from making import long_session
from telltale import dump, steered, talk

NO_SUCH = Key(session="nobody")


def test_every_method_that_a_store_promises_is_rehearsed() -> None:
    missing = [name for name in promised() if not hasattr(Rehearsal, name)]
    assert not missing, f"foldmark.rehearsal.Rehearsal lacks {missing}: say whether it reads through or does nothing"


def test_what_it_inherits_only_reads() -> None:
    """A method of the protocol that writes is written here, and never the store's own by accident."""
    assert [name for name in WRITES if name not in vars(Rehearsal)] == []


Writing = Callable[[Rehearsal, Key], Any]
WRITES: dict[str, Writing] = {
    "open": lambda store, key: store.open(key),
    "describe": lambda store, key: store.describe(key, {"wire": "gemini"}),
    "append": lambda store, key: store.append(key, [user("No.")], head=store.view(key).head, now=1.0),
    "facts": lambda store, key: store.facts(key, [Fact(seq=1, kind="pin", key="1", value="", status="pinned")]),
    "sent": lambda store, key: store.sent(key, ScopeState(last_size=7), expected=store.view(key).mark),
    "commit": lambda store, key: store.commit(key, Checkpoint(version=9, boundary=3, text="x", tokens=1), expected=1),
    "note": lambda store, key: store.note(key, Attempt(time=1.0, outcome="failed")),
    "wrote": lambda store, key: store.wrote(key, {"abc": "def"}),
    "delete": lambda store, key: store.delete(key, descendants=True),
    "enlist": lambda store, key: store.enlist(msgspec.structs.replace(key, scope="other", sees="exact")),
    "want": lambda store, key: store.want(key, 5.0),
    "claim": lambda store, key: store.claim(10.0**9, 30.0),
    "extend": lambda store, key: store.extend(Work(key=key, wanted=1, done=0, token=1), 10.0**9),
    "settle": lambda store, key: store.settle(Work(key=key, wanted=1, done=0, token=1)),
    "close": lambda store, key: store.close(),
}
READS: dict[str, Writing] = {
    "attempts": lambda store, key: store.attempts(key),
    "artifacts": lambda store, key: store.artifacts,
    "info": lambda store, key: store.info(key),
    "sessions": lambda store, key: store.sessions(key.tenant, key.user),
    "children": lambda store, key: store.children(key),
    "context": lambda store, key: store.context(key, [user("No.")]).new,
    "view": lambda store, key: store.view(key),
    "log": lambda store, key: store.log(key, 2, 9),
    "covered": lambda store, key: store.covered(key, 9, limit=5),
    "tally": lambda store, key: store.tally(key).to_bytes(),
    "checkpoints": lambda store, key: store.checkpoints(key),
    "written": lambda store, key: store.written(key, ["abc"]),
    "match": lambda store, key: store.match(key, [store.event(key, "1").chain]),
    "ends": lambda store, key: store.ends(key, [store.event(key, "1").plain]),
    "find": lambda store, key: store.find(key, ["ledger"]).pieces,
    "event": lambda store, key: store.event(key, "4"),
    "times": lambda store, key: store.times(key, 1, 9),
    "hashes": lambda store, key: store.hashes(key.tenant),
    "scopes": lambda store, key: store.scopes(key),
    "works": lambda store, key: store.works(key),
    "backlog": lambda store, key: store.backlog(5.0),
}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[SQLiteStore, Path, Key]]:
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    session = steered(store)
    session.record(*talk(1, 30))
    session.request(window=64_000)
    session.compact(force=True)
    yield store, path, session.key
    store.close()


def test_this_file_tries_every_method_of_a_store() -> None:
    assert sorted([*WRITES, *READS]) == sorted(promised())


@pytest.mark.parametrize("name", WRITES)
def test_what_would_write_writes_nothing(name: str, file: tuple[SQLiteStore, Path, Key]) -> None:
    store, path, key = file
    before = dump(path)
    WRITES[name](Rehearsal(store), key)
    assert dump(path) == before


def test_the_dump_of_these_tests_sees_every_write(file: tuple[SQLiteStore, Path, Key]) -> None:
    """The same calls on the store itself do change its rows: else the test above proves nothing."""
    store, path, key = file
    unseen = []
    for name in ("describe", "append", "facts", "sent", "commit", "note", "wrote", "enlist", "want"):
        before = dump(path)
        try:
            WRITES[name](store, key)  # type: ignore[arg-type]
        except ValueError:
            continue  # an event without a number
        unseen += [name] if dump(path) == before else []
    assert not unseen
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM event").fetchone()[0] > 10


@pytest.mark.parametrize("name", READS)
def test_reads_are_those_of_the_store_and_write_nothing(name: str, file: tuple[SQLiteStore, Path, Key]) -> None:
    store, path, key = file
    before = dump(path)
    assert READS[name](Rehearsal(store), key) == READS[name](store, key)  # type: ignore[arg-type]
    assert dump(path) == before


def test_a_session_that_is_not_there_is_not_made() -> None:
    store = MemoryStore()
    with pytest.raises(NotFound):
        Rehearsal(store).open(NO_SUCH, info=SessionInfo(session="nobody"))
    with pytest.raises(NotFound):
        Rehearsal(store).context(NO_SUCH, [user("No.")])
    assert store.sessions("local", "local") == []


@pytest.mark.parametrize("boundary", [0, 3, 40])
def test_a_version_shows_as_the_store_would_show_it(boundary: int) -> None:
    """Forwards and back: the view behind a rehearsed commit is the view behind the real one."""
    session = steered()
    session.record(*talk(1, 30))
    session.compact(force=True)
    session.control.pin("event:2")
    store, key, view = session.store, session.key, session.store.view(session.key)
    made = Checkpoint(
        version=2, boundary=boundary, text="text" if boundary else "", tokens=1, kept=(2,) if boundary else (), held=9,
        mark=Mark(seq=boundary, time=5.0), kind="undo", replaced=view.mark,
    )  # fmt: skip
    attempt = Attempt(time=7.0, outcome="applied", version=2)
    rehearsal = Rehearsal(store)
    rehearsal.commit(key, made, expected=1, attempt=attempt)
    shown, versions = rehearsal.view(key), rehearsal.checkpoints(key)
    assert store.view(key) == view
    store.commit(key, made, expected=1, attempt=attempt)
    assert shown == store.view(key)
    assert versions == store.checkpoints(key)


def test_a_stale_version_is_refused_as_by_the_store() -> None:
    session = steered()
    session.record(*talk(1, 30))
    session.compact(force=True)
    rehearsal = Rehearsal(session.store)
    made = Checkpoint(version=2, boundary=3, text="text", tokens=1)
    with pytest.raises(StaleBoundary):
        rehearsal.commit(session.key, made, expected=0)
    rehearsal.commit(session.key, made, expected=1, anchor=session.store.event(session.key, "3").chain)
    with pytest.raises(StaleBoundary):
        rehearsal.commit(session.key, made, expected=1)
    with pytest.raises(NotFound):
        rehearsal.commit(session.key, msgspec.structs.replace(made, version=3), expected=2, anchor="another log")
    with pytest.raises(NotFound):
        rehearsal.commit(session.key, msgspec.structs.replace(made, version=3, boundary=10**6), expected=2)


def test_a_whole_compaction_can_be_rehearsed_again_and_again() -> None:
    session = Session("s", policy=Policy.coding(run="manual", budget={"landing_tokens": 4_000}))
    session.record(*long_session(40))
    plans = [session.control.plan(force=True) for _ in range(3)]
    assert plans[0] == plans[1] == plans[2]
