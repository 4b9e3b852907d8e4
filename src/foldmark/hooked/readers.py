"""The readers of a store that are kept between reads, each with a lock of its own. Knows nothing of what one sees."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from foldmark.errors import PolicyError
from foldmark.hooked.showing import Reader
from foldmark.hooked.values import EventHooks
from foldmark.store import Key, Store

READERS = 1_024
"""Readers (a session as one scope sees it) that are kept when nobody says how many. One of a session of 1,000 events
with 250 calls took 18 kB where the hooks changed nothing, 27 kB where they changed every 40th event."""


class Readers:
    """The last `most` readers that were used. One that is not kept any more is made anew when it is asked for: its
    hooks are called again for every event of its session. Raises PolicyError for a number below 1."""

    def __init__(self, hooks: Sequence[EventHooks], most: int) -> None:
        if most < 1:
            raise PolicyError(f"readers must be at least 1, not {most}.")
        self._hooks, self.most = hooks, most
        self._readers: OrderedDict[Key, Reader] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def of(self, store: Store, key: Key) -> Iterator[Reader]:
        """The reader of that key, up to date, for this thread alone: other readers wait for nothing. A hook may itself
        read other sessions; it must not wait for a thread that reads the one it is asked about. Raises HookError."""
        reader = self._kept(key) or self._keep(key, Reader(key, self._hooks, store.view(key).secret))
        with reader.lock:
            yield reader.catch_up(store)

    def _kept(self, key: Key) -> Reader | None:
        with self._lock:
            if key in self._readers:
                self._readers.move_to_end(key)
            return self._readers.get(key)

    def _keep(self, key: Key, made: Reader) -> Reader:
        with self._lock:
            reader = self._readers.setdefault(key, made)  # another thread may have been first
            while len(self._readers) > self.most:
                self._readers.popitem(last=False)
            return reader
