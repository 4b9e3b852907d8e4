"""The values that a diagnosis speaks in: problem, mend, change. Knows nothing of files or formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

Severity = Literal["error", "warning"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a provider or an agent would refuse (`error`), or that some refuse or that will go wrong soon
    (`warning`). `path` is a place in the file, such as `line 12 message.content[1]` or `messages[3].tool_calls[0]`."""

    path: str
    code: str
    message: str
    severity: Severity
    advice: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the repaired copy has differently. `path` is the place in the file that was read."""

    path: str
    code: str
    message: str


class Mend(NamedTuple):
    """A problem of the file's own structure, and the smallest honest way out of it.

    `change` says what `apply` does to the rows in memory. `touches` are the paths that the problem explains: what a
    wire says about the same places is not repeated.
    """

    path: str
    code: str
    problem: str
    change: str
    apply: Callable[[], None]
    touches: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a transcript. `format` is the one that was recognised, `wire` whose rules were used."""

    format: str
    wire: str
    records: int
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is known to be refused or lost; warnings may be there."""
        return all(problem.severity != "error" for problem in self.problems)


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """A working copy: its bytes, what is different, what could not be kept in it (`rejected`, bytes as they were), and
    what doctor says of the copy."""

    data: bytes
    changes: tuple[Change, ...]
    rejected: bytes
    after: Diagnosis
