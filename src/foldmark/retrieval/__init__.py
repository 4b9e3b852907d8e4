"""Recall: what search indexes, how matches are ranked, what a hit shows, what is loaded around a ref.

Knows nothing of where pieces are kept.
"""

from foldmark.retrieval.asking import Question, bounded, question
from foldmark.retrieval.indexing import pieces
from foldmark.retrieval.paging import PAGE_CHARACTERS, Loaded, read_page, widen
from foldmark.retrieval.ranking import Ranked, rank
from foldmark.retrieval.showing import Hit, snippets

__all__ = [
    "PAGE_CHARACTERS", "Hit", "Loaded", "Question", "Ranked", "bounded", "pieces", "question", "rank", "read_page",
    "snippets", "widen",
]  # fmt: skip
