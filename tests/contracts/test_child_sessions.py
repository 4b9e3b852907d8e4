"""What every store promises of child sessions: those of a session and of one call are found without all the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from places import STORES

from foldmark.events import user
from foldmark.hooked import EventHooks, hooked
from foldmark.rehearsal import Rehearsal
from foldmark.store import Key, SessionInfo, Store

MAIN = Key(session="main")


@pytest.fixture(params=[*STORES, "hooked"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES.get(request.param, STORES["memory"])(tmp_path)
    yield hooked(made, EventHooks(on_read=lambda key, event: event)) if request.param == "hooked" else made
    made.close()


def say(store: Store, key: Key, *words: str) -> None:
    context = store.context(key, [user(each) for each in words])
    store.append(key, context.new, head=context.head, now=1.0)


def add(store: Store, name: str, call: str = "", *, parent: Key = MAIN, at: int = 0, kind: Any = "child") -> Key:
    key = msgspec.structs.replace(parent, session=name)
    store.open(key, info=SessionInfo(session=name, kind=kind, parent=parent.session, parent_seq=at, parent_call=call))
    return key


def names(store: Store, key: Key = MAIN, call: str | None = None) -> list[str]:
    return [child.session for child in store.children(key, call=call)]


def test_the_child_sessions_of_a_session_come_in_the_order_in_which_they_were_made(store: Store) -> None:
    say(store, MAIN, "one", "two")
    for name in ("b", "c", "a"):
        add(store, name, f"call-{name}", at=2)
    say(store, Key(session="b"), "the newest update")
    assert names(store) == ["b", "c", "a"]


def test_of_one_call_come_those_with_its_id_alone_wherever_it_was_made(store: Store) -> None:
    say(store, MAIN, "one", "two")
    add(store, "first", "call_0", at=1)
    add(store, "other", "call_1", at=1)
    add(store, "again", "call_0", at=2)
    add(store, "imported", "call_0")
    add(store, "loose")
    assert names(store, call="call_0") == ["first", "again", "imported"]
    assert names(store, call="call_1") == ["other"]
    assert names(store, call="") == ["loose"]
    assert names(store, call="call_") == names(store, call="CALL_0") == names(store, call="call%") == []


@pytest.mark.parametrize("call", ["it's", 'a"b', "a\x00b", "\ud800", "Größe", "x" * 10_000, "%", "call_0 OR 1=1"])
def test_any_id_of_a_call_finds_its_child_and_no_other(store: Store, call: str) -> None:
    say(store, MAIN, "one")
    add(store, "mine", call, at=1)
    add(store, "other", "other", at=1)
    assert names(store, call=call) == ["mine"]


def test_forks_and_what_stands_further_below_are_no_children(store: Store) -> None:
    say(store, MAIN, "one", "two")
    add(store, "fork", kind="fork", at=2)
    child = add(store, "child", "c", at=1)
    say(store, child, "inside")
    add(store, "below", "c", parent=child, at=1)
    add(store, "of fork", "c", parent=Key(session="fork"), at=2)
    assert names(store) == names(store, call="c") == ["child"]
    assert names(store, Key(session="fork")) == ["of fork"], "its own alone, whatever it inherits"
    assert names(store, child) == ["below"]


def test_a_row_is_told_as_info_tells_of_it(store: Store) -> None:
    say(store, MAIN, "one")
    child = add(store, "child", "c", at=1)
    say(store, child, "Find the lock.")
    store.describe(child, {"wire": "gemini"})
    (told,) = store.children(MAIN, call="c")
    assert told == store.info(child)
    assert (told.parent, told.parent_seq, told.parent_call, told.head) == ("main", 1, "c", 1)
    assert told.meta == {"wire": "gemini"}


def test_another_tenant_another_user_and_an_unknown_session_have_none(store: Store) -> None:
    say(store, MAIN, "one")
    add(store, "child", "c", at=1)
    assert names(store, Key(session="nobody")) == []
    for other in (Key(session="main", tenant="acme"), Key(session="main", user="eve")):
        assert names(store, other) == [], "before it has a session of that name"
        say(store, other, "one")
        assert names(store, other, call="c") == [], "and with one"
    assert [info.session for info in store.sessions("acme", "local")] == ["main"]


def test_to_ask_for_the_children_of_a_session_that_is_not_there_makes_none(store: Store) -> None:
    store.children(Key(session="nobody"), call="c")
    assert store.sessions("local", "local") == []


def test_what_was_erased_is_listed_no_more_also_when_its_name_comes_again(store: Store) -> None:
    say(store, MAIN, "one")
    gone = add(store, "gone", "c", at=1)
    add(store, "stays", "c", at=1)
    add(store, "under", "c", parent=gone)
    store.delete(gone)
    assert names(store) == ["stays"]
    add(store, "gone", "other", at=1)
    assert names(store) == ["stays", "gone"]
    assert names(store, call="c") == ["stays"]
    assert names(store, gone) == [], "nothing of its former life"
    store.delete(MAIN)
    say(store, MAIN, "anew")
    assert names(store) == []


def test_a_fork_that_was_erased_leaves_the_lists_of_those_beside_it(store: Store) -> None:
    """What hangs on a session is one list for forks and children: erasing one must not lose another."""
    say(store, MAIN, "one", "two")
    line = add(store, "line", kind="fork", at=1)
    add(store, "child", "c", at=1)
    add(store, "twin", kind="fork", at=1)
    store.delete(line)
    assert names(store) == ["child"]
    assert store.match(MAIN, [store.event(MAIN, "1").chain])
    assert set(store.delete(MAIN, descendants=True)) == set()
    assert store.sessions("local", "local") == []


def test_a_scope_is_not_asked_for(store: Store) -> None:
    """Who sees a child is decided elsewhere, by the call: a store lists them all."""
    say(store, MAIN, "one")
    add(store, "child", "c", at=1)
    assert names(store, Key(session="main", scope="left", sees="exact")) == ["child"]


def test_a_rehearsal_lists_those_of_its_store(store: Store) -> None:
    say(store, MAIN, "one")
    add(store, "child", "c", at=1)
    assert names(Rehearsal(store), call="c") == ["child"]


def test_what_another_process_began_is_found(handles: tuple[Store, Store]) -> None:
    one, two = handles
    say(one, MAIN, "one")
    assert names(two, call="c") == []
    add(one, "child", "c", at=1)
    assert names(two, call="c") == ["child"]
