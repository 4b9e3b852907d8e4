"""Asks an opened body of JSON a question in JMESPath, bounded in size, time and output. Knows nothing of search.

The expression may come from a model: what would multiply its input, or take too long, is refused with a sentence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import jmespath  # type: ignore[import-untyped]
import msgspec
from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]
from jmespath.functions import Functions  # type: ignore[import-untyped]
from jmespath.visitor import TreeInterpreter  # type: ignore[import-untyped]

from foldmark.errors import PolicyError
from foldmark.opening.documents import document, shape, written
from foldmark.opening.hiding import hidden_value
from foldmark.opening.opened import Opened
from foldmark.opening.query_hints import doubtful, mended, unfit
from foldmark.retrieval import PAGE_CHARACTERS

LONGEST_QUERY = 500
MOST_GROWTH = 16
"""How many times as large as its input a query may make a value: a quarter of a gigabyte at most."""
_JOINED = 1_000_000
_REST = re.compile(r" \| \[(\d{1,9}):\]$")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a query gave. `what` says what it is; `text` is JSON: of an array one element a line, the first `shown` of
    `count`. `next` is the query to go on with, `note` says what else there is to know."""

    ref: str
    query: str
    what: str
    text: str
    count: int = 1
    shown: int = 1
    next: str = ""
    note: str = ""


def query(body: Opened, expression: str = "@", *, limit: int = PAGE_CHARACTERS, seconds: float = 5.0) -> Answer:
    """The answer to a JMESPath `expression` (`users[?age > `30`].name`), at most `limit` characters of it. Of JSON
    lines the document is the array of their values. A query that ends in ` | [20:]` gives the elements behind the first
    20, nulls too (the language itself would leave these out).

    Numbers may be spelled anew (1.50 as 1.5). Raises PolicyError for a body that is no JSON, has more than 16 MiB, and
    for an expression that cannot be read, fails, grows or takes longer than `seconds`.
    """
    asked, skip = _apart(expression)
    tree = _parsed(asked)
    found = document(body)
    value = _evaluated(asked, tree, hidden_value(body, found.value), seconds)
    notes = [f"{found.skipped:,} line(s) are no JSON and were left out."] if found.skipped else []
    if value is None and found.value is not None:
        notes.append(f"Nothing is there. The document is: {shape(found.value)}.")
    if value in (None, []) and (hint := doubtful(asked)):
        notes.append(hint)
    made = _array(value, asked, skip, limit) if isinstance(value, list) else _single(value, limit)
    return msgspec.structs.replace(
        made, ref=body.name, query=expression, note=" ".join(part for part in (*notes, made.note) if part)
    )


def _array(value: list[Any], expression: str, skip: int, limit: int) -> Answer:
    """The first elements behind those to skip, whole ones; the first one cut when it alone is too long."""
    lines: list[str] = []
    room, note = limit, ""
    for item in value[skip:]:
        text, whole = written(item, max(0, room))
        if not whole and lines:
            break
        lines.append(text if whole else f"{text}…")
        room -= len(text) + 3  # a line end, and room for a mark in front of it
        if not whole:
            note = f"The first element shown is cut; it is: {shape(item)}. Name a part of it."
            break
    behind = skip + len(lines)
    return Answer(
        ref="", query="", what=shape(value), text="\n".join(lines), count=len(value), shown=len(lines),
        next=f"{expression} | [{behind}:]" if behind < len(value) else "", note=note,
    )  # fmt: skip


def _single(value: Any, limit: int) -> Answer:
    text, whole = written(value, limit)
    note = "" if whole else "It is cut. Name a part of it."
    return Answer(ref="", query="", what=shape(value), text=text if whole else f"{text}…", note=note)


def _apart(expression: str) -> tuple[str, int]:
    """A query without its ` | [20:]`, and the 20."""
    rest = _REST.search(expression)
    return (expression[: rest.start()], int(rest[1])) if rest else (expression, 0)


def _parsed(expression: str) -> Any:
    """The syntax tree of an expression. Raises PolicyError."""
    if not expression.strip() or len(expression) > LONGEST_QUERY:
        raise PolicyError(f"json: a query has 1 to {LONGEST_QUERY} characters; this has {len(expression):,}.")
    try:
        tree = jmespath.compile(expression).parsed
        growth = _growth(tree)
    except (JMESPathError, ValueError, RecursionError, OverflowError) as error:
        said = _first_line(error).partition(", for expression")[0].rstrip(":")
        raise PolicyError(f"json: {expression!r} is no JMESPath query ({said}).{mended(expression)}") from None
    if growth > MOST_GROWTH:
        raise PolicyError(f"json: {expression!r} repeats its input {growth:,} times; ask for each part once.")
    return tree


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _growth(node: Mapping[str, Any]) -> int:
    """How many times the same input may stand in the output of an expression, at most. Different fields of one value
    are different input."""
    children = [child for child in node.get("children", ()) if isinstance(child, Mapping)]
    if node["type"] in ("multi_select_list", "multi_select_dict"):
        parts = [child["children"][0] if child["type"] == "key_val_pair" else child for child in children]
        paths = [path for part in parts if (path := _path(part))]
        repeated = sum(_growth(part) for part in parts if not _path(part)) + _overlaps(paths)
        return max(1, repeated + bool(paths))
    grown = [_growth(child) for child in children]
    if node["type"] in _IN_TURN:
        return prod(grown)
    return max(grown, default=1)


_IN_TURN = frozenset(
    (
        *("pipe", "subexpression", "index_expression", "projection", "value_projection", "filter_projection"),
        *("function_expression", "flatten", "key_val_pair", "expref"),
    )
)


def _path(node: Mapping[str, Any]) -> tuple[Any, ...]:
    """The names and numbers of a field, a field of a field, or an item of one; empty for any other expression."""
    if node["type"] in ("field", "index"):
        return (node["value"],)
    if node["type"] not in ("subexpression", "index_expression"):
        return ()
    parts = [_path(child) for child in node["children"]]
    return tuple(name for part in parts for name in part) if all(parts) else ()


def _overlaps(paths: Sequence[tuple[Any, ...]]) -> int:
    """How many paths name what another one names, or a part of it."""
    known = set(paths)
    inside = sum(any(path[:size] in known for size in range(1, len(path))) for path in known)
    return inside + len(paths) - len(known)


def _evaluated(expression: str, tree: Any, value: Any, seconds: float) -> Any:
    try:
        return _Bounded(time.monotonic() + seconds).visit(tree, value)
    except _Late:
        raise PolicyError(
            f"json: {expression!r} took longer than {seconds:g} s. Ask for less, or name lines."
        ) from None
    except _FAILURES as error:
        said = _first_line(error)
        hint = unfit(expression, said)
        raise PolicyError(f"json: {expression!r} fails on this document ({said}).{hint}") from None


# What the language's interpreter raises for values that do not fit an expression: not all of it is its own.
_FAILURES = (JMESPathError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError, RecursionError)


class _Late(Exception):
    """The deadline of a query has passed."""


class _Calls(Functions):  # type: ignore[misc]
    """The functions of the language; a join of long separators would grow with the square of its input."""

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        if function_name == "join" and len(resolved_args) == 2:
            separator, parts = resolved_args
            if isinstance(separator, str) and isinstance(parts, list) and len(separator) * len(parts) > _JOINED:
                raise ValueError("join with so long a separator")
        return super().call_function(function_name, resolved_args)


class _Bounded(TreeInterpreter):  # type: ignore[misc]
    """Evaluates an expression until a deadline."""

    def __init__(self, until: float) -> None:
        super().__init__(jmespath.Options(custom_functions=_Calls()))
        self._until = until

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() > self._until:
            raise _Late
        return super().visit(node, *args, **kwargs)
