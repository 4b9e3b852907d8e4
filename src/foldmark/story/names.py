"""Names that look like words: branches, hosts in parts, handles, short flags, paths of Windows, hashes of letters.
Knows nothing of where they have to stand.

English is full of hyphens and slashes (read-only, and/or): only what no sentence holds by itself is taken for a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from foldmark.story.spellings import Claim, Way, plain

_WINDOWS = re.compile(
    r"(?<!\w)[A-Za-z]:[\\/]{1,2}[^\s\"'`<>|*?]*[^\s\"'`<>|*?.,;:!)]|(?<![\\\w])\\\\[\w.-]+\\[^\s\"'`<>|]*\w"
)
_HASH = re.compile(
    r"\b(?:(?:commit|revision|rev|sha|hash|digest|checksum)s? (?P<said>[0-9a-f]{7,64})|(?P<bare>[a-f]{8,64}))\b"
)
_BRANCH = re.compile(
    r"(?a:(?<![\w./@:-])(?P<first>[A-Za-z]\w*(?:-\w+)*)/(?P<rest>[A-Za-z]\w*(?:[-.]\w+)*(?:/\w+(?:[-.]\w+)*)*)(?![\w/])"
    r")"
)
_KINDS = frozenset(
    ["feature", "features", "feat", "fix", "bugfix", "hotfix", "release", "releases", "chore", "origin", "upstream"]
)
"""First parts by which everybody names branches."""
_HANDLE = re.compile(r"(?a:(?<![\w.@/-])@[A-Za-z][\w-]{1,38}(?:[./][\w-]+)*)")
_FLAG = re.compile(r"(?a:(?<![\w/.-])-[A-Za-z]\w{0,24}(?![\w-]))")
_HYPHENED = re.compile(r"(?a:(?<![\w./@:-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w./@]*[\w/@]))")
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = frozenset(
    re.findall(
        r"\w+",
        "a an as at by de do en ex for go if in is it la no non of off on one or out per pre pro re so sub the to un "
        "up us "
        "vs we e i t x y z co",
    )
)
"""Short parts of English compounds (by-product, x-axis)."""
_TRADE = frozenset(
    re.findall(r"\w+", "css js ts sql xml html http https tcp pdf png svg jpg mb gb kb ms db cd ci ssh ssl tls cpu gpu")
)
"""Abbreviations that stand in compounds of every text (css-only)."""

Take = Callable[[re.Pattern[str]], Iterator[re.Match[str]]]


def paths_of_windows(take: Take) -> Iterator[Claim]:
    """A path in any of the ways in which its strokes are written."""
    for match in take(_WINDOWS):
        bare = re.sub(r"[\\/]+", r"\\", match[0])
        bare = f"\\{bare}" if match[0].startswith("\\") else bare
        spellings = (bare, bare.replace("\\", "\\\\"), bare.replace("\\", "/"))
        yield Claim(match[0], tuple(Way(one, folds=True) for one in spellings))


def names_like_words(take: Take, left: Callable[[], str]) -> Iterator[Claim]:
    """The names of a text that are not told apart by a sign of their own. `take` removes what it finds, `left` is the
    text that remains."""
    for match in take(_HASH):
        yield Claim(match[0], (Way(match["said"] or match["bare"], "start"),))
    for match in _BRANCH.finditer(left()):
        if claim := _branch(match, left()):
            yield claim
    for match in take(_HANDLE):
        yield plain(match[0])
    for match in take(_FLAG):
        is_odd = bool(re.search(r"\d|[A-Z]", match[0])) or len(match[0]) > 4
        yield Claim(match[0], (Way(match[0]),), is_loose=not is_odd)
    for match in _HYPHENED.finditer(left()):
        if claim := _hyphened(match[0]):
            yield claim


def _branch(match: re.Match[str], text: str) -> Claim | None:
    """A branch: by its first part, by the word beside it, or by a hyphen within a part. `read/write` is none."""
    whole = match[0]
    around = text[max(0, match.start() - 24) : match.start()] + text[match.end() : match.end() + 10]
    is_called = bool(re.search(r"\bbranch(?:es)?\b|\b(?:checkout|merge|rebase|push)\b", around, re.IGNORECASE))
    if match["first"] in _KINDS or is_called:
        return plain(whole)
    if re.search(r"[-_\d]", match["rest"]) and re.search(r"[-_\d]|\.", whole):
        return Claim(whole, (Way(whole),), parts=tuple(whole.split("/")))
    return None


def _hyphened(text: str) -> Claim | None:
    """A name of parts of which one is no English (db-prod-x), in whichever way they are joined. With two parts it may
    be a compound, and is loose."""
    parts = text.split("-")
    odd = [part for part in parts if part not in _SHORT and (not _VOWEL.search(part) or len(part) < 3)]
    known = [part for part in odd if part in _TRADE]
    if not odd or (len(parts) == 2 and known):
        return None
    joined = r"[-_. /]?".join(map(re.escape, parts))
    longest = max(parts, key=len)
    return Claim(
        text, (Way(joined, folds=True, hint=longest),), is_loose=len(parts) == 2 or any(map(str.isdigit, parts))
    )
