"""One spelling for many: case, accents, width, digits, kana, letter variants. Knows nothing of words.

What a person types without its marks (accents, Arabic and Hebrew points, the breve of ё) loses them here. Marks that
are the vowels of a script (Thai, Indic) stay: without them other words come out.
"""

from __future__ import annotations

import re
import unicodedata

# Read as part of a word, though Python's \w knows them not: combining marks, joiners inside words.
MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0963\u0971-\u0df3"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f90-\u0fbc"
    "\u102b-\u103e\u1056-\u109d\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u2060\u20d0-\u20ff\u3099\u309a"
    "\ufe00-\ufe0f\ufe20-\ufe2f"
)
# Of these, after decomposition, the ones that a query may lack; the breve of й stays, it is another letter than и.
_DROPPED = re.compile(
    "(?<![\u0438\u0418])\u0306|[\u0300-\u0305\u0307-\u036f\u00ad\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u2060\u20d0-\u20ff\ufe00-\ufe0f"
    "\ufe20-\ufe2f]+"
)
_WIDE_DIGIT = re.compile(r"(?![0-9])\d")
# Letters that no decomposition brings to their base.
_LETTERS = str.maketrans(
    {
        "ß": "ss", "ẞ": "SS", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L",
        "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ı": "i", "ħ": "h", "Ħ": "H",
        "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ۀ": "ه", "ٱ": "ا", "ς": "σ",
        "ך": "כ", "ם": "מ", "ן": "נ", "ף": "פ", "ץ": "צ",
        **{chr(code): chr(code - 0x60) for code in range(0x30A1, 0x30F7)},  # katakana to hiragana
    }
)  # fmt: skip
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "Ø": "Oe", "å": "aa", "Å": "Aa"}
)
_HAMZA = "ؤ"


def fold(text: str) -> str:
    """Lower case in its plain spelling; what is no letter, digit or vowel sign becomes `_`."""
    if text.isascii():
        return text.lower()
    folded = plain(text.casefold()).casefold()
    return "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else "_" for c in folded)


def plain(text: str) -> str:
    """The plain spelling with the case as it was: no accents, usual width, digits 0-9, one form of each letter."""
    base = _DROPPED.sub("", unicodedata.normalize("NFKD", text))
    return _WIDE_DIGIT.sub(_digit, unicodedata.normalize("NFKC", base).translate(_LETTERS))


def other_spelling(text: str, usual: str) -> str:
    """The plain spelling that others use for what is `usual` in ours; empty where there is none. With ae, oe, ue for
    umlauts (and the Nordic ø and å), as they are typed where a keyboard lacks them; with the Arabic hamza on ya, where
    countries differ."""
    composed = unicodedata.normalize("NFKC", text)
    if usual.isascii():
        other = plain(composed.translate(_UMLAUTS)).lower()
    elif _HAMZA in composed:
        other = plain(composed.replace(_HAMZA, "ئ"))
    else:
        return ""
    return "" if other == usual.lower() else other


def _digit(found: re.Match[str]) -> str:
    return str(unicodedata.decimal(found[0]))
