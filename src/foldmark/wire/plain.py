"""Plain data in, safe text out: SDK objects to dicts, dirty text to strict UTF-8. Knows nothing of
messages."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError

HOLDERS = (dict, list, tuple, Mapping)
"""What holds other values (`dict` first: it is asked for most)."""
REPLACEMENT = "\ufffd"
DEEPEST = 200
"""Levels of lists and objects inside each other. Nothing that people or models write has a tenth of them, and what
cleans and encodes a value goes down level by level."""


class TooDeep(ValueError):
    """JSON that is nested deeper than anything here goes down."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {DEEPEST} levels deep")


def plain(value: Any) -> Any:
    """An SDK object as the dict that arrived (fields nobody set are left out); everything else as it is."""
    dump = getattr(value, "model_dump", None)
    if dump is None or isinstance(value, type):
        return value
    # Compatible servers send what the SDK's types do not foresee; a warning about it would print what was said.
    for options in ({"exclude_unset": True, "warnings": False}, {"exclude_unset": True}):
        try:
            return dump(**options)
        except TypeError:
            continue
    return dump()


def as_mapping(value: Any, path: str) -> Mapping[str, Any]:
    """The value as a dict. Raises WireError at `path` when it is none."""
    value = plain(value)
    if not isinstance(value, Mapping):
        raise WireError(path, f"expected an object, found {type(value).__name__}.")
    return value


def as_text(value: Any, path: str) -> str:
    """The value as text, None as the empty text. Raises WireError at `path` when it is neither."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WireError(path, f"expected text, found {type(value).__name__}.")
    return value


def as_name(value: Any, path: str) -> str:
    """The value as a text that is not empty: an id or a name. Raises WireError at `path`."""
    text = as_text(value, path)
    if not text:
        raise WireError(path, "is missing or empty; without it a call and its result cannot be linked.")
    return text


def items(value: Any, path: str) -> list[Any]:
    """The value as a list, None as the empty one. Raises WireError at `path` when it is neither."""
    if value is None:
        return []
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise WireError(path, f"expected a list, found {type(value).__name__}.")
    return list(value)


def as_count(value: Any) -> int:
    """A reported number of tokens; 0 for whatever is none (usage is a report, not part of the
    conversation)."""
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else 0


def compact_json(value: Any) -> str:
    """JSON text without spaces, keys in arrival order, so that the same value always gives the same bytes. Raises
    WireError for a value that is too deep to be written."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise too_deep("value") from error


def clean_text(text: str) -> str:
    """Text that encodes to strict UTF-8: lone surrogates and NUL become U+FFFD, the rest stays."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # A pair of surrogates (text built from UTF-16 halves) joins to its character; lone halves are
        # replaced.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_value(value: Any, room: int = DEEPEST) -> Any:
    """The same JSON value with every text (keys too) cleaned. Raises WireError when it is more than `room` levels
    deep."""
    if isinstance(value, str):
        return clean_text(value)
    if not isinstance(value, HOLDERS):
        return value
    if not room:
        raise too_deep("value")
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean_value(item, room - 1) for key, item in value.items()}
    return [clean_value(item, room - 1) for item in value]


def too_deep(path: str) -> WireError:
    return WireError(path, f"is {TooDeep()}, which nothing here goes down and no provider takes.")


def is_deep(value: Any) -> bool:
    """Whether lists and objects stand more than `DEEPEST` levels inside each other. Goes level by level, so that no
    depth is too much for it."""
    level = [value] if isinstance(value, HOLDERS) else []
    for _ in range(DEEPEST):
        if not level:
            return False
        inside = [inner for one in level for inner in (one.values() if isinstance(one, Mapping) else one)]
        level = [inner for inner in inside if isinstance(inner, HOLDERS)]
    return bool(level)


def objects_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object inside a value, itself included, whatever its depth; in no order that means anything."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            yield one
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one


def is_deep_text(text: str, value: Any) -> bool:
    """Whether the value that was decoded from a text is too deep; nearly every text is cleared by its brackets."""
    return text.count("[") + text.count("{") > DEEPEST and is_deep(value)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_json(text: str) -> Any:
    """The value of strict JSON text (no NaN, no infinity). Raises ValueError, for more than `DEEPEST` levels too."""
    try:
        value = _STRICT.decode(text)
    except RecursionError as error:
        raise TooDeep from error
    if is_deep_text(text, value):
        raise TooDeep
    return value


def input_of(arguments: str) -> dict[str, Any]:
    """Arguments as an object, as two of the APIs want them; anything that is no JSON object is wrapped as
    `{"_raw": "…"}`."""
    if not arguments.strip():
        return {}
    try:
        value = parse_json(arguments)
    except ValueError:
        value = None
    return clean_value(value) if isinstance(value, dict) else {"_raw": clean_text(arguments)}


def is_json(text: str) -> bool:
    """Whether a text is strict JSON, and not deeper than `DEEPEST` levels."""
    try:
        return not is_deep_text(text, msgspec.json.decode(text))
    except (ValueError, RecursionError, UnicodeEncodeError):
        # Escaped lone surrogates are JSON to a provider and not to this decoder: ask the slower one.
        try:
            parse_json(text)
        except ValueError:
            return False
    return True


def digest(text: str, length: int = 8) -> str:
    """A short stable hash of a text, as hex."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()[:length]


_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


def safe_name(name: str, limit: int) -> str:
    """A name that matches `[a-zA-Z0-9_-]{1,limit}`; names that do stay as they are. Others get a hash, so
    that two different ones never meet."""
    if name and len(name) <= limit and not _UNSAFE.search(name):
        return name
    return f"{_UNSAFE.sub('_', name)[: limit - 9]}_{digest(name)}"
