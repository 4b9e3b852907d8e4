"""Writes a checkpoint: by code, with a place for what a model told. Knows nothing of storage or of when one is due."""

from foldmark.compose.telling import STORY_SHARE, trimmed
from foldmark.compose.writing import compose, unit_limit, with_shortened, words_of, write_checkpoint

__all__ = ["STORY_SHARE", "compose", "trimmed", "unit_limit", "with_shortened", "words_of", "write_checkpoint"]
