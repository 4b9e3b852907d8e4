"""When: reads what somebody writes for a moment, a date, a time or words such as "last week". In UTC.

Knows no clock: the caller says what now is.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from math import isnan

from foldmark.dates import WEEKDAYS
from foldmark.errors import PolicyError
from foldmark.retrieval.calendar import weekday_before
from foldmark.retrieval.day_names import WEEKDAY_OF
from foldmark.retrieval.days import spans

Moment = float | str | date
"""Unix seconds, text, a date or a datetime."""

TAKES = "a date or time such as 2026-03-01 or 2026-03-01T14:30, or today, yesterday, 3d, last week, Tuesday"
_ZONE = re.compile(r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)$")
_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?")
_AGO = re.compile(r"(\d{1,5})\s*(d|h|days?|hours?)(?: ago)?")
_SECONDS = re.compile(r"\d{9,11}(?:\.\d{1,9})?")
_SHORT_WEEKDAYS = ("mon", "tue tues", "wed", "thu thur thurs", "fri", "sat", "sun")
_WEEKDAYS = WEEKDAY_OF | {
    spelling: number
    for number, (name, short) in enumerate(zip(WEEKDAYS, _SHORT_WEEKDAYS, strict=True))
    for spelling in (name.lower(), *short.split())
}
_INSTANT, _DAY = timedelta(microseconds=1), timedelta(days=1)


def moment(value: Moment | None, name: str, *, now: float, end: bool = False) -> float | None:
    """Unix seconds of the beginning of what is named, or of its `end`; None for None and for no text.

    Text is a year, month, day or time (ISO 8601), Unix seconds, a stretch back from `now` (Unix seconds; `3d`,
    `12h ago`), or days in words (today, yesterday, last week, May 2026; the bare name of a day is the last one before
    today). Raises PolicyError, with the `name` of what was asked for.
    """
    try:
        return _read(value, now, end=end)
    except (ValueError, OverflowError, OSError):
        raise PolicyError(f"{name} takes {TAKES}, not {_shown(value)}.") from None


def _read(value: Moment | None, now: float, *, end: bool) -> float | None:
    if isinstance(value, str):
        text = " ".join(value.split())
        return _of_text(text, now, end=end) if text else None
    if isinstance(value, date):  # a datetime is one, too
        first, last = _of_date(value)
        return (last if end else first).timestamp()
    if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        raise ValueError
    if (isinstance(value, int) and abs(value) >= 1 << 63) or (isinstance(value, float) and isnan(value)):
        raise ValueError  # a store can compare neither
    return value


def _of_date(value: date) -> tuple[datetime, datetime]:
    if isinstance(value, datetime):
        at = value if value.tzinfo else value.replace(tzinfo=UTC)
        return at, at
    first = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return first, first + (_DAY - _INSTANT)


def _of_text(text: str, now: float, *, end: bool) -> float:
    if ago := _AGO.fullmatch(text.lower()):
        return now - int(ago[1]) * (86_400 if ago[2][0] == "d" else 3_600)
    if _SECONDS.fullmatch(text):
        return float(text)
    if (number := _WEEKDAYS.get(text.lower().rstrip("."))) is not None:
        first, last = _of_date(weekday_before(number, datetime.fromtimestamp(now, UTC).date()))
        return (last if end else first).timestamp()
    said = spans(text, now)
    if len(said) == 1 and said[0].said == text and said[0].is_relative:
        return said[0].until - 1e-6 if end else said[0].since
    try:
        first, last = _iso(text.upper())
    except ValueError:
        if len(said) != 1 or said[0].said != text:
            raise
        return said[0].until - 1e-6 if end else said[0].since
    return (last if end else first).timestamp()


def _iso(value: str) -> tuple[datetime, datetime]:
    """The first and the last moment of what is named."""
    if month := _MONTH.fullmatch(value):
        year, number = int(month[1]), int(month[2] or 1)
        last = (number, monthrange(year, number)[1]) if month[2] else (12, 31)
        return datetime(year, number, 1, tzinfo=UTC), datetime(year, *last, tzinfo=UTC) + (_DAY - _INSTANT)
    time = datetime.fromisoformat(value)
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    clock = _ZONE.sub("", [*re.split(r"[T ]", value, maxsplit=1), ""][1])
    lasts = (_DAY, timedelta(hours=1), timedelta(minutes=1))
    said = len(re.findall(r"\d\d", clock))
    # In this order: what comes after the last day of the calendar has no date.
    return time, time + (lasts[said] - _INSTANT) if said < len(lasts) else time


def _shown(value: object) -> str:
    told = repr(value)
    return told if len(told) <= 60 else f"{told[:59]}…"
