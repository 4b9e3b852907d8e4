"""Kinds of results, one registry: how to recognise one, preview it, name its outcome. Knows nothing of
storage or requests.

`recognise(text, call)` finds the kind; `preview` and `outcome` are its two pictures. The structured
readers (`parse_tests`, `exit_code`, `traces`, `diff_stat`, …) serve facts as well. A new kind is one
`Kind` record in `KINDS`.
"""

from __future__ import annotations

from foldmark.events import ToolCall
from foldmark.kinds.base import SURE, Kind, profile
from foldmark.kinds.blame import BLAME
from foldmark.kinds.body import Body, Count, count_lines
from foldmark.kinds.builds import BUILD
from foldmark.kinds.commands import COMMAND, denial, error_lines, exit_code
from foldmark.kinds.coverage import COVERAGE
from foldmark.kinds.diffs import DIFF, FileDiff, diff_stat
from foldmark.kinds.encoded import ENCODED
from foldmark.kinds.files import FILE
from foldmark.kinds.git import GIT_LOG, GIT_STATUS
from foldmark.kinds.listings import LISTING
from foldmark.kinds.logs import LOG
from foldmark.kinds.markup import XML
from foldmark.kinds.noise import is_heartbeat, is_noise, is_status, is_transient, status_shape
from foldmark.kinds.notebooks import NOTEBOOK
from foldmark.kinds.packages import PACKAGES
from foldmark.kinds.pages import HTML
from foldmark.kinds.plain import PLAIN
from foldmark.kinds.queries import SQL_ERROR
from foldmark.kinds.records import JSON
from foldmark.kinds.searches import HITS
from foldmark.kinds.tables import TABLE
from foldmark.kinds.terminal import clean_text, on_screen, seen_on_screen
from foldmark.kinds.testrun import Failure, TestRun
from foldmark.kinds.tests import TESTS, parse_tests
from foldmark.kinds.timings import PROFILE
from foldmark.kinds.traces import TRACE, Trace, traces

__all__ = [
    "ENCODED",
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
    "is_heartbeat",
    "is_noise",
    "is_status",
    "is_transient",
    "on_screen",
    "outcome",
    "parse_tests",
    "preview",
    "recognise",
    "status_shape",
    "traces",
]

KINDS: tuple[Kind, ...] = (
    *map(
        seen_on_screen,
        (
            *(TESTS, NOTEBOOK, JSON, DIFF, GIT_STATUS, GIT_LOG, BLAME, COVERAGE, PROFILE, PACKAGES, BUILD, SQL_ERROR),
            *(TRACE, LOG, HTML, XML, TABLE, FILE, HITS, LISTING, COMMAND, PLAIN),
        ),
    ),
    ENCODED,
)
"""In order of precedence when two are equally sure. All but the encoded ones, whose every byte counts, read what a
terminal would show."""


def recognise(text: str, call: ToolCall | None = None) -> Kind:
    """The kind that claims the text most surely; plain text when none does."""
    shown = on_screen(text)
    best, surest = PLAIN, 0.0
    for kind in KINDS:
        sure = kind.recognise(shown, call)
        if sure > surest:
            best, surest = kind, sure
        if sure >= SURE:
            break
    return best


def preview(text: str, call: ToolCall | None, budget_tokens: int, count: Count) -> str:
    """The text itself, or a shorter true picture of it within `budget_tokens`."""
    return recognise(text, call).preview(text, budget_tokens, count)


def outcome(text: str, call: ToolCall | None = None) -> str:
    """One line, without brackets: what still matters when the body is gone."""
    kind = recognise(text, call)
    said = kind.outcome(text, call) or PLAIN.outcome(text, call)
    runs = call is None or profile(call).is_shell
    code = exit_code(on_screen(text)) if kind.name != COMMAND.name and runs else None
    said = " ".join(clean_text(said).splitlines())  # some line ends are no line feeds, some characters are half ones
    return f"exit code {code}; {said}" if code else said
