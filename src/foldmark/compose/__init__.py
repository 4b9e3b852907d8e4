"""Writes a checkpoint: by code, with a place for what a model told. Knows nothing of storage or of when one is due."""

from foldmark.compose.rewriting import (
    adopted_in,
    adopted_section,
    cost_of_section,
    with_adopted_section,
    with_narrative,
)
from foldmark.compose.telling import STORY_SHARE, trimmed
from foldmark.compose.writing import compose, unit_limit, with_shortened, words_of, write_checkpoint

__all__ = [
    "STORY_SHARE",
    "adopted_in",
    "adopted_section",
    "compose",
    "cost_of_section",
    "trimmed",
    "unit_limit",
    "with_adopted_section",
    "with_narrative",
    "with_shortened",
    "words_of",
    "write_checkpoint",
]
