"""Messages that OpenInference writes as one attribute a field, as rows again. Knows nothing of what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldmark.importers.parts import arguments_of


def flattened(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Messages that OpenInference wrote as one attribute a field (`<prefix>.0.message.role`, …), as rows of chat
    completions, in order. A message of which no field was written is missing."""
    rows: dict[int, dict[str, Any]] = {}
    pattern = re.compile(re.escape(prefix) + r"\.([0-9]{1,6})\.message\.(.+)")
    for key in attributes:
        if match := pattern.fullmatch(key):
            _put(rows.setdefault(int(match[1]), {}), match[2], attributes[key])
    return [_shaped(rows[at]) for at in sorted(rows)]


def _put(row: dict[str, Any], field: str, value: Any) -> None:
    call = re.fullmatch(r"tool_calls\.([0-9]{1,6})\.tool_call\.(.+)", field)
    text = re.fullmatch(r"contents\.([0-9]{1,6})\.message_content\.text", field)
    if call:
        row.setdefault("calls", {}).setdefault(int(call[1]), {})[call[2]] = value
    elif text:
        row.setdefault("texts", {})[int(text[1])] = value
    else:
        row[field] = value


def _shaped(row: dict[str, Any]) -> dict[str, Any]:
    calls = row.pop("calls", {})
    texts = row.pop("texts", {})
    if texts and "content" not in row:
        row["content"] = "\n".join(str(texts[at]) for at in sorted(texts))
    if calls:
        row["tool_calls"] = [
            {
                "id": calls[at].get("id") or "",
                "function": {
                    "name": calls[at].get("function.name"),
                    "arguments": arguments_of(calls[at].get("function.arguments")),
                },
            }
            for at in sorted(calls)
        ]
    return row
