"""Days in English words and in figures: "last Tuesday", "7 May 2023", "Q2 2026", 2026-05-03, 03/05/2026.

Knows no clock.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from foldmark.dates import MONTHS, WEEKDAYS
from foldmark.retrieval.calendar import (
    YEAR,
    Days,
    Expression,
    ago,
    dated,
    month_of,
    one_day,
    quarter_of,
    unit_back,
    week_of,
    weekday_before,
    weekday_of_last_week,
)  # fmt: skip

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "September" else "Sep(?:t(?:ember)?)?" for name in MONTHS)
_FULL_MONTH = "|".join(MONTHS)
_WEEKDAY = "|".join(WEEKDAYS)
_SHORT_WEEKDAY = "Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTS = {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3} | {
    word: number for number, word in enumerate(_NUMBERS)
}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}


def _year_in(match: re.Match[str]) -> int | None:
    groups = match.groupdict()
    year = groups.get("year") or groups.get("later")
    return int(year) if year else None


def _month_number(name: str) -> int:
    return int(name) if name.isdigit() else [month[:3].lower() for month in MONTHS].index(name[:3].lower()) + 1


def _weekday_number(name: str) -> int:
    return [day[:3].lower() for day in WEEKDAYS].index(name[:3].lower())


def _day(match: re.Match[str], today: date) -> Days:
    return one_day(dated(_year_in(match), _month_number(match["month"]), int(match["day"]), today))


def _days(match: re.Match[str], today: date) -> Days:
    last = dated(_year_in(match), _month_number(match["month"]), int(match["last"]), today)
    return last.replace(day=int(match["day"])), last


def _day_first(match: re.Match[str], today: date) -> Days:
    return one_day(date(int(match["year"]), int(match["two"]), int(match["one"])))


def _month_first(match: re.Match[str], today: date) -> Days:
    return one_day(date(int(match["year"]), int(match["one"]), int(match["two"])))


def _month(match: re.Match[str], today: date) -> Days:
    return month_of(_year_in(match), _month_number(match["month"]), today)


def _year(match: re.Match[str], today: date) -> Days:
    return date(int(match["year"]), 1, 1), date(int(match["year"]), 12, 31)


def _quarter(match: re.Match[str], today: date) -> Days:
    said = (match["quarter"] or match["number"]).lower()
    return quarter_of(_year_in(match), _ORDINALS.get(said) or int(said), today)


def _half(match: re.Match[str], today: date) -> Days:
    year, is_first = _year_in(match), match["half"] == "1" or (match["which"] or "").lower() == "first"
    first, last = (1, 2) if is_first else (3, 4)
    return quarter_of(year, first, today)[0], quarter_of(year, last, today)[1]


def _week(match: re.Match[str], today: date) -> Days:
    return week_of(_year_in(match), int(match["week"]), today)


def _near_day(match: re.Match[str], today: date) -> Days:
    said = " ".join(match[0].lower().split())
    back = 2 if said.startswith("the day before") else 1 if said in ("yesterday", "last night") else 0
    return one_day(today - timedelta(days=back))


def _weekday(match: re.Match[str], today: date) -> Days:
    return one_day(weekday_before(_weekday_number(match["weekday"]), today))


def _since_weekday(match: re.Match[str], today: date) -> Days:
    return weekday_before(_weekday_number(match["weekday"]), today), today


def _weekday_last_week(match: re.Match[str], today: date) -> Days:
    return one_day(weekday_of_last_week(_weekday_number(match["weekday"]), today))


def _ago(match: re.Match[str], today: date) -> Days:
    unit = match["unit"].lower()
    return ago(today, 2 * _count(match), "week") if unit == "fortnight" else ago(today, _count(match), unit)


def _unit(match: re.Match[str], today: date) -> Days:
    """This or last week (from Monday), weekend, month, quarter or year."""
    return unit_back(today, int(match["which"].lower() != "this"), match["unit"].lower())


def _before_last(match: re.Match[str], today: date) -> Days:
    return unit_back(today, 2, match["unit"].lower())


def _lately(match: re.Match[str], today: date) -> Days:
    lengths = {"day": 1, "week": 7, "month": 31, "year": 366}
    return today - timedelta(days=_count(match) * lengths[match["unit"].lower()]), today


def _count(match: re.Match[str]) -> int:
    said = " ".join(match["count"].lower().split())
    return int(said) if said.isdigit() else _COUNTS[said]


def _compiled(pattern: str, behind: str = r"(?![\w-])") -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern}){behind}", re.IGNORECASE)


_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_LAST_NTH = r"\s*(?:-|–|to|until|and)\s*(?P<last>\d{1,2})(?:st|nd|rd|th)?"
_IN = r"in|during|since|of|last|this|early|late|mid|by|until|before|after|from"
_LATER = r"(?P<later>(?:19|20)\d\d)"
_UNIT = r"(?P<unit>weekend|week|month|quarter|year)"
_NO_FIGURE = r"(?![\w-]|\.\d)"
# What is read first is not read again: the longer expressions stand before their parts.
ENGLISH: tuple[Expression, ...] = (
    (_compiled(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)", r"(?=T\d\d:|[^\w-]|$)"), (_day,), False),
    (_compiled(r"(?<!\.)(?P<year>(?:19|20)\d\d)([/.])(?P<month>\d\d?)\2(?P<day>\d\d?)", _NO_FIGURE), (_day,), False),
    (
        _compiled(rf"(?<![./])(?P<one>\d{{1,2}})([/-])(?P<two>\d{{1,2}})\2{YEAR}", _NO_FIGURE),
        (_day_first, _month_first), False,
    ),
    (_compiled(rf"(?<!\.)(?P<one>\d{{1,2}})\.(?P<two>\d{{1,2}})\.{YEAR}", _NO_FIGURE), (_day_first,), False),
    (_compiled(rf"{YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>[0-2]\d|3[01])"), (_day,), False),
    (_compiled(rf"{_NTH}{_LAST_NTH}\s+(?:of\s+)?(?P<month>{_MONTH})\.?(?:,?\s+{YEAR})?"), (_days,), False),
    (_compiled(rf"(?P<month>{_MONTH})\.?\s+{_NTH}{_LAST_NTH}(?:,?\s+{YEAR})?"), (_days,), False),
    (_compiled(rf"{_NTH}\s+(?:of\s+)?(?P<month>{_MONTH})\.?(?:,?\s+{YEAR})?"), (_day,), False),
    (_compiled(rf"(?P<month>{_MONTH})\.?\s+{_NTH}(?:,?\s+{YEAR})?"), (_day,), False),
    (_compiled(rf"{YEAR}-?W(?P<week>\d\d)"), (_week,), False),
    (_compiled(rf"{YEAR}[\s-]?Q(?P<quarter>[1-4])|Q(?P<number>[1-4])[\s/-]*{_LATER}"), (_quarter,), False),
    (_compiled(rf"(?:{_IN})\s+Q(?P<quarter>[1-4])"), (_quarter,), False),
    (
        _compiled(rf"(?P<quarter>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+quarter(?:\s+of)?\s+{YEAR}"),
        (_quarter,), False,
    ),
    (_compiled(rf"H(?P<half>[12])[\s/-]*{YEAR}|(?P<which>first|second)\s+half(?:\s+of)?\s+{_LATER}"), (_half,), False),
    (_compiled(rf"(?:calendar\s+)?week\s+(?P<week>\d{{1,2}})(?:\s+of|\s+in|,)?\s+{YEAR}"), (_week,), False),
    (_compiled(rf"KW\s?(?P<week>\d{{1,2}})(?:[\s/]+{YEAR})?"), (_week,), False),
    (
        _compiled(rf"(?:(?:{_IN})\s+(?:calendar\s+)?|calendar\s+)week\s+(?P<week>\d{{1,2}})", r"(?![\w-]|\s+of\b)"),
        (_week,), False,
    ),
    (_compiled(rf"{YEAR}-(?P<month>\d\d)"), (_month,), False),
    (_compiled(rf"(?P<month>{_MONTH})\.?,?\s+{YEAR}"), (_month,), False),
    (_compiled(rf"(?:{_IN})\s+(?P<month>{_FULL_MONTH})"), (_month,), False),
    (_compiled(rf"(?:{_IN})\s+{YEAR}"), (_year,), False),
    (_compiled(rf"{_COUNT}\s+(?P<unit>day|week|fortnight|month|year)s?\s+ago"), (_ago,), True),
    (_compiled(rf"(?:last|past)\s+{_COUNT}\s+(?P<unit>day|week|month|year)s?"), (_lately,), True),
    (_compiled(rf"the\s+{_UNIT}\s+before\s+last"), (_before_last,), True),
    (
        _compiled(rf"(?:on\s+)?(?P<weekday>{_WEEKDAY})\s+(?:of\s+)?last\s+week"), (_weekday_last_week,), True,
    ),
    (_compiled(rf"last\s+week(?:['’]s)?\s+(?:on\s+)?(?P<weekday>{_WEEKDAY})"), (_weekday_last_week,), True),
    (
        _compiled(r"the\s+day\s+before\s+yesterday|yesterday|today|tonight|this\s+morning|last\s+night"),
        (_near_day,), True,
    ),
    (_compiled(rf"since\s+(?:last\s+)?(?P<weekday>{_WEEKDAY})"), (_since_weekday,), True),
    (_compiled(rf"(?:last|past|on|this)\s+(?P<weekday>{_WEEKDAY})"), (_weekday,), True),
    (_compiled(rf"(?:last|past)\s+(?P<weekday>{_SHORT_WEEKDAY})"), (_weekday,), True),
    (_compiled(rf"(?P<which>this|last|past)\s+{_UNIT}"), (_unit,), True),
)  # fmt: skip
