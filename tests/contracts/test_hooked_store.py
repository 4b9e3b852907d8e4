"""A store with hooks is a store: the whole contract, carried by hooks that change nothing, and no method forgotten."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
import test_stores

from foldmark.events import Event
from foldmark.hooked import EventHooks, HookedStore, Landed, hooked
from foldmark.hooked.forwarding import Forwarding
from foldmark.memory import MemoryStore
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, Store

globals().update(
    {name: thing for name, thing in vars(test_stores).items() if name.startswith("test_") and callable(thing)}
)


def same(key: Key, events: tuple[Event, ...]) -> tuple[Event, ...]:
    return events


def shown(key: Key, event: Event) -> Event:
    return event


def told(landed: Landed) -> None:
    assert len(landed.events) == len(landed.refs)


NOTHING = EventHooks(on_append=same, on_read=shown, after=told, name="nothing")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    inner: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")
    made = hooked(inner, NOTHING, EventHooks())
    yield made
    made.drain(10)
    made.close()


def promised() -> dict[str, object]:
    return {name: thing for name, thing in vars(Store).items() if not name.startswith("_")}


def test_the_wrapper_forgets_no_method_of_the_protocol() -> None:
    own = {**vars(Forwarding), **vars(HookedStore)}
    for name, thing in promised().items():
        assert name in own, f"HookedStore has no {name!r}: the Store protocol promises it, so forward it to inner"
        if inspect.isfunction(thing):
            asked, has = inspect.signature(thing), inspect.signature(own[name])
            assert asked.parameters == has.parameters, f"HookedStore.{name} takes {has}, the protocol says {asked}"


def test_the_check_sees_a_method_that_is_missing() -> None:
    assert {"append", "view", "artifacts", "backlog", "extend"} <= promised().keys()
