"""The store in memory: for tests, short-lived agents and as the plainest statement of what a store does.

Knows nothing of disk. Every rule that is not about places comes from `log` and `store`; the contract suite holds it
and the others to the same behaviour.
"""

from __future__ import annotations

from foldmark.memory.parts.checkpoints import Checkpoints
from foldmark.memory.parts.events import Events
from foldmark.memory.parts.lists import Lists
from foldmark.memory.parts.recall import Recall
from foldmark.memory.parts.sessions import Sessions
from foldmark.memory.parts.work import Works
from foldmark.memory.vectors import MemoryVectors


class MemoryStore(Sessions, Events, Checkpoints, Lists, Recall, Works):
    """Keeps everything in this process, behind one lock."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = MemoryVectors(self._lock, self._row, self._searched)
