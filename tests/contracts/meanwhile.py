"""Another session on the same store that gets the turn in the middle of what one does, at any moment whatever. Knows
nothing of what either of them does.

Threads change where they like, so nothing here is left to luck: whoever works hands the turn over itself, as an
allocation may (the collector of CPython 3.11 runs then, finalizers with it) and as a line of ours may. Where the
store's lock is held the turn is kept: nobody else could have it there.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import foldmark
from foldmark import Policy, Session, ToolCall, assistant, user
from foldmark.events import Event, result
from foldmark.store import Store
from toy_embedder import toy
from waiting import LONG

SOURCE = str(Path(foldmark.__file__).parent)
WAITED_SECONDS = 0.1
"""So long the turn is waited for: who has to wait for a lock goes on when it is free."""
POLICY = Policy.coding(run="manual", budget={"landing_tokens": 2_000, "nothing_below": 1_000})


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
    """A second session on the store that does something whenever it is handed the turn, with the number of the turn,
    and gives it back. `turns` counts those it took; what it raised are its `errors`."""

    def __init__(self, store: Store, does: Callable[[Session, int], object], most: int) -> None:
        self.store, self.does, self.most, self.turns, self.errors = store, does, most, 0, list[BaseException]()
        self._asked, self._done, self._ended = threading.Semaphore(0), threading.Event(), False
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        session = Session("one", store=self.store, policy=POLICY, embedder=toy())
        lock = getattr(self.store, "_lock", threading.Lock())
        session.record(user("I am here too."))  # what this thread needs of the store, it has
        self._done.set()
        while self._asked.acquire() and not self._ended:
            if lock.acquire(blocking=False):
                lock.release()
                try:
                    self.does(session, self.turns)
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
        assert self._done.wait(LONG), "the other session did not begin"
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended = True
        self._asked.release()
        self._thread.join()


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


MOMENTS = {"allocations": at_allocations, "lines": at_lines}


def count_of(moments: str, work: Callable[[], object]) -> int:
    """How many moments there are while it is done."""
    count = 0

    def moment() -> None:
        nonlocal count
        count += 1

    with MOMENTS[moments](moment):
        work()
    return count


@contextmanager
def turns_at(moments: str, other: Other, every: int, begin: int) -> Iterator[None]:
    """The other one is handed the turn at every so manieth moment, the first of which are counted from `begin`."""
    count = begin

    def moment() -> None:
        nonlocal count
        count += 1
        if count % every == 0:
            other.turn()

    with MOMENTS[moments](moment):
        yield


def folder_in(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name
