"""Options that several commands share: one name, one sentence; a dataclass is several that belong together
(`foldmark.cli.commands`). Knows nothing of what commands do with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from foldmark.errors import PolicyError
from foldmark.policy import PRESETS
from foldmark.wire import VARIANTS, WIRES

DEFAULT_DB = Path("foldmark.db")
WIRE_NAMES = ", ".join(wire.NAME for wire in (*WIRES, *VARIANTS))


Transcript = Annotated[Path, typer.Argument(help="A transcript file, or - for standard input.")]
Db = Annotated[Path, typer.Option("--db", help="The database file.")]
SessionId = Annotated[
    str,
    typer.Option(
        "--session",
        help="Session id, or how only one begins; default: the newest, or a transcript's own.",
    ),
]
ScopeKey = Annotated[
    str,
    typer.Option("--scope", help="Key of a scope (`foldmark scopes` lists them); default: the whole session's."),
]
ScopeSees = Annotated[
    str,
    typer.Option(
        "--sees",
        help="What the scope sees: exact, lineage, subtree or all; needed only where several scopes have that key.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy", help=f"Preset ({', '.join(PRESETS)}) or a TOML file; default: the session's own, else coding."
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        "--window", help="The model's context window in tokens; default: the policy's, else the last one, else 128000."
    ),
]


def window_of(asked: int | None) -> int | None:
    """The window that was asked for. Raises PolicyError for one that no model has."""
    if asked is not None and asked < 1_000:
        raise PolicyError(f"--window is {asked}; a context window has at least 1,000 tokens.")
    return asked


Target = Annotated[
    int | None,
    typer.Option(
        "--target",
        help="Size to aim at for the whole next request, in tokens: the first one is due once it is passed, each later "
        "one at 5/3 of it. `compact` keeps it with the session.",
    ),
]
Focus = Annotated[
    str,
    typer.Option(
        "--focus", help="What matters now, in words: what shares them is told first. What goes does not depend on it."
    ),
]
Upto = Annotated[
    str,
    typer.Option(
        "--upto",
        help="Cover whole rounds up to this event (event:120) at most, when one is due or with --force; default: all "
        "but the policy's tail.",
    ),
]
Wire = Annotated[
    str,
    typer.Option(
        "--wire", help=f"Form of the request: {WIRE_NAMES}; default: that of the last request or of the transcript."
    ),
]
Format = Annotated[
    str, typer.Option("--format", help="Transcript format, or auto; a wrong one is answered with the list.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Unknown records in the transcript are errors; default: notes.")]
SummarizerName = Annotated[
    str,
    typer.Option(
        "--summarizer",
        help="Who writes the narrative: openai:NAME, anthropic:NAME or gguf:FILE; several with commas are a chain.",
    ),
]
SummaryWindow = Annotated[
    int | None, typer.Option("--summary-window", help="Context window of the summary model in tokens.")
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a transcript is read."""

    format: Format = "auto"
    strict: Strict = False

    def must_be_unsaid(self) -> None:
        """Raises PolicyError where one of them was given, and there is no transcript."""
        if self.strict or self.format != "auto":
            raise PolicyError(
                "--format and --strict say how a transcript is read: name a transcript, or leave them out."
            )


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Which model writes the narrative."""

    summarizer: SummarizerName = ""
    summary_window: SummaryWindow = None
