"""Days in words: what an index says of an event's time, and whether a text speaks of time. UTC.

Pure text work; knows no clock.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TELLS_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|weekend|since|20\d\d|19\d\d|\d{1,2}(?:st|nd|rd|th)"
    r"|(?:last|next|this|past)\s(?:night|morning|evening|week|month|year|summer|winter|spring|fall|autumn)"
    rf"|{'|'.join(name for name in (*MONTHS, *WEEKDAYS) if name != 'May')}|(?-i:May)|\d{{1,2}}:\d\d)\b",
    re.IGNORECASE,
)


def stamp(time: float | None) -> str:
    """The day of a time as search indexes it beside a text: weekday, month and year in words, then the tokens of its
    month and day. Empty for no time or one that no calendar has.

    No bare number of a day or month: on the 8th every text would match an 8.
    """
    if time is None:
        return ""
    try:
        return _stamp(int(time // _DAY))
    except (OverflowError, ValueError):
        return ""


@lru_cache(maxsize=4096)
def _stamp(day: int) -> str:
    at = (_EPOCH + timedelta(days=day)).date()
    return f"{WEEKDAYS[at.weekday()]} {MONTHS[at.month - 1]} {at.year} {month_token(at)} {day_token(at)}"


def day_token(day: date) -> str:
    """The token that stands for a day in the index: 20230507."""
    return f"{day:%Y%m%d}"


def month_token(day: date) -> str:
    """The token that stands for a month in the index: 202305."""
    return f"{day:%Y%m}"


def tells_time(text: str) -> bool:
    """Whether a text names a day, a month, a year or a time from now ("yesterday", "two weeks ago")."""
    return _TELLS_TIME.search(text) is not None


def written(time: float | None, form: str) -> str:
    """A time (UTC) in a form of `strftime`; empty for no time or one that no calendar has."""
    try:
        return "" if time is None else datetime.fromtimestamp(time, UTC).strftime(form)
    except (OverflowError, ValueError, OSError):
        return ""
