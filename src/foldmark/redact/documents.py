"""Redacts JSON, where a secret's name may be the key of its value. Knows nothing of which secrets there are."""

from __future__ import annotations

import json
from typing import Any

from foldmark.redact.finding import LABEL, may_hold
from foldmark.redact.labelling import Redactor


def redact_value(value: Any, redact: Redactor) -> Any:
    """A decoded JSON value with every string in it redacted. JSON *text* must not be redacted as it stands: its line
    breaks are two characters there, and no line begins where one does. A secret's name may be the key of its value."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_value(item, redact) for item in value]
    if isinstance(value, dict):
        return {key: _member(key, item, redact) for key, item in value.items()}
    return value


def _member(key: str, item: Any, redact: Redactor) -> Any:
    if not isinstance(item, str):
        return redact_value(item, redact)
    plain = redact(item)
    if plain != item or "\n" in item:
        return plain
    head = json.dumps(key, ensure_ascii=False) + ": "
    pair = redact(head + json.dumps(item, ensure_ascii=False))
    inner = LABEL.search(pair, len(head))
    return inner[0] if inner and pair[len(head) :] == f'"{inner[0]}"' else plain


def redact_json(text: str, redact: Redactor) -> str:
    """JSON text with every string in it redacted; unchanged byte for byte when there is no secret in it, and
    redacted as plain text when it is no JSON."""
    if "\\u" not in text and "\\/" not in text and not may_hold(text):  # these escapes could hide a literal
        return text
    try:
        value = json.loads(text)
        clean = redact_value(value, redact)
    except (ValueError, RecursionError):  # no JSON, or deeper than anybody reads
        return redact(text)
    return text if clean == value else json.dumps(clean, ensure_ascii=False)
