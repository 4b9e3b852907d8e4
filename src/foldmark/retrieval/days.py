"""The days that a query speaks of: "last Tuesday", "in May", "3. Mai 2026", "5月3日", "two weeks ago", in UTC or in the
zone that it says.

Knows nothing of pieces. What it does not read stays words like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import msgspec

from foldmark.dates import MONTHS, WEEKDAYS, day_token, month_token
from foldmark.retrieval.calendar import Read
from foldmark.retrieval.days_abroad import abroad, weekday_abroad
from foldmark.retrieval.days_english import ENGLISH
from foldmark.retrieval.zones import zone_behind

_MOST_DAYS = 14
"""Longer spans are looked for by their months."""
_MOST_MONTHS = 12
_MOST_SAID = 64
"""Nobody asks for more days at once; a text that names thousands is no question."""
_DAY_SECONDS = 86_400
_SAYS_YEAR = re.compile(r"\d{4}")
_ROUND = " \t\r\n.,;:!?¿¡。、？！\"'"


class Span(msgspec.Struct, frozen=True):
    """Days that a query names: Unix seconds from `since` up to `until` (exclusive), the words it was `said` in, and
    whether they count from now (such words are no words to look for); `tokens` stand for it in the index, none for a
    span of more than a year."""

    since: float
    until: float
    said: str
    is_relative: bool
    tokens: tuple[str, ...]

    @property
    def _date(self) -> datetime | None:
        """The single day that it names by its date."""
        is_date = not self.is_relative and self.until - self.since == _DAY_SECONDS and len(self.tokens) == 1
        return datetime.strptime(self.tokens[0], "%Y%m%d").replace(tzinfo=UTC) if is_date else None

    @property
    def spellings(self) -> tuple[str, ...]:
        """Other ways to write such a day."""
        day = self._date
        if day is None:
            return ()
        name = MONTHS[day.month - 1]
        if not _SAYS_YEAR.search(self.said):
            return f"{day:%m} {day:%d}", f"{name} {day.day}", f"{name[:3]} {day.day}"
        return f"{day:%Y-%m-%d}", f"{name} {day.day} {day.year}", f"{name[:3]} {day.day} {day.year}"

    def is_in(self, text: str) -> bool:
        """Whether a text that holds the words of one of these ways says that very day, of any year where none is
        named; all that is no such day is said by its words."""
        if self._date is None:
            return True
        start = 0 if _SAYS_YEAR.search(self.said) else 4
        others = (token for span in spans(text, self.until - 1) for token in span.tokens)
        return any(token[start:] == self.tokens[0][start:] for token in others)

    def holds(self, time: float | None) -> bool:
        return time is not None and self.since <= time < self.until


def weekday_alone(text: str) -> str:
    """The English name of the weekday that a text is in another language, and nothing but that; else empty."""
    number = weekday_abroad(text.strip(_ROUND))
    return "" if number is None else WEEKDAYS[number]


def spans(text: str, now: float) -> list[Span]:
    """What a query says of days, in its order; "last Tuesday" counts from `now` (Unix seconds). A day that may be read
    in two ways (03/05/2026) gives both."""
    try:
        datetime.fromtimestamp(now, UTC)
    except (OverflowError, ValueError, OSError):
        return []
    found: list[tuple[int, Span]] = []
    taken: list[tuple[int, int]] = []
    for pattern, reads, is_relative in (*ENGLISH, *abroad(text)):
        for match in pattern.finditer(text):
            if len(taken) >= _MOST_SAID or any(start < match.end() and match.start() < end for start, end in taken):
                continue
            end, hours = zone_behind(text, match.end())
            said = text[match.start() : end]
            both = [_span(match, read, now, hours, said, is_relative=is_relative) for read in reads]
            if known := dict.fromkeys(span for span in both if span):
                taken.append((match.start(), end))
                found += [(match.start(), span) for span in known]
    return [span for _, span in sorted(found, key=lambda one: one[0])]


def _span(match: re.Match[str], read: Read, now: float, hours: float, said: str, *, is_relative: bool) -> Span | None:
    zone = timedelta(hours=hours)
    try:
        first, last = read(match, (datetime.fromtimestamp(now, UTC) + zone).date())
        since = datetime(first.year, first.month, first.day, tzinfo=UTC) - zone
        until = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1) - zone
    except (OverflowError, ValueError):  # a 31st of June, a year that no calendar has
        return None
    return Span(since.timestamp(), until.timestamp(), said, is_relative, _tokens(since, until))


def _tokens(since: datetime, until: datetime) -> tuple[str, ...]:
    first, last = since.date(), (until - timedelta(microseconds=1)).date()
    days = (last - first).days + 1
    if days <= _MOST_DAYS:
        return tuple(day_token(first + timedelta(days=number)) for number in range(days))
    months = list(_months(first, last))
    return tuple(map(month_token, months)) if len(months) <= _MOST_MONTHS else ()


def _months(first: date, last: date) -> Iterator[date]:
    at = first.replace(day=1)
    while at <= last:
        yield at
        at = (at + timedelta(days=31)).replace(day=1)
