"""Days in words: what an index says of an event's time. UTC. Pure text work; knows no clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def stamp(time: float | None) -> str:
    """The day of a time in words and in figures, as search indexes it; empty for no time or one that no calendar
    has."""
    if time is None:
        return ""
    try:
        return _stamp(int(time // _DAY))
    except (OverflowError, ValueError):
        return ""


@lru_cache(maxsize=4096)
def _stamp(day: int) -> str:
    at = _EPOCH + timedelta(days=day)
    return f"{at.day} {MONTHS[at.month - 1]} {at.year} {WEEKDAYS[at.weekday()]} {at:%Y-%m-%d} {at:%Y-%m}"
