"""Vectors for sessions whose work is settled: batch by batch, in time, and whatever comes of it changes nothing else.

Knows nothing of compactions and leases. An embedder is called in a thread of its own, since a function cannot be
stopped: a worker that ends, or whose time is over, waits for it no longer, and an answer that comes later is dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any, NamedTuple

import msgspec

from foldmark.embedding import Embedder
from foldmark.errors import EmbedderFailed, NotFound
from foldmark.retrieval.meaning import REST_SECONDS, SLOW_SECONDS
from foldmark.store import Key, Store
from foldmark.vectors import embed, vectors_of
from foldmark.worker.calls import Answered, in_thread

_log = logging.getLogger("foldmark.worker")
Making = Callable[..., Sequence[Sequence[float]]]


class _Over(Exception):
    """The worker ends or the time is over: no failure of anybody."""


class _Turn(NamedTuple):
    """How long vectors are made for one work: until then (monotonic), or until the worker ends."""

    until: float
    stops: Future[None]
    goes_on: Callable[[], bool]


class Embedding:
    """Gives sessions the vectors that they lack, from any number of threads. `seconds` is how long it may go on after
    one work, and how long one batch may take; `monotonic` gives seconds that only rise."""

    def __init__(
        self, store: Store, embedder: Embedder | None, seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._embedder, self._seconds, self._monotonic = store, embedder, seconds, monotonic
        self._rests_until, self._told = float("-inf"), set[tuple[type, ...]]()
        self.start_anew()

    def start_anew(self) -> None:
        """What a forked process does first: no thread of the other one is here."""
        self._lock = threading.Lock()
        self._wanted: dict[Key, bool] = {}  # sessions under way, and whether they were asked for once more meanwhile
        self._late: Future[Answered] | None = None

    def give(self, key: Key, stops: Future[None], goes_on: Callable[[], bool]) -> None:
        """Give vectors to what the key's session lacks, until time is over, `stops` is done or `goes_on` says no. A
        session that another thread has in hand is left to it. Raises nothing but interrupts of this thread."""
        if self._embedder is None:
            return
        whole = msgspec.structs.replace(key, scope="", sees="all")
        turn = _Turn(self._monotonic() + self._seconds, stops, goes_on)
        if not self._begins(whole):
            return
        try:
            while self._is_wanted(whole):
                self._embed(whole, self._embedder, turn)
        except BaseException:
            with self._lock:
                self._wanted.pop(whole, None)
            raise

    # -- one session at a time

    def _begins(self, key: Key) -> bool:
        with self._lock:
            is_new = key not in self._wanted
            self._wanted[key] = True
            return is_new

    def _is_wanted(self, key: Key) -> bool:
        """Whether it is to be looked at (once more); it is out of hand otherwise."""
        with self._lock:
            if not self._wanted[key]:
                del self._wanted[key]
                return False
            self._wanted[key] = False
            return True

    def _embed(self, key: Key, embedder: Embedder, turn: _Turn) -> None:
        if self._monotonic() < self._rests_until or self._is_over(turn):
            return
        after = embedder.call_after
        patient = msgspec.structs.replace(
            embedder, call=partial(self._in_time, embedder.call, turn),
            call_after=after and partial(self._in_time, after, turn),
        )  # fmt: skip
        try:
            if vectors_of(self._store) is None:
                raise EmbedderFailed("the store keeps no vectors")
            while embed(self._store, key, patient).done:
                pass  # and once more: something may have come meanwhile
        except NotFound:
            return  # the session was deleted
        except Exception as error:
            if not isinstance(error.__cause__, _Over):
                self._tell(error)

    # -- one batch

    def _in_time(self, call: Making, turn: _Turn, *texts: Sequence[str]) -> list[Sequence[float]]:
        """What a call of the embedder makes of the texts. A failure that took long lets it rest, as with searches: work
        must not wait again and again for a server that is down."""
        if self._is_over(turn):
            raise _Over
        started = self._monotonic()
        try:
            return self._answered(call, turn, texts)
        except Exception as error:
            if not isinstance(error, _Over) and (now := self._monotonic()) - started > SLOW_SECONDS:
                self._rests_until = now + REST_SECONDS
            raise

    def _answered(self, made_by: Making, turn: _Turn, texts: Sequence[Sequence[str]]) -> list[Sequence[float]]:
        if self._late is not None and not self._late.done():
            raise TimeoutError("it is still busy with an earlier batch")
        call = in_thread(lambda: list(made_by(*texts)))
        either: tuple[Future[Any], ...] = (call, turn.stops)
        wait(either, self._seconds, FIRST_COMPLETED)
        if not call.done():
            self._late = call
            raise _Over if turn.stops.done() else TimeoutError(f"no vectors within {self._seconds:g} s")
        answered, value = call.result()
        if answered:
            made: list[Sequence[float]] = value
            return made
        raise value if isinstance(value, Exception) else RuntimeError(type(value).__name__) from value

    def _is_over(self, turn: _Turn) -> bool:
        return self._monotonic() >= turn.until or turn.stops.done() or not turn.goes_on()

    def _tell(self, error: Exception) -> None:
        """Log it once for each kind: what fails, fails after every work."""
        kind: Any = (type(error), type(error.__cause__))
        with self._lock:
            is_known = kind in self._told
            self._told.add(kind)
        if not is_known:
            _log.warning(
                "New pieces get no vectors (searches go by words there): %s. Said once; `foldmark embed` or "
                "Session.embed does it later.", error, exc_info=error.__cause__,
            )  # fmt: skip
