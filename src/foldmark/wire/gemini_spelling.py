"""Gemini's two spellings as one: SDK objects (snake case, bytes, enums) become what the REST API takes (camel case,
base64, text). Knows nothing of what the fields mean."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from enum import Enum
from typing import Any

from foldmark.wire.plain import DEEPEST, plain, too_deep

FREE = frozenset(["args", "response", "partMetadata", "parameters", "parametersJsonSchema", "responseJsonSchema"])
"""Fields whose inside belongs to the caller: its keys are left as they are."""

_HUMP = re.compile(r"_([a-z0-9])")


def camel(key: str) -> str:
    """`function_call` as `functionCall`."""
    return _HUMP.sub(lambda found: found[1].upper(), key) if "_" in key else key


def as_sent(value: Any, room: int = DEEPEST) -> Any:
    """The value as the REST API spells it. Fields that hold null are left out: they say nothing. Raises WireError when
    it is more than `room` levels deep."""
    if isinstance(value, (str, int, float)) and not isinstance(value, Enum):
        return value
    if not room:
        raise too_deep("value")
    value = plain(value)
    if isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for key, item in value.items():
            if item is not None:
                name = camel(str(key))
                out[name] = plain(item) if name in FREE else as_sent(item, room - 1)
        return out
    if isinstance(value, (list, tuple)):
        return [as_sent(item, room - 1) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    return value.value if isinstance(value, Enum) else value
