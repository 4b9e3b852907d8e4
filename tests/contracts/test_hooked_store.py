"""A store with hooks is a store: the whole contract, carried by hooks that change nothing, and no method forgotten."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
import test_session_rows
import test_stores
import test_told_exactly
from places import STORES

from foldmark.events import Event, user
from foldmark.hooked import EventHooks, HookedStore, Landed, hooked
from foldmark.memory import MemoryStore
from foldmark.store import Key, SessionInfo, Store, promised
from waiting import LONG

for module in (test_stores, test_session_rows, test_told_exactly):
    globals().update(
        {name: thing for name, thing in vars(module).items() if name.startswith("test_") and callable(thing)}
    )


def same(key: Key, events: tuple[Event, ...]) -> tuple[Event, ...]:
    return events


def shown(key: Key, event: Event) -> Event:
    return event


def told(landed: Landed) -> None:
    assert len(landed.events) == len(landed.refs)


NOTHING = EventHooks(on_append=same, on_read=shown, after=told, name="nothing")


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = hooked(STORES[request.param](tmp_path), NOTHING, EventHooks())
    yield made
    made.drain(LONG)
    made.close()


def test_the_wrapper_forgets_no_method_of_the_protocol() -> None:
    for name, thing in promised().items():
        has = getattr(HookedStore, name, None)
        assert has, f"HookedStore has no {name!r}: the Store protocol promises it, so hand it on to inner"
        if inspect.isfunction(thing):
            assert inspect.signature(thing).parameters == inspect.signature(has).parameters, name


def test_the_check_sees_a_method_that_is_missing() -> None:
    assert {"append", "view", "artifacts", "backlog", "extend"} <= promised().keys()


def test_sub_agents_are_listed_without_the_words_that_the_reader_is_not_shown() -> None:
    """Titles are made of first words, and `children` tells of them as `info` does."""
    inner = MemoryStore()
    store = hooked(inner, EventHooks(on_read=lambda key, event: None if "secret" in event.text else event))
    inner.open(Key(session="main"))
    for name, words in (("one", "the secret plan"), ("two", "a plain plan")):
        key = Key(session=name)
        inner.open(key, info=SessionInfo(session=name, kind="child", parent="main", parent_call="c"))
        context = inner.context(key, [user(words)])
        inner.append(key, context.new, head=0, now=1.0)
    assert [child.title for child in inner.children(Key(session="main"))] == ["the secret plan", "a plain plan"]
    assert [child.title for child in store.children(Key(session="main"), call="c")] == ["", "a plain plan"]
