"""What stands for an event where a search asks for no more than a day, or for no words at all: one piece of each, so
that the many pieces of a long one do not take the places of others. The one rule of all stores.

Pure: knows nothing of how a place keeps pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from foldmark.dates import MONTHS, WEEKDAYS, stamp
from foldmark.seeking import Found, Sought, telling_line
from foldmark.words import distinct, words

LOOKED = 20_000
"""So many of the newest pieces that are of a day, or name it, are looked through for its name."""
MOST_NAMING = 50
_NAME_OF = {token: name.lower() for name in (*MONTHS, *WEEKDAYS) for token in words(name)}
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAYS = re.compile(r"(?:19|20)\d{4}(?:\d\d)?")
"""The tokens that stand for a month or a day."""


def one_each(found: Iterable[Found], sought: Sought, limit: int) -> list[Found]:
    """Of the pieces that a search allows, the newest first, the first `limit` events, one piece of each: the first that
    names a file or tool which is sought, else the first of all."""
    out: dict[tuple[str, int], Found] = {}
    for event, pieces in groupby(found, lambda one: one.place[:2]):
        if limit <= len(out):
            break
        best = min(pieces, key=lambda one: (telling_line(sought, one) is None, one.piece.order))
        out.setdefault(event, best)
    return list(out.values())


def joined(postings: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Postings by which matches are ordered: all days of a stretch are one thing that is asked for, so that none of
    them comes first because little happened then."""
    days = [term for term in postings if _DAYS.fullmatch(term)]
    if len(days) < 2:
        return dict(postings)
    out = {term: numbers for term, numbers in postings.items() if term not in days}
    return out | {days[0]: sorted({number for term in days for number in postings[term]})}


def names_days(terms: Iterable[str]) -> bool:
    """Whether any of the terms may be of an event's day, which all its pieces have."""
    return any(_is_of_calendar(term) for term in terms)


def stands(order: int, held: Iterable[str], time: float | None) -> bool:
    """Whether a piece that holds these terms is one to look at: what it shares with all pieces of its event, the day,
    brings the first of them alone."""
    return order == 0 or not _of_day(stamp(time)).issuperset(held)


def day_names(terms: Collection[str]) -> list[str]:
    """The names of days, months and years among the terms, where a query holds nothing but these and figures."""
    if not all(term.isdigit() or term in _NAME_OF for term in terms):
        return []
    return [term for term in terms if term in _NAME_OF or _YEAR.fullmatch(term)]


def spelled(name: str) -> str:
    """How such a name is written, in lower case."""
    return _NAME_OF.get(name, name)


def says(text: str, names: Iterable[str]) -> bool:
    """Whether a text itself says all of the names."""
    return all(_said(name).search(text) for name in names)


@lru_cache(maxsize=128)
def _said(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){spelled(name)}s?(?![^\W_])", re.IGNORECASE | re.ASCII)


@lru_cache(maxsize=256)
def _of_day(said: str) -> frozenset[str]:
    return frozenset(distinct(said))


def _is_of_calendar(term: str) -> bool:
    return term in _NAME_OF or bool(_YEAR.fullmatch(term) or _DAYS.fullmatch(term))
