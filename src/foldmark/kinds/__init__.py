"""Kinds of results, one registry: how to recognise one, preview it, name its outcome. Knows nothing of
storage or requests.

`recognise(text, call)` finds the kind; `preview` and `outcome` are its two pictures. The structured
readers (`parse_tests`, `exit_code`, `traces`, `diff_stat`, …) serve facts as well. A new kind is one
`Kind` record in `KINDS`.
"""

from __future__ import annotations

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, profile
from foldmark.kinds.body import Body, Count, clean_text, count_lines
from foldmark.kinds.commands import COMMAND, denial, error_lines, exit_code, is_noise
from foldmark.kinds.diffs import DIFF, FileDiff, diff_stat
from foldmark.kinds.files import FILE
from foldmark.kinds.logs import LOG
from foldmark.kinds.plain import PLAIN
from foldmark.kinds.records import JSON
from foldmark.kinds.searches import HITS, LISTING
from foldmark.kinds.tests import TESTS, Failure, TestRun, parse_tests
from foldmark.kinds.traces import TRACE, Trace, traces

__all__ = [
    "KINDS",
    "Body",
    "Count",
    "Failure",
    "FileDiff",
    "Kind",
    "TestRun",
    "Trace",
    "clean_text",
    "count_lines",
    "denial",
    "diff_stat",
    "error_lines",
    "exit_code",
    "is_noise",
    "outcome",
    "parse_tests",
    "preview",
    "recognise",
    "traces",
]

KINDS: tuple[Kind, ...] = (TESTS, JSON, DIFF, TRACE, LOG, FILE, HITS, LISTING, COMMAND, PLAIN)
"""In order of precedence when two are equally sure."""


def recognise(text: str, call: ToolCall | None = None) -> Kind:
    """The kind that claims the text most surely; plain text when none does."""
    return max(KINDS, key=lambda kind: kind.recognise(text, call))


def preview(text: str, call: ToolCall | None, budget_tokens: int, count: Count) -> str:
    """The text itself, or a shorter true picture of it within `budget_tokens`."""
    return recognise(text, call).preview(text, budget_tokens, count)


def outcome(text: str, call: ToolCall | None = None) -> str:
    """One line, without brackets: what still matters when the body is gone."""
    kind = recognise(text, call)
    said = kind.outcome(text, call) or PLAIN.outcome(text, call)
    runs = call is None or profile(call).is_shell
    code = exit_code(text) if kind is not COMMAND and runs else None
    return f"exit code {code}; {said}" if code else said
