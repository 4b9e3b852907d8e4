"""Drivers: steps run under the lock, calls do not; what breaks off a call reaches the steps; a late answer is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import PolicyError, Reply, aio
from foldmark.asking import Ask
from foldmark.driving import AnswerTooLate, drive, is_open, place, timed
from waiting import LONG

Steps = Generator[Ask, Any, Any]


class Lock:
    """A lock that knows whether it is held; may fail at one of its entries."""

    def __init__(self, fails_at: int = 0, error: BaseException | None = None) -> None:
        self.inner = threading.RLock()
        self.held = self.entries = 0
        self.fails_at, self.error = fails_at, error

    def __enter__(self) -> None:
        self.entries += 1
        if self.entries == self.fails_at and self.error is not None:
            raise self.error
        self.inner.acquire()
        self.held += 1

    def __exit__(self, *_: object) -> None:
        self.held -= 1
        self.inner.release()


class Watched:
    """Steps that ask a model a few times and write down what reaches them, in which thread, under the lock or not."""

    def __init__(self, lock: Lock, model: Callable[[Ask], Any], times: int = 1) -> None:
        self.lock, self.model, self.times = lock, model, times
        self.log: list[tuple[str, bool, int]] = []

    def note(self, what: str) -> None:
        self.log.append((what, self.lock.held > 0, threading.get_ident()))

    def steps(self) -> Steps:
        answers = []
        self.note("begins")
        try:
            for _ in range(self.times):
                answers.append((yield Ask(model=self.model, timeout_seconds=60)))
                self.note("is told")
        except BaseException as error:
            self.note(type(error).__name__)
            raise
        self.note("ends")
        return answers


Run = Callable[[Steps, Lock], Any]
RUNS: dict[str, Run] = {"sync": drive, "async": lambda steps, lock: asyncio.run(aio.drive(steps, lock))}


@pytest.fixture(params=RUNS, ids=str)
def run(request: pytest.FixtureRequest) -> Run:
    return RUNS[request.param]


# -- both drivers


def test_steps_run_under_the_lock_and_calls_do_not(run: Run) -> None:
    lock, held = Lock(), []
    made = Watched(lock, lambda ask: held.append(lock.held) or f"answer {len(held)}", 3)
    assert [one.text for one in run(made.steps(), lock)] == ["answer 1", "answer 2", "answer 3"]
    assert held == [0, 0, 0]
    assert [what for what, _, _ in made.log] == ["begins", "is told", "is told", "is told", "ends"]
    assert all(under for _, under, _ in made.log)


@pytest.mark.parametrize("error", [ValueError("boom"), TimeoutError(), PolicyError("not so")], ids=repr)
def test_what_a_call_raises_is_thrown_into_the_steps(run: Run, error: Exception) -> None:
    def fails(ask: Ask) -> str:
        raise error

    lock = Lock()
    made = Watched(lock, fails)
    with pytest.raises(type(error)):
        run(made.steps(), lock)
    assert made.log[-1][:2] == (type(error).__name__, True)

    def forgiving() -> Steps:
        try:
            yield Ask(model=fails)
        except Exception as caught:
            return type(caught).__name__

    assert run(forgiving(), lock) == type(error).__name__


def test_a_stop_iteration_in_a_models_code_is_an_error_like_others(run: Run) -> None:
    def careless(ask: Ask) -> Any:
        return next(iter(()))

    def steps() -> Steps:
        try:
            yield Ask(model=careless, timeout_seconds=20)
        except Exception as caught:
            return repr(caught)

    assert "StopIteration" in run(steps(), Lock())


def test_steps_that_are_broken_off_from_outside_are_closed_under_the_lock(run: Run) -> None:
    lock = Lock(fails_at=2, error=OSError("no more locks"))
    made = Watched(lock, lambda ask: "fine")
    steps = made.steps()
    with pytest.raises(OSError, match="no more locks"):
        run(steps, lock)
    assert not is_open(steps)
    assert made.log[-1][:2] == ("GeneratorExit", True)


def test_a_note_that_cannot_be_written_does_not_hide_why_the_steps_were_broken_off(run: Run) -> None:
    def steps() -> Steps:
        try:
            yield Ask(model=lambda ask: "fine")
        except GeneratorExit:
            raise ValueError("the disk is full") from None

    with pytest.raises(OSError, match="no more locks") as caught:
        run(steps(), Lock(fails_at=2, error=OSError("no more locks")))
    assert "the disk is full" in caught.value.__notes__[0]


# -- the plain one


def test_an_interrupt_in_mid_call_is_thrown_into_the_steps_and_raised() -> None:
    def interrupted(ask: Ask) -> str:
        raise KeyboardInterrupt

    lock = Lock()
    made = Watched(lock, interrupted)
    with pytest.raises(KeyboardInterrupt):
        drive(made.steps(), lock)
    assert made.log[-1][:2] == ("KeyboardInterrupt", True)


class Clock:
    """Seconds that pass by a script."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)

    def __call__(self) -> float:
        return self.times.pop(0)


@given(limit=st.floats(0.001, 10_000), seconds=st.floats(0, 30_000))
def test_an_answer_counts_exactly_when_it_came_in_its_time_and_the_grace(limit: float, seconds: float) -> None:
    ask = Ask(model=lambda ask: Reply(text="late or not"), timeout_seconds=limit)
    if seconds <= limit + max(1.0, 0.1 * limit):
        reply = timed(ask, monotonic=Clock(0.0, seconds))
    else:
        with pytest.raises(TimeoutError) as caught:
            timed(ask, monotonic=Clock(0.0, seconds))
        assert isinstance(caught.value, AnswerTooLate)
        reply = caught.value.reply
    assert (reply.text, reply.seconds) == ("late or not", seconds)


def test_a_reply_that_says_its_seconds_keeps_them_and_is_judged_by_the_clock() -> None:
    ask = Ask(model=lambda ask: Reply(text="a", seconds=2.5), timeout_seconds=5)
    assert timed(ask, monotonic=Clock(0.0, 3.0)).seconds == 2.5
    with pytest.raises(AnswerTooLate, match=r"90\.0 s"):
        timed(ask, monotonic=Clock(0.0, 90.0))


def test_a_plain_function_that_returns_something_to_await_is_refused_and_nothing_is_left_open() -> None:
    closed = []

    async def later(ask: Ask) -> str:
        return "never"

    def hidden(ask: Ask) -> Any:
        closed.append(later(ask))
        return closed[0]

    with pytest.raises(PolicyError, match="AsyncSession"):
        timed(Ask(model=hidden))
    assert closed[0].cr_frame is None


# -- the awaited one


@pytest.mark.parametrize("times", [1, 2, 3, 7])
def test_however_often_it_is_cancelled_a_step_ends_and_is_closed_in_a_thread_under_the_lock(times: int) -> None:
    lock, inside, free = Lock(), threading.Event(), threading.Event()
    made = Watched(lock, lambda ask: "fine")

    def slow() -> Steps:
        inside.set()
        assert free.wait(LONG)
        made.note("step is done")
        return (yield from made.steps())

    async def drill() -> None:
        task = asyncio.ensure_future(aio.drive(slow(), lock))
        assert await asyncio.to_thread(inside.wait, LONG)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0.01)
        assert not task.done(), "a step that runs is waited for"
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(drill())
    assert [(what, under) for what, under, _ in made.log] == [
        ("step is done", True),
        ("begins", True),
        ("GeneratorExit", True),
    ]
    assert threading.get_ident() not in {thread for _, _, thread in made.log}, "never in the loop's own thread"


def test_a_cancelled_call_closes_the_steps_in_a_thread_under_the_lock() -> None:
    lock = Lock()

    async def asleep(ask: Ask) -> str:
        await asyncio.sleep(60)
        return "too late"

    made = Watched(lock, asleep)

    async def drill() -> None:
        task = asyncio.ensure_future(aio.drive(made.steps(), lock))
        while not made.log:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(drill())
    assert made.log[-1][:2] == ("GeneratorExit", True)
    assert made.log[-1][2] != threading.get_ident()


def test_a_loop_that_shuts_down_in_the_middle_of_a_step_lets_it_end() -> None:
    lock, inside, over = Lock(), threading.Event(), threading.Event()
    made = Watched(lock, lambda ask: "fine")

    def slow() -> Steps:
        inside.set()
        assert over.wait(LONG)
        return (yield from made.steps())

    async def ends() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            over.set()

    async def drill() -> None:
        drill.ends = asyncio.ensure_future(ends())  # type: ignore[attr-defined]
        drill.task = asyncio.ensure_future(aio.drive(slow(), lock))  # type: ignore[attr-defined]
        assert await asyncio.to_thread(inside.wait, LONG)  # and the loop ends, which cancels every task

    asyncio.run(drill())
    assert drill.task.cancelled()  # type: ignore[attr-defined]
    assert [what for what, _, _ in made.log] == ["begins", "GeneratorExit"]


def test_a_time_limit_around_it_becomes_a_timeout_and_nothing_else() -> None:
    lock = Lock()
    loop: asyncio.AbstractEventLoop
    limit: asyncio.Timeout

    def model(ask: Ask) -> str:  # the time is over while it is asked, however late it is asked
        loop.call_soon_threadsafe(limit.reschedule, 0.0)
        return str(threading.Event().wait(0.3))

    made = Watched(lock, model)

    async def drill() -> None:
        nonlocal loop, limit
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as limit:
            await aio.drive(made.steps(), lock)

    with pytest.raises(TimeoutError):
        asyncio.run(drill())
    assert made.log[-1][:2] == ("GeneratorExit", True)


def test_a_plain_function_that_returns_something_to_await_is_awaited_within_its_time() -> None:
    async def later(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "awaited"

    def steps(seconds: float, limit: float) -> Steps:
        try:
            return (yield Ask(model=lambda ask: later(seconds), timeout_seconds=limit)).text
        except TimeoutError:
            return "timed out"

    assert asyncio.run(aio.drive(steps(0, LONG), Lock())) == "awaited"
    assert asyncio.run(aio.drive(steps(10 * LONG, 0.2), Lock())) == "timed out"


# -- one at a time


def test_a_place_is_taken_by_one_and_given_back_whatever_ends_it() -> None:
    with place("here") as first, place("here") as second, place("there") as other:
        assert (first, second, other) == (True, False, True)

    def interrupted() -> None:
        with place("here") as again:
            assert again, "given back"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    def holding() -> Generator[bool, None, None]:
        with place("here") as mine:
            yield mine

    steps = holding()
    assert next(steps)
    with place("here") as late:
        assert not late
    steps.close()
    with place("here") as free:
        assert free


def test_of_many_threads_one_has_the_place() -> None:
    start, out, seen = threading.Barrier(8), threading.Barrier(8), []

    def run() -> None:
        start.wait(LONG)
        with place("crowd") as mine:
            seen.append(mine)
            out.wait(LONG)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [False] * 7 + [True]
