"""Another thread records into the very session that is compacted, asked, searched or told of: at any moment whatever.

Threads change where they like, so nothing here is left to luck: whoever works hands the turn to a second session on the
same store in the middle of what it does, as an allocation may (the collector of CPython 3.11 runs then, finalizers with
it) and as a line of ours may. Where the store's lock is held the turn is kept: nobody else could have it there.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec
import pytest
from places import STORES

import foldmark
from foldmark import Policy, Session, ToolCall, assistant, user
from foldmark.events import Event, Text, result
from foldmark.hooked import EventHooks, HookedStore
from foldmark.reports import Report
from foldmark.store import Key, Store

SOURCE = str(Path(foldmark.__file__).parent)
TURNS, IN_A_RECORD = 250, 40
"""So often is the turn handed over at most while one thing is done. Fewer while something is recorded, which begins
again after each turn that was taken, 50 times at most."""
WAITED_SECONDS = 0.1
"""So long the turn is waited for: who has to wait for a lock goes on when it is free."""


def round_of(number: int) -> list[Event]:
    """A round with names, paths and facts of its own."""
    call = f"c{number}"
    return [
        user(f"Never touch config_{number}/settings_{number}.toml, see ABC-{number} of service_{number}."),
        assistant("", ToolCall(call, "bash", f'{{"command": "pytest tests/test_{number}.py -k case_{number}"}}')),
        result(call, f"FAILED tests/test_{number}.py::case_{number} - ValueError: port {8000 + number} is taken"),
        assistant(f"Decided: handler_{number} listens on port {9000 + number} for module_{number}.loader_{number}."),
    ]


class Other:
    """A second session that records one event whenever it is handed the turn. `turns` counts those it took."""

    def __init__(self, store: Store, most: int) -> None:
        self.store, self.most, self.turns, self.errors = store, most, 0, list[BaseException]()
        self._events = (event for number in range(10_000, 20_000) for event in round_of(number))
        self._asked, self._done, self._ended = threading.Semaphore(0), threading.Event(), False
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        session, lock = Session("one", store=self.store), getattr(self.store, "_lock", threading.Lock())
        session.record(next(self._events))  # what this thread needs of the store, it has
        self._done.set()
        while self._asked.acquire() and not self._ended:
            if lock.acquire(blocking=False):
                lock.release()
                try:
                    session.record(next(self._events))
                except BaseException as error:
                    self.errors.append(error)
                self.turns += 1
            self._done.set()

    def turn(self) -> None:
        """Hand it the turn and wait until it gives it back, or waits itself for a lock that is held here."""
        if self.turns < self.most and self._done.is_set():
            self._done.clear()
            self._asked.release()
            self._done.wait(WAITED_SECONDS)

    def __enter__(self) -> Other:
        self._thread.start()
        assert self._done.wait(60), "the other session did not begin"
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended = True
        self._asked.release()
        self._thread.join()
        if self.errors:
            raise self.errors[0]


@contextmanager
def at_allocations(moment: Callable[[], None]) -> Iterator[None]:
    """A moment comes when something is allocated."""
    here = threading.get_ident()

    def heard(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and threading.get_ident() == here:
            moment()

    before = gc.get_threshold()
    gc.callbacks.append(heard)
    gc.set_threshold(3, 1_000_000, 1_000_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(heard)


@contextmanager
def at_lines(moment: Callable[[], None]) -> Iterator[None]:
    """A moment comes before each line of ours."""

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            moment()
        return line

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(SOURCE) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)


POLICY = Policy.coding(run="manual", budget={"landing_tokens": 2_000, "nothing_below": 1_000})
MOMENTS = {"allocations": at_allocations, "lines": at_lines}
DONE: dict[str, Callable[[Session], object]] = {
    "compact": lambda session: session.compact(force=True, focus="ports"),
    "record one": lambda session: session.record(user("And handler_3 of service_3?")),
    "record many": lambda session: session.record(*round_of(500), *round_of(501)),
    "request": lambda session: session.request(system="Be brief.", window=8_000),
    "search": lambda session: session.search("Which port does handlr_7 listen on?"),
    "explain": lambda session: session.control.plan(),
}


def shown(key: Key, event: Event) -> Event | None:
    """What a reader is shown: every seventh event is withheld, every fifth changed."""
    if event.seq % 7 == 0:
        return None
    return msgspec.structs.replace(event, parts=(Text("Left out."),)) if event.is_user and event.seq % 5 == 0 else event


class Kind(NamedTuple):
    """A `place` of the contract, the `scope` of who works, and whether it reads through a hook."""

    place: str
    scope: str = ""
    hooked: bool = False


KINDS = {
    **{name: Kind(name) for name in STORES},
    **{f"{name} in a scope": Kind(name, scope="team") for name in STORES},
    **{f"{name} through a hook": Kind(name, hooked=True) for name in STORES},
}


def begun(kind: Kind, store: Store) -> Session:
    inner = HookedStore(store, [EventHooks(on_read=shown)]) if kind.hooked else store
    session = Session("one", store=inner, policy=POLICY, scope=kind.scope, sees="lineage" if kind.scope else "all")
    session.record(*(event for number in range(30) for event in round_of(number)))
    return session


def moments_of(kind: Kind, moments: str, what: str, folder: Path) -> int:
    """How many there are while it is done and nobody else is there."""
    count = 0

    def moment() -> None:
        nonlocal count
        count += 1

    with closing(STORES[kind.place](folder)) as store:
        session = begun(kind, store)
        with MOMENTS[moments](moment):
            DONE[what](session)
    return count


@pytest.mark.parametrize("what", DONE)
@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("name", KINDS)
def test_what_is_done_while_another_thread_records(name: str, moments: str, what: str, tmp_path: Path) -> None:
    kind, turns = KINDS[name], 0
    most = IN_A_RECORD if what.startswith("record") else TURNS
    every = max(1, moments_of(kind, moments, what, folder_in(tmp_path, "alone")) // most)
    for start in (0.0, 0.3, 0.6):
        count = int(start * every)
        with closing(STORES[kind.place](folder_in(tmp_path, str(start)))) as store:
            session = begun(kind, store)
            with Other(store, most) as other:

                def moment(other: Other = other) -> None:
                    nonlocal count
                    count += 1
                    if count % every == 0:
                        other.turn()

                with MOMENTS[moments](moment):
                    done = DONE[what](session)
            assert not isinstance(done, Report) or done.outcome == "applied", done
            turns += other.turns
            log = store.log(Key(session="one"))
            assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert turns > 0, "nothing was recorded meanwhile"


def folder_in(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


@pytest.mark.parametrize("name", KINDS)
def test_counts_that_a_store_gives_are_a_copy(name: str, tmp_path: Path) -> None:
    with closing(STORES[KINDS[name].place](tmp_path)) as store:
        session = begun(KINDS[name], store)
        before = session.store.tally(session.key).to_bytes()
        several = session.store.context(session.key, [user("The port is 8123."), user("No, 8124.")])
        for tally in (session.store.tally(session.key), several.tally):
            tally.add(user("Nobody said zanzibar_port here."))
            assert "zanzibar_port" in tally.names
        assert session.store.tally(session.key).to_bytes() == before
