"""The command line: `foldmark compact` and the commands around it. Knows nothing of how anything is done."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from foldmark.cli import doctor_command, output
from foldmark.cli.artifact_command import artifact
from foldmark.cli.clean_command import gc
from foldmark.cli.commands import App, Commands
from foldmark.cli.compacting import Asked, compact_session, compact_transcript
from foldmark.cli.edit_command import edit, undo
from foldmark.cli.embed_command import embed
from foldmark.cli.endings import EXIT_CODES, agreed, told
from foldmark.cli.files import check_out, write_whole
from foldmark.cli.history_command import history
from foldmark.cli.load_command import load
from foldmark.cli.mcp_command import mcp
from foldmark.cli.options import (
    WIRE_NAMES,
    AsJson,
    Focus,
    Format,
    PolicyName,
    Reading,
    Target,
    Transcript,
    Upto,
    Window,
    Wire,
    Writer,
)
from foldmark.cli.place import Database, Place, ScopedPlace, whose
from foldmark.cli.plan_command import plan, preview
from foldmark.cli.scopes_command import scopes
from foldmark.cli.search_command import search
from foldmark.cli.summarizers import summarizer_of
from foldmark.cli.terminal import run, say, say_json, terminal, whoever_reads
from foldmark.cli.work import export_session, import_transcript, next_request
from foldmark.cli.worker_command import queue, work
from foldmark.errors import PolicyError

app = App(
    name="foldmark",
    cls=Commands,
    help="Keeps a long-running agent's context small, true and recoverable.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"foldmark {version('foldmark')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keeps a long-running agent's context small, true and recoverable."""


@app.command()
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


@app.command("import")
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


@app.command()
def sessions(*, place: Database, as_json: AsJson = False) -> None:
    """List the sessions of the database, newest first."""
    with told(as_json):
        rows = place.rows()
    if as_json:
        say_json(rows)
    else:
        output.print_sessions(place, rows)


@app.command()
def show(
    log: Annotated[bool, typer.Option("--log", help="Show the event log instead of the next request.")] = False,
    wire: Wire = "",
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Show what the next request holds, as readable text."""
    with told(as_json):
        if log and wire:
            raise PolicyError("--log shows events as they are, and --wire is of the next request: name one of them.")
        opened = place.open()
        if log:
            events = opened.store.log(opened.key)
            value: Any = [output.event_json(event) for event in events]
            text = output.log_text(events)
        else:
            made = next_request(opened, wire)
            value, text = made.payload(), output.request_text(made)
    if as_json:
        say_json(value)
    else:
        output.print_chosen(place)
        output.print_scope(opened.key)
        say(text)


@app.command()
def explain(
    all: Annotated[bool, typer.Option("--all", help="A line for every event; default: runs are joined.")] = False,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Say for every event whether it is raw, demoted, kept, covered or left out, and why."""
    with told(as_json):
        opened = place.open()
        found = opened.explain()
        expected = opened.next_compaction()
    if as_json:
        say_json([output.entry_json(entry) for entry in found])
    else:
        output.print_explain(opened, found, expected, every=all)


app.command()(plan)
app.command()(preview)
app.command()(history)
app.command()(edit)
app.command()(undo)
app.command()(mcp)
app.command()(search)
app.command()(embed)
app.command()(load)
app.add_typer(artifact)


@app.command()
def export(
    out: Annotated[Path | None, typer.Option("--out", help="Write here instead of standard output.")] = None,
    wire: Annotated[str, typer.Option("--wire", help=f"events (JSON lines), {WIRE_NAMES}.")] = "events",
    raw: Annotated[bool, typer.Option("--raw", help="Keep secrets; default: they are replaced by labels.")] = False,
    *,
    place: ScopedPlace,
) -> None:
    """Write the whole log, every result in full."""
    with told():
        if out:
            check_out(out, "--out")
        opened = place.open()
        text, lost = export_session(opened, wire, raw=raw)
        aside = terminal(errors=True)
        output.print_chosen(place)
        if not opened.key.is_whole:
            aside.tell(f"session {whose(opened.key)}", "dim")
        for line in lost:
            aside.tell(f"note: {wire} cannot carry {line}", "yellow")
        if out:
            write_whole(out, text.encode("utf-8", "surrogatepass"))
    if not out:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))


@app.command()
def pin(
    ref: Annotated[str, typer.Argument(help="event:12")],
    off: Annotated[bool, typer.Option("--off", help="Unpin.")] = False,
    *,
    place: ScopedPlace,
) -> None:
    """Keep an event verbatim from the next compaction on."""
    with told():
        control = place.open().control
        done = control.unpin(ref) if off else control.pin(ref)
    output.print_chosen(place)
    say(f"{done} is {'unpinned' if off else 'pinned'}; it takes force at the next compaction.")


@app.command()
def delete(
    session: Annotated[str, typer.Argument(help="The session to erase.")],
    descendants: Annotated[bool, typer.Option("--descendants", help="Erase forks and children too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    *,
    place: Database,
) -> None:
    """Erase a session: events, index, facts, checkpoints and unshared artifacts."""
    with told():
        opened = Place(place.db, session, exact=True).open()
        if not yes and not agreed(f"Erase session {session!r} for good?", f"session {session!r} stays"):
            say(f"Session {session} stays.")
            raise typer.Exit(1)
        count = opened.control.delete(descendants=descendants)
    say(f"Session {session} is erased, with {count} artifact(s).")


app.command()(gc)
app.command()(scopes)
app.command()(work)
app.command()(queue)


@app.command()
def doctor(
    transcript: Transcript,
    repair: Annotated[
        Path | None, typer.Option("--repair", help="Write a working copy in the same format here.")
    ] = None,
    without_thinking: Annotated[
        bool, typer.Option("--without-thinking", help="Leave all thinking out of the copy.")
    ] = False,
    window: Annotated[
        int | None, typer.Option("--window", help="Measure the whole against this window, in tokens.")
    ] = None,
    format: Format = "auto",
    as_json: AsJson = False,
) -> None:
    """Find what a provider would refuse in a transcript and what will go wrong soon; exit code 3 when there is any."""
    with told(as_json):
        code, said = doctor_command.check(
            transcript, repair=repair, without_thinking=without_thinking, window=window, format=format, as_json=as_json
        )
    whoever_reads(lambda: doctor_command.tell(said))
    raise typer.Exit(code)


def main() -> None:
    """Entry point of the `foldmark` command."""
    run(app)


__all__ = ["EXIT_CODES", "app", "main"]


if __name__ == "__main__":
    main()
