"""The places that keep the contract: another store is held to it by one line here. Knows nothing of what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from foldmark.memory import MemoryStore
from foldmark.sqlite import SQLiteStore
from foldmark.store import Store


class Place(NamedTuple):
    """A `kind` of store, how a `new` one is made (in an empty folder, where it needs one), and how the same one is
    opened `again`, here or in another process, while it is open; None: by nobody."""

    kind: type
    new: Callable[[Path], Store]
    again: Callable[[Path], Store] | None = None

    @property
    def parts(self) -> str:
        """Where its parts stand: beside the module of the store."""
        return f"{self.kind.__module__.rpartition('.')[0]}.parts"


def in_memory(folder: Path) -> Store:
    return MemoryStore()


def in_a_file(folder: Path) -> Store:
    return SQLiteStore(folder / "store.db")


PLACES: dict[str, Place] = {
    "memory": Place(MemoryStore, in_memory),
    "sqlite": Place(SQLiteStore, in_a_file, again=in_a_file),
}
STORES = {name: place.new for name, place in PLACES.items()}
SHARED = [name for name, place in PLACES.items() if place.again]
"""Those that can be opened twice."""


def opened_again(name: str, folder: Path) -> Store:
    """Another handle on the place of that name that was made in the folder."""
    again = PLACES[name].again
    assert again is not None, f"{name!r} is opened once"
    return again(folder)
