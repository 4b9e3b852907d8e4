"""Calls of models that can be given up: async ones in one event loop, plain ones in threads. Knows nothing of work.

All async calls of a worker share one loop in a thread of its own: the connections of an async client belong to the
loop that opened them, so two loops could not share a client. Whoever waits does so outside of the loop, so a model that
does not let itself be cancelled keeps nobody. All threads are daemons: they never hold up the interpreter's end.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from foldmark.asking import Ask, is_async

CLOSING_SECONDS = 1.0
"""How long a closed loop may take to end what runs in it; then it is left behind."""

Answered = tuple[bool, Any]
"""(it answered, the answer or what it raised)."""


class Calls:
    """Begins calls; they may be waited for, and cancelled, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def begin(self, ask: Ask) -> Future[Answered]:
        """Call a model. The future holds what it answered or raised; an answer may still have to be awaited (`go_on`)
        when a plain function made a coroutine. Cancelled, an async call ends; a plain one goes on, unheard."""
        if is_async(ask.model):
            return self.go_on(lambda: ask.model(ask))
        return in_thread(lambda: ask.model(ask))

    def go_on(self, call: Callable[[], Any]) -> Future[Answered]:
        """Await what `call` returns."""
        return asyncio.run_coroutine_threadsafe(_held(call), self._running())

    def close(self) -> None:
        """End the loop and what runs in it. The next async call begins another one."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            _stop(loop)
            if thread is not threading.current_thread():
                thread.join(CLOSING_SECONDS)

    def start_anew(self) -> None:
        """What a forked process does first: the loop's thread is not here."""
        self._lock, self._loop, self._thread = threading.Lock(), None, None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="foldmark-calls", daemon=True)
                self._thread.start()
                weakref.finalize(self, _stop, self._loop)
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """The loop's thread: until it is stopped; then all that runs in it is cancelled."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=CLOSING_SECONDS / 2))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # it is closed already
        loop.call_soon_threadsafe(loop.stop)


async def _held(call: Callable[[], Any]) -> Answered:
    """What comes of a call, never raised: an interrupt out of a model's code would end the loop under all others, and
    a StopIteration would hang the future."""
    try:
        answer = call()
        return True, await answer if inspect.isawaitable(answer) else answer
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return False, error


def in_thread(call: Callable[[], Any]) -> Future[Answered]:
    """Call it in a thread of its own."""
    future: Future[Answered] = Future()
    future.set_running_or_notify_cancel()  # it cannot be cancelled any more, only left alone

    def work() -> None:
        try:
            found = True, call()
        except BaseException as error:
            found = False, error
        future.set_result(found)

    threading.Thread(target=copy_context().run, args=(work,), name="foldmark-call", daemon=True).start()
    return future
