"""Calls of models that are given up, and the steps that wait for them. No store; sleeps of tens of milliseconds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, cast

import pytest

from foldmark.asking import Ask, Chore, Reply
from foldmark.store import Key, Store, Work
from foldmark.testing import ScriptedModel
from foldmark.worker.calls import Calls
from foldmark.worker.job import BrokenOff, Job, drive

WORK = Work(key=Key(session="s"), wanted=9, done=0, token=1)


class Leases:
    """The one thing of a store that a job needs."""

    def __init__(self, *answers: bool | BaseException) -> None:
        self.answers, self.until = list(answers), list[float]()

    def extend(self, work: Work, until: float) -> bool:
        self.until.append(until)
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, BaseException):
            raise answer
        return answer


def job(leases: Leases | None = None, *, seconds: float = 5.0, lease: float = 60.0) -> Job:
    store = cast(Store, leases or Leases())
    return Job(store, WORK, clock=lambda: 1_000.0, lease_seconds=lease, seconds=seconds)


def asking(*models: Any, timeout: float = 60.0) -> Generator[Ask, Any, list[Any]]:
    """Steps that ask one model after the other; what a call raises is part of the result."""
    out: list[Any] = []
    for model in models:
        try:
            out.append((yield Ask(model=model, timeout_seconds=timeout)))
        except Exception as error:
            out.append(error)
    return out


def driven(steps: Generator[Ask, Any, Any], work: Job, calls: Calls | None = None) -> Any:
    calls = calls or Calls()
    try:
        return drive(steps, threading.RLock(), work, calls)
    finally:
        calls.close()


async def hanging(ask: Ask) -> str:
    await asyncio.Event().wait()
    return "never"


def answering_of(model: Callable[[Ask], Any], ask: Ask) -> Any:
    """A plain function that makes a coroutine."""
    return model(ask)


async def answering(ask: Ask) -> str:
    await asyncio.sleep(0)
    return "async"


def test_plain_and_async_models_are_both_asked() -> None:
    plain, awaited = driven(asking(ScriptedModel("plain"), answering), job())
    assert (plain.text, awaited.text) == ("plain", "async")
    assert plain.seconds > 0


def test_a_plain_function_that_makes_a_coroutine_is_awaited() -> None:
    (answer,) = driven(asking(partial(answering_of, answering)), job())
    assert answer.text == "async"


def test_all_async_calls_share_one_loop() -> None:
    loops = []

    async def model(ask: Ask) -> str:
        loops.append(asyncio.get_running_loop())
        return "x"

    calls = Calls()
    for _ in range(3):
        drive(asking(model), threading.RLock(), job(), calls)
    calls.close()
    assert len({id(loop) for loop in loops}) == 1
    assert loops[0].is_closed()


def test_a_model_gets_no_more_time_than_the_job_has_left() -> None:
    model = ScriptedModel("x")
    driven(asking(model, timeout=60.0), job(seconds=5.0))
    driven(asking(model, timeout=2.0), job(seconds=5.0))
    assert 4.5 < model.asks[0].timeout_seconds <= 5.0
    assert model.asks[1].timeout_seconds == 2.0


def test_an_async_model_that_hangs_is_cancelled_at_the_end_of_the_jobs_time() -> None:
    cancelled = threading.Event()

    async def model(ask: Ask) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    other = ScriptedModel("unasked")
    first, second = driven(asking(model, other), job(seconds=0.03))
    assert isinstance(first, TimeoutError)
    assert "given up" in str(first)
    assert isinstance(second, TimeoutError)
    assert "before scripted was asked" in str(second)
    assert cancelled.wait(1.0)
    assert not other.asks


def test_a_plain_model_that_hangs_is_left_alone_and_its_late_answer_not_heard() -> None:
    free = threading.Event()

    def model(ask: Ask) -> str:
        free.wait(5.0)
        return "late"

    started = time.monotonic()
    (answer,) = driven(asking(model), job(seconds=0.03))
    assert isinstance(answer, TimeoutError)
    assert time.monotonic() - started < 2.0
    free.set()


def test_an_async_model_that_cannot_be_cancelled_keeps_nobody() -> None:
    async def model(ask: Ask) -> str:
        while True:
            try:
                await asyncio.sleep(0.2)
                return "stubborn"
            except asyncio.CancelledError:
                continue

    started = time.monotonic()
    (answer,) = driven(asking(model), job(seconds=0.02))
    assert isinstance(answer, TimeoutError)
    assert time.monotonic() - started < 3.0


@pytest.mark.parametrize("raised", [ValueError("no"), StopIteration("no")])
def test_what_a_model_raises_is_thrown_into_the_steps(raised: Exception) -> None:
    def plain(ask: Ask) -> str:
        raise raised

    async def awaited(ask: Ask) -> str:
        raise raised

    found = driven(asking(plain, awaited), job())
    assert type(found[0]) is type(raised)
    assert isinstance(found[1], type(raised) if isinstance(raised, ValueError) else RuntimeError)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_out_of_an_async_model_is_raised_and_the_loop_lives(kind: type[BaseException]) -> None:
    async def model(ask: Ask) -> str:
        raise kind

    calls = Calls()
    with pytest.raises(kind):
        drive(asking(model), threading.RLock(), job(), calls)
    assert drive(asking(answering), threading.RLock(), job(), calls)[0].text == "async"
    calls.close()


def test_an_interrupt_closes_the_steps() -> None:
    closed = []

    def steps() -> Generator[Ask, Any, None]:
        try:
            yield Ask(model=ScriptedModel(KeyboardInterrupt()))
        finally:
            closed.append(True)

    with pytest.raises(KeyboardInterrupt):
        driven(steps(), job())
    assert closed


@pytest.mark.parametrize("model", [hanging, partial(answering_of, hanging), lambda ask: time.sleep(0.2) or "late"])
def test_a_job_that_is_broken_off_waits_no_longer(model: Callable[[Ask], Any]) -> None:
    work, closed = job(), []

    def steps() -> Generator[Ask, Any, None]:
        try:
            yield Ask(model=model)
        finally:
            closed.append(True)

    threading.Timer(0.02, work.break_off).start()
    with pytest.raises(BrokenOff) as stopped:
        driven(steps(), work)
    assert stopped.value.asked
    assert closed


def test_a_chore_is_done_outside_the_lock() -> None:
    lock, held = threading.Lock(), []

    def steps() -> Generator[Any, Any, str]:
        return cast(str, (yield Chore(run=lambda: str(held.append(lock.locked()) or "done"))))

    assert drive(steps(), lock, job(), Calls()) == "done"
    assert held == [False]


# -- the lease


def test_the_lease_is_extended_while_a_model_thinks() -> None:
    leases = Leases()
    driven(asking(lambda ask: time.sleep(0.05) or "x"), job(leases, lease=0.03))
    assert len(leases.until) >= 2
    assert leases.until[0] == 1_000.03


def test_a_short_job_asks_for_nothing() -> None:
    leases = Leases()
    driven(asking(ScriptedModel("x")), job(leases))
    assert not leases.until


def test_after_a_lost_lease_no_other_model_is_asked() -> None:
    second = ScriptedModel("unasked")
    work = job(Leases(False), lease=0.03)
    answer, refused = driven(asking(lambda ask: time.sleep(0.04) or "x", second), work)
    assert work.is_lost
    assert answer.text == "x", "what is paid already is heard"
    assert isinstance(refused, TimeoutError)
    assert not second.asks


def test_a_store_that_hiccups_at_a_beat_is_asked_at_the_next() -> None:
    leases = Leases(OSError("disk"), True)
    work = job(leases, lease=0.03)
    driven(asking(lambda ask: time.sleep(0.05) or Reply(text="x")), work)
    assert not work.is_lost
    assert len(leases.until) >= 2


def test_a_forked_process_begins_its_own_loop() -> None:
    calls = Calls()
    drive(asking(answering), threading.RLock(), job(), calls)
    first = calls._loop
    calls.start_anew()
    drive(asking(answering), threading.RLock(), job(), calls)
    assert calls._loop is not first
    calls.close()
    assert first is not None
    first.call_soon_threadsafe(first.stop)
