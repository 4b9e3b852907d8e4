"""A thing that must stand in the source, and the ways in which it may stand there. Knows nothing of sources, events or
items.

A wrong drop costs a good statement and a missed one puts an invention into the record for many rounds; so a thing that
a model may rightly write otherwise (a date, a grouped number, a brand) gets more ways, never a free pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from foldmark.story.figures import word_of

Edge = Literal["word", "digit", "start", "none"]
"""What must not stand beside a finding: a letter or digit on either side; a digit on either side; a letter or digit in
front (an abbreviated hash may go on); `none`: anything may."""

SMALL = 10
"""Plain counts up to here are loose."""


class Way(msgspec.Struct, frozen=True):
    """A spelling: a text, in any case when it `folds`; a regular expression when there is a `hint`, a lower-case text
    that every finding holds; or a number in its canonical form."""

    text: str
    edge: Edge = "word"
    folds: bool = False
    hint: str = ""
    is_number: bool = False


class Claim(msgspec.Struct, frozen=True):
    """One thing that must stand in the source, in one of its `ways` or with all its `parts` in one event (`in_line`: in
    one line of it).

    With `near`, one of these words has to stand close by, with `name` that name: a 60 somewhere proves no ttl=60. What
    is `loose` ("2 tests" is often counted and stands nowhere) keeps a statement from being verified, not from staying.
    """

    text: str
    ways: tuple[Way, ...] = ()
    near: tuple[str, ...] = ()
    name: str = ""
    parts: tuple[str, ...] = ()
    in_line: bool = False
    is_loose: bool = False


_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
SCALES = {"k": 3, "K": 3, "M": 6, "bn": 9}


def plain(text: str) -> Claim:
    """To the letter."""
    return Claim(text, (Way(text),))


def name(text: str) -> Claim:
    """A name to the letter. Where its case follows the language (API, GitHub, UTF-8) other cases count as well."""
    ways = [Way(text)]
    if re.fullmatch(r"[A-Z]{2,}s?", text):  # in small letters as well, but LOS is not Los
        ways += [Way(text.lower()), Way(text.rstrip("sS")), Way(text.lower().rstrip("s"))]
    elif re.fullmatch(r"(?:[A-Z][a-z]+|[A-Z]{2,}){1,4}", text):
        ways.append(Way(text, folds=True))
    if match := re.fullmatch(r"([A-Za-z]{1,12})-?(\d+)([a-z]?)", text):
        ways.append(Way(rf"{match[1]}[-_ ]?{match[2]}{match[3]}", folds=True, hint=match[1].lower()))
    return Claim(text, tuple(ways))


def code(text: str) -> Claim:
    """What stands in backticks: to the letter, or all its tokens in one event."""
    bare = " ".join(text.split()).removesuffix("()")
    if re.fullmatch(r"\d{1,18}", bare):
        return Claim(bare, tuple(spellings(bare)))
    if parted := re.fullmatch(r"([A-Za-z_][\w.-]*)\s?[=:]\s?([\w.+-]+)", bare):
        return pair(parted[1], parted[2])
    parts = tuple(part for part in re.split(r"[^\w./:@-]+", bare) if re.search(r"\w", part))
    return Claim(bare, (Way(bare),), parts=parts if len(parts) > 1 else ())


def quote(text: str) -> Claim:
    """A quotation: to the letter but for case, spaces and its last sign, or all its words in one event."""
    bare = " ".join(text.split()).strip(" .,;:!?…")
    if " " not in bare and not bare.isalpha():
        return name(bare)
    parts = tuple(re.findall(r"\w+", bare))
    return Claim(bare, (Way(bare, folds=True),), parts=parts if len(parts) > 1 else ())


def pair(named: str, value: str) -> Claim:
    """`ttl=60`: the value stands close to the name."""
    if number := re.fullmatch(r"(\d{1,18})(\.\d{1,18})?([kKM])?(?:ms|s|m|h|d|%|[KMG]i?B)?", value):
        ways = tuple(spellings(number[1], number[2] or "", SCALES.get(number[3] or "", 0)))
    else:
        ways = (Way(value), *((Way(value, folds=True),) if value.isalpha() else ()))
    return Claim(f"{named}={value}", ways, name=named)


def path(text: str) -> Claim:
    """A path to the letter; its line number may stand elsewhere in the event. Node.js is no file, and a/b/c may be
    three words."""
    bare, _, line = text.partition(":") if re.search(r":\d+$", text) else (text, "", "")
    if re.fullmatch(r"[A-Z]\w*\.js", bare):
        return Claim(text, (Way(bare, folds=True), Way(bare[:-3], folds=True)))
    if re.fullmatch(r"[A-Za-z]+(?:/[A-Za-z]+)+", bare):
        return Claim(text, (Way(bare),), parts=tuple(bare.split("/")))
    if line:
        return Claim(text, (Way(text),), parts=(bare.removeprefix("./"), line))
    return Claim(text, (Way(bare.removeprefix("./")),))


def spellings(digits: str, fraction: str = "", scale: int = 0, *, is_share: bool = False) -> Iterator[Way]:
    """A number in its canonical form, which meets 1200, 1,200, 1_200 and 1.2k alike; 60 may stand as sixty as well, and
    a share only as a share."""
    number = canonical(digits, fraction, scale)
    if is_share:
        yield Way(f"{number}%", is_number=True)
        return
    yield Way(number, is_number=True)
    if scale:  # a source that says 12,345 may be told as 12K
        yield Way(f"{canonical(digits, fraction)}k{scale}", is_number=True)
    value = int(number) if number.isdigit() and len(number) < 4 else -1
    if value >= 0 and (said := word_of(value)):
        yield Way(said, folds=True, hint="hundred" if value == 100 else said.partition("[")[0])


def canonical(digits: str, fraction: str = "", scale: int = 0) -> str:
    """Digits without separators and leading zeros, a fraction (`.50`) without its last zeros, a scale multiplied in."""
    after = fraction[1:].rstrip("0")
    whole = digits + after[:scale].ljust(scale, "0")
    rest = after[scale:]
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def date(text: str) -> Claim | None:
    """A day, in whichever order and language it stands there; None when it is none (`3 Decisions`)."""
    day = _day(text)
    if day is None:
        return plain(text) if re.match(r"\d+[-./]\d", text) else None
    year, month, number = day
    month_name, short = _MONTHS[month - 1], _MONTHS[month - 1][:3]
    names = rf"(?:{month_name}|{short}\.?)"
    ordinal = rf"0?{number}(?:st|nd|rd|th)?"
    other_year = rf"(?!,? (?!{year})\d{{4}})" if year else ""
    written = rf"(?:{ordinal}\.? ?(?:of )?{names}|{names} ?{ordinal}){other_year}"
    return Claim(
        text,
        (
            Way(written, "digit", folds=True, hint=short),
            Way(rf"{year or '[0-9]{4}'}[-/.]?{month:02}[-/.]?{number:02}", "digit", hint=f"{number:02}"),
            Way(rf"0?{number}\.0?{month}\.|0?{month}/0?{number}/|{month}月{number}日", "none", hint=str(number)),
        ),
    )


def _day(text: str) -> tuple[str, int, int] | None:
    """(year or "", month, day); day and month are told apart by what is possible."""
    if match := re.match(r"(\d{4})-(\d\d)-(\d\d)", text):
        year, month, day = match[1], int(match[2]), int(match[3])
    elif match := re.match(r"(\d{1,2})[./](\d{1,2})[./](\d{4})", text):
        year, first, second = match[3], int(match[1]), int(match[2])
        day, month = (first, second) if second <= 12 else (second, first)
    elif match := re.match(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})日", text):
        year, month, day = match[1] or "", int(match[2]), int(match[3])
    else:
        word, number = re.search(r"[A-Za-z]{3,}", text), re.search(r"(?<!\d)\d{1,2}(?!\d)", text)
        low = word[0].lower() if word else ""
        if not number or (low not in _MONTHS and low not in {one[:3] for one in _MONTHS}):
            return None
        found = re.search(r"\d{4}", text)
        year, day = found[0] if found else "", int(number[0])
        month = 1 + next(at for at, one in enumerate(_MONTHS) if one.startswith(low))
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def time(text: str) -> Claim:
    """A time of day, by 12 hours or 24; seconds may follow."""
    hours, minutes, seconds = ([*re.findall(r"\d+", text), ""])[:3]
    hour = int(hours)
    other = hour + 12 if "p" in text.lower()[-3:] and hour < 12 else hour - 12 if hour > 12 else hour
    rest = f":{minutes}" + (f":{seconds}" if seconds else "")
    return Claim(text, tuple(Way(f"0?{one}{rest}", "digit", hint=rest) for one in dict.fromkeys((hour, other))))
