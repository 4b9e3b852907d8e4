"""Finds secrets in a text: where each begins and ends, and of what kind it is. Knows nothing of labels' hashes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from foldmark.redact.judging import is_odd_word, is_value
from foldmark.redact.naming import KEY, NEEDLES, named_values, places
from foldmark.redact.providers import PROVIDER_RULES, Found, keys_of

LABEL = re.compile(r"\[secret:[a-z][a-z0-9-]* [0-9a-f]{6}\]")

_URL = re.compile(r"://([^\s/:@'\"`<>]{0,80}):([^\s/@'\"`<>]{2,200})@")
_CURL_USER = re.compile(r"(?:\s-u|--user)[ =]['\"]?[^\s:'\"]{1,80}:([^\s'\"]{3,200})")
_URL_USER = re.compile(r"://((?=[A-Za-z_.-]{0,200}\d)[0-9A-Za-z_.-]{20,200})@")
_SAID = re.compile(
    r"\b(?:password|passphrase|passwort|passwd|pwd)[ \t]+(?:(?:is|ist|to)[ \t]+)?[\"'`]?([^\s\"'`,;()<>{}]{8,200})",
    re.IGNORECASE,
)
"""A password said in prose: the word, then one that no language has (letters and digits, eight characters or more)."""
_BEARER = re.compile(r"[ \t]+([0-9A-Za-z._~+/=-]{8,})")
_SCHEMES = ("bearer", "basic")
_LITERALS = (*NEEDLES, *_SCHEMES, "://", "curl", "-----begin ")


def find(text: str) -> list[Found]:
    """Every secret; some may overlap, of two that begin at one place the more special comes first."""
    # Looking for literals in an ASCII string is several times faster; every offset stays the same.
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    low = plain.lower()
    found = [*keys_of(text, plain), *_in_addresses(text, plain), *_said(text, low)]
    labels = [(*match.span(), "") for match in LABEL.finditer(text)] if "[secret:" in plain else []
    taken = _Taken([*found, *labels])
    return [*found, *(one for one in (*named_values(text, low), *_bearers(text, low)) if not taken.overlaps(one))]


def may_hold(text: str) -> bool:
    """Whether a literal that some rule starts from stands in a text: a quick look that spares most texts the rules."""
    low = text.lower()
    return (
        not text.isascii()
        or ".eyJ" in text
        or any(map(text.__contains__, PROVIDER_RULES))
        or any(map(low.__contains__, _LITERALS))
        or ("key" in low and KEY.search(low) is not None)
    )


class _Taken:
    """Stretches of a text that are secrets or labels already."""

    def __init__(self, spans: list[Found]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end, _ in sorted(spans):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def overlaps(self, span: Found) -> bool:
        """Whether a span shares a character with any."""
        before = bisect_left(self._starts, span[1]) - 1  # the last that begins in front of its end
        return before >= 0 and self._ends[before] > span[0]


def _in_addresses(text: str, plain: str) -> Iterator[Found]:
    """Passwords in addresses and of curl."""
    if "://" in plain and "@" in plain:
        yield from ((*match.span(2), "value") for match in _URL.finditer(text) if is_value(match[2], False))
        yield from ((*match.span(1), "value") for match in _URL_USER.finditer(text))
    if "curl" in plain:
        yield from ((*match.span(1), "value") for match in _CURL_USER.finditer(text) if is_value(match[1], False))


def _said(text: str, low: str) -> Iterator[Found]:
    """Passwords in prose."""
    if "passw" in low or "passphrase" in low or "pwd" in low:
        for match in _SAID.finditer(text):
            if is_odd_word(value := match[1].rstrip(".:!?")):
                yield match.start(1), match.start(1) + len(value), "value"


def _bearers(text: str, low: str) -> Iterator[Found]:
    """What stands behind `Bearer` and `Basic`."""
    for scheme in _SCHEMES:
        for at in places(low, scheme):
            match = _BEARER.match(text, at + len(scheme))
            if match and is_value(match[1], strict=True):
                yield (*match.span(1), "value")
