"""Remembers what was already done for a growing list, so that a warm request touches only what is new.

Events are immutable and stores hand out the same objects again: identity of a prefix is proof that nothing in it
changed. Knows nothing of what is remembered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from operator import is_
from typing import Generic, TypeVar

Value = TypeVar("Value")


def grows(old: Sequence[object], new: Sequence[object]) -> bool:
    """Whether `new` begins with the very objects of `old`."""
    return len(new) >= len(old) and all(map(is_, old, new))


class Recent(Generic[Value]):
    """The values of the most recently used keys; safe from several threads."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: Hashable, value: Value) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
