"""Each claim of a worker has one end, whatever happens meanwhile: sessions that go, processes that die, leases that are
lost.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from background import ENDS, GOOD, POLICY, Hiccup, ended_once, grown, whats
from foldmark import MemoryStore, NotFound, Policy, Session, Summarizer, assistant
from foldmark.asking import Ask
from foldmark.reports import Observation, Raised
from foldmark.store import Key, SessionInfo, Store
from foldmark.store.forwarding import Forwarding
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker import Worker
from making import tool_round


def deleting(session: Session, *, then: Any = GOOD) -> Callable[[Any], Any]:
    def model(ask: Any) -> Any:
        with suppress(NotFound):
            session.control.delete()
        if isinstance(then, BaseException):
            raise then
        return then

    return model


@pytest.mark.parametrize("required_", [False, True])
@pytest.mark.parametrize("then", [GOOD, "no answer", ConnectionError("no"), KeyboardInterrupt(), ValueError("x")])
@pytest.mark.parametrize("deletes", [True, False])
@pytest.mark.parametrize("hiccups", [0, 1])
def test_every_claim_has_one_end_for_those_who_listen(
    clock: FixedClock, required_: bool, then: Any, deletes: bool, hiccups: int
) -> None:
    store, seen = Hiccup(), list[Observation]()
    session = grown(store, clock)
    model = deleting(session, then=then) if deletes else ScriptedModel(then)
    summarizer = Summarizer(models=(model,), require_model=required_)
    worker = Worker(store, policy=POLICY, summarizer=summarizer, clock=clock, observer=seen.append)
    store.failing["settle"] = hiccups
    with suppress(KeyboardInterrupt):
        worker.run_once()
    assert ended_once(seen), whats(seen)
    assert bool(store.sessions("local", "local")) is not deletes


ASKED = {"info", "open", "view", "covered", "log", "tally", "describe", "checkpoints", "commit", "note", "settle"}


class Going(Forwarding):
    """A store in which a session is deleted before the `step`th thing that is asked of it."""

    def __init__(self, inner: Store, session: Session, step: int) -> None:
        super().__init__(inner)
        self.session, self.left = session, step

    def __getattribute__(self, name: str) -> Any:
        if name in ASKED:
            self.left -= 1
            if self.left < 0 and self.inner.sessions("local", "local"):
                self.session.control.delete()
        return super().__getattribute__(name)


def test_a_session_that_is_deleted_at_any_step_of_a_job_stays_deleted(clock: FixedClock) -> None:
    for step in itertools.count():
        store, seen = MemoryStore(), list[Observation]()
        session = grown(store, clock)
        session.remember({"policy": POLICY.to_json()})
        going = Going(store, session, step)
        Worker(going, clock=clock, observer=seen.append).run_once()
        assert ended_once(seen), (step, whats(seen))
        if going.left >= 0:
            break
        assert store.sessions("local", "local") == [], step
    assert step > 5


def test_a_deleted_session_stays_deleted(store: Store, clock: FixedClock) -> None:
    grown(store, clock, "before").control.delete()
    during = grown(store, clock, "during")
    seen = list[Observation]()

    def choose(key: Key, info: SessionInfo) -> Policy:
        during.control.delete()
        return POLICY

    worker = Worker(store, policy=choose, clock=clock, observer=seen.append)
    worker.drain()
    assert whats(seen) == ["claimed", "lost"], "nothing of it is reported as an error"
    assert store.sessions("local", "local") == []
    assert worker.backlog().dirty == 0


def test_a_session_that_is_deleted_while_a_model_thinks_gets_nothing_written(store: Store, clock: FixedClock) -> None:
    session, seen = grown(store, clock), list[Observation]()

    def delete(ask: Ask) -> str:
        session.control.delete()
        return GOOD

    worker = Worker(store, policy=POLICY, model=ScriptedModel(delete), clock=clock, observer=seen.append)
    (report,) = worker.drain()
    assert report.outcome == "deferred"
    assert whats(seen) == ["claimed", "deferred", "lost"]
    assert store.sessions("local", "local") == []
    assert worker.backlog().dirty == 0


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_nothing_is_forgotten_or_done_twice(seed: int) -> None:
    store, clock, rng = MemoryStore(), FixedClock(), random.Random(seed)
    sessions = {name: grown(store, clock, name) for name in ("a", "b", "c")}
    recorded = dict.fromkeys(sessions, 26)
    numbers = itertools.count(1_000)
    given_up = set[str]()

    def grow(name: str, rounds: int) -> None:
        for _ in range(rounds):
            sessions[name].record(*tool_round(next(numbers), f"new output {next(numbers)}\n" * 150))
        sessions[name].record(assistant("So far."))
        recorded[name] += 2 * rounds + 1
        given_up.discard(name)

    told = Counter[str]()

    def watch(seen: Observation) -> None:
        told.update(whats([seen]))
        if isinstance(seen, Raised) and seen.what == "given_up":
            given_up.add(seen.session)

    def model(ask: Ask) -> str:
        match rng.randrange(8):
            case 0:
                raise ConnectionError("no")
            case 1:
                raise KeyboardInterrupt
            case 2:
                grow(rng.choice(sorted(sessions)), 3)
            case 3:  # the process sleeps through its lease, and another one takes the work
                clock.advance(200.0)
                Worker(store, policy=POLICY, clock=clock, observer=watch).run_once()
            case 4:
                clock.advance(50.0)
        return GOOD

    def worker() -> Worker:
        summarizer = Summarizer(models=(model,), require_model=rng.random() < 0.3)
        return Worker(store, policy=POLICY, summarizer=summarizer, clock=clock, observer=watch)

    for _ in range(40):
        match rng.randrange(5):
            case 0:
                grow(rng.choice(sorted(sessions)), rng.randrange(1, 8))
            case 1:
                store.claim(clock(), 60.0)  # and that process is killed
            case 2:
                clock.advance(rng.choice((1.0, 30.0, 70.0)))
            case _:
                with suppress(KeyboardInterrupt):
                    worker().run_once()
    clock.advance(1_000.0)
    Worker(store, policy=POLICY, clock=clock, observer=watch).drain()
    assert store.backlog(clock()).dirty == 0
    assert told["claimed"] == sum(told[end] for end in ENDS)
    for name, session in sessions.items():
        made = session.control.history()
        assert [one.version for one in made] == list(range(1, len(made) + 1))
        assert all(older.boundary < newer.boundary for older, newer in itertools.pairwise(made))
        assert len(store.log(session.key)) == recorded[name]
        assert session.compact().outcome in (("applied", "not_due") if name in given_up else ("not_due", "ineffective"))
