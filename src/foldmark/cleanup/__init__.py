"""Deterministic shrinking behind the mark. Knows nothing of storage, wires or how checkpoints are made."""

from foldmark.cleanup.marks import clean, mark_at, next_mark, options_of

__all__ = ["clean", "mark_at", "next_mark", "options_of"]
