"""Figures to their values: 1,234 and 1 234 as 1234, 10k as 10000, 2:30 pm as 14:30. Knows nothing of names and texts.

A value is a token beside those that a figure gives in pieces, so nothing is torn or lost by it. Bare points are no
groups: 1.234.567 is as often a version, and 10.20.30.40 an address. They group before a decimal comma (1.234,5) and
beside a currency (1.234 €).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.words.folding import MARKS

_SPACE = " \u00a0\u2009\u202f"
_FIRST = "(?![0\u0660\u06f0])\\d{1,3}"
_CURRENCY = "(?:€|EUR|Euro|R\\$|kr|zł|₺|TL|₫)"
_ALONE = "(?<![\\w.,'’\u066b\u066c])"
_OPEN, _SHUT = "(?<![\\w./\\\\:@-])", f"(?![\\w{MARKS}]|[./\\\\:@-]\\w)"
"""Round what is made of a name's letters alone: nothing but the name itself may decide."""
_ENDS = f"(?:(?![kKMh])[A-Za-zµ]{{1,3}})?(?![\\w{MARKS}]|[,'’\u066b\u066c]\\d|[./\\\\:@]\\w)"
"""With a unit that is joined to it (1,234ms), so that what begins inside a figure ends where it ends."""
_HOUR, _MINUTE = "(?:[01]?\\d|2[0-3])", "[0-5]\\d"
_FIGURES = (
    rf"{_ALONE}{_FIRST}(?:,\d{{3}}){{1,4}}(?:\.\d+)?{_ENDS}",
    f"{_ALONE}{_FIRST}(?:\u066c\\d{{3}}){{1,4}}(?:\u066b\\d+)?{_ENDS}",
    rf"{_ALONE}{_FIRST}(?:\.\d{{3}}){{1,4}},\d+{_ENDS}",
    rf"{_ALONE}{_FIRST}(?:\.\d{{3}}){{1,4}}[{_SPACE}]?{_CURRENCY}(?![\w{MARKS}])",
    rf"{_ALONE}{_FIRST}(?:['’]\d{{3}}){{1,4}}(?:\.\d+)?{_ENDS}",
    rf"{_OPEN}{_FIRST}(?:_\d{{3}}){{1,4}}{_SHUT}",
    rf"{_ALONE}(?<![/\\:@-])(?<!\d[{_SPACE}]){_FIRST}(?:[{_SPACE}]\d{{3}}){{1,4}}(?:[.,]\d{{1,2}})?"
    rf"(?![\w{MARKS}]|[.,:/\\@-]\w|[{_SPACE}]\d)",
    rf"{_OPEN}\d{{1,4}}(?:[.,]\d{{1,2}})?[kKM]{_SHUT}",
    rf"{_OPEN}(?:1[0-2]|0?[1-9])(?:[:.]{_MINUTE})?[{_SPACE}]?[aApP]\.?[mM]{_SHUT}",
    rf"{_OPEN}{_HOUR}h{_MINUTE}{_SHUT}",
    rf"{_OPEN}{_HOUR}(?:[.:]{_MINUTE})?[{_SPACE}]Uhr(?![\w{MARKS}])",
)
FIGURE = f"(?=\\d)(?:{'|'.join(_FIGURES)})"
"""A pattern for what may give a value; it has no groups of its own."""
MAY_BE_FIGURE = re.compile(rf"\d(?:[,.'’_\u066c{_SPACE}]\d\d\d|[kKM]|h\d|[{_SPACE}]?[aApP]\.?[mM]|[{_SPACE}]Uhr)")
"""What every such figure holds: a text without it needs no closer look."""

_SIGNS = re.compile(f"[.,'’_\u066b\u066c{_SPACE}]")
_SCALED = re.compile(r"(\d+)(?:[.,](\d+))?([kKM])")
_HALF_DAY = re.compile(rf"(\d+)(?:[:.](\d\d))?[{_SPACE}]?([aApP])\.?[mM]")
_CLOCK = re.compile(rf"(\d+)(?:[.:h](\d\d))?(?:[{_SPACE}]Uhr)?")
_EASTERN = re.compile("(午後|下午|오후)?(\\d{1,2})[時时點点시](?:(\\d{1,2})[分분]|半)")
_ZEROS = {"k": 3, "K": 3, "M": 6}


def values(figure: str) -> list[str]:
    """What a figure that `FIGURE` matched stands for, as tokens: a number, with its whole part where it has decimals,
    or an hour with its minute."""
    if found := _SCALED.fullmatch(figure):
        whole, decimals, unit = found[1], found[2] or "", found[3]
        return [(whole + decimals.ljust(_ZEROS[unit], "0")).lstrip("0") or "0"]
    if found := _HALF_DAY.fullmatch(figure):
        return [_time(int(found[1]) % 12 + (12 if found[3] in "pP" else 0), found[2])]
    if found := _CLOCK.fullmatch(figure):
        return [_time(int(found[1]), found[2])]
    bare = "".join(c for c in figure if c.isdigit() or _SIGNS.match(c)).strip()
    signs = _SIGNS.findall(bare)
    if signs[-1] == signs[0] or signs[-1] not in ".,\u066b":
        return [_SIGNS.sub("", bare)]
    whole, _, decimals = bare.rpartition(signs[-1])
    return [f"{_SIGNS.sub('', whole)}_{decimals}", _SIGNS.sub("", whole)]


def eastern_times(run: str) -> list[str]:
    """The times that a run of Chinese, Japanese or Korean names (14時30分, 下午2点半), as hour and minute."""
    return [
        _time(int(hour) + (12 if afternoon and int(hour) < 12 else 0), (minute or "30").zfill(2))
        for afternoon, hour, minute in _EASTERN.findall(run)
    ]


def spellings(token: str) -> tuple[str, ...]:
    """How texts write what gives this value, in lower case, by its beginning: 10,000 or 10k for 10000."""
    whole, _, rest = token.partition("_")
    if not whole.isdigit() or (rest and not rest.isdigit()):
        return ()
    if len(whole) > 3:
        first = (len(whole) - 1) % 3 + 1
        grouped = [f"{whole[:first]}{sign}{whole[first : first + 3]}" for sign in f",.'’_\u066c{_SPACE}"]
        return (*grouped, *(() if rest else _scaled(whole)))
    if len(whole) == len(rest) == 2 and int(whole) < 24:
        return tuple(_of_time(int(whole), rest))
    return ()


def _scaled(digits: str) -> Iterator[str]:
    for unit, zeros in (("k", 3), ("m", 6)):
        whole, decimals = digits[:-zeros], digits[-zeros:].rstrip("0")
        if whole and len(decimals) <= 2:
            yield f"{whole}.{decimals}{unit}" if decimals else f"{whole}{unit}"


def _of_time(hour: int, minute: str) -> Iterator[str]:
    half = (hour + 11) % 12 + 1
    yield from (f"{hour}h{minute}", f"{hour}.{minute}", f"{half}:{minute}", f"{half}.{minute}")
    if minute == "00":
        yield from (f"{half}{sign}{letter}" for sign in ("", *_SPACE) for letter in "ap")
        yield from (f"{hour}{sign}uhr" for sign in _SPACE)


def _time(hour: int, minute: str | None) -> str:
    return f"{hour:02}_{minute or '00'}"
