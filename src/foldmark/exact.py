"""Finds identifiers that must survive to the letter: paths, URLs, ids, numbers with a meaning. Knows only
text.

Every finding is a substring of the text at its place, so nothing here can be misspelt. Kinds are tried from
the most special to the most general, and a place belongs to the first kind that takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec


class Found(msgspec.Struct, frozen=True):
    """An identifier: `text[start:start + len(found.text)]` is `found.text`.

    `kind` is url, uuid, email, hash, test, date, time, money, version, error, ticket, port, path, host or
    constant.
    """

    kind: str
    text: str
    start: int


_ENDING = (
    "py|pyi|ipynb|js|jsx|mjs|cjs|ts|tsx|json|jsonl|ya?ml|toml|ini|cfg|conf|env|md|rst|txt|log|csv|tsv|xml"
    "|html?|css|scss"
    "|sh|bash|zsh|ps1|go|rs|java|kt|swift|rb|php|c|cc|cpp|h|hpp|cs|sql|proto|lock|vue|svelte|tf|gradle|db"
    "|sqlite|pdf"
    "|png|jpe?g|svg|gif|zip|gz|tar|whl|patch|diff|traj|mod|sum"
)
_HOST_END = "com|org|net|io|dev|ai|app|cloud|internal|local|lan|example|test|co|edu|gov|de|fr|uk|eu|jp|cn|us|svc"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_KINDS: tuple[tuple[str, str], ...] = (
    ("url", r"\b[a-z][a-z0-9+.-]{1,12}://[^\s<>\"'`\])}|\\]+"),
    ("uuid", r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    ("email", r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
    ("test", r"\b[\w./-]+\.\w+::[\w:\[\].-]*\w\]?|\btest_\w+|\bTest[A-Z]\w+(?:\.\w+)*"),
    ("hash", r"\b(?:sha(?:1|256|512):)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"),
    (
        "date",
        r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b"
        r"|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b"
        rf"|\b\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
        r"|(?:\d{4}年)?\d{1,2}月\d{1,2}日",
    ),
    ("time", r"\b\d{1,2}:\d{2}(?::\d{2})? ?(?:[ap]m|UTC|Z)?\b(?!:)"),
    (
        "money",
        r"(?:[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|CNY|CHF) ?)\d[\d,.]*\d(?: ?[kKmMbB]n?\b)?|[$€£¥₹]\d"
        r"|\b\d[\d,.]* ?(?:€|£|USD|EUR|GBP|JPY|CNY|CHF|dollars?|euros?|円|元)(?!\w)",
    ),
    (
        "version",
        r"\bv\d+(?:\.\d+)+[\w.+-]*|\b\d+\.\d+\.\d+(?:[-+][\w.]+)?\b(?![./]\d)|[<>=~^!]=? ?\d+\.\d+\b",
    ),
    (
        "error",
        r"\b(?:E[A-Z]{3,12}|ERR_[A-Z_]+|[A-Z]{1,4}\d{3,6}|[A-Z]\w*(?:Error|Exception|Timeout|Warning))\b"
        r"|\bHTTP ?[1-5]\d\d\b|\b(?:status|code|exit code) \d{1,3}\b",
    ),
    (
        "ticket",
        r"(?<![\w&/])\#\d{1,7}\b|\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b"
        r"|\b(?:issue|PR|pull|ticket|case|order) \#?\d{1,9}\b",
    ),
    ("port", r"\b(?:port|Port|PORT)[\s:=]{1,3}\d{2,5}\b|\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5}\b"),
    (
        "path",
        r"(?<![\w/.])(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*\w|(?<![\w/])(?:[\w.@+-]+/)+[\w.@+-]*\w(?::\d+)?"
        rf"|(?<![\w/])[\w-]+(?:\.[\w-]+)*\.(?:{_ENDING})\b(?::\d+)?|\b[A-Za-z]:\\[\w\\. -]+\w",
    ),
    ("host", rf"\b(?:\d{{1,3}}\.){{3}}\d{{1,3}}\b|\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:{_HOST_END})\b"),
    ("constant", r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"),
)
_PATTERN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS))
_TOKEN = re.compile(r"\S+")
_NO_WORDS = ("Error", "Exception", "Timeout", "Warning")


def identifiers(text: str) -> list[Found]:
    """The identifiers of a text in order, each once (its first place)."""
    seen: dict[tuple[str, str], Found] = {}
    for start, end in _windows(text):
        for match in _PATTERN.finditer(text, start, end):
            kind = match.lastgroup or ""
            found = match[0].rstrip(".,;:!?") if kind in ("url", "path", "money") else match[0]
            if found and (kind, found) not in seen and _is_sensible(kind, found):
                seen[kind, found] = Found(kind, found, match.start())
    return list(seen.values())


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Stretches worth a closer look: tokens that are no plain words, with a neighbour on either side."""
    start, end, before, is_open = -1, -1, 0, False
    for token in _TOKEN.finditer(text):
        if _is_odd(token[0]):
            if start < 0:
                start = before if before else token.start()
            end, is_open = token.end(), True
        elif is_open:
            end, is_open = token.end(), False
        elif start >= 0:
            yield start, end
            start = -1
        before = token.start()
    if start >= 0:
        yield start, end


def _is_odd(token: str) -> bool:
    bare = token.strip(",.;:!?()\"'*`")
    if not bare.isascii():
        return not bare.isalpha()
    if bare.isalpha():
        return (len(bare) > 3 and bare.isupper()) or bare.startswith("Test") or bare.endswith(_NO_WORDS)
    return bool(bare)


def _is_sensible(kind: str, found: str) -> bool:
    if kind == "path":  # and/or, I/O and dates are no paths
        return len(found) > 3 and ("." in found or found.count("/") > 1 or found.startswith(("/", "~", ".")))
    if kind == "time":
        return int(found.partition(":")[0]) < 25
    return True
