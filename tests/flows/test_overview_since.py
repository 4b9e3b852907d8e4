"""Since when an overview says that a log goes: the day of its first event, never that of its import."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from foldmark import MemoryStore, Session, SQLiteStore
from foldmark.aio import AsyncSession
from foldmark.events import Event, assistant, control, user
from foldmark.store import Store

MAY, JUNE = 1_746_100_000.0, 1_750_000_000.0  # 1 May and 15 June 2025
TALK = [user("Where is the zebra?"), assistant("The zebra is in the zoo.")]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")


def at(moment: float) -> Callable[[], float]:
    return lambda: moment


def since(session: Session) -> str:
    """The day that the overview names; empty for none."""
    text = session.overview(400)
    assert "earlier events" in text
    return text.partition(" since ")[2][:10]


def test_a_session_that_is_recorded_live_goes_since_the_day_of_its_first_event(store: Store) -> None:
    session = Session("s", store=store, clock=at(MAY))
    session.record(control("model_change", {}), *TALK)
    assert since(session) == "2025-05-01"


@pytest.mark.parametrize("time", [None, JUNE])
def test_of_a_transcript_the_first_events_own_time_counts_or_nothing(store: Store, time: float | None) -> None:
    session = Session("s", store=store, clock=at(MAY))
    session.follow([user("Where is the zebra?", time=time), TALK[1]], live=False)
    assert since(session) == ("2025-06-15" if time else "")


def test_a_transcript_that_is_gone_on_with_live_began_on_a_day_that_nobody_knows(store: Store) -> None:
    session = Session("s", store=store, clock=at(MAY))
    session.follow(TALK, live=False)
    session.record(user("And the lion?"))
    assert since(session) == ""
    assert [hit.date[:10] for hit in session.search("lion")] == ["2025-05-01"]


def test_a_fork_goes_since_the_day_of_its_first_event_wherever_that_was_recorded(store: Store) -> None:
    session = Session("s", store=store, clock=at(MAY))
    session.record(*TALK)
    later = Session("s", store=store, clock=at(JUNE))
    edited: list[Event] = [TALK[0], assistant("It is in the garden."), user("Thanks.")]
    assert later.follow(edited).forked_at == 1
    assert since(later) == "2025-05-01"


def test_awaited_following_says_what_is_live_too(store: Store) -> None:
    session = AsyncSession("s", store=store, clock=at(MAY))
    asyncio.run(session.follow(TALK, live=False))
    asyncio.run(session.follow([*TALK, user("And the lion?")]))
    assert store.times(session.session.key) == {3: MAY}
