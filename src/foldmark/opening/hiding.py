"""Hides secrets in what is shown of an opened body, where that was asked for. Knows nothing of which secrets there are.

A stretch is looked at together with what stands round it, so that no border cuts a secret out of its context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldmark.opening.opened import Opened
from foldmark.redact import redact_value


def hidden(body: Opened, text: str, before: str = "", after: str = "") -> str:
    """The text without secrets, given what stands before and after it."""
    if not body.redact:
        return text
    whole = body.redact(before + text + after)
    left = _alike(whole, body.redact(before))
    right = _alike(whole[left:][::-1], body.redact(after)[::-1])
    shown: str = whole[left : len(whole) - right]
    return shown


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def hidden_value(body: Opened, value: Any) -> Any:
    """A JSON value without secrets; the name of a member may tell that its value is one."""
    return redact_value(value, body.redact) if body.redact else value


def hidden_cells(body: Opened, columns: Sequence[str], cells: list[str]) -> list[str]:
    """A row without secrets; the name of a column may tell that its cells are."""
    if not body.redact:
        return cells
    named = {name or str(at): cell for at, (name, cell) in enumerate(zip(columns, cells, strict=False))}
    shown = list(hidden_value(body, named).values()) if len(named) == min(len(columns), len(cells)) else []
    kept = shown or [body.redact(cell) for cell in cells[: len(columns)]]
    return [*kept, *(body.redact(cell) for cell in cells[len(columns) :])]
