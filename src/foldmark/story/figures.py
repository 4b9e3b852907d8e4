"""Digits and letters in other signs, and numbers in words: 60, ６０, ٦٠, ⑥⓪ and sixty are one. Knows nothing of claims.

Both a statement and its source are folded, so that what is the same stays the same; the rest of a text keeps its signs.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DIGIT = "|".join(_SMALL[1:10])
NUMBER_WORDS = re.compile(
    rf"(?<![\w-])(?:(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<ones>{_DIGIT}))?|(?P<small>{'|'.join(_SMALL)})"
    rf"|(?P<many>a|{_DIGIT}) hundred)(?![\w-]|['’]\w| (?:hundred|thousand|million)\b)",
    re.IGNORECASE,
)
"""English number words up to nine hundred; what is said in greater ones is an estimate."""


def value_of(match: re.Match[str]) -> int:
    """The number that a finding of `NUMBER_WORDS` says."""
    if match["many"]:
        many = match["many"].lower()
        return 100 * (1 if many == "a" else _SMALL.index(many))
    if match["small"]:
        return _SMALL.index(match["small"].lower())
    ones = _SMALL.index(match["ones"].lower()) if match["ones"] else 0
    return 20 + 10 * _TENS.index(match["tens"].lower()) + ones


def word_of(number: int) -> str:
    """The regular expression of a number up to a hundred in words; "" for others."""
    if number < len(_SMALL):
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f"[ -]{_SMALL[ones]}" if ones else "")
    return "(?:a|one) hundred" if number == 100 else ""


def folded(text: str) -> str:
    """A text with the digits and Latin letters of other alphabets (full-width, circled, Arabic-Indic, mathematical) as
    plain ones."""
    if text.isascii():
        return text
    return _OTHER.sub(lambda match: _plain(match[0]), text)


_OTHER = re.compile(r"[^\x00-\x7f]")


@lru_cache(maxsize=16_384)
def _plain(sign: str) -> str:
    """ASCII letters and digits for a sign that stands for them, else the sign."""
    if (digit := unicodedata.digit(sign, None)) is not None:
        return str(digit)
    if unicodedata.category(sign)[0] not in "LN":
        return sign
    plain = unicodedata.normalize("NFKC", sign)
    return plain if plain.isascii() and plain.isalnum() else sign
