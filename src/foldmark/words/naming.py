"""Words and names to tokens: a name gives its parts and itself as a whole. Knows nothing of texts and queries."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

from foldmark.words.endings import semitic_stems
from foldmark.words.figures import FIGURE, eastern_times, values
from foldmark.words.folding import MARKS, fold, other_spelling, plain
from foldmark.words.scripts import cut_east, cut_hangul, cut_south, is_particle, runs
from foldmark.words.stemming import stem

LONGEST = 128
"""Longer tokens are cut to this many characters; a sha512 in hex has just as many."""
MOST_PARTS = 8
"""A name of more parts, none of them set off by `_`, is a hash or encoded bytes: its crumbs would fill the
index and mean nothing."""
MOST_KNOWN = 50_000
SHORT_HASH = 7
"""A commit is quoted by so many characters of its hash, or more."""

_PLAIN = re.compile(r"[A-Z]?[a-z]+|[0-9]+|[A-Z]+")
_WORD = re.compile(r"\w+", re.ASCII)
_WIDE_WORD = re.compile(rf"[\w{MARKS}]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")
_NAME = re.compile(rf"[\w{MARKS}]+(?:[./\\:@-]+[\w{MARKS}]+)*")
_FIGURE = re.compile(FIGURE)
_HEX = re.compile(r"([0-9a-f]{4,}|[0-9A-F]{4,})|0[xX]0*([0-9a-fA-F]+)")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z+]*://")
_LINE = re.compile(r"(?<=\w)(?::\d+){1,2}$")
_PATH = re.compile(r"[./\\][^:]*(?::\d+){1,2}$")
_VERSION = re.compile(r"v\d+_\d")
_JOINED = re.compile(r"(?<!\d)_+|_+(?!\d)")
_SIGNS = re.compile(r"[./\\@]")


def analyse(name: str) -> tuple[str, ...]:
    """The tokens of one name: of its words, and of all of it when it has several (a path, a host, a date)."""
    if _PLAIN.fullmatch(name):
        return (stems[name[:LONGEST].lower()],)
    name = name[:4_096]
    if name[0].isdecimal() and _FIGURE.fullmatch(name):
        return tuple(dict.fromkeys(chain(values(plain(name)), *map(_analysed, _NAME.findall(name)))))
    return tuple(dict.fromkeys(_analysed(name)))


def _analysed(name: str) -> list[str]:
    if name.isascii():
        return _tokens(name)
    usual = plain(name)
    out = _tokens(usual)
    if other := other_spelling(name, usual):
        out += _tokens(other)
    return out


def _tokens(name: str) -> list[str]:
    pieces = _words_of(name)
    out = list(chain.from_iterable(map(_pieces.__getitem__, pieces)))
    if len(pieces) > 1:
        out.append(_whole(name, pieces))
    return out


def _whole(name: str, pieces: list[str]) -> str:
    """A name of several words as one token: without the scheme of a URL, the line behind a path, the v of a version.
    Words joined by hyphens alone are one word, as they are in camelCase and snake_case."""
    if ":" in name:
        name = _SCHEME.sub("", name)
        if _PATH.search(name):
            name = _LINE.sub("", name)
        pieces = _words_of(name)
    elif not _SIGNS.search(name):
        return _compact("_".join(pieces))
    whole = fold("_".join(pieces))[:LONGEST]
    return whole[1:] if _VERSION.match(whole) else whole


def _compact(name: str) -> str:
    """max_retry_count as maxretrycount; between digits the line stays: 1_2 is not 12."""
    return stems[_JOINED.sub("", fold(name))[:LONGEST]]


def _words_of(name: str) -> list[str]:
    return (_WORD if name.isascii() else _WIDE_WORD).findall(name)


class _Pieces(dict[str, list[str]]):
    """word of a name -> its tokens. Paths share their folders."""

    def __missing__(self, piece: str) -> list[str]:
        if len(self) >= MOST_KNOWN:
            self.clear()
        tokens = _split(piece)
        if len(piece) <= LONGEST:
            self[piece] = tokens
        return tokens


_pieces = _Pieces()


def _split(piece: str) -> list[str]:
    """One run of word characters: the whole as one token, then its parts when it has several."""
    if piece.isascii():
        return _split_name(piece)
    out = eastern_times(piece)
    for kind, run in runs(piece):
        if kind == "other":
            out += _split_name(bare) if (bare := run.strip("_")) else []
        elif not (out and is_particle(run)):
            out += [token[:LONGEST] for token in _CUTS[kind](fold(run))]
    return out


def _split_name(piece: str) -> list[str]:
    if _PLAIN.fullmatch(piece):
        return [stems[piece[:LONGEST].lower()]]
    if len(piece) > 2 and (found := _HEX.fullmatch(piece)) and (hexadecimal := _hexadecimal(*found.groups())):
        return hexadecimal
    parts = _PARTS.findall(piece)
    if len(parts) < 2:
        return [stems[fold(piece.strip("_") or piece)[:LONGEST]]]
    if len(parts) > MOST_PARTS and "_" not in piece:
        return [fold(piece)[:LONGEST]]
    return [_compact(piece), *[stems[fold(part)[:LONGEST]] for part in parts]]


def _hexadecimal(digits: str | None, marked: str | None) -> list[str]:
    """A hash or number in hex: itself without its 0x and zeros, and the length that commits are quoted by. Nothing for
    a word or a number that only looks like one."""
    value = (digits or marked or "").lower()[:LONGEST]
    if marked and len(value) == 1:
        return [f"0x{value}"]
    if not marked and len(_PARTS.findall(value)) < 3:
        return []
    return [value, value[:SHORT_HASH]] if len(value) > SHORT_HASH else [value]


_CUTS: dict[str, Callable[[str], list[str]]] = {
    "east": cut_east,
    "south": cut_south,
    "hangul": cut_hangul,
    "semitic": semitic_stems,
}


class Stems(dict[str, str]):
    """word -> its stem. Emptied when full: cheaper than an order of use, and words come back fast."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MOST_KNOWN:
            self.clear()
        found = self[word] = stem(word)
        return found


stems = Stems()
