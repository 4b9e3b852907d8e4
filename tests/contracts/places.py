"""The stores that keep the contract: another one is held to it by one line here. Knows nothing of what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foldmark.memory import MemoryStore
from foldmark.sqlite import SQLiteStore
from foldmark.store import Store

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "store.db"),
}
"""Each makes a new store, in an empty folder where it needs one."""
