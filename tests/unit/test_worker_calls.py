"""Calls of models that are given up, and the steps that wait for them. No store; time passes only where a model lets
it pass, so that nothing depends on how busy the machine is."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from typing import Any, cast

import pytest

from foldmark.asking import Ask, Chore
from foldmark.store import Key, Store, Work
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.worker.calls import Calls
from foldmark.worker.job import BrokenOff, Job, drive
from waiting import LONG, until

SHORT = 1 / 32  # seconds, and exact: sums of it are what they should be
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


def job(
    leases: Leases | None = None, *, seconds: float = 5.0, lease: float = 60.0, ticks: FixedClock | None = None
) -> Job:
    store = cast(Store, leases or Leases())
    return Job(
        store, WORK, clock=lambda: 1_000.0, lease_seconds=lease, seconds=seconds, monotonic=ticks or time.monotonic
    )


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
    ticks = FixedClock()
    driven(asking(model, timeout=60.0), job(seconds=5.0, ticks=ticks))
    driven(asking(model, timeout=2.0), job(seconds=5.0, ticks=ticks))
    assert [ask.timeout_seconds for ask in model.asks] == [5.0, 2.0]


def test_only_calls_take_of_the_time_of_a_job() -> None:
    ticks, left = FixedClock(), list[float]()

    def model(ask: Ask) -> str:
        left.append(ask.timeout_seconds)
        ticks.advance(2.0)
        return "x"

    def steps() -> Generator[Ask, Any, None]:
        for _ in range(3):
            ticks.advance(60.0)  # what code does between two calls
            yield Ask(model=model, timeout_seconds=60.0)

    with pytest.raises(TimeoutError, match="time was over before"):
        driven(steps(), job(seconds=4.0, ticks=ticks))
    assert left == [4.0, 2.0]


def test_an_async_model_that_hangs_is_cancelled_at_the_end_of_the_jobs_time() -> None:
    cancelled, ticks = threading.Event(), FixedClock()

    async def model(ask: Ask) -> str:
        ticks.advance(SHORT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    other = ScriptedModel("unasked")
    first, second = driven(asking(model, other), job(seconds=SHORT, ticks=ticks))
    assert isinstance(first, TimeoutError)
    assert "given up" in str(first)
    assert isinstance(second, TimeoutError)
    assert "before scripted was asked" in str(second)
    assert cancelled.wait(LONG)
    assert not other.asks


def test_a_plain_model_that_hangs_is_left_alone_and_its_late_answer_not_heard() -> None:
    free, ended, ticks = threading.Event(), threading.Event(), FixedClock()

    def model(ask: Ask) -> str:
        ticks.advance(SHORT)
        free.wait(LONG)
        ended.set()
        return "late"

    (answer,) = driven(asking(model), job(seconds=SHORT, ticks=ticks))
    assert isinstance(answer, TimeoutError)
    assert not ended.is_set(), "nobody waited for it"
    free.set()


def test_an_async_model_that_cannot_be_cancelled_keeps_nobody() -> None:
    ticks, free, ended = FixedClock(), threading.Event(), threading.Event()

    async def model(ask: Ask) -> str:
        ticks.advance(SHORT)
        while not free.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)
        ended.set()
        return "stubborn"

    calls = Calls()
    (answer,) = drive(asking(model), threading.RLock(), job(seconds=SHORT, ticks=ticks), calls)
    assert isinstance(answer, TimeoutError)
    assert not ended.is_set(), "nobody waited for it"
    free.set()
    assert ended.wait(LONG)
    calls.close()


def test_a_late_answer_that_would_have_to_be_awaited_is_closed() -> None:
    free, made, ticks = threading.Event(), list[Coroutine[Any, Any, str]](), FixedClock()

    def model(ask: Ask) -> Coroutine[Any, Any, str]:
        ticks.advance(SHORT)
        free.wait(LONG)
        made.append(hanging(ask))
        return made[0]

    (answer,) = driven(asking(model), job(seconds=SHORT, ticks=ticks))
    assert isinstance(answer, TimeoutError)
    free.set()
    until(lambda: made and inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED)


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


NEVER = threading.Event()


@pytest.mark.parametrize("model", [hanging, partial(answering_of, hanging), lambda ask: NEVER.wait(LONG)])
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


class Thinking:
    """A model that thinks until its lease was asked for again so many times."""

    def __init__(self, leases: Leases, times: int, ticks: FixedClock) -> None:
        self.leases, self.times, self.ticks = leases, times, ticks

    def __call__(self, ask: Ask) -> str:
        for number in range(self.times):
            self.ticks.advance(SHORT)
            until(lambda number=number: len(self.leases.until) > number)
        return "x"


def test_the_lease_is_extended_while_a_model_thinks() -> None:
    leases, ticks = Leases(), FixedClock()
    driven(asking(Thinking(leases, 2, ticks)), job(leases, lease=SHORT, ticks=ticks))
    assert leases.until == [1_000 + SHORT] * 2


def test_a_short_job_asks_for_nothing() -> None:
    leases = Leases()
    driven(asking(ScriptedModel("x")), job(leases, ticks=FixedClock()))
    assert not leases.until


def test_after_a_lost_lease_no_other_model_is_asked() -> None:
    second, leases, ticks = ScriptedModel("unasked"), Leases(False), FixedClock()
    work = job(leases, lease=SHORT, ticks=ticks)
    answer, refused = driven(asking(Thinking(leases, 1, ticks), second), work)
    assert work.is_lost
    assert answer.text == "x", "what is paid already is heard"
    assert isinstance(refused, TimeoutError)
    assert not second.asks


def test_a_store_that_hiccups_at_a_beat_is_asked_at_the_next() -> None:
    leases, ticks = Leases(OSError("disk"), True), FixedClock()
    work = job(leases, lease=SHORT, ticks=ticks)
    driven(asking(Thinking(leases, 2, ticks)), work)
    assert not work.is_lost
    assert len(leases.until) == 2


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
