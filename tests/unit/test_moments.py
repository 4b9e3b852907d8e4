"""Dates, times, stretches and days in words, as people and models write them, and as Python has them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from foldmark.errors import PolicyError
from foldmark.moments import Moment, moment

INSTANT = 1e-6
DAY = 86_400.0
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC).timestamp()
"""A Wednesday, at noon."""


@pytest.mark.parametrize(
    ("value", "first", "after"),
    [
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2026-03", (2026, 3, 1), (2026, 4, 1)),
        ("２０２６-０３", (2026, 3, 1), (2026, 4, 1)),
        ("2025-12", (2025, 12, 1), (2026, 1, 1)),
        ("2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("2026-03-01", (2026, 3, 1), (2026, 3, 2)),
        ("20260301", (2026, 3, 1), (2026, 3, 2)),
        (" 2026-03-01 ", (2026, 3, 1), (2026, 3, 2)),
        ("2026-03-01T14", (2026, 3, 1, 14), (2026, 3, 1, 15)),
        ("2026-03-01T14:30", (2026, 3, 1, 14, 30), (2026, 3, 1, 14, 31)),
        ("2026-03-01 14:30", (2026, 3, 1, 14, 30), (2026, 3, 1, 14, 31)),
        ("2026-03-01T14:30Z", (2026, 3, 1, 14, 30), (2026, 3, 1, 14, 31)),
        ("2026-03-01T14:30+02:00", (2026, 3, 1, 12, 30), (2026, 3, 1, 12, 31)),
        ("2026-03-01T14:30-0530", (2026, 3, 1, 20), (2026, 3, 1, 20, 1)),
    ],
)
def test_a_date_or_time_lasts_as_long_as_it_is_exact(
    value: str, first: tuple[int, ...], after: tuple[int, ...]
) -> None:
    begin, end = moment(value, "at", now=NOW), moment(value, "at", now=NOW, end=True)
    assert begin == datetime(*first, tzinfo=UTC).timestamp()
    assert end == pytest.approx(datetime(*after, tzinfo=UTC).timestamp() - INSTANT, abs=INSTANT)
    assert end < datetime(*after, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("value", ["2026-03-01T14:30:05", "2026-03-01T14:30:05.250+00:00", "2026-03-01 14:30:05Z"])
def test_a_second_is_a_moment(value: str) -> None:
    assert moment(value, "at", now=NOW) == moment(value, "at", now=NOW, end=True)


@pytest.mark.parametrize("value", ["9999-12-31", "9999-12", "9999", "9999-12-31T23:59", date(9999, 12, 31)])
def test_the_last_day_of_the_calendar_has_an_end(value: Moment) -> None:
    end = moment(value, "at", now=NOW, end=True)
    assert end == pytest.approx(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    "value",
    ["a while ago", "2026-13", "2026-02-30", "0000", "12:30", "tomorrow", "-3d", "x" * 1_900],
)
def test_what_is_no_date_is_told_with_what_is(value: str) -> None:
    with pytest.raises(PolicyError, match="at takes a date or time such as 2026-03-01"):
        moment(value, "at", now=NOW, end=True)


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("today", (2026, 3, 11), (2026, 3, 11)),
        ("Yesterday", (2026, 3, 10), (2026, 3, 10)),
        ("the day before yesterday", (2026, 3, 9), (2026, 3, 9)),
        ("last week", (2026, 3, 2), (2026, 3, 8)),
        (" this  week ", (2026, 3, 9), (2026, 3, 15)),
        ("last month", (2026, 2, 1), (2026, 2, 28)),
        ("last year", (2025, 1, 1), (2025, 12, 31)),
        ("last Tuesday", (2026, 3, 10), (2026, 3, 10)),
        ("two months ago", (2026, 1, 1), (2026, 1, 31)),
        ("7 May 2025", (2025, 5, 7), (2025, 5, 7)),
        ("May 2025", (2025, 5, 1), (2025, 5, 31)),
    ],
)
def test_days_in_words_count_from_now(value: str, first: tuple[int, ...], last: tuple[int, ...]) -> None:
    assert moment(value, "at", now=NOW) == datetime(*first, tzinfo=UTC).timestamp()
    after = datetime(*last, tzinfo=UTC).timestamp() + DAY
    found = moment(value, "at", now=NOW, end=True)
    assert found == pytest.approx(after, abs=2 * INSTANT)
    assert found is not None
    assert found < after


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("Tuesday", 10), ("tuesday", 10), ("Tue", 10), ("tues.", 10), ("Wednesday", 4), ("wed", 4), ("Thu", 5),
        ("thurs", 5), ("Friday", 6), ("Sat", 7), ("sunday", 8), ("Mon", 9), ("Dienstag", 10), ("mittwoch", 4),
        ("mardi", 10), ("miércoles", 4), ("miercoles", 4), ("вторник", 10), ("火曜日", 10), ("星期二", 10),
    ],
)  # fmt: skip
def test_the_bare_name_of_a_day_is_the_last_one_before_today(value: str, day: int) -> None:
    first = datetime(2026, 3, day, tzinfo=UTC).timestamp()
    assert moment(value, "at", now=NOW) == first
    assert moment(value, "at", now=NOW, end=True) == pytest.approx(first + DAY, abs=2 * INSTANT)


@pytest.mark.parametrize(("value", "back"), [("3d", 3 * DAY), ("12h ago", DAY / 2), ("2 days ago", 2 * DAY)])
@pytest.mark.parametrize("end", [False, True])
def test_a_stretch_back_is_exact(value: str, back: float, end: bool) -> None:
    assert moment(value, "at", now=NOW, end=end) == NOW - back


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        (date(2026, 3, 1), "2026-03-01", "2026-03-01"),
        (datetime(2026, 3, 1, 14, 30, 5), "2026-03-01T14:30:05", "2026-03-01T14:30:05"),
        (datetime(2026, 3, 1, 14, 30, 5, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T12:30:05Z", None),
        (1_772_442_000, 1_772_442_000.0, 1_772_442_000.0),
        (1_772_442_000.5, 1_772_442_000.5, 1_772_442_000.5),
        ("1772442000", 1_772_442_000.0, 1_772_442_000.0),
        (None, None, None),
        ("  ", None, None),
    ],
)
def test_python_has_moments_of_its_own(value: Any, first: Any, last: Any) -> None:
    assert moment(value, "at", now=NOW) == moment(first, "at", now=NOW)
    assert moment(value, "at", now=NOW, end=True) == moment(first if last is None else last, "at", now=NOW, end=True)


@pytest.mark.parametrize("value", [True, [], {}, float("nan"), 1 << 70, b"2026", object()])
def test_what_is_no_moment_at_all_is_refused_by_name(value: Any) -> None:
    with pytest.raises(PolicyError, match="since takes a date or time such as 2026-03-01"):
        moment(value, "since", now=NOW)
