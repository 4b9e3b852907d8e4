"""What a test of a flow has unless its file says otherwise: a store, each of the two in turn, and a clock that
stands."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldmark import MemoryStore, SQLiteStore
from foldmark.store import Store
from foldmark.testing import FixedClock
from foldmark.worker import calls, running
from waiting import LONG


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is broken off may take its time to close on a busy machine."""
    monkeypatch.setattr(running, "ENDING_SECONDS", LONG)
    monkeypatch.setattr(calls, "CLOSING_SECONDS", LONG)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    yield made
    made.close()


@pytest.fixture
def resting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Is set once a thread has found nothing to do and goes to sleep."""
    rests, rest = threading.Event(), running._Shift._rest

    def tells(self: running._Shift, heard: int, seconds: float) -> None:
        rests.set()
        rest(self, heard, seconds)

    monkeypatch.setattr(running._Shift, "_rest", tells)
    return rests
