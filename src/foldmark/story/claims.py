"""What of a statement can be invented: identifiers, numbers, quotes, names of code. Knows nothing of where they have to
stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from foldmark.exact import Found, identifiers
from foldmark.story.figures import NUMBER_WORDS, folded, value_of
from foldmark.story.names import names_like_words, paths_of_windows
from foldmark.story.spellings import (
    SCALES,
    SMALL,
    Claim,
    Way,
    code,
    date,
    name,
    pair,
    path,
    plain,
    quote,
    spellings,
    time,
)
from foldmark.words import telling, words

_SECRET = re.compile(r"\[secret:[^\]\n]{0,80}\]|\bevent:\d[\d, -]{0,40}")
_CODE = re.compile(r"`{1,3}([^`\n]{1,200})`{1,3}")
_PAIR = re.compile(
    r"(?<![\w=])([A-Za-z_][\w.-]{0,60})\s?(?:==?|:=)\s?(\"[^\"]{1,80}\"|'[^']{1,80}'|[\w.+%/-]{1,80}\w|\w)(?!=)"
)
_QUOTED = re.compile(
    r"\"([^\"\n]{1,160})\"|“([^”\n]{1,160})”|„([^“”\n]{1,160})[“”]|«([^»\n]{1,160})»|「([^」\n]{1,160})」"
    r"|(?<![\w'])'([^'\n]{1,120})'(?![\w'])|(?<!\w)‘([^’\n]{1,120})’(?!\w)"
)
_FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]{1,60}")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\(\)")
_DOTTED = re.compile(r"(?a:(?<![\w.-])[\w-]*[A-Za-z_][\w-]*(?:(?:\.|::|->)[\w-]*[A-Za-z_][\w-]*)+)")
_TOKEN = re.compile(r"(?a:(?<![\w-])\w+\b)(?:-\d+\b)?")
_NUMBER = re.compile(
    r"(?<![\w.])(?:~ ?)?(\d{1,3}(?:[,_'\u00a0\u202f]\d{3})+|\d{1,18})(\.\d{1,18})?(?P<scale>(?:k|K|M|bn)\b)?"
    r"(?P<unit>\s?(?:%|percent\b)|[ -]?(?:ns|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?"
    r"|months?|years?|[KMGT]i?B|bytes?|px|x|fps|rps|qps|req/s|dollars?|euros?)\b)?",
    re.ASCII,
)
_UNIT = re.compile(
    r"[ -](?:%|percent\b|(?:milli|micro|nano)?seconds?|secs?|ms|minutes?|mins?|hours?|[KMGT]i?B|bytes?)\b"
)
_LONG_NUMBER = re.compile(r"(?<!\w)\d{19,}(?!\w)", re.ASCII)
_SETS = re.compile(
    r"(?:[=:$€£¥]|\b(?:set to|equal to|(?:limit|max|maximum|minimum|timeout|ttl|size|value|retries) (?:of|is|to|at)"
    r"|limit|timeout|ttl|retries|port|version|level|line|code|status|HTTP))\s?$",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"\b[A-Z]")
_INSIDE = re.compile(r"(?a:(?<=[a-z,] )([A-Z][a-z]{3,})\b)")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_MEASURE = re.compile(r"\d+(?:ns|us|ms|s|sec|m|min|h|d|k|K|M|bn|[KMGT]i?B|B|px|x)")
_COUNTED = re.compile(r"[a-zA-Z]+(?: [a-zA-Z]+)? \#?\d+|HTTP ?\d+")
_COMMON = re.compile(
    r"(?:API|HTTPS?|URL|JSON|XML|YAML|CSV|HTML|CSS|SQL|CLI|GUI|SDK|TTL|CPU|RAM|GPU|PDF|ASCII|UTC|TODO|README|FAQ|ERROR"
    r"|WARNING|FAILED|EOF|NULL)s?"
)
"""Words of the trade: nobody invents them, so they need not stand in the source."""
_AROUND = (3, 2)  # words before and after a number of which one has to stand near it


def claims_of(text: str) -> tuple[list[Claim], str]:
    """Everything in a text that must stand in its source, and the text without it: its plain words."""
    claims, left = _read(text)
    return list(claims), left


@lru_cache(maxsize=512)
def _read(text: str) -> tuple[tuple[Claim, ...], str]:
    reading = _Reading(_SECRET.sub(_blank, folded(text)))
    claims = tuple(claim for claim in dict.fromkeys(reading.claims()) if re.search(r"\w", claim.text))
    return claims, reading.left


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


class _Reading:
    """A text of which one kind of claim after the other is taken, the most special first; `left` is what remains, at
    its old places."""

    def __init__(self, text: str) -> None:
        self.text = self.left = text

    def _take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        found = list(pattern.finditer(self.left))
        self.left = pattern.sub(_blank, self.left)
        return iter(found)

    def claims(self) -> Iterator[Claim]:
        for match in self._take(_CODE):
            yield code(match[1])
        for match in self._take(_PAIR):
            yield pair(match[1], match[2].strip("\"'"))
        yield from paths_of_windows(self._take)
        yield from self._identifiers()
        for match in self._take(_QUOTED):
            yield quote(next(filter(None, match.groups())))
        for match in self._take(_FLAG):
            yield plain(match[0])
        for match in self._take(_CALL):
            yield plain(match[1])
        for match in self._take(_DOTTED):
            if match[0].lower() not in ("e.g", "i.e"):
                yield Claim(match[0], (Way(match[0]),), parts=tuple(re.findall(r"\w+", match[0])), in_line=True)
        yield from self._names_like_words()
        yield from self._tokens()
        yield from self._names()
        for match in self._take(_LONG_NUMBER):  # no quantity any more, and beyond what is compared as one
            yield plain(match[0])
        for match in self._take(_NUMBER):
            yield self._number(match)
        for match in NUMBER_WORDS.finditer(self.left):
            if claim := self._number_word(match):
                yield claim

    def _names_like_words(self) -> Iterator[Claim]:
        """What is found loses its place to no later reader, unless it stays as words: a loose one is counted twice."""
        yield from names_like_words(self._take, lambda: self.left)

    def _identifiers(self) -> Iterator[Claim]:
        for found in sorted(identifiers(self.left), key=lambda one: -len(one.text)):
            claim = _claim_of(found) if found.text in self.left else None
            if claim is not None:
                self.left = self.left.replace(found.text, " " * len(found.text))
                yield claim

    def _tokens(self) -> Iterator[Claim]:
        """Names of code and of things: snake_case, camelCase, CAPITALS, letters with digits."""
        for match in list(_TOKEN.finditer(self.left)):
            token = match[0]
            head, _, _ = token.partition("-")
            if not re.search(r"[A-Za-z]", head) or _ORDINAL.fullmatch(token) or _MEASURE.fullmatch(token):
                continue
            is_code = "_" in token.strip("_") or bool(re.search(r"[a-z][A-Z]|\d", token))
            if is_code or (len(head) > 2 and head.isupper()):
                self.left = self.left[: match.start()] + " " * len(token) + self.left[match.end() :]
                yield msgspec.structs.replace(name(token), is_loose=bool(_COMMON.fullmatch(token)))

    def _names(self) -> Iterator[Claim]:
        """Names of things in the midst of a sentence (Kafka, Stripe), loose; none where capitals say nothing."""
        capitals = len(_CAPITAL.findall(self.text))
        if capitals * 3 <= len(self.text.split()):
            for match in _INSIDE.finditer(self.left):
                yield Claim(match[1], (Way(match[1].rstrip("s"), "start", folds=True),), is_loose=True)

    def _number(self, match: re.Match[str]) -> Claim:
        digits, fraction = re.sub(r"\D", "", match[1]), match[2] or ""
        scale = SCALES.get(match["scale"] or "", 0)
        before = self.text[: match.start()]
        is_loose = not (fraction or scale or match["unit"] or int(digits) > SMALL or _SETS.search(before[-16:]))
        return Claim(
            match[0].strip("~ "),
            tuple(
                spellings(digits, fraction, scale, is_share=bool(re.match(r"\s?(?:%|percent)", match["unit"] or "")))
            ),
            near=_near(before, self.text[match.end() :]),
            is_loose=is_loose,
        )

    def _number_word(self, match: re.Match[str]) -> Claim | None:
        """A number in words is a claim as its digits would be; "one" alone is hardly ever a number."""
        value, after = value_of(match), self.text[match.end() :]
        unit = _UNIT.match(after)
        sets = _SETS.search(self.text[: match.start()][-16:])
        if value < 2 and not (unit and value):
            return None
        is_loose = not (unit or value > SMALL or sets)
        near = _near(self.text[: match.start()], after)
        return Claim(match[0], tuple(spellings(str(value))), near=near, is_loose=is_loose)


def _near(before: str, after: str) -> tuple[str, ...]:
    """The words around a number that say what it is of."""
    ahead, behind = (
        [word for word in telling(words(side), 40) if len(word) > 1 and not word.isdigit()]
        for side in (before[-80:], after[:60])
    )
    return tuple(dict.fromkeys([*ahead[-_AROUND[0] :], *behind[: _AROUND[1]]]))


def _numbered(text: str, number: str) -> Claim:
    """`#12`, which stands as issue 12 or in an address as well."""
    return Claim(
        text,
        (Way(rf"(?:\#|\b(?:issue|pr|pull|pull request|ticket|case)s?[ /#-]{{1,2}}){number}", "digit", True, number),),
    )


def _claim_of(found: Found) -> Claim | None:
    """The claim of an identifier; None leaves it to the readers of tokens and numbers."""
    kind, text = found.kind, found.text
    if kind in ("money", "port") or _COUNTED.fullmatch(text):
        return None
    if kind == "date":
        return date(text)
    if kind == "time":
        return time(text)
    if kind == "version":
        return Claim(text, (Way(text.lstrip("v<>=~^! "), "digit"),))
    if kind == "ticket" and text.startswith("#"):
        return _numbered(text, text[1:])
    if kind == "hash":
        return Claim(text, (Way(re.sub(r"^sha\d+:", "", text), "start"),))
    if kind == "url":
        return Claim(text, (Way(text.rstrip("/").partition("://")[2] or text, "start"),))
    if kind in ("host", "email", "uuid"):
        return Claim(text, (Way(text, folds=True),))
    if kind == "path":
        return path(text)
    if kind == "test" and "::" in text:
        return Claim(text, (Way(text),), parts=tuple(text.split("::")))
    return plain(text) if kind == "constant" else name(text)
