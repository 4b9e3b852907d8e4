"""State and exact facts, known by code. Knows nothing of storage, budgets or how a checkpoint is written."""

from foldmark.facts.noting import facts_of

__all__ = ["facts_of"]
