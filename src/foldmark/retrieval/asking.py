"""A query made ready: its terms, its names, and where to look. Knows nothing of pieces."""

from __future__ import annotations

import re

import msgspec

from foldmark.seeking import Sought
from foldmark.store import Key, Store
from foldmark.words import telling, words

_NAME = re.compile(r"[\w][\w./:@#-]*\w")
QUERY_CHARACTERS = 10_000
"""Of a longer query the beginning counts: nobody asks in ten thousand characters."""


class Question(msgspec.Struct, frozen=True):
    """A query: its `text`, the analysed `terms` to look for, and the `names` in it that stand for one thing (a path, an
    id, a number, a symbol), without case."""

    text: str
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def question(query: str, now: float) -> Question:
    """Read a query. `now` (Unix seconds) is what "yesterday" counts from."""
    text = query[:QUERY_CHARACTERS]
    names = tuple(name.casefold() for name in dict.fromkeys(_NAME.findall(text)) if _is_identifier(name))
    return Question(text, tuple(telling(words(text))), names)


def _is_identifier(name: str) -> bool:
    """A word of the query that stands for one thing: a path, an id, a number, a symbol."""
    return len(name) > 2 and (any(c.isdigit() or c in "_./:@#-" for c in name) or name[1:].lower() != name[1:])


def bounded(store: Store, key: Key, sought: Sought) -> Sought:
    """With the boundary of the scope's newest checkpoint, where only what it covers is looked for."""
    if sought.where != "covered":
        return sought
    checkpoint = store.view(key).checkpoint
    return msgspec.structs.replace(sought, upto=checkpoint.boundary if checkpoint else 0)
