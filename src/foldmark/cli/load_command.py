"""`foldmark load`: opens what a ref names. Knows nothing of where it is kept."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foldmark.cli.endings import told
from foldmark.cli.options import AsJson
from foldmark.cli.output import event_json, event_text, print_chosen, ranged
from foldmark.cli.place import ScopedPlace
from foldmark.cli.terminal import say, say_json, terminal
from foldmark.errors import PolicyError
from foldmark.retrieval import Loaded


def load(
    ref: Annotated[str, typer.Argument(help="event:12, event:12-20, artifact:12#L10-40, call:ID, compaction:3 …")] = "",
    before: Annotated[int, typer.Option("--before", help="Events before it.", min=0)] = 0,
    after: Annotated[int, typer.Option("--after", help="Events after it.", min=0)] = 0,
    rounds: Annotated[bool, typer.Option("--rounds", help="--before and --after count whole rounds.")] = False,
    call: Annotated[str, typer.Option("--call", help="A tool call by its id, with its result; in place of REF.")] = "",
    lines: Annotated[str, typer.Option("--lines", help="Line range, e.g. 10-40.")] = "",
    bytes: Annotated[str, typer.Option("--bytes", help="Byte range, e.g. 0-4096.")] = "",
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Open a ref: an event, lines of an artifact, a tool call, or everything a compaction covers."""
    with told(as_json):
        address = ranged(_address(ref, call, lines or bytes), lines, bytes)
        loaded = place.open().load(address, before=before, after=after, by="rounds" if rounds else "events")
    if as_json:
        say_json(loaded_json(loaded))
    else:
        print_chosen(place)
        _print(loaded)


def _address(ref: str, call: str, span: str) -> str:
    """What is to be opened, by a ref or by a call's id. Raises PolicyError."""
    if bool(ref) == bool(call):
        raise PolicyError("load: name either a ref (event:12, artifact:12) or --call with the id of a tool call.")
    if call and span:
        raise PolicyError("load: --lines and --bytes are of a body; load the call, then the artifact that it names.")
    return ref or f"call:{call.removeprefix('call:')}"


def loaded_json(loaded: Loaded) -> dict[str, Any]:
    """What was loaded as the JSON contract has it."""
    out: dict[str, Any] = {"ref": loaded.ref}
    if loaded.events:
        pairs = zip(loaded.events, loaded.times, strict=True)
        out["events"] = [event_json(event, loaded.session, time) for event, time in pairs]
    else:
        out["text"] = loaded.text
    out["next"] = loaded.next or None
    return out


def _print(loaded: Loaded) -> None:
    if loaded.events:
        say("\n\n".join(event_text(event, session=loaded.session) for event in loaded.events))
    else:
        say(loaded.text, end="" if loaded.text.endswith("\n") else "\n")
    if loaded.next:
        terminal().tell(f"next: {loaded.next}", "dim")
