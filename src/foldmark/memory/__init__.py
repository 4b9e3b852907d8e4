"""The store in memory: for tests, short-lived agents, and as the plainest statement of what a store does."""

from foldmark.memory.store import MemoryStore

__all__ = ["MemoryStore"]
