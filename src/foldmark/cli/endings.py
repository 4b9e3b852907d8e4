"""How a command ends: its exit code, and an error as a sentence. Knows nothing of what commands do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from foldmark.cli.terminal import say_json, terminal, whoever_reads
from foldmark.errors import BudgetExceeded, EmbedderFailed, FoldmarkError, PolicyError, SummaryError

EXIT_CODES = {"applied": 0, "not_due": 0, "deferred": 0, "degraded": 0, "ineffective": 3, "failed": 4}
"""0 done or nothing to do · 2 bad input · 3 ineffective (due, and nothing could be gained) · 4 failed."""


def fail(error: FoldmarkError | OSError, as_json: bool) -> NoReturn:
    """One clear sentence on standard error (JSON too, when asked for), and the exit code: 4 when the work itself
    failed, 2 when the input was bad. A closed pipe is neither."""
    if isinstance(error, BrokenPipeError):
        raise error
    message = _of_file(error) if isinstance(error, OSError) else str(error)
    code = 4 if isinstance(error, BudgetExceeded | EmbedderFailed | SummaryError) else 2
    if as_json:
        outcome = {"outcome": "failed"} if code == 4 else {}
        whoever_reads(lambda: say_json({**outcome, "error": type(error).__name__, "message": message}))
    terminal(errors=True).tell(f"foldmark: {message}", "red")
    raise typer.Exit(code)


def _of_file(error: OSError) -> str:
    name = error.filename or "the file"
    if isinstance(error, FileNotFoundError):
        return f"No such file: {name}. Look at its name and folder."
    if isinstance(error, IsADirectoryError):
        return f"Is a directory: {name}. Name a file in it."
    return f"{name} cannot be read or written: {error.strerror or error}."


@contextmanager
def told(as_json: bool = False) -> Iterator[None]:
    """What goes wrong inside ends the command by `fail`."""
    try:
        yield
    except (FoldmarkError, OSError) as error:
        fail(error, as_json)


def agreed(question: str, otherwise: str) -> bool:
    """Whether a person agrees to an erasure. Raises PolicyError where nobody answers; it says `otherwise` then."""
    try:
        return typer.confirm(question)
    except typer.Abort as error:
        raise PolicyError(f"nobody answered, so {otherwise}; --yes erases without asking.") from error
