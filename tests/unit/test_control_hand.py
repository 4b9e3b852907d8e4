"""A control that somebody keeps acts on the session as it stands now; what a plan promises `compact` does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from foldmark import MemoryStore, Session
from foldmark.aio import AsyncSession
from foldmark.control import Control
from foldmark.errors import FoldmarkError, NotFound
from foldmark.events import assistant, result
from foldmark.summarizer import Summarizer
from foldmark.testing import FixedClock, ScriptedModel, items_json
from making import call
from telltale import STEERED, talk

TOLD = items_json(decisions=[("Invoice 6 is compared with ledger_6.csv", [14])])

READS: list[Callable[[Control], object]] = [
    lambda hand: hand.plan(force=True),
    lambda hand: hand.preview(force=True),
    lambda hand: hand.history(),
    lambda hand: hand.compactions(),
    lambda hand: hand.totals(),
    lambda hand: hand.attempts(),
    lambda hand: hand.pins(),
    lambda hand: hand.seq_of("event:2"),
]


def fixed(store: Any = None, **options: Any) -> Session:
    """Under a clock that stands: two looks say the same."""
    return Session("s", store=store or MemoryStore(), policy=STEERED, clock=FixedClock(), **options)


def same(kept: Control, session: Session) -> None:
    for read in READS:
        assert repr(read(kept)) == repr(read(session.control))


def test_a_control_that_was_kept_sees_the_prefix_that_was_described_since() -> None:
    session = fixed()
    kept = session.control
    session.record(*talk(1, 40))
    session.describe(system="You mend ledgers. " * 2_000, tools=[{"name": "read", "parameters": {}}])
    same(kept, session)
    plan = kept.plan(force=True)
    report = session.compact(force=True)
    assert (plan.before, plan.after) == (report.before, report.after)
    same(kept, session)


def test_a_control_that_was_kept_moves_with_the_session_to_its_fork() -> None:
    session = fixed()
    kept = session.control
    session.record(*talk(1, 40))
    session.compact(force=True)
    events = session.store.log(session.key)
    session.follow([*events[:-1], assistant("Invoice 40 is open.")])
    assert session.name != "s"
    kept.pin("event:4")
    kept.edit({"next_steps": ["Ask the bank"]}, author="Ann")
    same(kept, session)
    assert [one.kind for one in session.control.history()] == ["compaction", "edit"]
    parent = fixed(session.store)
    assert ([one.kind for one in parent.control.history()], parent.control.pins()) == (["compaction"], [])


def test_a_control_that_was_kept_asks_whoever_is_asked_now() -> None:
    session = fixed()
    kept = session.control
    session.record(*talk(1, 40))
    assert kept.plan(force=True).asks is None
    session.summarizer = Summarizer(models=(ScriptedModel(TOLD),))
    asks = kept.plan(force=True).asks
    assert asks
    assert asks.model == "scripted"


async def awaited(ask: Any) -> str:
    return TOLD


def broken(occasion: Any) -> Any:
    raise RuntimeError("no key")


@pytest.mark.parametrize(
    "given",
    [
        lambda occasion: awaited,
        lambda occasion: Summarizer(models=(awaited,)),
        lambda occasion: [ScriptedModel(TOLD), awaited],
        lambda occasion: 7,
        lambda occasion: None,
        lambda occasion: ScriptedModel(TOLD),
        broken,
    ],
)
@pytest.mark.parametrize("force", [True, False])
def test_a_plan_refuses_what_the_compaction_refuses(given: Any, force: bool) -> None:
    session = fixed(summarizer=given)
    session.record(*talk(1, 40))

    def told(verb: Callable[..., Any]) -> tuple[str, str]:
        try:
            return verb(force=force).outcome, ""
        except FoldmarkError as error:
            return type(error).__name__, str(error)

    plan, preview, done = told(session.control.plan), told(session.control.preview), told(session.compact)
    assert plan == preview == done


def test_an_async_session_plans_with_models_that_are_awaited() -> None:
    session = AsyncSession("s", policy=STEERED, clock=FixedClock(), summarizer=lambda occasion: awaited)
    session.session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    report = asyncio.run(session.compact(force=True))
    assert plan.asks
    assert (plan.outcome, plan.boundary) == (report.outcome, report.boundary)


def test_delete_takes_the_bodies_whatever_the_sessions_clock_says() -> None:
    """A shelf stamps its bodies by the time of the machine; a session's clock may stand in 1970 or be ahead."""
    for clock in (FixedClock(0.0), FixedClock(9e9)):
        session = Session("s", clock=clock)
        long = "\n".join(f"row {n} of the ledger, charged by retry_{n % 7}" for n in range(4_000))
        made = call()
        session.record(*talk(1, 2), assistant("I read it.", made), result(made.id, long, name=made.name))
        hashes = session.store.hashes("local")
        assert hashes
        assert session.control.delete() == len(hashes)
        assert not any(session.artifacts.has("local", one) for one in hashes)


def test_an_undo_of_everything_opens_nothing_and_says_so() -> None:
    session = fixed()
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.control.undo(0)
    for ref in ("compaction:2", "compaction:2#L1-3"):
        with pytest.raises(NotFound, match="covers nothing, all events are raw") as raised:
            session.load(ref)
        assert "1-0" not in str(raised.value)
    with pytest.raises(NotFound, match="covers event:1-"):
        session.load("compaction:1#L9000-9001")
