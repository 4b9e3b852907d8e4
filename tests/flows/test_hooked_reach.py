"""What a search brings can be opened, and what can be opened is found: of every place that is searched and the reach
that goes with it, on every store, with read hooks and without, for scopes, forks and sub-agents of every kind.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import MemoryStore, NotFound, Policy, Session, SQLiteStore
from foldmark.children import children_of
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.hooked import EventHooks, hooked
from foldmark.refs import event_ref
from foldmark.seeking import Reach, Sought
from foldmark.store import Key, Sees, SessionInfo, Store
from foldmark.vectors import vectors_of
from foldmark.words import words
from toy_embedder import toy

POLICY = Policy.coding()
STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "store.db"),
}


def no_hush(key: Key, event: Event) -> Event | None:
    return None if "hush" in event.text else event


def no_hush_for_scopes(key: Key, event: Event) -> Event | None:
    return None if "hush" in event.text and key.scope else event


def no_hush_for_the_whole(key: Key, event: Event) -> Event | None:
    return None if "hush" in event.text and not key.scope else event


HOOKS: dict[str, Callable[[Key, Event], Event | None] | None] = {
    "no hook": None,
    "for all": no_hush,
    "for scopes": no_hush_for_scopes,
    "for the whole": no_hush_for_the_whole,
}
SCOPES: list[tuple[str, Sees]] = [("", "all"), ("left", "exact"), ("app", "subtree")]


@contextmanager
def made(kind: str) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = STORES[kind](Path(folder))
        yield store
        store.close()


def read_through(store: Store, hook: str) -> Store:
    on_read = HOOKS[hook]
    return hooked(store, EventHooks(on_read=on_read)) if on_read else store


class World:
    """Sessions of one user as they came to be; every event says `walrus`. Knows which session holds an event."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lines: dict[str, tuple[str, int]] = {}  # session -> what it was forked from (else empty), and up to where
        self.add("main", SessionInfo(session="main"))

    def add(self, name: str, info: SessionInfo) -> None:
        self.store.open(Key(session=name), info=info)
        self.lines[name] = (info.parent, info.parent_seq) if info.kind == "fork" else ("", 0)

    def say(self, name: str, *events: Event) -> None:
        Session(name, store=self.store, policy=POLICY).record(*events)

    def head(self, name: str) -> int:
        return self.store.info(Key(session=name)).head

    def holder(self, name: str, seq: int) -> str:
        parent, upto = self.lines[name]
        return self.holder(parent, seq) if parent and seq <= upto else name

    def grow(self, rng: Random) -> None:
        """One thing more happens: words, calls, a fork, or a sub-agent of a call (by its place, or by its id alone)."""
        name = rng.choice(list(self.lines))
        if rng.random() < 0.5:
            self.say(name, *(spoken(f"{name}-{self.head(name)}-{at}", rng) for at in range(rng.randint(1, 3))))
            return
        new, is_fork = f"s{len(self.lines)}", rng.random() < 0.4
        at, call = rng.randint(0, self.head(name)), rng.choice(["c", "d", "nobody"])
        calls = [(event.seq, one.id) for event in self.store.log(Key(session=name)) for one in event.calls]
        if calls and rng.random() < 0.8:
            at, call = rng.choice(calls)
        if is_fork:
            self.add(new, SessionInfo(session=new, kind="fork", parent=name, parent_seq=at))
        else:
            at = rng.choice([0, at])
            self.add(new, SessionInfo(session=new, kind="child", parent=name, parent_seq=at, parent_call=call))
            self.say(new, user(f"walrus of {new}"))


def spoken(number: str, rng: Random) -> Event:
    text = f"walrus {number}{' hush' if rng.random() < 0.3 else ''}"
    call, scope = rng.choice(["c", "d"]), rng.choice(["", "left", "left", "app", "app/deep"])
    drawn = rng.random()
    if drawn < 0.6:
        return assistant(text, ToolCall(call, "task"), scope=scope)
    return user(text, scope=scope) if drawn < 0.8 else result(call, text, name="task", scope=scope)


def found(asks: Session, where: Any) -> set[tuple[str, int]]:
    """The events that a search brings, by session and seq."""
    finding = asks.store.find(asks.key, words("walrus"), limit=1_000, sought=Sought(where=where))
    return {(one.session, one.event.seq) for one in finding.found}


def opened(asks: Session, world: World, reach: Reach) -> set[tuple[str, int]]:
    """The events that open, by whatever session is named."""
    every = [(name, seq) for name in ("", *world.lines) for seq in range(1, world.head(name or asks.name) + 1)]
    return {(name, seq) for name, seq in every if opens(asks, event_ref(seq, name), reach)}


def opens(asks: Session, ref: str, reach: Reach) -> bool:
    try:
        return any("walrus" in event.text for event in asks.load(ref, reach=reach).events)
    except NotFound:
        return False


@pytest.mark.parametrize("kind", STORES)
@given(seed=st.integers(0, 2**32))
def test_what_a_search_brings_opens_and_what_opens_is_found(kind: str, seed: int) -> None:
    rng = Random(seed)
    with made(kind) as store:
        world = World(store)
        for _ in range(rng.randint(4, 14)):
            world.grow(rng)
        for _ in range(4):
            name, hook, (scope, sees) = rng.choice(list(world.lines)), rng.choice(list(HOOKS)), rng.choice(SCOPES)
            asks = Session(name, store=read_through(store, hook), policy=POLICY, scope=scope, sees=sees)
            for reach in get_args(Reach):
                agree(asks, world, reach)


def agree(asks: Session, world: World, reach: Reach) -> None:
    """That the search of a place brings just what the same reach opens, and hits open by their refs."""
    own = {(world.holder(asks.name, seq), seq) for seq in range(1, world.head(asks.name) + 1)}
    hits, doors = found(asks, reach), opened(asks, world, reach)
    assert hits - doors == set(), "found, and does not open"
    held = {(world.holder(name or asks.name, seq), seq) for name, seq in doors}
    assert {("", place[1]) if place in own else place for place in held} - hits == set(), "opens, and is not found"
    for hit in asks.search("walrus", where=reach, limit=20):
        assert opens(asks, hit.ref, reach), hit.ref
    if reach == "user":
        assert found(asks, "others") == {place for place in hits if place[0]}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("is_imported", [False, True])
def test_what_a_call_of_a_sibling_started_is_found_and_opened_by_the_scopes_that_see_the_call(
    kind: str, is_imported: bool
) -> None:
    with made(kind) as store:
        world = World(store)
        world.say("main", user("walrus"))
        for name in ("fork", "twin"):
            world.add(name, SessionInfo(session=name, kind="fork", parent="main", parent_seq=1))
        for name, scope in (("main", "left"), ("fork", "right"), ("twin", "left")):  # one id, one seq, three lines
            world.say(name, assistant("walrus", ToolCall("c", "task"), scope=scope))
            info = SessionInfo(session=f"k-{name}", kind="child", parent=name, parent_seq=0 if is_imported else 2,
                               parent_call="c")  # fmt: skip
            world.add(f"k-{name}", info)
            world.say(f"k-{name}", user("walrus"))
        left, right = (Session("fork", store=store, scope=one, sees="exact") for one in ("left", "right"))
        every = {"k-main", "k-fork", "k-twin"}
        assert {name for name, _ in found(left, "user")} & every == {"k-main", "k-twin"}
        assert {name for name in every if opens(left, event_ref(1, name), "user")} == {"k-main", "k-twin"}
        assert {name for name, _ in found(right, "user")} & every == {"k-fork"}
        assert {name for name in every if opens(right, event_ref(1, name), "user")} == {"k-fork"}


# -- what a withheld call started

READS: list[tuple[str, Sees, str]] = [
    ("", "all", "for all"), ("", "all", "for the whole"), ("left", "exact", "for all"), ("left", "exact", "for scopes"),
]  # fmt: skip
IMPORTED = [False, True]


def two_calls(store: Store, is_imported: bool) -> None:
    """A session of two calls, one of them hushed, a sub-agent of each with one below it, and a fork of the session."""
    world, said = World(store), {"open": "walrus", "shut": "walrus hush"}
    world.say("main", *(assistant(text, ToolCall(call, "task"), scope="left") for call, text in said.items()))
    world.add("fork", SessionInfo(session="fork", kind="fork", parent="main", parent_seq=2))
    for seq, call in enumerate(said, 1):
        at = 0 if is_imported else seq
        for name, parent in ((f"k-{call}", "main"), (f"b-{call}", f"k-{call}")):
            at = at if parent == "main" else 0
            world.add(name, SessionInfo(session=name, kind="child", parent=parent, parent_seq=at, parent_call=call))
            world.say(name, user(f"walrus of {name}"))
            Session(name, store=store, embedder=toy()).embed()


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("who", ["main", "fork"])
@pytest.mark.parametrize(("read", "is_imported"), list(product(READS, IMPORTED)))
def test_what_a_withheld_call_started_is_not_listed_not_found_and_not_opened(
    kind: str, who: str, read: tuple[str, Sees, str], is_imported: bool
) -> None:
    scope, sees, hook = read
    with made(kind) as store:
        two_calls(store, is_imported)
        asks = Session(who, store=read_through(store, hook), policy=POLICY, scope=scope, sees=sees)
        seen = {"k-open", "b-open"}
        assert {child.session for child in children_of(asks)} == {"k-open"}
        assert {name for name, _ in found(asks, "children")} - {""} == seen
        assert near(asks, "children") == seen
        assert waiting(asks, "children") == seen
        names = [f"{one}-{call}" for one, call in product("kb", ("open", "shut"))]
        assert {name for name in names if opens(asks, event_ref(1, name), "children")} == seen
        if sees != "all":  # whoever sees all has every session of the user as a whole, whatever started it
            assert {name for name, _ in found(asks, "user")} & set(names) == seen
            assert near(asks, "user") & set(names) == seen
            assert {name for name in names if opens(asks, event_ref(1, name), "user")} == seen


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("read", READS)
def test_whoever_is_shown_the_call_has_what_it_started(kind: str, read: tuple[str, Sees, str]) -> None:
    scope, sees, _ = read
    other = "for scopes" if sees == "all" else "for the whole"
    with made(kind) as store:
        two_calls(store, is_imported=False)
        asks = Session("main", store=read_through(store, other), policy=POLICY, scope=scope, sees=sees)
        every = {"k-open", "k-shut", "b-open", "b-shut"}
        assert {child.session for child in children_of(asks)} == {"k-open", "k-shut"}
        assert {name for name, _ in found(asks, "children")} - {""} == near(asks, "children") == every
        assert {name for name in every if opens(asks, event_ref(1, name), "children")} == every


def near(asks: Session, where: Any) -> set[str]:
    """The sessions that a search by vectors brings."""
    vectors, embedder = vectors_of(asks.store), toy()
    assert vectors
    near = vectors.nearest(asks.key, embedder, embedder.of_query("walrus"), sought=Sought(where=where))
    assert {one.session for one in near.found} >= {place[0] for place in near.scores}
    return {one.session for one in near.found} - {""}


def waiting(asks: Session, where: Any) -> set[str]:
    """The sessions of which something waits to be embedded, by an embedder of which there is nothing yet."""
    vectors = vectors_of(asks.store)
    assert vectors
    return {one.place[0] for one in vectors.missing(asks.key, toy("another"), limit=100, where=where)} - {""}
