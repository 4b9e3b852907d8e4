"""Judges a narrative against the raw text of its span. Shares no code with foldmark's own checker, on purpose.

An identifier is whatever a reader would look up or type: a number, path, URL, hash, version, snake_case, camelCase or
dotted name, a word in capitals with digits, anything in backticks or quotes without spaces. It is *invented* when the
span does not hold it, letter case and surrounding signs aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.planting import Planted, fold
from bench.sizes import content_text

Message = dict[str, Any]

FIELDS = ("current_work", "next_steps", "decisions", "failed_approaches", "open_questions", "conflicts")

_TOKEN = re.compile(r"[^\s,;()\[\]{}<>|\"'`“”‘’*]+")
_QUOTED = re.compile(r"[`\"“]([^\s`\"“”]{3,200})[`\"”]")
_REF = re.compile(r"\b(?:event|artifact|compaction):[\w.#:-]+|\[\d+(?:, ?\d+)*\]")
_SHAPES = re.compile(
    r"\d"  # numbers, hashes, versions, dates, ids
    r"|[a-z0-9]_[a-z0-9]"  # snake_case
    r"|[a-z][A-Z]"  # camelCase
    r"|[\w.-]+/[\w.-]+"  # paths and URLs
    r"|^[\w-]+\.[a-z]{1,5}$"  # file names
    r"|\w+\.\w+\.\w+"  # dotted names
    r"|\w\(\)$"
)
_EDGES = ".:!?=-–—…/\\&"
_SPELLED = frozenset(
    ("10", "1st", "2nd", "3rd", "4th", "e.g", "i.e", "and/or", "n/a", "yes/no", "true/false", "read/write")
)
"""Words that only look like names. Single signs are none: a summary may count to nine by itself."""


def identifiers(text: str) -> list[str]:
    """Identifiers in order, each once, without refs of our own."""
    text = _REF.sub(" ", text)
    found = [token.strip(_EDGES) for token in _TOKEN.findall(text)]
    named = [token for token in found if len(token) > 1 and _SHAPES.search(token) and token.lower() not in _SPELLED]
    quoted = [one.strip(_EDGES) for one in _QUOTED.findall(text)]
    return list(dict.fromkeys([*named, *(one for one in quoted if len(one) > 2 and not one.isalpha())]))


def source_text(messages: Sequence[Message]) -> str:
    """Everything a span holds, in lower case: contents, call names, arguments as sent and as read."""
    parts: list[str] = []
    for message in messages:
        parts.append(content_text(message))
        for call in message.get("tool_calls") or []:
            arguments = call["function"]["arguments"]
            parts += [call["function"]["name"], arguments, *_strings(arguments)]
    text = "\n".join(parts)
    return "\n".join([text, text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")]).lower()


def _strings(arguments: str) -> list[str]:
    try:
        value = json.loads(arguments)
    except ValueError:
        return []
    out, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        elif isinstance(item, Mapping):
            out += item
            stack += item.values()
        elif isinstance(item, list):
            stack += item
        else:
            out.append(json.dumps(item))
    return out


def invented(text: str, source: str) -> list[str]:
    """Identifiers of a text that its source (`source_text`) does not hold."""
    return [name for name in identifiers(text) if not _stands(name.lower(), source)]


def _stands(name: str, source: str) -> bool:
    """Whole: `45` does not stand in `1456`, and `app.py` stands in `src/app.py`."""
    at = source.find(name)
    while at >= 0:
        before, after = source[at - 1 : at], source[at + len(name) : at + len(name) + 1]
        if not (_joins(before, name[0]) or _joins(after, name[-1])):
            return True
        at = source.find(name, at + 1)
    return False


def _joins(outside: str, edge: str) -> bool:
    """Whether a character outside continues the name: letters to letters, digits to digits."""
    return (outside.isdigit() and edge.isdigit()) or (outside.isalpha() and edge.isalpha())


def items_of(answer: str) -> list[str]:
    """The statements of a model's answer, before anybody checked them: the six fields of its JSON, else its list lines.

    JSON that ends in the middle is read as far as its strings are whole.
    """
    start = answer.find("{")
    try:
        value = json.loads(answer[start : answer.rfind("}") + 1]) if start >= 0 else None
    except ValueError:
        value = None
    if isinstance(value, Mapping):
        return [text for field in FIELDS for item in _listed(value.get(field)) if (text := _said(item))]
    if start >= 0:
        return [text for text in re.findall(r'"text"\s*:\s*"((?:[^"\\]|\\.)*)"', answer[start:]) if text.strip()]
    return [line.strip()[2:] for line in answer.split("\n") if line.strip()[:2] in ("- ", "* ")]


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _said(item: Any) -> str:
    if isinstance(item, Mapping):
        return " ".join(str(item[key]) for key in ("text", "why") if item.get(key)).strip()
    return str(item).strip() if item else ""


def holds(planted: Sequence[Planted], text: str) -> list[bool]:
    """Which planted facts stand word for word in a text."""
    text = fold(text)
    return [fold(item.core) in text for item in planted]


def tells(planted: Sequence[Planted], text: str) -> list[bool]:
    """Which planted facts a text tells in words of its own: each word of four letters or more and each number."""
    said = set(re.findall(r"\w+", text.lower()))
    return [
        bool(words := {word for word in re.findall(r"\w+", item.core.lower()) if len(word) > 3 or _has_digit(word)})
        and words <= said
        for item in planted
    ]


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
