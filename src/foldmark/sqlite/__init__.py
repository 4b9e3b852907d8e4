"""The default store: one SQLite file for a deployment. Knows nothing of steps or flows."""

from foldmark.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
