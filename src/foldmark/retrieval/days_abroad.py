"""Days in the words of other languages: "3. Mai 2026", "5月3日", "vor zwei Wochen", "на прошлой неделе".

Knows no clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from foldmark.retrieval.calendar import (
    Days,
    Expression,
    Read,
    ago,
    dated,
    month_of,
    one_day,
    unit_back,
    weekday_before,
    weekday_of_last_week,
)
from foldmark.retrieval.day_names import (
    ANY_EAST_UNIT,
    ANY_UNIT,
    COUNT,
    COUNTS,
    DAYS_BACK,
    EAST,
    EAST_DAYS_BACK,
    EAST_LAST,
    EAST_NUMBERS,
    EAST_THIS,
    EAST_WEEKDAYS,
    LAST,
    MONTH,
    NUMBER_OF,
    THIS,
    UNITS,
    WEEKDAY,
    WEEKDAY_OF,
    YEAR,
)
from foldmark.words.folding import plain


def _year_in(match: re.Match[str]) -> int | None:
    said = match.groupdict().get("year")
    return None if not said else int(said) - (543 if int(said) >= 2_400 else 0)


def _month_in(match: re.Match[str]) -> int:
    said = match["month"]
    return NUMBER_OF.get(said.lower()) or NUMBER_OF.get(plain(said).casefold()) or _east_number(said)


def _east_number(said: str) -> int:
    """5, 五, 十五 or 三十一."""
    if said.isdecimal():
        return int(said)
    tens, is_more, ones = said.rpartition("十")
    return (10 * (EAST_NUMBERS[tens] if tens else 1) if is_more else 0) + (EAST_NUMBERS[ones] if ones else 0)


def _day(match: re.Match[str], today: date) -> Days:
    return one_day(dated(_year_in(match), _month_in(match), _east_number(match["day"]), today))


def _month(match: re.Match[str], today: date) -> Days:
    return month_of(_year_in(match), _month_in(match), today)


def _year(match: re.Match[str], today: date) -> Days:
    return date(int(match["year"]), 1, 1), date(int(match["year"]), 12, 31)


def _ago(match: re.Match[str], today: date) -> Days:
    unit = next(unit for unit in UNITS if match[unit])
    said = match["count"].lower()
    return ago(today, COUNTS.get(said) or _east_number(said), unit)


def _weekday_in(match: re.Match[str]) -> int:
    return _weekday_by(match["weekday"].lower())


def _weekday_by(said: str) -> int:
    if len(said) == 1:
        return next(number for number, signs in enumerate(EAST_WEEKDAYS) if said in signs)
    return WEEKDAY_OF.get(said, WEEKDAY_OF.get(plain(said), 0))


def _weekday(match: re.Match[str], today: date) -> Days:
    return one_day(weekday_before(_weekday_in(match), today))


def _weekday_last_week(match: re.Match[str], today: date) -> Days:
    return one_day(weekday_of_last_week(_weekday_in(match), today))


def _back(days: int) -> Read:
    return lambda match, today: one_day(today - timedelta(days=days))


def _unit(back: int, unit: str) -> Read:
    return lambda match, today: unit_back(today, back, unit)


def _spaced(pattern: str) -> re.Pattern[str]:
    """Where words stand apart."""
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])".replace(" ", r"\s+"), re.IGNORECASE)


def _joined(pattern: str) -> re.Pattern[str]:
    """Where they do not."""
    return re.compile(rf"(?<!\d)(?:{pattern})", re.IGNORECASE)


def _each(
    table: dict[str, str] | dict[int, str], compiled: Callable[[str], re.Pattern[str]], read: Callable[..., Read]
) -> tuple[Expression, ...]:
    return tuple((compiled(pattern), (read(key),), True) for key, pattern in sorted(table.items(), reverse=True))


_WEEK_SIGN = "(?:周|週|星期|礼拜|禮拜)"
_DAY_SIGN = "(?P<weekday>[月火水木金土日월화수목금토일])(?:曜日?|요일)"
_SIGN = "(?P<weekday>[一二三四五六日天])(?![\\d一二三四五六七八九十])"
_SPACED: tuple[Expression, ...] = (
    (_spaced(rf"ngày (?P<day>\d{{1,2}}) tháng (?P<month>\d{{1,2}})(?: năm {YEAR})?"), (_day,), False),
    (_spaced(rf"(?P<day>\d{{1,2}})(?:\.|er|º)?\s*(?:de |d['’])?{MONTH}(?: (?:de |del )?{YEAR})?"), (_day,), False),
    (_spaced(rf"{MONTH} (?:de |del )?{YEAR}"), (_month,), False),
    (_spaced(rf"(?:im|seit|en|em|au mois de|nel|w|в|во|с|από|tháng|في) {MONTH}"), (_month,), False),
    (_spaced(rf"(?:vor|il y a|hace|h[áa]|منذ|قبل|πριν(?: από)?) {COUNT} (?:{ANY_UNIT})"), (_ago,), True),
    (_spaced(rf"{COUNT} (?:{ANY_UNIT}) (?:fa|atrás|geleden|назад|тому|önce|trước|temu|yang lalu)"), (_ago,), True),
    (_spaced(rf"(?:am )?(?:letzte|vorige|vergangene)[nrm]? {WEEKDAY}"), (_weekday,), True),
    (_spaced(rf"(?:le |el |il |lo )?{WEEKDAY} (?:dernier|passé|pasado|scors[oa]|passad[oa])"), (_weekday,), True),
    (_spaced(rf"(?:am|во?|we?) (?:прошл(?:ый|ую|ое) |zeszł\w+ )?{WEEKDAY}"), (_weekday,), True),
    *_each(LAST, _spaced, lambda unit: _unit(1, unit)),
    *_each(THIS, _spaced, lambda unit: _unit(0, unit)),
    *_each(DAYS_BACK, _spaced, _back),
)
_JOINED: tuple[Expression, ...] = (
    (
        _joined(rf"(?:(?P<year>(?:19|20)\d\d)[年년]\s?)?(?P<month>{EAST})[月월]\s?(?P<day>{EAST})[日号號일](?!前|\s?전)"),
        (_day,), False,
    ),
    (_joined(rf"(?P<year>(?:19|20)\d\d)[年년]\s?(?P<month>{EAST})[月월]"), (_month,), False),
    (_joined(rf"(?P<month>{EAST})[月월](?=[にのはかで中初末底份,、，。]|에|의|부터|까지|\s|$)"), (_month,), False),
    (_joined(r"(?P<year>(?:19|20)\d\d)[年년]"), (_year,), False),
    (
        _joined(rf"(?P<count>\d{{1,3}}|[一二两兩三四五六七八九十])\s?(?:{ANY_EAST_UNIT})\s?(?:之?前|以前|전|ก่อน|ที่แล้ว)"),
        (_ago,), True,
    ),
    (_joined(f"上(?:个|個)?{_WEEK_SIGN}{_SIGN}"), (_weekday_last_week,), True),
    (_joined(rf"(?:先週の?|지난\s?주\s?){_DAY_SIGN}"), (_weekday_last_week,), True),
    (_joined(rf"(?:지난\s?)?{_DAY_SIGN}"), (_weekday,), True),
    (_joined(f"(?<![一二三四五六七八九十两兩每])(?:这|這|本)?{_WEEK_SIGN}{_SIGN}"), (_weekday,), True),
    *_each(EAST_LAST, _joined, lambda unit: _unit(1, unit)),
    *_each(EAST_THIS, _joined, lambda unit: _unit(0, unit)),
    *_each(EAST_DAYS_BACK, _joined, _back),
)  # fmt: skip

_WEEKDAY_EAST = re.compile(rf"{_DAY_SIGN}|{_WEEK_SIGN}{_SIGN.replace('weekday', 'sign')}")

_LETTERS = re.compile(r"[^\W\d_]+")
_EASTERN = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_MARKED = re.compile("[\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f]")
"""Words with such marks are no runs of letters."""
_TELLING = frozenset(
    word.lower()
    for text in (*NUMBER_OF, *WEEKDAY_OF, *UNITS.values(), *LAST.values(), *THIS.values(), *DAYS_BACK.values())
    for word in _LETTERS.findall(text)
    if len(word) > 1
) - frozenset(("la", "le", "el", "il", "de", "in", "an", "на", "hier", "this"))


def abroad(text: str) -> tuple[Expression, ...]:
    """The expressions that a text may hold. Most hold none, which its words tell at once: to look for each of them in
    a long text takes longer than the search itself."""
    spaced = _MARKED.search(text) or not _TELLING.isdisjoint(_LETTERS.findall(text.lower()))
    return (*(_JOINED if _EASTERN.search(text) else ()), *(_SPACED if spaced else ()))


def weekday_abroad(text: str) -> int | None:
    """The number of the weekday (0: Monday) that a text is the name of, in another language; None for any other."""
    name = text.lower()
    if east := _WEEKDAY_EAST.fullmatch(name):
        return _weekday_by(east["weekday"] or east["sign"])
    return WEEKDAY_OF.get(name, WEEKDAY_OF.get(plain(name)))
