"""`foldmark sessions`, `show`, `explain`, `export`, `pin` and `delete`: the sessions of a database, and what is in one.
Knows nothing of how it is found.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from foldmark.cli import output
from foldmark.cli.endings import agreed, told
from foldmark.cli.files import check_out, write_whole
from foldmark.cli.options import WIRE_NAMES, AsJson, Wire
from foldmark.cli.place import TENANT, USER, Database, Place, ScopedPlace, whose
from foldmark.cli.terminal import say, say_json, terminal
from foldmark.cli.work import export_session, next_request
from foldmark.control.erasing import erase
from foldmark.errors import PolicyError
from foldmark.kinds.base import plural
from foldmark.store import Key

_MOST_NAMES = 10


def sessions(*, place: Database, as_json: AsJson = False) -> None:
    """List the sessions of the database, newest first."""
    with told(as_json):
        rows = place.rows()
    if as_json:
        say_json(rows)
    else:
        output.print_sessions(place, rows)


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


def export(
    out: Annotated[Path | None, typer.Option("--out", help="Write here instead of standard output.")] = None,
    wire: Annotated[
        str, typer.Option("--wire", help=f"Form of the log: events (JSON lines), {WIRE_NAMES}.")
    ] = "events",
    raw: Annotated[
        bool, typer.Option("--raw", help="Keep secrets as they are; default: labels stand in their place.")
    ] = False,
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


def pin(
    ref: Annotated[str, typer.Argument(help="The event, such as event:12.")],
    off: Annotated[bool, typer.Option("--off", help="Unpin.")] = False,
    *,
    place: ScopedPlace,
) -> None:
    """Keep an event verbatim from the next compaction on; `foldmark edit --pin` does so at once."""
    with told():
        control = place.open().control
        done = control.unpin(ref) if off else control.pin(ref)
    output.print_chosen(place)
    say(f"{done} is {'unpinned' if off else 'pinned'}; it takes force at the next compaction.")


def delete(
    session: Annotated[str, typer.Argument(help="The whole id of the session to erase.")],
    descendants: Annotated[
        bool,
        typer.Option("--descendants", help="Erase its forks too; sub-agents go with their parent in any case."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    *,
    place: Database,
    as_json: AsJson = False,
) -> None:
    """Erase a session and its sub-agents: events, index, facts, checkpoints and unshared artifacts."""
    with told(as_json):
        found = Place(place.db, session, exact=True)
        key = Key(session=found.info().session, tenant=TENANT, user=USER)  # not opened: its row may be damaged
        children, forks = found.hanging(key.session, forks=descendants)
        if not yes and not agreed(
            f"Erase session {session!r} for good{_with_it(children, forks, names=False)}?", f"session {session!r} stays"
        ):
            say(f"Session {session} stays.")
            raise typer.Exit(1)
        count = erase(found.store(), found.store().artifacts, key, descendants=descendants)
    if as_json:
        say_json({"session": session, "children": children, "forks": forks, "artifacts": count})
        return
    also = f"{_with_it(children, forks)} and" if children or forks else ", with"
    say(f"Session {session} is erased{also} {plural(count, 'artifact')}.")


def _with_it(children: Sequence[str], forks: Sequence[str], *, names: bool = True) -> str:
    """What goes with a session, in words that stand behind it."""
    said = [
        f"{plural(len(found), word)}{f' ({_several(found)})' if names else ''}"
        for found, word in ((children, "sub-agent session"), (forks, "fork"))
        if found
    ]
    return f", with {'' if names else 'its '}{' and '.join(said)}" if said else ""


def _several(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_MOST_NAMES])}{', …' if len(names) > _MOST_NAMES else ''}"
