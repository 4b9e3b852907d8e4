"""Hides secrets in what is shown of an opened body, where that was asked for. Knows nothing of which secrets there are.

A stretch is looked at together with what stands round it, so that no border cuts a secret out of its context, and
what the body names as a secret anywhere is one in every stretch of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from foldmark.errors import PolicyError
from foldmark.opening.opened import Opened
from foldmark.redact import redact_part, redact_value
from foldmark.retrieval import named_of


def hidden(body: Opened, text: str, before: str = "", after: str = "") -> str:
    """The text without secrets, given what stands before and after it."""
    if not body.redact:
        return text
    named = named_of(body.shelf, body.tenant, body.sha256, body.redact)
    return redact_part(body.redact, before, text, after, named)


def hidden_value(body: Opened, value: Any) -> Any:
    """A JSON value without secrets; the name of a member may tell that its value is one. Raises PolicyError where it is
    nested too deeply to be gone through."""
    try:
        return redact_value(value, partial(hidden, body)) if body.redact else value
    except RecursionError:
        said = f"{body.ref} is JSON nested too deeply to be shown without its secrets; grep it, or read its lines."
        raise PolicyError(said) from None


def hidden_cells(body: Opened, columns: Sequence[str], cells: list[str]) -> list[str]:
    """A row without secrets; the name of a column may tell that its cells are."""
    if not body.redact:
        return cells
    named = {name or str(at): cell for at, (name, cell) in enumerate(zip(columns, cells, strict=False))}
    shown = list(hidden_value(body, named).values()) if len(named) == min(len(columns), len(cells)) else []
    kept = shown or [hidden(body, cell) for cell in cells[: len(columns)]]
    return [*kept, *(hidden(body, cell) for cell in cells[len(columns) :])]
