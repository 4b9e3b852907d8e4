"""The time zone that is said behind a day: "3 May 2026, 23:30 PDT", "yesterday (JST)". Knows nothing of days.

Names that several countries use for different times (CST, IST) are not read.
"""

from __future__ import annotations

import re

_NAMED = {
    "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "EEST": 3,
    "MSK": 3, "SGT": 8, "HKT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
    "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
_OFFSET = r"[+\u2212-]\d{1,2}(?::?\d\d)?"
_CLOCK = r"\d{1,2}(?:[:.h]\d\d(?::\d\d(?:\.\d{1,9})?)?)?(?:\s?[aApP]\.?[mM]\.?|\s?Uhr|\s?h)?"
_BEHIND = re.compile(
    rf"(?:T|,?\s+(?:at\s+|um\s+|à\s+)?)(?P<clock>{_CLOCK})(?:(?P<offset>Z|[+\u2212-]\d\d:?\d\d)|,?\s*\(?(?:in\s+)?(?P<named>"
    rf"(?:UTC|GMT)(?:{_OFFSET})?|{'|'.join(_NAMED)})\)?)?(?![\w])"
    rf"|,?\s+\(?(?:in\s+)?(?P<alone>(?:UTC|GMT)(?:{_OFFSET})?|{'|'.join(_NAMED)})\)?(?![\w])"
)


def zone_behind(text: str, end: int) -> tuple[int, float]:
    """(where it ends, hours ahead of UTC) of the zone that is said right behind a place; (the place, 0) where none is.
    A time of day without a zone is left where it is."""
    found = _BEHIND.match(text, end)
    said = found and (found["offset"] or found["named"] or found["alone"])
    if not found or not said:
        return end, 0.0
    name = said[:3] if said[:3] in ("UTC", "GMT") else said
    offset = said[3:] if name != said else "" if said in _NAMED or said == "Z" else said
    return found.end(), _hours(offset) if offset else float(_NAMED.get(name, 0))


def _hours(offset: str) -> float:
    digits = offset[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    ahead = hours + minutes / 60
    return -ahead if offset[0] in "-\u2212" else ahead
