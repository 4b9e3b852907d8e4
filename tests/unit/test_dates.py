from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.dates import day_token, stamp, tells_time
from foldmark.retrieval.days import spans
from foldmark.words import words

NOW = datetime(2023, 11, 15, 12, tzinfo=UTC).timestamp()  # a Wednesday


def day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("what did we say last Tuesday", "2023-11-14", "2023-11-14"),
        ("last Wednesday", "2023-11-08", "2023-11-08"),
        ("on 7 May 2023", "2023-05-07", "2023-05-07"),
        ("on May 7th, 2023", "2023-05-07", "2023-05-07"),
        ("7th of May", "2023-05-07", "2023-05-07"),
        ("2023-06-01 deploy", "2023-06-01", "2023-06-01"),
        ("in May", "2023-05-01", "2023-05-31"),
        ("in December", "2022-12-01", "2022-12-31"),
        ("Sept 2023", "2023-09-01", "2023-09-30"),
        ("2023-02", "2023-02-01", "2023-02-28"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("yesterday", "2023-11-14", "2023-11-14"),
        ("the day before yesterday", "2023-11-13", "2023-11-13"),
        ("three days ago", "2023-11-12", "2023-11-12"),
        ("a couple of days ago", "2023-11-13", "2023-11-13"),
        ("two weeks ago", "2023-10-29", "2023-11-04"),
        ("a month ago", "2023-10-01", "2023-10-31"),
        ("last week", "2023-11-06", "2023-11-12"),
        ("last weekend", "2023-11-11", "2023-11-12"),
        ("this month", "2023-11-01", "2023-11-30"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("the last 10 days", "2023-11-05", "2023-11-15"),
        ("29 February", "2020-02-29", "2020-02-29"),
    ],
)
def test_a_query_names_its_days(query: str, first: str, last: str) -> None:
    (span,) = spans(query, NOW)
    assert (day(span.since), day(span.until - 1)) == (first, last)
    assert span.holds(span.since)
    assert not span.holds(span.until)
    assert not span.holds(None)


@pytest.mark.parametrize(
    "query", ["may I march on", "port 8080", "the second of them", "version 2023.5", "99 Mays", ""]
)
def test_what_names_no_day_stays_words(query: str) -> None:
    assert spans(query, NOW) == []


def test_a_day_that_no_calendar_has_is_left_out() -> None:
    assert [span.said for span in spans("on 2023-02-31 or 2023-13-01", NOW)] == []
    assert spans("999 years ago", -62_135_596_800.0 + 86_400 * 400) == []


@given(st.text(max_size=200), st.floats(allow_nan=True, allow_infinity=True))
def test_no_query_and_no_clock_breaks_the_reading_of_days(query: str, now: float) -> None:
    for said in (query, "yesterday 31 June two weeks ago last year 29 Feb " + query):
        for span in spans(said, now):
            assert span.since < span.until


def test_every_day_of_a_span_is_what_the_index_says_of_it() -> None:
    for query in ("last Tuesday", "two weeks ago", "in May", "last year"):
        (span,) = spans(query, NOW)
        for time in (span.since, (span.since + span.until) / 2, span.until - 1):
            assert set(span.tokens) & set(words(stamp(time))), query


def test_a_stamp_holds_no_bare_number_of_a_day_or_month() -> None:
    """On the 8th every text would match a query with an 8."""
    told = words(stamp(datetime(2023, 5, 8, tzinfo=UTC).timestamp()))
    assert not {"8", "08", "5", "05"} & set(told)
    assert set(words("May 2023 Monday 202305 20230508")) <= set(told)


@pytest.mark.parametrize("time", [None, float("nan"), float("inf"), -1e18, 1e18])
def test_a_time_that_no_calendar_has_gives_no_stamp(time: float | None) -> None:
    assert stamp(time) == ""


def test_a_text_tells_a_time_or_does_not() -> None:
    for text in ("I went yesterday", "since May", "on Friday", "in 2021", "at 10:45", "two years ago", "on the 3rd"):
        assert tells_time(text), text
    for text in ("you may go", "port 8080 is taken", "no time", ""):
        assert not tells_time(text), text


def test_tokens_of_days_sort_as_days() -> None:
    assert day_token(datetime(2023, 5, 7, tzinfo=UTC)) == "20230507"
