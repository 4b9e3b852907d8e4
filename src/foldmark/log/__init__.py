"""The part of a store that is the same in every place: a lineage folded up to its head, and what is read
off it.

Pure: knows nothing of tables, transactions or time. A store feeds rows in and asks for numbers, views and
matches.
"""

from foldmark.log.folding import Log, Scope
from foldmark.log.knowing import WHOLE, State, Viewpoint, learn, newest, pinned, viewpoint_of
from foldmark.log.lists import UNCHAINED, holds_call, ordered, overlap
from foldmark.log.versions import check_commit, committed, fitting, inherit
from foldmark.log.views import (
    ATTEMPTS_SHOWN,
    build_context,
    build_view,
    count_event,
    described,
    latest,
    shown_attempts,
    title_of,
)

__all__ = [
    "ATTEMPTS_SHOWN",
    "UNCHAINED",
    "WHOLE",
    "Log",
    "Scope",
    "State",
    "Viewpoint",
    "build_context",
    "build_view",
    "check_commit",
    "committed",
    "count_event",
    "described",
    "fitting",
    "holds_call",
    "inherit",
    "latest",
    "learn",
    "newest",
    "ordered",
    "overlap",
    "pinned",
    "shown_attempts",
    "title_of",
    "viewpoint_of",
]
