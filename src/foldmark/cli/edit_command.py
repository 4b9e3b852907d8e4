"""`foldmark edit` and `undo`: a person's changes to a checkpoint. Knows nothing of how a version is written."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from foldmark.changing import check_name
from foldmark.checkpoint import Checkpoint, Item
from foldmark.cli.endings import told
from foldmark.cli.options import AsJson, Window, window_of
from foldmark.cli.output import print_chosen, print_scope
from foldmark.cli.place import Place, ScopedPlace
from foldmark.cli.terminal import say, say_json, terminal
from foldmark.errors import PolicyError
from foldmark.narrative import FIELDS
from foldmark.refs import compaction_ref, event_ref, parse
from foldmark.reports import Report
from foldmark.session import Session

_FIELDS = ", ".join(FIELDS)
_PIN = "Show this event verbatim from now on; repeatable."
_UNPIN = "Cover this event again from now on; repeatable."
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=TEXT",
        help=f'field="text" takes the place of all that the field tells; again for more items, field= empties it. '
        f"Fields: {_FIELDS}.",
    ),
]


def edit(
    set_: Sets = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="What `foldmark edit` printed, changed; - for standard input.")
    ] = None,
    pin: Annotated[list[str] | None, typer.Option("--pin", metavar="REF", help=_PIN)] = None,
    unpin: Annotated[list[str] | None, typer.Option("--unpin", metavar="REF", help=_UNPIN)] = None,
    author: Annotated[str, typer.Option("--author", help="Who changes it; stands in the checkpoint.")] = "",
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Change what the newest checkpoint tells, never its facts. Without a change it prints what is told, for --file."""
    with told(as_json):
        opened = place.open()
        newest = next(iter(opened.control.history()[-1:]), None)
        if newest is None or not newest.boundary:
            also = f", or `foldmark pin {pin[0]}` for the next one" if pin else ""
            raise PolicyError(f"Session {opened.name!r} has no checkpoint to edit yet: compact first{also}.")
        report = _edited(opened, newest, set_ or (), file, pin or (), unpin or (), author)
        if report is None:
            print(json.dumps(narrative_json(newest), ensure_ascii=True, indent=2))
            return
    _tell(place, opened, report, as_json)


def undo(
    to: Annotated[
        str,
        typer.Option("--to", help="The compaction to bring back (2, compaction:2; 0: before any); default: the last."),
    ] = "",
    window: Window = None,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Take the newest compaction back, or return to an earlier one. Nothing is lost: an undo can be undone."""
    with told(as_json):
        opened = place.open()
        report = opened.control.undo(int(to) if to.isdecimal() else to or None, window=window_of(window))
    _tell(place, opened, report, as_json)


def narrative_json(made: Checkpoint) -> dict[str, Any]:
    """What a record tells, as `--file` takes it back. `compaction` says which one was looked at."""
    fields: dict[str, list[dict[str, Any]]] = {field: [] for field in FIELDS}
    for item in made.narrative:
        fields[item.field].append(_item_json(item))
    return {"compaction": compaction_ref(made.version), "narrative": fields}


def _item_json(item: Item) -> dict[str, Any]:
    return {"text": item.text, "refs": [event_ref(ref) for ref in item.refs], "why": item.why}


def report_json(opened: Session, report: Report) -> dict[str, Any]:
    """What came of it, as the JSON contract has it."""
    return {
        "outcome": report.outcome,
        "session": opened.name,
        "scope": opened.key.scope,
        "sees": opened.key.sees,
        "compaction": compaction_ref(report.version) if report.version else None,
        "boundary": event_ref(report.boundary) if report.boundary else None,
        "before_tokens": report.before,
        "after_tokens": report.after,
        "text": report.text,
        "warnings": list(report.warnings),
    }


def _tell(place: Place, opened: Session, report: Report, as_json: bool) -> None:
    if as_json:
        say_json(report_json(opened, report))
        return
    print_chosen(place)
    print_scope(opened.key)
    say(report.text)
    if report.before != report.after:
        say(f"size: {report.before:,} → {report.after:,} tokens")
    for warning in report.warnings:
        terminal().tell(f"note: {warning}", "yellow")


# -- what was changed


def _edited(
    opened: Session, newest: Checkpoint, sets: Sequence[str], file: Path | None, pin: Sequence[str],
    unpin: Sequence[str], author: str,
) -> Report | None:  # fmt: skip
    """Make the version that is asked for; None: nothing is. The record that a file was printed from must still be the
    newest (StaleBoundary)."""
    if sets and file:
        raise PolicyError("--set and --file both say what the checkpoint tells: name one of them.")
    if not (sets or file or pin or unpin):
        if author:
            raise PolicyError("--author says whose change it is: name one with --set, --file, --pin or --unpin.")
        return None
    if both := {opened.control.seq_of(ref) for ref in pin} & {opened.control.seq_of(ref) for ref in unpin}:
        raise PolicyError(f"--pin and --unpin both name {event_ref(min(both))}: name it in one of them.")
    expected, fields = newest.version, _of_sets(sets)
    if file:
        expected, fields = _of_file(file, newest)
    narrative = {field: [_as_it_was(one, field, newest) for one in items] for field, items in fields.items()}
    if not (pin or unpin) and all(narrative[field] == _told_of(newest, field) for field in narrative):
        size = opened.peek().tokens.total
        return Report(
            outcome="not_due", session=opened.name, scope=opened.key.scope, version=newest.version,
            boundary=newest.boundary, before=size, after=size,
            text=f"{compaction_ref(newest.version)} tells exactly that already: nothing was changed.",
        )  # fmt: skip
    return opened.control.edit(
        narrative if sets or file else None, pin=pin, unpin=unpin, author=author, expected=expected
    )


def _told_of(made: Checkpoint, field: str) -> list[Item]:
    return [item for item in made.narrative if item.field == field]


def _of_sets(sets: Sequence[str]) -> dict[str, list[Any]]:
    """`field="text"` of every --set; an empty text empties the field."""
    fields: dict[str, list[Any]] = {}
    for one in sets:
        field, found, text = one.partition("=")
        if not found:
            raise PolicyError(f'--set {one!r}: it takes field="text"; fields are {_FIELDS}.')
        check_name(field.strip(), FIELDS, "--set ")
        fields.setdefault(field.strip(), []).extend([text] if text.strip() else [])
    return fields


def _of_file(file: Path, newest: Checkpoint) -> tuple[int, dict[str, list[Any]]]:
    """(the version it was printed from, else the newest; its fields) of a file. A bare mapping of fields will do."""
    try:
        given = json.loads(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    except ValueError as error:
        raise PolicyError(f"--file {file} holds no JSON: {error}. `foldmark edit` prints what it takes.") from error
    fields, seen = given, newest.version
    if isinstance(given, Mapping) and "narrative" in given:
        fields, seen = given["narrative"], _version(given.get("compaction"), newest)
    if not isinstance(fields, Mapping):
        raise PolicyError(f"--file {file} takes a mapping of fields to lists of items, as `foldmark edit` prints it.")
    for field, items in fields.items():
        check_name(field, FIELDS, "--file ")
        if not isinstance(items, list):
            raise PolicyError(f"--file {field} is {items!r:.80}; it takes a list of items ([] empties the field).")
    return seen, dict(fields)


def _version(ref: Any, newest: Checkpoint) -> int:
    if ref is None:
        return newest.version
    address = parse(str(ref))
    if address.kind != "compaction" or address.seq is None:
        raise PolicyError(f"--file: {ref!r} is no compaction; it takes compaction:{newest.version}.")
    return address.seq


def _as_it_was(given: Any, field: str, newest: Checkpoint) -> Any:
    """The very item that stands in the record, when nobody changed it: what code has proven of it stays so."""
    said = {"text": given} if isinstance(given, str) else given
    for item in newest.narrative:
        plain = _item_json(item)
        if item.field == field and isinstance(said, Mapping) and {**plain, "refs": [], "why": "", **said} == plain:
            return item
    return given
