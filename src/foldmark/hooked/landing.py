"""Calls the `after` hooks, in a thread of their own: one append after the other, in the order in which they happened.
Knows nothing of stores.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Lock, RLock

from foldmark.awaiting import unawaited
from foldmark.errors import HookError
from foldmark.hooked.values import EventHooks, Landed
from foldmark.store import Key

LOCKS = 64
"""Appends to sessions of another lock go on side by side."""

logger = logging.getLogger("foldmark.hooked")


class Line:
    """Appends that are to be told, of a store and of all that were made of it by adding hooks."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Sequence[EventHooks], Landed]] = deque()
        self._appends = tuple(RLock() for _ in range(LOCKS))
        self._telling = RLock()
        self._lock = Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    def of(self, key: Key) -> AbstractContextManager[object]:
        """Held round an append and its `add`: what is appended first stands first in the line too."""
        return self._appends[hash((key.tenant, key.user, key.session)) % LOCKS]

    def add(self, hooks: Sequence[EventHooks], landed: Landed) -> None:
        """One more append; `go` gets it told."""
        self._waiting.append((hooks, landed))

    def go(self) -> None:
        """Have told what waits. At the exit of the interpreter no thread takes work any more: then it is told here,
        because the events stand, and whoever recorded them must not hear otherwise."""
        try:
            with self._lock:
                self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="foldmark-after")
                self._last = self._thread.submit(self._tell_all)
        except RuntimeError as error:
            logger.info("The `after` hooks are called in place: %s.", error)
            self._tell_all()

    def _tell_all(self) -> None:
        with self._telling:
            while self._waiting:
                hooks, landed = self._waiting.popleft()
                for hook in hooks:
                    _tell(hook, landed)

    def drain(self, timeout_seconds: float | None = None) -> None:
        """Wait until all that was added so far is told. Raises TimeoutError."""
        if self._last is not None:
            self._last.result(timeout_seconds)

    def close(self) -> None:
        """Wait for it, and let the thread go; a later append starts another one."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True)


def _tell(hook: EventHooks, landed: Landed) -> None:
    """What a hook raises changes nothing: the events stand."""
    if hook.after is None:
        return
    try:
        if unawaited(hook.after(landed)):
            raise HookError("It is async, and nobody would await it: give a plain function.")
    except Exception:
        name, where = hook.called(hook.after), landed.key.session
        logger.exception("The hook %s failed after an append to session %r; the events stand.", name, where)
