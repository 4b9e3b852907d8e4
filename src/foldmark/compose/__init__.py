"""Writes a checkpoint by code alone. Knows nothing of storage or of when one is due."""

from foldmark.compose.writing import compose, unit_limit, with_shortened, write_checkpoint

__all__ = ["compose", "unit_limit", "with_shortened", "write_checkpoint"]
