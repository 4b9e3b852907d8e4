"""Drives the steps of a compaction: makes the calls that they ask for and hands the answers back. Knows nothing of what
is asked.

A step runs under the session's lock, a call of a model never does: nobody waits for a summary to record an event. No
transaction is open while a model thinks.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec

from foldmark.asking import Ask, Reply, info_of, is_async
from foldmark.errors import PolicyError

Result = TypeVar("Result")


def drive(steps: Generator[Ask, Any, Result], lock: AbstractContextManager[Any]) -> Result:
    """Run the steps to their end; calls are made in this thread. What a call raises is thrown into the steps, also an
    interrupt: they leave the session as it was."""
    with lock:
        done, value = advance(steps)
    while not done:
        try:
            answer = timed(value.model, value)
        except PolicyError:
            steps.close()  # the caller's mistake is the caller's to hear of
            raise
        except BaseException as error:
            with lock:
                done, value = throw(steps, error)
        else:
            with lock:
                done, value = advance(steps, answer)
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


def timed(model: Any, ask: Ask) -> Any:
    """Call a model; a Reply gets the seconds that it took. A coroutine is refused: see `refuse_async`."""
    started = time.monotonic()
    answer = model(ask)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise PolicyError(f"{_async_words(model)}")
    return with_seconds(answer, time.monotonic() - started)


def with_seconds(answer: Any, seconds: float) -> Any:
    """The answer, with its seconds filled in where it says none."""
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
