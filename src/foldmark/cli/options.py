"""Options that several commands share: one name, one sentence. Knows nothing of what commands do with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldmark.cli.summarizers import HELP as SUMMARIZER_HELP
from foldmark.errors import PolicyError
from foldmark.policy import PRESETS
from foldmark.wire import VARIANTS, WIRES

DEFAULT_DB = Path("foldmark.db")
WIRE_NAMES = ", ".join(wire.NAME for wire in (*WIRES, *VARIANTS))


def named(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """A name as it was given. An empty one is no name: what was meant to be named must not become the newest."""
    given = context.get_parameter_source(parameter.name or "")
    if not value and given is not None and given.name != "DEFAULT":
        raise typer.BadParameter(
            "it is empty (an unset variable of the shell?). `foldmark sessions` lists sessions, `foldmark scopes` the "
            "scopes of one."
        )
    return value


def only_of_files(format: str, strict: bool) -> None:
    """Raises PolicyError for options that say how a transcript is read, where there is none."""
    if strict or format != "auto":
        raise PolicyError("--format and --strict say how a transcript is read: name a transcript, or leave them out.")


def no_scope_of_files(scope: str, sees: str) -> None:
    """Raises PolicyError for options that choose inside a session, where a file is named."""
    if scope or sees:
        raise PolicyError(
            "--scope and --sees choose inside a session of the database; a file is taken whole: import it first."
        )


Transcript = Annotated[Path, typer.Argument(help="A transcript file, or - for standard input.")]
Db = Annotated[Path, typer.Option("--db", help="The database file.")]
SessionId = Annotated[
    str,
    typer.Option(
        "--session",
        help="Session id, or how only one begins; default: the transcript's, else the newest.",
        callback=named,
    ),
]
ScopeKey = Annotated[
    str,
    typer.Option(
        "--scope", help="Key of a scope (`foldmark scopes` lists them); default: the whole session's.", callback=named
    ),
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
Target = Annotated[int | None, typer.Option("--target", help="Size of the whole next request, in tokens.")]
Focus = Annotated[
    str, typer.Option("--focus", help="What matters now: its words raise what belongs to it; it chooses nothing.")
]
Upto = Annotated[
    str,
    typer.Option(
        "--upto",
        help="What goes once it is due, or with --force: whole rounds up to this event (event:120); default: all but "
        "the policy's tail.",
    ),
]
Wire = Annotated[str, typer.Option("--wire", help=f"{WIRE_NAMES}; default: the transcript's own.")]
Format = Annotated[str, typer.Option("--format", help="Transcript format, or auto.")]
Strict = Annotated[bool, typer.Option("--strict", help="Unknown records are errors.")]
SummarizerName = Annotated[str, typer.Option("--summarizer", help=SUMMARIZER_HELP)]
SummaryWindow = Annotated[
    int | None, typer.Option("--summary-window", help="Context window of the summary model in tokens.")
]
