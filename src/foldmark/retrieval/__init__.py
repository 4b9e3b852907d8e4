"""Recall: what search indexes, how matches are ranked, what a hit shows, what is loaded around a ref.

Knows nothing of where pieces are kept.
"""

from foldmark.retrieval.asking import Question, bounded, question
from foldmark.retrieval.fusing import fused, widened
from foldmark.retrieval.indexing import pieces
from foldmark.retrieval.limited import limited, told_by
from foldmark.retrieval.meaning import Meaning
from foldmark.retrieval.named import named_of
from foldmark.retrieval.paging import PAGE_CHARACTERS, By, Loaded, read_page, widen, widen_rounds
from foldmark.retrieval.ranking import Ranked, chosen, judged, rank
from foldmark.retrieval.showing import Hit, shortened, snippets
from foldmark.retrieval.slips import mended

__all__ = [
    "PAGE_CHARACTERS", "By", "Hit", "Loaded", "Meaning", "Question", "Ranked", "bounded", "chosen", "fused",
    "judged", "limited", "mended", "named_of", "pieces", "question", "rank", "read_page", "shortened", "snippets",
    "told_by", "widen", "widen_rounds", "widened",
]  # fmt: skip
