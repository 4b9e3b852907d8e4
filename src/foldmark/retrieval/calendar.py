"""Stretches of days by the calendar: a month, a quarter, a week, so many weeks ago. Knows no words for them, and no
clock: every function that counts is told what today is."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

Days = tuple[date, date]
"""First and last day."""
Read = Callable[[re.Match[str], date], Days]
"""What a match means, told what today is; raises ValueError for days that no calendar has."""
Expression = tuple[re.Pattern[str], tuple[Read, ...], bool]
"""What is said, the ways to read it (a day may be ambiguous), and whether it counts from today."""

YEAR = r"(?P<year>(?:19|20)\d\d)"


def one_day(day: date) -> Days:
    """A day alone."""
    return day, day


def whole_month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def dated(year: int | None, month: int, day: int, today: date) -> date:
    """A day of a month; without a year the newest that has been."""
    if year is not None:
        return date(year, month, day)
    for back in range(9):
        newest = today.year - back
        if day <= monthrange(newest, month)[1] and date(newest, month, day) <= today:
            return date(newest, month, day)
    raise ValueError(f"no year has a day {day} in month {month}")


def month_of(year: int | None, month: int, today: date) -> Days:
    """A month; without a year the newest that has begun."""
    return whole_month(year if year is not None else today.year - (month > today.month), month)


def quarter_of(year: int | None, quarter: int, today: date) -> Days:
    """A quarter; without a year the newest that has begun."""
    first = 3 * quarter - 2
    year = year if year is not None else today.year - (first > today.month)
    return date(year, first, 1), whole_month(year, first + 2)[1]


def week_of(year: int | None, week: int, today: date) -> Days:
    """A week by its number (ISO 8601); without a year the newest that has begun."""
    monday = date.fromisocalendar(year or today.isocalendar().year, week, 1)
    if year is None and monday > today:
        monday = date.fromisocalendar(monday.isocalendar().year - 1, week, 1)
    return monday, monday + timedelta(days=6)


def weekday_before(number: int, today: date) -> date:
    """The newest such day (0: Monday) before today."""
    return today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)


def weekday_of_last_week(number: int, today: date) -> date:
    return today - timedelta(days=today.weekday() + 7 - number)


def unit_back(today: date, back: int, unit: str) -> Days:
    """The week (from Monday), weekend, month, quarter or year so many before this one."""
    monday = today - timedelta(days=today.weekday() + 7 * back)
    if unit == "week":
        return monday, monday + timedelta(days=6)
    if unit == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=6)
    if unit == "quarter":
        quarters = 4 * today.year + (today.month - 1) // 3 - back
        return quarter_of(quarters // 4, quarters % 4 + 1, today)
    if unit == "year":
        return date(today.year - back, 1, 1), date(today.year - back, 12, 31)
    months = 12 * today.year + today.month - 1 - back
    return whole_month(months // 12, months % 12 + 1)


def ago(today: date, count: int, unit: str) -> Days:
    """Weeks ago give or take three days; months and years as the calendar has them."""
    if unit == "day":
        return one_day(today - timedelta(days=count))
    if unit == "week":
        return today - timedelta(days=7 * count + 3), today - timedelta(days=7 * count - 3)
    return unit_back(today, count, unit)
