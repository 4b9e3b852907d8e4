"""Finds what is of the wrong type where an API wants a list, an object or a text. Knows nothing of any API.

A shape is a type, `[shape]` for a list, or `{key: shape}` for an object (keys that are not named may hold anything). What
is None counts as absent, but in a list. Rules may then read without asking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def misfits(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Paths of what does not fit the shape; nothing is looked for inside it."""
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            yield path
            return
        for key, inner in shape.items():
            if value.get(key) is not None:
                yield from misfits(value[key], inner, f"{path}.{key}" if path else key)
    elif isinstance(shape, list):
        if not isinstance(value, (list, tuple)):
            yield path
            return
        for at, item in enumerate(value):
            yield from misfits(item, shape[0], f"{path}[{at}]")
    elif not isinstance(value, shape):
        yield path
