"""JSON schemas in the subset that a provider enforces. Knows nothing of what the schemas describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SHAPE = frozenset(
    [
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf"),
        *("$ref", "$defs", "description", "title", "format"),
    ]
)
OPENAI = _SHAPE | {"pattern", "minItems", "maxItems", "minimum", "maximum", "multipleOf"}
"""Keywords that OpenAI's strict mode enforces; with another one it refuses the request (2026-11)."""
ANTHROPIC = _SHAPE
"""Keywords that Anthropic enforces (2026-11)."""


def bound(schema: Mapping[str, Any], kept: frozenset[str], *, all_required: bool = False) -> dict[str, Any]:
    """The schema with these keywords only. What is left out stands in the description, so that the model reads it at
    least; objects are closed. `all_required`: every property must be there (a rule of OpenAI's strict mode)."""
    out: dict[str, Any] = {}
    said: list[str] = []
    for key, value in schema.items():
        if key not in kept:
            said.append(f"{key}: {value}")
        elif key in ("properties", "$defs"):
            out[key] = {name: bound(one, kept, all_required=all_required) for name, one in value.items()}
        elif key in ("anyOf", "allOf"):
            out[key] = [bound(one, kept, all_required=all_required) for one in value]
        elif key == "items" and isinstance(value, Mapping):
            out[key] = bound(value, kept, all_required=all_required)
        else:
            out[key] = value
    if "properties" in out:
        out["additionalProperties"] = False
        if all_required:
            out["required"] = list(out["properties"])
    if said:
        out["description"] = " ".join(filter(None, [out.get("description"), f"({', '.join(said)})"]))
    return out
