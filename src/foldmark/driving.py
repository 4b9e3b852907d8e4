"""Drives the steps of a compaction: makes the calls that they ask for and hands the answers back. Knows nothing of what
is asked.

A step runs under the session's lock, a call of a model never does: nobody waits for a summary to record an event. No
transaction is open while a model thinks.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import msgspec

from foldmark.asking import Ask, Chore, Reply, info_of, is_async
from foldmark.awaiting import unawaited
from foldmark.errors import PolicyError

Result = TypeVar("Result")

GRACE_SECONDS, GRACE_SHARE = 1.0, 0.1
"""How much longer than its time an answer may take, whichever is more: a model that keeps the limit itself (an SDK's
`timeout=`) needs a moment to come back with what it has."""


class AnswerTooLate(TimeoutError):
    """A model answered after its time. `reply` is what it said: paid for, and not used."""

    def __init__(self, name: str, seconds: float, limit: float, reply: Any) -> None:
        super().__init__(f"{name} answered after {seconds:,.1f} s; limits.timeout_seconds is {limit:g}")
        self.reply = reply


# -- steps


def drive(steps: Generator[Ask, Any, Result], lock: AbstractContextManager[Any]) -> Result:
    """Run the steps to their end; calls are made in this thread. What a call raises is thrown into the steps, also an
    interrupt: they leave the session as it was.

    A call in this thread cannot be stopped. One that takes longer than `Limits.timeout_seconds` is waited for, and its
    answer is dropped as AnswerTooLate; to be free at that second, let the model keep the limit, or use AsyncSession.
    """
    try:
        with lock:
            done, value = advance(steps)
        while not done:
            try:
                answer = timed(value)
            except BaseException as error:
                with lock:
                    done, value = throw(steps, error)
            else:
                with lock:
                    done, value = advance(steps, answer)
    except BaseException as error:
        if is_open(steps):
            with lock:
                close(steps, error)
        raise
    return value  # type: ignore[no-any-return]


def advance(steps: Generator[Ask, Any, Any], answer: Any = None) -> tuple[bool, Any]:
    """One step: (False, the next Ask) or (True, the result)."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value


def throw(steps: Generator[Ask, Any, Any], error: BaseException) -> tuple[bool, Any]:
    """One step that is told what went wrong with its call."""
    try:
        return False, steps.throw(error)
    except StopIteration as end:
        return True, end.value


def is_open(steps: Generator[Ask, Any, Any]) -> bool:
    """Whether there is something left to close."""
    return inspect.getgeneratorstate(steps) != inspect.GEN_CLOSED


def close(steps: Generator[Ask, Any, Any], error: BaseException) -> tuple[bool, None]:
    """The last step of steps that `error` breaks off: they note what was tried. A note that cannot be written is told
    with the error, and does not take its place."""
    try:
        steps.close()
    except Exception as failed:
        error.add_note(f"What was tried could not be noted: {failed!r}")
    return True, None


# -- calls


def timed(ask: Ask | Chore, *, monotonic: Callable[[], float] = time.monotonic) -> Any:
    """Call a model; a Reply gets the seconds that it took. A coroutine is refused: see `refuse_async`. A chore is done.
    Raises AnswerTooLate."""
    if isinstance(ask, Chore):
        return ask.run()
    started = monotonic()
    answer = ask.model(ask)
    if unawaited(answer):
        raise PolicyError(_async_words(ask.model))
    return in_time(ask, answer, monotonic() - started)


def in_time(ask: Ask, answer: Any, seconds: float) -> Any:
    """The answer of a call that took so long, with its seconds filled in where it says none. Raises AnswerTooLate."""
    reply, limit = _with_seconds(answer, seconds), ask.timeout_seconds
    if seconds > limit + max(GRACE_SECONDS, GRACE_SHARE * limit):
        raise AnswerTooLate(info_of(ask.model).name, seconds, limit, reply)
    return reply


def _with_seconds(answer: Any, seconds: float) -> Any:
    if isinstance(answer, str):
        return Reply(text=answer, seconds=seconds)
    if isinstance(answer, Reply) and not answer.seconds:
        return msgspec.structs.replace(answer, seconds=seconds)
    return answer


def refuse_async(models: tuple[Any, ...]) -> None:
    """Raises PolicyError for a model that a sync session cannot call."""
    for model in models:
        if is_async(model):
            raise PolicyError(_async_words(model))


def _async_words(model: Any) -> str:
    return f"The model {info_of(model).name} is async, and Session calls it plainly. Use foldmark.aio.AsyncSession."


# -- one at a time

_TAKEN: set[Hashable] = set()
_TAKING = threading.Lock()


@contextmanager
def place(name: Hashable) -> Iterator[bool]:
    """Take a place of which the process has one; False: somebody else has it. Given back when whoever took it ends, in
    whichever way. Other processes do not see it: there the first commit wins."""
    with _TAKING:
        free = name not in _TAKEN
        if free:
            _TAKEN.add(name)
    try:
        yield free
    finally:
        if free:
            with _TAKING:
                _TAKEN.discard(name)
