"""Where a text may be cut, and text that may stand in a request. Knows nothing of budgets or of kinds of results.

A cut never falls inside a grapheme, number, path, URL or key: it falls beside a space or between two CJK characters,
or there is none.
"""

from __future__ import annotations

import re

import regex  # type: ignore[import-untyped]

from foldmark.kinds.runs import RUN, next_run

LONG_LINE = 600
"""A longer line is cut in a preview: 600 characters are about 150 tokens, the most that one line may take."""

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
# Controls, lone surrogates, and the bidi embeddings, overrides and isolates: a line that is shown without its other
# half would turn the order of what follows, our own words among it.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def without_controls(text: str) -> str:
    """Text that may stand in a request: no NULs, lone surrogates, terminal colours, control or bidi override
    characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _ANSI.sub("", text) if "\x1b" in text else text
    return _UNFIT.sub("\ufffd", text)


def shorten(line: str, limit: int = LONG_LINE) -> str:
    """A long line: encoded runs become marks, and what is still too long is cut, with the number of characters left
    out."""
    if len(line) <= limit and len(line) < RUN:
        return without_controls(line)
    shown, at, room = "", 0, limit
    while room > 0 and (run := next_run(line, at, at + room)):
        shown += without_controls(line[at : run.start]) + run.mark
        room -= run.start - at + len(run.mark)
        at = run.end
    if len(line) - at <= max(room, 0):
        return shown + without_controls(line[at:])
    cut = at + word_border(line[at : at + room + 200], room) if room > 0 else at
    if cut > at:
        shown += without_controls(line[at:cut]).rstrip()
    left = f"{len(line) - cut:,}"
    if shown:
        return f"{shown} … {left} more characters of this line not shown …"
    has_space = any(char.isspace() for char in line[:limit])
    return f"… {left} characters{'' if has_space else ' without a space'} not shown …"


_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_NUMERALS = frozenset("〇零一二三四五六七八九十百千万萬億亿兆两")
_GRAPHEME = regex.compile(r"\X")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f']\d{3})*[ \u00a0\u2009\u202f]?\Z")
_GROUP = re.compile(r"[ \u00a0\u2009\u202f]?\d{3}(?!\d)")
_SCRIPT_PATH = re.compile(r"[/\\]|://")


def word_border(text: str, limit: int) -> int:
    """The last place at or before `limit` where text may be cut: beside a space, or between two CJK characters.

    Never inside a grapheme, number, path, URL or key; 0 when there is no such place. A place is passed over that may
    be inside a number written with spaces or a path that holds some, and taken only when there is no other.
    """
    doubtful = 0
    for at in range(min(limit, len(text) - 1), 0, -1):
        before, after = text[at - 1], text[at]
        if after.isspace() or before.isspace():
            if not _is_break(text, at) or _is_glued(text, at):
                continue
            if not _is_doubtful(text, at):
                return at
            doubtful = doubtful or at
        elif _WIDE.match(before) and _WIDE.match(after) and _is_break(text, at) and not _is_inside(text, at):
            return at
    return doubtful


def _is_break(text: str, at: int) -> bool:
    """Whether a grapheme ends at a place."""
    if text[at - 1].isascii() and text[at].isascii():
        return text[at - 1 : at + 1] != "\r\n"
    start = max(0, at - 64)
    return any(match.start() == at for match in _GRAPHEME.finditer(text, start, min(len(text), at + 8)))


def _is_glued(text: str, at: int) -> bool:
    """Whether a space belongs to what stands around it: escaped, unbreakable, or within a short quoted text."""
    gap = text[at] if text[at].isspace() else text[at - 1]
    if gap in "\u00a0\u202f\u2009" or (at > 1 and "\\" in (text[at - 1], text[at - 2] if text[at - 1] == " " else "")):
        return True
    opened = text.rfind('"', max(0, at - 200), at)
    if opened < 0 or (text.count('"', 0, at) - text.count('\\"', 0, at)) % 2 == 0:
        return False
    return text.find('"', at, at + 200) >= 0


def _is_doubtful(text: str, at: int) -> bool:
    """Whether a space may stand inside a number (`12 000`) or a path (`My Documents/a.txt`)."""
    start = at if text[at].isspace() else at - 1
    lead, rest = text[max(0, start - 40) : start], text[start : start + 120]
    if lead[-1:].isdigit() and _GROUP.match(rest) and _THOUSANDS.search(lead):
        return True
    head, tail = re.split(r"\s", text[max(0, start - 200) : start])[-1], rest[1:].split(maxsplit=1)[:1]
    return bool(_SCRIPT_PATH.search(head)) and any("/" in word[1:] or "\\" in word[1:] for word in tail)


def _is_inside(text: str, at: int) -> bool:
    """Whether a place between two CJK characters is inside a number, a path or a URL."""
    if text[at - 1] in _NUMERALS and text[at] in _NUMERALS:
        return True
    return bool(_SCRIPT_PATH.search(re.split(r"[\s，。、；！？「」（）]", text[max(0, at - 300) : at])[-1]))
