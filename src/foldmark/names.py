"""What the tokens of a text are: masked subwords to count, and working names. Knows nothing of events or scores.

A text is cut at spaces and brackets into *tokens*. A token has a *mask*: its subwords in lower case, with digits
and hex replaced, so that row 4711 of a table looks like row 4712 and only what is really new counts as rare.
Some tokens are *names*: paths, symbols, ids, hashes, URLs, numbers of three or more digits.
"""

from __future__ import annotations

import re

_BREAKS = str.maketrans(dict.fromkeys("\t\r\n\v\f\"'`()[]{}<>,;|=!?*\\\u00a0“”‘’「」。，、；（）│→", " "))
_SUBWORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}", re.IGNORECASE)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts written without spaces

_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S{3,}")
_PATH = re.compile(r"~?(?:[\w.@+-]*/)+[\w.@+-]*\w|[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,5}(?::\d+)*")
_SYMBOL = re.compile(
    r"[A-Za-z$@#_][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)+"  # qualified
    r"|[\w$]*[A-Za-z0-9]_[A-Za-z0-9][\w$]*"  # snake_case
    r"|[A-Za-z$][\w$]*?[a-z0-9][A-Z][\w$]*"  # camelCase
)
_IDENTIFIER = re.compile(r"[#@]?(?=[\w-]*\d)[A-Za-z0-9][\w-]{2,}|\$?\d[\d.,:-]{2,}")
_DIGIT = re.compile(r"\d")

_LONGEST_NAME = 120  # characters; what is longer is data
_CACHE = 120_000  # tokens remembered per process, about 20 MB


def split_tokens(text: str) -> list[str]:
    """The tokens of a text in order: cut at spaces, quotes, brackets, commas, equals signs."""
    return text.translate(_BREAKS).split()


def split_subwords(token: str) -> tuple[str, ...]:
    """Masked subwords of a token: camelCase, snake_case and paths split, digits as `0`, hex as `#`."""
    if token.isalpha() and token.islower() and token.isascii():
        return (token,)
    out: list[str] = []
    for piece in _HEX.sub(" 0x ", token).split():
        if piece == "0x":
            out.append("#")
            continue
        for word in _SUBWORD.findall(piece):
            if word.isdigit():
                out.append("0")
            elif word.isascii() or not _WIDE.search(word):
                out.append(word.lower())
            else:
                out.extend(word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return tuple(dict.fromkeys(out))


class _Masks(dict[str, str]):
    """token -> mask (its subwords joined by a space). Bounded: emptied when full, since it is only a memory."""

    def __missing__(self, token: str) -> str:
        if len(self) > _CACHE:
            self.clear()
        mask = self[token] = " ".join(split_subwords(token))
        return mask


class _Names(dict[str, str]):
    """token -> the name in it, empty when it is none."""

    def __missing__(self, token: str) -> str:
        if len(self) > _CACHE:
            self.clear()
        name = self[token] = find_name(token)
        return name


mask_of = _Masks().__getitem__
name_of = _Names().__getitem__


def find_name(token: str) -> str:
    """The working name that a token is, without the punctuation around it; empty when it is an ordinary word."""
    if len(token) > _LONGEST_NAME + 8:
        return ""
    name = token.strip(":.-&+%~^").rstrip("/#@$")
    if token.startswith(("./", "~/", "../", ".")) and "/" in token:
        name = token.rstrip(":.-&+%^/#@$").removeprefix("./")
    if len(name) < 3 or len(name) > _LONGEST_NAME:
        return ""
    if _SYMBOL.fullmatch(name) or _PATH.fullmatch(name) or _URL.fullmatch(name):
        return name
    if _IDENTIFIER.fullmatch(name) and len(_DIGIT.findall(name)) >= (3 if name[0].isdigit() else 1):
        return name
    return ""


def names_in(text: str) -> set[str]:
    """The names of a text."""
    found = set(map(name_of, split_tokens(text)))
    found.discard("")
    return found
