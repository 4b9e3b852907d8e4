"""Hooks when threads, many sessions and the end of the process come in between: order, waiting, and what is kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from foldmark.errors import PolicyError
from foldmark.events import Event, assistant, user
from foldmark.hooked import EventHooks, HookedStore, Landed, hooked
from foldmark.hooked.landing import Line
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.store import Key
from foldmark.store.forwarding import Forwarding
from waiting import LONG

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
KEY = Key(session="s")


def landed(number: int) -> Landed:
    return Landed(KEY, (user(str(number), seq=number),), (f"event:{number}",))


# -- after: in the order of the appends, and nobody is forgotten


class Halting(Forwarding):
    """A store whose first append comes back late: another thread gets in between, if it can."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.stands, self.is_passed = threading.Event(), threading.Event()

    def append(self, key: Key, events: Sequence[Event], **rest: Any) -> tuple[Key, ...]:
        dirty = self.inner.append(key, events, **rest)
        if events[0].text == "first":
            self.stands.set()
            self.is_passed.wait(0.3)
        return dirty


def test_an_append_that_comes_back_late_is_told_first_all_the_same() -> None:
    told: list[int] = []
    inner = Halting()
    store = hooked(inner, EventHooks(after=lambda one: told.append(one.events[0].seq)))
    first, second = (Session("s", store=store) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(first.record, user("first"))
        assert inner.stands.wait(LONG)
        second.record(user("second"))
        inner.is_passed.set()
        done.result(LONG)
    store.drain(LONG)
    assert told == [1, 2]


def test_appends_of_many_threads_are_told_in_the_order_of_the_log() -> None:
    """Through the store and through stores that sessions made of it, one append at a time."""
    told: list[int] = []
    at_once: list[int] = []
    busy = threading.Lock()

    def after(one: Landed) -> None:
        at_once.append(busy.acquire(blocking=False))
        told.append(one.events[0].seq)
        if at_once[-1]:
            busy.release()

    store = hooked(MemoryStore(), EventHooks(after=after))
    own = EventHooks(on_append=lambda key, events: None)
    sessions = [Session("s", store=store, hooks=[own] if n % 2 else [], policy=Policy.coding()) for n in range(6)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda one: [one.record(user(f"{id(one)} {n}")) for n in range(80)], sessions))
    finally:
        sys.setswitchinterval(before)
    store.drain(LONG)
    assert told == list(range(1, 481))
    assert all(at_once)


@pytest.mark.parametrize("outer_first", [True, False])
def test_waiting_for_a_store_waits_for_hooks_that_were_added_to_it_and_the_other_way_round(outer_first: bool) -> None:
    go, told = threading.Event(), list[str]()
    inner = hooked(MemoryStore(), EventHooks(after=lambda one: (go.wait(LONG), told.append("inner"))))
    outer = hooked(inner, EventHooks(after=lambda one: (go.wait(LONG), told.append("outer"))))
    Session("s", store=outer).record(user("a"))
    with pytest.raises(TimeoutError):
        (outer if outer_first else inner).drain(0.01)
    go.set()
    (inner if outer_first else outer).drain(LONG)
    assert sorted(told) == ["inner", "outer"]


def test_closing_a_store_waits_for_hooks_that_were_added_to_it() -> None:
    go, told = threading.Event(), list[str]()
    store = hooked(MemoryStore())
    Session("s", store=hooked(store, EventHooks(after=lambda one: (go.wait(LONG), told.append("x"))))).record(user("a"))
    threading.Timer(0.05, go.set).start()
    store.close()
    assert told == ["x"]


AT_EXIT = """
import atexit, sys
from foldmark.session import Session
from foldmark.hooked import EventHooks, hooked
from foldmark.memory import MemoryStore
from foldmark.events import user
told = []
def after(landed):
    told.append(landed.refs[0])
    if landed.events[0].text == "last words":
        session.record(user("words of a hook"))
inner = MemoryStore()
session = Session("s", store=hooked(inner, EventHooks(after=after)))
if "warm" in sys.argv:
    session.record(user("first"))
def last():
    done = session.record(user("last words"))
    print(done.ref, told, [event.text for event in inner.log(session.key)])
atexit.register(last)
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("cold", "event:1 ['event:1', 'event:2'] ['last words', 'words of a hook']"),
        ("warm", "event:2 ['event:1', 'event:2', 'event:3'] ['first', 'last words', 'words of a hook']"),
    ],
)
def test_what_is_recorded_at_the_exit_of_the_interpreter_is_recorded_and_told(how: str, said: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", AT_EXIT, how],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": SOURCE},
    )
    assert run.stdout.strip() == said, run.stderr


def test_what_no_thread_takes_is_told_in_place_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever refuses, and whenever: a thread that could not be started has the work in its queue all the same."""
    told: list[str] = []
    hook, line = EventHooks(after=lambda one: told.append(one.refs[0])), Line()
    submit = ThreadPoolExecutor.submit

    def refused(self: ThreadPoolExecutor, *arguments: object) -> object:
        submit(self, *arguments)  # type: ignore[arg-type]
        raise RuntimeError("can't start new thread")

    for number in range(1, 7):
        monkeypatch.setattr(ThreadPoolExecutor, "submit", refused if number % 2 else submit)
        line.add([hook], landed(number))
        line.go()
    line.close()
    assert told == [f"event:{number}" for number in range(1, 7)]


def test_a_hook_that_fails_keeps_no_other_one_and_no_later_append_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[str] = []
    hooks = [EventHooks(after=lambda one: 1 / 0, name="broken"), EventHooks(after=lambda one: told.append(one.refs[0]))]
    line = Line()
    for number in (1, 2):
        line.add(hooks, landed(number))
    line.go()
    line.drain(LONG)
    assert told == ["event:1", "event:2"]
    assert caplog.text.count("The hook broken failed") == 2


# -- read: one reader's hook holds up nobody else


def fill(store: HookedStore, name: str, count: int = 2) -> Session:
    session = Session(name, store=store)
    session.record(*(user(f"{n}") if n % 2 else assistant(f"{n}") for n in range(count)))
    return session


def test_a_slow_read_hook_of_one_session_lets_the_others_read() -> None:
    inside, go = threading.Event(), threading.Event()

    def slow(key: Key, event: Event) -> Event:
        if key.session == "slow":
            inside.set()
            assert go.wait(LONG)
        return event

    store = hooked(MemoryStore(), EventHooks(on_read=slow))
    names = ("slow", "fast")
    slow_one, fast_one = (fill(store, name) for name in names)
    reads = [
        fast_one.peek, lambda: store.tally(fast_one.key), lambda: store.covered(fast_one.key, 9, limit=9),
        lambda: store.event(fast_one.key, "1"), lambda: store.find(fast_one.key, ["1"]),
        lambda: fast_one.record(user("x")),
    ]  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        waits = pool.submit(lambda: store.log(slow_one.key))
        try:
            assert inside.wait(LONG)
            for read in reads:
                pool.submit(read).result(LONG)
            assert not waits.done()
        finally:
            go.set()
        assert len(waits.result(LONG)) == 2


def test_a_hook_may_read_another_session_through_the_same_store() -> None:
    def allowed(key: Key, event: Event) -> Event | None:
        if key.session == "rules":
            return event
        words = {one.text for one in store.log(Key(session="rules"))}
        return None if event.text in words else event

    store = hooked(MemoryStore(), EventHooks(on_read=allowed))
    Session("rules", store=store).record(user("secret"))
    sessions = [Session(f"s{n}", store=store) for n in range(4)]
    for one in sessions:
        one.record(user("open"), user("secret"))
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda one: [event.text for event in store.log(one.key)], sessions))
    assert seen == [["open"]] * 4


def test_two_threads_that_read_one_session_ask_the_hook_once_about_each_event() -> None:
    asked: list[int] = []

    def counted(key: Key, event: Event) -> Event:
        asked.append(event.seq)
        return event

    store = hooked(MemoryStore(), EventHooks(on_read=counted))
    session = fill(store, "s", 60)
    asked.clear()
    fresh = hooked(store)  # its readers know nothing yet
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: fresh.log(session.key), range(8)))
    assert asked == list(range(1, 61))


@pytest.mark.parametrize(("readers", "kept"), [(None, True), (12, True), (11, False), (1, False)])
def test_as_many_readers_are_kept_as_was_asked_for(readers: int | None, kept: bool) -> None:
    asked: list[str] = []

    def counted(key: Key, event: Event) -> Event:
        asked.append(key.session)
        return event

    store = hooked(hooked(MemoryStore(), EventHooks(on_read=counted), readers=readers))  # wrapped again: it holds
    keys = [fill(store, f"s{number}").key for number in range(12)]
    for _ in range(2):
        asked.clear()
        for key in keys:
            assert len(store.log(key)) == 2
    assert asked == [] if kept else len(asked) == 24


def test_the_number_of_readers_is_inherited_set_anew_and_checked() -> None:
    store = hooked(MemoryStore(), readers=5)
    assert (hooked(MemoryStore()).readers, hooked(store).readers, hooked(store, readers=9).readers) == (1_024, 5, 9)
    for wrapped in (MemoryStore(), store):
        with pytest.raises(PolicyError, match="readers must be at least 1, not 0"):
            hooked(wrapped, readers=0)
