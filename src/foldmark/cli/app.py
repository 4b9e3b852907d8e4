"""The command line: the list of commands, and where each is. Knows nothing of how anything is done."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

import foldmark
from foldmark.cli.commands import App, Commands, Later
from foldmark.cli.endings import EXIT_CODES
from foldmark.cli.terminal import run


class Foldmark(Commands):
    """All commands, as `--help` lists them."""

    sections: ClassVar = {
        "Compact": {
            "compact": Later("compact_command:compact", "Compact what is due, and write the next request."),
            "import": Later("compact_command:import_", "Bring a transcript in, or what is new in one."),
            "plan": Later("plan_command:plan", "What a compaction would do now; nothing is written."),
            "preview": Later("plan_command:preview", "The same, with the text of the checkpoint."),
            "history": Later("history_command:history", "Every compaction and every attempt at one."),
            "edit": Later("edit_command:edit", "Change what the newest checkpoint tells."),
            "undo": Later("edit_command:undo", "Take the newest compaction back."),
            "pin": Later("session_commands:pin", "Keep an event verbatim."),
        },
        "Look": {
            "sessions": Later("session_commands:sessions", "List the sessions of the database."),
            "scopes": Later("scopes_command:scopes", "List the scopes of a session."),
            "show": Later("session_commands:show", "What the next request holds, or the log."),
            "explain": Later("session_commands:explain", "Where every event is in the next request, and why."),
            "export": Later("session_commands:export", "Write the whole log, every result in full."),
            "doctor": Later("doctor_command:doctor_", "Find what a provider would refuse in a transcript."),
        },
        "Recall": {
            "search": Later("search_command:search", "Find what was said and done, also what no request holds."),
            "load": Later("load_command:load", "Open what a ref names: an event, a body, a compaction."),
            "artifact": Later("artifact_command:artifact", "Look into a big result piece by piece."),
            "embed": Later("embed_command:embed", "Give vectors to what has none yet."),
            "mcp": Later("mcp_command:mcp", "Serve search and load to an agent over MCP."),
        },
        "Background": {
            "work": Later("worker_command:work", "Compact what appends have marked as dirty."),
            "queue": Later("worker_command:queue", "What waits to be compacted."),
        },
        "Erase": {
            "delete": Later("session_commands:delete", "Erase a session."),
            "gc": Later("clean_command:gc", "Erase sessions that are old, and bodies that nothing refers to."),
        },
    }


app = App(
    name="foldmark",
    cls=Foldmark,
    help="Keeps a long-running agent's context small, true and recoverable.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"foldmark {foldmark.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keeps a long-running agent's context small, true and recoverable."""


def main() -> None:
    """Entry point of the `foldmark` command."""
    run(app)


__all__ = ["EXIT_CODES", "app", "main"]


if __name__ == "__main__":
    main()
