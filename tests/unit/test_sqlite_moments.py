"""Two processes on one file: whatever the other one does between any two steps of a method, it is as if it had done so
before or behind the whole of it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import FoldmarkError
from foldmark.events import ToolCall, assistant, user
from foldmark.reports import Attempt
from foldmark.seeking import Piece, Sought
from foldmark.sqlite import SQLiteStore
from foldmark.sqlite.refusals import Connection
from foldmark.store import Context, Key, Raising, ScopeState, SessionInfo, promised

ALL = Key(session="a")
LEFT = Key(session="a", scope="left", sees="exact")
FORK = Key(session="a fork's fork")
KEYS = {ALL: True, LEFT: False, FORK: False}
"""Who asks, and whether the process has folded the session before."""


def add(store: SQLiteStore, key: Key, *said: tuple[str, str], value: str = "") -> None:
    """Record words, each of a key; with a value also a fact of the left one that rests on the last of them."""
    context = store.context(key, [user(text, scope=scope) for scope, text in said])
    head = context.head + len(context.new)
    store.append(
        key, context.new, head=context.head, now=2.0,
        pieces=[Piece(event.seq, 0, event.text) for event in context.new],
        units=[Unit(event.seq, 0, event.text, 1.0, 1) for event in context.new],
        facts=[Fact(seq=head, kind="file", key="k", value=value, scope="left", refs=(head,))] if value else (),
    )  # fmt: skip


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store as both processes find it: a session with a fork, a fork of that, and a sub-agent."""
    path = tmp_path_factory.mktemp("begun") / "s.db"
    store = SQLiteStore(path)
    add(store, ALL, ("left", "walrus"), ("right", "zebra"), value="")
    context = store.context(ALL, [assistant("", ToolCall("c", "task"), scope="left")])
    store.append(ALL, context.new, head=2, now=2.0, raising=Raising(enlist=True))
    store.facts(ALL, [Fact(seq=1, kind="goal", key="g", value="v", scope="left", refs=(1,))])
    store.sent(ALL, ScopeState(last_size=3), expected=Mark())
    store.commit(ALL, Checkpoint(version=1, boundary=1, text="x", tokens=1), expected=0)
    store.note(ALL, Attempt(time=1.0, outcome="failed"))
    store.wrote(ALL, {"h": "p"})
    for name, kind, parent, at in (
        ("a fork", "fork", "a", 3), ("a fork's fork", "fork", "a fork", 3), ("a child", "child", "a", 3),
    ):  # fmt: skip
        info = SessionInfo(session=name, kind=kind, parent=parent, parent_seq=at, parent_call="c")  # type: ignore[arg-type]
        store.open(Key(session=name), info=info)
    store.close()
    return path


Method = Callable[[SQLiteStore, Key], Any]
NOTED: dict[str, Any] = {"time": 3.0, "outcome": "applied"}
METHODS: dict[str, Method] = {
    "open": lambda store, key: store.open(key),
    "open anew": lambda store, key: store.open(
        Key(session="new"), info=SessionInfo(session="new", kind="fork", parent=key.session, parent_seq=1)
    ),
    "info": lambda store, key: store.info(key),
    "describe": lambda store, key: store.describe(key, {"wire": "x"}),
    "sessions": lambda store, key: store.sessions(key.tenant, key.user),
    "children": lambda store, key: store.children(key),
    "delete": lambda store, key: store.delete(key, descendants=True),
    "hashes": lambda store, key: store.hashes(key.tenant),
    "context": lambda store, key: store.context(key, [user("mine")]),
    "append": lambda store, key: store.append(
        key, [msgspec.structs.replace(user("mine", id="m"), seq=4)], head=3, now=5.0, pieces=[Piece(4, 0, "mine")]
    ),
    "append anew": lambda store, key: store.append(Key(session="new"), (), head=0, now=5.0),
    "facts": lambda store, key: store.facts(key, [Fact(seq=1, kind="pin", key="1", value="", status="pinned")]),
    "log": lambda store, key: store.log(key),
    "times": lambda store, key: store.times(key),
    "event": lambda store, key: store.event(key, "2"),
    "tally": lambda store, key: store.tally(key),
    "view": lambda store, key: store.view(key),
    "sent": lambda store, key: store.sent(key, ScopeState(last_size=7), expected=store.view(key).mark),
    "covered": lambda store, key: store.covered(key, 99, limit=9),
    "commit": lambda store, key: store.commit(
        key,
        Checkpoint(version=2, boundary=3, text="y", tokens=1),
        expected=1,
        attempt=Attempt(time=3.0, outcome="applied"),
    ),
    "checkpoints": lambda store, key: store.checkpoints(key),
    "note": lambda store, key: store.note(key, Attempt(time=2.0, outcome="failed")),
    "attempts": lambda store, key: store.attempts(key),
    "wrote": lambda store, key: store.wrote(key, {"h": "p"}),
    "wrote anew": lambda store, key: store.wrote(key, {"h": "r", "i": "p"}),
    "written": lambda store, key: store.written(key, ["h", "i"]),
    "match": lambda store, key: store.match(key, CHAINS),
    "ends": lambda store, key: store.ends(key, PLAINS),
    "find": lambda store, key: store.find(key, ["secret"], sought=Sought(where="user")),
    "enlist": lambda store, key: store.enlist(key),
    "scopes": lambda store, key: store.scopes(key),
    "want": lambda store, key: store.want(key, 5.0),
    "claim": lambda store, key: store.claim(9.0, 30.0),
    "works": lambda store, key: store.works(key),
    "backlog": lambda store, key: store.backlog(9.0),
}
BESIDES = ("artifacts", "close", "extend", "settle")
"""What reads nothing, and what is one statement for work that was claimed."""
CHAINS: list[str] = []
PLAINS: list[str] = []


@pytest.fixture(autouse=True)
def offered(begun: Path) -> None:
    """A list as somebody offers it: the log of the session, and what the other process is about to add."""
    if not CHAINS:
        shutil.copy(begun, begun.with_name("offered.db"))
        store = SQLiteStore(begun.with_name("offered.db"))
        ACTIONS["appends"](store)
        log = store.log(ALL)
        CHAINS.extend(event.chain for event in log)
        PLAINS.extend(event.plain for event in log)
        store.close()


ACTIONS: dict[str, Callable[[SQLiteStore], Any]] = {
    "appends": lambda store: add(store, ALL, ("right", "secret"), value="secret"),
    "erases": lambda store: store.delete(ALL, descendants=True),
    "commits": lambda store: (
        store.wrote(ALL, {"h": "q"}),
        store.commit(ALL, Checkpoint(version=2, boundary=2, text="z", tokens=1), expected=1, attempt=Attempt(**NOTED)),
    ),
}


def void(_: object) -> None: ...


def told(value: Any) -> str:
    """All there is in an answer."""
    if isinstance(value, Context):
        parts = (value.head, value.new, value.known, value.calls, value.state, value.window)
        return f"{parts} {told(value.tally)}"
    return repr((value.events, sorted(value.words.items()))) if hasattr(value, "words") else repr(value)


def outcome(ask: Callable[[], Any]) -> str:
    """An answer, or what was said instead; whatever else is raised is a fault."""
    try:
        return told(ask())
    except FoldmarkError as error:
        return f"{type(error).__name__}: {error}"


class Between:
    """Does something before the so-manieth statement of a connection, unless that one holds the write lock."""

    def __init__(self) -> None:
        self.mine: sqlite3.Connection | None = None
        self.countdown, self.writing, self.act = -1, False, void

    def before(self, db: sqlite3.Connection, sql: str) -> None:
        if db is not self.mine:
            return
        if not self.writing:
            self.countdown -= 1
            if self.countdown == 0:
                self.act(None)
        if sql.startswith(("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")):
            self.writing = sql.startswith("BEGIN")


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    watch = Between()
    for name in ("execute", "executemany"):
        real = getattr(Connection, name)

        def then(self: Connection, *arguments: Any, _real: Any = real) -> Any:
            watch.before(self, arguments[0])
            return _real(self, *arguments)

        monkeypatch.setattr(Connection, name, then)
    return watch


LOOKS: tuple[Method, ...] = (
    lambda store, key: store.info(key),
    lambda store, key: store.view(key) and store.context(key, ()),
    lambda store, key: store.view(key),
    lambda store, key: store.covered(key, 99, limit=9),
    lambda store, key: store.written(key, ["h", "i"]),
    lambda store, key: store.works(key),
)
"""What is read of a store to say what is in it."""


class Tried:
    """One method of a process, and what another one did at some time of it."""

    def __init__(self, folder: Path, begun: Path, method: Method, key: Key) -> None:
        folder.mkdir()
        self.path, self.method, self.key = folder / "s.db", method, key
        shutil.copy(begun, self.path)
        self.one, self.other = SQLiteStore(self.path), SQLiteStore(self.path)
        for store in (self.one, self.other):
            store._db.execute("PRAGMA synchronous = OFF")  # nothing here is about the disk
        self.other._db.execute("PRAGMA busy_timeout = 0")  # to truncate the log of writes it would wait for readers
        if KEYS[key]:
            self.one.context(key, ())

    def ask(self) -> str:
        return outcome(lambda: self.method(self.one, self.key))

    def end(self) -> list[str]:
        """What both processes find in the end: the same."""
        mine, all_ = ([outcome(partial(look, store, self.key)) for look in LOOKS] for store in (self.one, self.other))
        for store in (self.one, self.other):
            store.close()
        assert mine == all_, "the two know different stores"
        return all_


def test_this_file_tries_every_method() -> None:
    assert set(promised()) <= {*METHODS, *BESIDES}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("action", ACTIONS)
def test_what_another_process_does_meanwhile_comes_before_or_behind(
    action: str, name: str, begun: Path, tmp_path: Path, between: Between
) -> None:
    for key in KEYS:
        place = tmp_path / key.session.replace(" ", "_") / key.sees
        place.mkdir(parents=True)

        def tried(folder: str, key: Key = key, place: Path = place) -> Tried:
            return Tried(place / folder, begun, METHODS[name], key)

        def act(this: Tried) -> str:
            return outcome(lambda: ACTIONS[action](this.other))

        before, behind = tried("before"), tried("behind")
        serial = [(act(before), before.ask(), before.end())]
        asked = behind.ask()
        serial += [(act(behind), asked, behind.end())]
        for step in range(1, 100):
            this, done = tried(str(step)), list[str]()
            between.mine, between.countdown, between.writing = this.one._db, step, False
            between.act = lambda _, this=this, done=done: done.append(act(this))  # type: ignore[misc]
            asked = this.ask()
            between.mine = None
            if not done:
                this.end()
                break
            assert (done[0], asked, this.end()) in serial, f"at statement {step} of {name} for {key}"
        else:
            pytest.fail("a method without an end")
