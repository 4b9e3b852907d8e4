"""The days that questions name, in other forms and languages than the plain English ones of test_dates."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foldmark.dates import stamp
from foldmark.errors import PolicyError
from foldmark.events import user
from foldmark.moments import moment
from foldmark.retrieval.days import spans
from foldmark.session import Session
from foldmark.words import words

NOW = datetime(2026, 8, 12, 12, tzinfo=UTC).timestamp()  # a Wednesday


def days_of(query: str) -> list[tuple[str, str]]:
    return [
        tuple(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in (span.since, span.until - 1))
        for span in spans(query, NOW)
    ]  # type: ignore[misc]


MAY_3 = "2026-05-03"
FILLERS = (("a", -9), ("b", -3), ("c", 3), ("d", 9))


@pytest.mark.parametrize(
    "query",
    [
        "was war am 3. Mai 2026", "am 3. Mai", "qu'a-t-on dit le 3 mai 2026", "le 3 mai", "el 3 de mayo de 2026",
        "3 de mayo", "il 3 maggio 2026", "em 3 de maio de 2026", "op 3 mei 2026", "3 maja 2026", "3 мая 2026 года",
        "3 мая", "3 травня 2026", "στις 3 Μαΐου 2026", "στις 3 Μαιου", "3 Mayıs 2026", "في 3 مايو 2026", "٣ مايو ٢٠٢٦",
        "ngày 3 tháng 5 năm 2026", "ngày 3 tháng 5", "วันที่ 3 พฤษภาคม 2569", "3 พฤษภาคม 2026", "tanggal 3 Mei 2026",
        "2026年5月3日", "５月３日に", "五月三日", "5月3号说了什么", "2026년 5월 3일", "5월 3일에",
        "03.05.2026", "3.5.2026", "2026/5/3",
        "2026.05.03", "3-5-2026", "3 May 2026", "20260503",
    ],
)  # fmt: skip
def test_a_day_is_read_in_the_form_of_many_languages(query: str) -> None:
    assert days_of(query)[:1] == [(MAY_3, MAY_3)]


def test_a_day_that_may_be_read_in_two_ways_is_both() -> None:
    assert days_of("what happened on 03/05/2026") == [(MAY_3, MAY_3), ("2026-03-05", "2026-03-05")]
    assert days_of("on 25/05/2026") == [("2026-05-25", "2026-05-25")]
    assert days_of("on 05/25/2026") == [("2026-05-25", "2026-05-25")]
    assert days_of("on 05/05/2026") == [("2026-05-05", "2026-05-05")]
    assert days_of("on 45/05/2026") == []


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("in Q2 2026", "2026-04-01", "2026-06-30"), ("2026-Q2", "2026-04-01", "2026-06-30"),
        ("in Q1", "2026-01-01", "2026-03-31"), ("since Q4", "2025-10-01", "2025-12-31"),
        ("the second quarter of 2026", "2026-04-01", "2026-06-30"), ("last quarter", "2026-04-01", "2026-06-30"),
        ("this quarter", "2026-07-01", "2026-09-30"), ("H1 2026", "2026-01-01", "2026-06-30"),
        ("the second half of 2025", "2025-07-01", "2025-12-31"), ("Q3/2025", "2025-07-01", "2025-09-30"),
        ("in week 18", "2026-04-27", "2026-05-03"), ("week 18 of 2026", "2026-04-27", "2026-05-03"),
        ("2026-W18", "2026-04-27", "2026-05-03"), ("in KW 18", "2026-04-27", "2026-05-03"),
        ("in calendar week 40", "2025-09-29", "2025-10-05"),
        ("on Tuesday last week", "2026-08-04", "2026-08-04"), ("last week on Tuesday", "2026-08-04", "2026-08-04"),
        ("since Monday", "2026-08-10", "2026-08-12"),
        ("earlier this week", "2026-08-10", "2026-08-16"), ("the week before last", "2026-07-27", "2026-08-02"),
        ("last Tues", "2026-08-11", "2026-08-11"), ("a fortnight ago", "2026-07-26", "2026-08-01"),
        ("in early May 2026", "2026-05-01", "2026-05-31"), ("3 to 5 May 2026", "2026-05-03", "2026-05-05"),
        ("May 3-5, 2026", "2026-05-03", "2026-05-05"),
        ("gestern", "2026-08-11", "2026-08-11"), ("vorgestern", "2026-08-10", "2026-08-10"),
        ("hier soir", "2026-08-11", "2026-08-11"), ("avant-hier", "2026-08-10", "2026-08-10"),
        ("ayer", "2026-08-11", "2026-08-11"), ("anteayer", "2026-08-10", "2026-08-10"),
        ("ieri", "2026-08-11", "2026-08-11"), ("ontem", "2026-08-11", "2026-08-11"),
        ("вчера", "2026-08-11", "2026-08-11"), ("позавчера", "2026-08-10", "2026-08-10"),
        ("昨天说的", "2026-08-11", "2026-08-11"), ("前天", "2026-08-10", "2026-08-10"),
        ("昨日の話", "2026-08-11", "2026-08-11"), ("一昨日", "2026-08-10", "2026-08-10"),
        ("어제", "2026-08-11", "2026-08-11"), ("그저께", "2026-08-10", "2026-08-10"),
        ("أمس", "2026-08-11", "2026-08-11"), ("dün", "2026-08-11", "2026-08-11"),
        ("χθες", "2026-08-11", "2026-08-11"), ("hôm qua", "2026-08-11", "2026-08-11"),
        ("เมื่อวานนี้", "2026-08-11", "2026-08-11"), ("wczoraj", "2026-08-11", "2026-08-11"),
        ("letzte Woche", "2026-08-03", "2026-08-09"), ("la semaine dernière", "2026-08-03", "2026-08-09"),
        ("la semana pasada", "2026-08-03", "2026-08-09"), ("на прошлой неделе", "2026-08-03", "2026-08-09"),
        ("上周的会", "2026-08-03", "2026-08-09"), ("先週", "2026-08-03", "2026-08-09"),
        ("지난주", "2026-08-03", "2026-08-09"), ("letzten Monat", "2026-07-01", "2026-07-31"),
        ("上个月", "2026-07-01", "2026-07-31"), ("先月", "2026-07-01", "2026-07-31"),
        ("le mois dernier", "2026-07-01", "2026-07-31"), ("el año pasado", "2025-01-01", "2025-12-31"),
        ("vor drei Tagen", "2026-08-09", "2026-08-09"), ("il y a 3 jours", "2026-08-09", "2026-08-09"),
        ("hace tres días", "2026-08-09", "2026-08-09"), ("3 дня назад", "2026-08-09", "2026-08-09"),
        ("三天前", "2026-08-09", "2026-08-09"), ("3日前", "2026-08-09", "2026-08-09"),
        ("3일 전에", "2026-08-09", "2026-08-09"), ("vor zwei Wochen", "2026-07-26", "2026-08-01"),
        ("两周前", "2026-07-26", "2026-08-01"), ("2週間前", "2026-07-26", "2026-08-01"),
        ("am letzten Dienstag", "2026-08-11", "2026-08-11"), ("mardi dernier", "2026-08-11", "2026-08-11"),
        ("el martes pasado", "2026-08-11", "2026-08-11"), ("в прошлый вторник", "2026-08-11", "2026-08-11"),
        ("上周二", "2026-08-04", "2026-08-04"), ("火曜日に", "2026-08-11", "2026-08-11"),
        ("지난 화요일", "2026-08-11", "2026-08-11"), ("周二说的", "2026-08-11", "2026-08-11"),
        ("Mai 2026", "2026-05-01", "2026-05-31"), ("im Mai", "2026-05-01", "2026-05-31"),
        ("mayo de 2026", "2026-05-01", "2026-05-31"), ("в мае", "2026-05-01", "2026-05-31"),
        ("2026年5月の会議", "2026-05-01", "2026-05-31"), ("5월에", "2026-05-01", "2026-05-31"),
        ("in Mai, nein im Dezember", "2025-12-01", "2025-12-31"),
    ],
)  # fmt: skip
def test_a_stretch_of_days_is_read(query: str, first: str, last: str) -> None:
    assert days_of(query) == [(first, last)]


@pytest.mark.parametrize(
    "query",
    [
        "release 10.20.2026.1", "host 10.5.20.26", "version 3.5.2026a", "1/2 of it", "24/7", "Q5", "week", "W3C", "KW",
        "3 maids", "wo ist hier der Port", "la semana que viene", "一周三次", "三天", "5月饼", "12345678",
        "20269999", "Q2FY", "a fortnight of rain", "the first 2026 items", "my second half", "may", "mars",
        "mai tai", "H2O", "H1", "week 60",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_day_stays_words(query: str) -> None:
    assert days_of(query) == []


@pytest.mark.parametrize(
    ("query", "since", "until"),
    [
        ("on 3 May 2026, 23:30 PDT", "2026-05-03T07", "2026-05-04T07"),
        ("on 3 May 2026 at 9 am UTC+9", "2026-05-02T15", "2026-05-03T15"),
        ("2026-05-03T23:30:00-08:00", "2026-05-03T08", "2026-05-04T08"),
        ("2026-05-03T23:30:00Z", "2026-05-03T00", "2026-05-04T00"),
        ("yesterday (JST)", "2026-08-10T15", "2026-08-11T15"),
        ("am 3. Mai 2026 MESZ", "2026-05-02T22", "2026-05-03T22"),
        ("on 3 May 2026 at noon", "2026-05-03T00", "2026-05-04T00"),
    ],
)
def test_a_zone_that_is_said_moves_the_day(query: str, since: str, until: str) -> None:
    (span,) = spans(query, NOW)
    assert [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H") for at in (span.since, span.until)] == [
        since, until,
    ]  # fmt: skip
    for time in (span.since, span.until - 1):
        assert set(span.tokens) & set(words(stamp(time)))


def test_today_begins_where_the_zone_says() -> None:
    late = datetime(2026, 8, 12, 20, tzinfo=UTC).timestamp()
    (span,) = spans("today in JST", late)
    assert datetime.fromtimestamp(span.since, UTC).isoformat() == "2026-08-12T15:00:00+00:00"


def test_a_text_that_names_thousands_of_days_is_read_no_further() -> None:
    said = spans("2026年5月3日，" * 2_000 + "yesterday", NOW)
    assert 1 <= len(said) <= 64


def test_a_limit_of_a_search_is_said_in_the_same_words() -> None:
    assert days_of("03.05.2026")[0][0] == stamped(moment("03.05.2026", "since", now=NOW))
    assert stamped(moment("Q2 2026", "since", now=NOW)) == "2026-04-01"
    assert stamped(moment("vorgestern", "until", now=NOW, end=True)) == "2026-08-10"
    with pytest.raises(PolicyError, match="since takes"):
        moment("03/05/2026", "since", now=NOW)


def stamped(time: float | None) -> str:
    assert time is not None
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize("query", ["am 3. Mai 2026", "5月3日の桟橋", "was geschah vor 101 Tagen", "on 03/05/2026"])
def test_what_was_said_on_that_day_comes_first(query: str) -> None:
    at = datetime(2026, 5, 3, 9, tzinfo=UTC).timestamp()
    session = Session("s", clock=lambda: NOW)
    session.record(
        *(user(f"Filler number {name} of no interest.", time=at + 86_400 * n) for name, n in FILLERS),
        user("The walrus was fed.", time=at),
        *(user(f"Another filler {name}.", time=at + 172_800 * n) for name, n in FILLERS),
    )  # fmt: skip
    assert session.search(query)[0].ref == "event:5"
