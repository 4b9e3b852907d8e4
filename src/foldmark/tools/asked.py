"""Reads what a model wrote as arguments: what makes no sense is told in a sentence. Knows nothing of any one tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

WORDS = 2_000
"""Characters of an argument that are looked at; nobody names anything in more."""


class Unclear(Exception):
    """Arguments that make no sense; the message says what to write."""


def read(arguments: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    """The arguments that are given; null is none. Raises Unclear for what is no object and for unknown names."""
    listed = ", ".join(names)
    if arguments is None:
        raise Unclear(f"The arguments are no JSON object. Write one with {listed}.")
    unknown = [str(name) for name in arguments if name not in names]
    if unknown:
        raise Unclear(f"There is no argument {_shown(unknown[0])}. Write some of {listed}.")
    return {name: value for name, value in arguments.items() if value is not None}


def text(given: Mapping[str, Any], name: str) -> str:
    """A text, empty when it is not given. Numbers are taken as they are written."""
    value = given.get(name, "")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Unclear(f"{name} takes a text, not {_shown(value)}.")
    return str(value)[:WORDS].strip()


def texts(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A text or several, without empty ones."""
    value = given.get(name, ())
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, Iterable) or not all(isinstance(one, str) for one in values):
        raise Unclear(f"{name} takes a text, not {_shown(value)}.")
    return tuple(one[:WORDS].strip() for one in list(values)[:20] if one.strip())


def choice(given: Mapping[str, Any], name: str, allowed: Sequence[str], default: str) -> str:
    """One of the allowed words."""
    value = given.get(name, default) or default
    if value not in allowed:
        raise Unclear(f"{name} takes one of {', '.join(allowed)}, not {_shown(value)}.")
    return str(value)


def number(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A whole number, cut to what is allowed."""
    value = given.get(name, default)
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,18}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or isnan(value):
        raise Unclear(f"{name} takes a whole number from {least} to {most}, not {_shown(value)}.")
    return int(min(max(value, least), most))


def _shown(value: Any) -> str:
    """A value in a sentence, short."""
    try:
        told = repr(value)
    except Exception:  # a mapping of the caller's own making
        told = type(value).__name__
    return told if len(told) <= 60 else f"{told[:59]}…"
