"""SQLiteStore: one file, WAL, one connection for each thread, writers behind one lock.

Every write is one `BEGIN IMMEDIATE` transaction. Its parts stand in `parts`, divided as the protocol is. Knows nothing
of steps or flows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from foldmark.sqlite.parts.checkpoints import Checkpoints
from foldmark.sqlite.parts.events import Events
from foldmark.sqlite.parts.lists import Lists
from foldmark.sqlite.parts.recall import Recall
from foldmark.sqlite.parts.sessions import Sessions
from foldmark.sqlite.parts.work import Works
from foldmark.sqlite.vectors import SQLiteVectors


class SQLiteStore(Sessions, Events, Checkpoints, Lists, Recall, Works):
    """Keeps everything in one SQLite file. `durability="full"` also survives a power cut, at a third of the
    speed or less; "normal" may then lose the last transactions (never a crash of the process, never the
    file).

    What is deleted is gone for every search and read at once, and from the pages of the file as soon as no process
    reads what it replaced: a deletion waits for none of them. The next write of the store that deleted cleans the file
    after that, else the last process that closes it."""

    def __init__(self, path: str | Path, *, durability: Literal["normal", "full"] = "normal") -> None:
        super().__init__(path, durability)
        self.vectors = SQLiteVectors(self._places, self._lock, self._get, self._searched)
