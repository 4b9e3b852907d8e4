"""`foldmark compact` and `import`: bring a transcript in, and make its next request. Knows nothing of how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldmark.cli import output
from foldmark.cli.compacting import Asked, compact_session, compact_transcript
from foldmark.cli.endings import EXIT_CODES, told
from foldmark.cli.options import (
    AsJson,
    Focus,
    PolicyName,
    Reading,
    Target,
    Transcript,
    Upto,
    Window,
    Wire,
    Writer,
)
from foldmark.cli.place import Place, ScopedPlace
from foldmark.cli.summarizers import summarizer_of
from foldmark.cli.terminal import say_json, whoever_reads
from foldmark.cli.work import import_transcript


def compact(
    transcript: Annotated[
        Path | None, typer.Argument(help="A transcript file, or - for standard input; default: a session of --db.")
    ] = None,
    *,
    window: Window = None,
    target: Target = None,
    policy: PolicyName = None,
    wire: Wire = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write the next request here, as the API takes it.")] = None,
    model: Annotated[str, typer.Option("--model", help="The model that will read it; written into --out.")] = "",
    max_output: Annotated[int | None, typer.Option("--max-output", help="Tokens reserved for the answer.")] = None,
    writer: Writer,
    focus: Focus = "",
    upto: Upto = "",
    force: Annotated[
        bool, typer.Option("--force", help="Compact now, whatever the size, also right after an undo.")
    ] = False,
    reading: Reading,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Import or follow a transcript (or take a session of the database), compact it when due, and write the next
    request."""
    with told(as_json):
        asked = Asked(
            window=window, target=target, policy=policy, wire=wire, out=out, model=model, max_output=max_output,
            focus=focus, upto=upto, force=force, summarizer=summarizer_of(writer.summarizer, writer.summary_window),
        )  # fmt: skip
        if transcript is None:
            reading.must_be_unsaid()
            done = compact_session(place, asked)
        else:
            place.must_be_whole()
            done = compact_transcript(place, transcript, asked, reading)
    whoever_reads(lambda: say_json(done.contract) if as_json else output.print_compaction(done))
    raise typer.Exit(EXIT_CODES[str(done.contract["outcome"])])


def import_(
    transcript: Transcript,
    policy: PolicyName = None,
    *,
    reading: Reading,
    place: Place,
    as_json: AsJson = False,
) -> None:
    """Import a transcript, or follow a grown one: only new events come in."""
    with told(as_json):
        brought = import_transcript(place, transcript, reading, policy=policy)
    if as_json:
        say_json(brought)
    else:
        output.print_import(brought)
