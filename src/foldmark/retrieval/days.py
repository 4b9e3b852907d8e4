"""The days that a query speaks of: "last Tuesday", "in May", "7 May 2023", "two weeks ago". English and figures; UTC.

Knows nothing of pieces. What it does not read stays words like any other.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta

import msgspec

from foldmark.dates import MONTHS, WEEKDAYS, day_token, month_token

_MOST_DAYS = 14
"""Longer spans are looked for by their months."""
_MOST_MONTHS = 12
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "September" else "Sep(?:t(?:ember)?)?" for name in MONTHS)
_FULL_MONTH = "|".join(MONTHS)
_WEEKDAY = "|".join(WEEKDAYS)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTS = {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3} | {
    word: number for number, word in enumerate(_NUMBERS)
}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"

Days = tuple[date, date]
"""First and last day."""


class Span(msgspec.Struct, frozen=True):
    """Days that a query names: Unix seconds from `since` up to `until` (exclusive), the words it was `said` in, and
    whether they count from now (such words are no words to look for); `tokens` stand for it in the index, none for a
    span of more than a year."""

    since: float
    until: float
    said: str
    is_relative: bool
    tokens: tuple[str, ...]

    def holds(self, time: float | None) -> bool:
        return time is not None and self.since <= time < self.until


def spans(text: str, now: float) -> list[Span]:
    """What a query says of days, in its order; "last Tuesday" counts from `now` (Unix seconds)."""
    try:
        today = datetime.fromtimestamp(now, UTC).date()
    except (OverflowError, ValueError, OSError):
        return []
    found: dict[int, Span] = {}
    taken: list[tuple[int, int]] = []
    for pattern, read, is_relative in _EXPRESSIONS:
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            if span := _span(match, read, today, is_relative=is_relative):
                taken.append(match.span())
                found[match.start()] = span
    return [found[place] for place in sorted(found)]


Read = Callable[[re.Match[str], date], Days]


def _span(match: re.Match[str], read: Read, today: date, *, is_relative: bool) -> Span | None:
    try:
        first, last = read(match, today)
        since = datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp()
        until = datetime(last.year, last.month, last.day, tzinfo=UTC).timestamp() + 86_400
    except (OverflowError, ValueError):  # a 31st of June, a year that no calendar has
        return None
    return Span(since, until, match[0], is_relative, _tokens(first, last))


def _tokens(first: date, last: date) -> tuple[str, ...]:
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


# -- what the expressions mean


def _month_number(name: str) -> int:
    return [month[:3].lower() for month in MONTHS].index(name[:3].lower()) + 1


def _whole_month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _day(match: re.Match[str], today: date) -> Days:
    """A day of a month; without a year the newest that has been."""
    month = match["month"]
    number = int(month) if month.isdigit() else _month_number(month)
    day = int(match["day"])
    made = date(int(match["year"]), number, day) if match["year"] else _newest(number, day, today)
    return made, made


def _newest(month: int, day: int, today: date) -> date:
    for year in range(today.year, today.year - 9, -1):
        if day <= monthrange(year, month)[1] and date(year, month, day) <= today:
            return date(year, month, day)
    raise ValueError(f"no year has a day {day} in month {month}")


def _month(match: re.Match[str], today: date) -> Days:
    month = match["month"]
    number = int(month) if month.isdigit() else _month_number(month)
    if "year" in match.groupdict() and match["year"]:
        return _whole_month(int(match["year"]), number)
    return _whole_month(today.year - (number > today.month), number)


def _year(match: re.Match[str], today: date) -> Days:
    return date(int(match["year"]), 1, 1), date(int(match["year"]), 12, 31)


def _near_day(match: re.Match[str], today: date) -> Days:
    said = " ".join(match[0].lower().split())
    back = 2 if said.startswith("the day before") else 1 if said in ("yesterday", "last night") else 0
    day = today - timedelta(days=back)
    return day, day


def _weekday(match: re.Match[str], today: date) -> Days:
    """The newest such day before today."""
    number = [name.lower() for name in WEEKDAYS].index(match["weekday"].lower())
    day = today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    return day, day


def _ago(match: re.Match[str], today: date) -> Days:
    """Weeks ago give or take three days; months and years as the calendar has them."""
    count, unit = _count(match), match["unit"].lower()
    if unit == "day":
        return (day := today - timedelta(days=count)), day
    if unit == "week":
        return today - timedelta(days=7 * count + 3), today - timedelta(days=7 * count - 3)
    return _calendar(today, count, unit)


def _calendar(today: date, count: int, unit: str) -> Days:
    if unit == "year":
        return date(today.year - count, 1, 1), date(today.year - count, 12, 31)
    months = 12 * today.year + today.month - 1 - count
    return _whole_month(months // 12, months % 12 + 1)


def _unit(match: re.Match[str], today: date) -> Days:
    """This or last week (from Monday), weekend, month or year."""
    back, unit = int(match["which"].lower() != "this"), match["unit"].lower()
    monday = today - timedelta(days=today.weekday() + 7 * back)
    if unit == "week":
        return monday, monday + timedelta(days=6)
    if unit == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=6)
    return _calendar(today, back, unit)


def _lately(match: re.Match[str], today: date) -> Days:
    lengths = {"day": 1, "week": 7, "month": 31, "year": 366}
    return today - timedelta(days=_count(match) * lengths[match["unit"].lower()]), today


def _count(match: re.Match[str]) -> int:
    said = " ".join(match["count"].lower().split())
    return int(said) if said.isdigit() else _COUNTS[said]


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_IN = r"in|during|since|of|last|this|early|late|mid|by|until|before|after|from"
# What is read first is not read again: the longer expressions stand before their parts.
_EXPRESSIONS: tuple[tuple[re.Pattern[str], Read, bool], ...] = (
    (_compiled(r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"), _day, False),
    (_compiled(rf"{_NTH}\s+(?:of\s+)?(?P<month>{_MONTH})\.?(?:,?\s+{_YEAR})?"), _day, False),
    (_compiled(rf"(?P<month>{_MONTH})\.?\s+{_NTH}(?:,?\s+{_YEAR})?"), _day, False),
    (_compiled(r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)"), _month, False),
    (_compiled(rf"(?P<month>{_MONTH})\.?,?\s+{_YEAR}"), _month, False),
    (_compiled(rf"(?:{_IN})\s+(?P<month>{_FULL_MONTH})"), _month, False),
    (_compiled(rf"(?:{_IN})\s+{_YEAR}"), _year, False),
    (_compiled(rf"{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+ago"), _ago, True),
    (_compiled(rf"(?:last|past)\s+{_COUNT}\s+(?P<unit>day|week|month|year)s?"), _lately, True),
    (_compiled(r"the\s+day\s+before\s+yesterday|yesterday|today|tonight|this\s+morning|last\s+night"), _near_day, True),
    (_compiled(rf"(?:last|past|on|this)\s+(?P<weekday>{_WEEKDAY})"), _weekday, True),
    (_compiled(r"(?P<which>this|last|past)\s+(?P<unit>weekend|week|month|year)"), _unit, True),
)
