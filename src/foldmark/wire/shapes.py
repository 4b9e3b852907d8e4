"""Finds what is of the wrong type where an API wants a list, an object or a text. Knows nothing of any API.

A shape is a type (or several), `[shape]` for a list, `{key: shape}` for an object (keys that are not named may hold
anything), or a function that chooses the shape by the value. What is None counts as absent, but in a list. Rules that
run behind a table of shapes may read without asking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from foldmark.wire.plain import DEEPEST

LIST = (list, tuple)


class Form(NamedTuple):
    """Of what shape a payload is: `head` that of everything around its messages, which stand under `key`, and `message`
    that of each of them."""

    key: str
    head: Any
    message: Any


def misfits(value: Any, shape: Any, room: int = DEEPEST) -> list[str]:
    """Paths inside the value (`.source.data`, `[2]`, empty for itself) of what does not fit the shape, and of what is
    more than `room` levels deep. Nothing is looked for inside a misfit."""
    if isinstance(shape, (type, tuple)):
        return [] if isinstance(value, shape) else [""]
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping) or not room:
            return [""]
        held = [(f".{key}", value.get(key), inner) for key, inner in shape.items()]
        return [
            f"{key}{rest}" for key, item, inner in held if item is not None for rest in misfits(item, inner, room - 1)
        ]
    if isinstance(shape, list):
        if not isinstance(value, LIST) or not room:
            return [""]
        return [f"[{at}]{rest}" for at, item in enumerate(value) for rest in misfits(item, shape[0], room - 1)]
    return misfits(value, shape(value), room)


def fits(value: Any, shape: Any) -> bool:
    return not misfits(value, shape)


def misshapen(payload: Any, form: Form, start: int) -> list[str]:
    """Paths of what in a payload has not the form that an API wants; messages are looked at from number `start` on."""
    found = [path.removeprefix(".") for path in misfits(payload, form.head)]
    messages: Any = payload.get(form.key) if isinstance(payload, Mapping) else None
    for at in range(start, len(messages)) if isinstance(messages, LIST) else ():
        found += [f"{form.key}[{at}]{rest}" for rest in misfits(messages[at], form.message)]
    return found


def text_or(shape: Any) -> Callable[[Any], Any]:
    """The shape of what is a text, or else of that shape."""
    return lambda value: str if isinstance(value, str) else shape
