"""Looks into a big body piece by piece: what it is, its first and last lines, a search, a query, a sample of a table.

Every look is bounded in what it reads, how long it takes and what it shows, and says where to go on. Knows nothing of
models, tools and the command line.
"""

from foldmark.opening.documents import LARGEST_JSON
from foldmark.opening.opened import Opened, open_body
from foldmark.opening.pages import Page, head, read_lines, tail
from foldmark.opening.querying import Answer, query
from foldmark.opening.searching import Line, Matches, grep
from foldmark.opening.stating import Stat, stat
from foldmark.opening.tabling import Sample, SampleRow, Take, table
from foldmark.opening.telling import Told, told
from foldmark.retrieval import PAGE_CHARACTERS

__all__ = [
    "LARGEST_JSON", "PAGE_CHARACTERS", "Answer", "Line", "Matches", "Opened", "Page", "Sample", "SampleRow", "Stat",
    "Take", "Told", "grep", "head", "open_body", "query", "read_lines", "stat", "table", "tail", "told",
]  # fmt: skip
