"""`foldmark artifact`: looks into a big result piece by piece. Knows nothing of how bodies are read."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
import typer

from foldmark.cli.commands import App, Commands
from foldmark.cli.endings import told as ended
from foldmark.cli.options import AsJson
from foldmark.cli.output import print_chosen
from foldmark.cli.place import Place, ScopedPlace
from foldmark.cli.terminal import say, say_json, terminal
from foldmark.errors import PolicyError
from foldmark.opening import (
    Answer,
    Matches,
    Opened,
    Page,
    Sample,
    Stat,
    Take,
    grep,
    head,
    query,
    read_lines,
    stat,
    table,
    tail,
    told,
)
from foldmark.refs import parse

Look = Stat | Page | Matches | Answer | Sample
artifact = App(
    name="artifact",
    cls=Commands,
    help="Look into a big result piece by piece: what it is, its lines, a search, a query, a sample of a table.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Body = Annotated[str, typer.Argument(help="artifact:12, artifact:12#L200-900, event:12, call:ID, artifact:sha256:…")]
Count = Annotated[int, typer.Option("--lines", help="How many lines.", min=1)]


@artifact.command("stat")
def artifact_stat(
    ref: Body,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """What a body is: size, lines, tokens, encoding, and what it holds."""
    with ended(as_json):
        found = stat(_opened(ref, place, quiet=as_json))
    _tell(found, as_json)


@artifact.command("head")
def artifact_head(
    ref: Body,
    lines: Count = 40,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Its first lines, at most 8,000 characters."""
    with ended(as_json):
        found = head(_opened(ref, place, quiet=as_json), lines)
    _tell(found, as_json)


@artifact.command("tail")
def artifact_tail(
    ref: Body,
    lines: Count = 40,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Its last lines, at most 8,000 characters."""
    with ended(as_json):
        found = tail(_opened(ref, place, quiet=as_json), lines)
    _tell(found, as_json)


@artifact.command("lines")
def artifact_lines(
    ref: Body,
    lines: Annotated[str, typer.Argument(help="120-160; the first and the last line, both included.")] = "",
    named: Annotated[str, typer.Option("--lines", help="The same, as `foldmark load` takes it.")] = "",
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """A range of its lines, at most 8,000 characters."""
    with ended(as_json):
        if bool(lines) == bool(named):
            raise PolicyError("artifact lines: say once which lines, as 120-160 or as --lines 120-160.")
        asked = lines or named
        span = re.fullmatch(r"([1-9][0-9]{0,17})(?:-([0-9]{1,18}))?", asked)
        if not span or int(span[2] or span[1]) < int(span[1]):
            raise PolicyError(f"{asked!r} is no range of lines; write 120-160.")
        found = read_lines(_opened(ref, place, quiet=as_json), int(span[1]), int(span[2] or span[1]))
    _tell(found, as_json)


@artifact.command("grep")
def artifact_grep(
    ref: Body,
    pattern: Annotated[str, typer.Argument(help="Plain text, or a regular expression.")],
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", help="Capitals and small letters alike (a model's tool: case=ignore).")
    ] = False,
    context: Annotated[int, typer.Option("--context", help="Lines before and after each match.", min=0, max=20)] = 0,
    limit: Annotated[int, typer.Option("--limit", help="Matching lines at most.", min=1, max=1000)] = 50,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Its lines that match a pattern: at most 8,000 characters, in at most 2 seconds."""
    with ended(as_json):
        body = _opened(ref, place, quiet=as_json)
        found = grep(body, pattern, ignore_case=ignore_case, context=context, limit=limit)
    _tell(found, as_json)


@artifact.command("json")
def artifact_json(
    ref: Body,
    expression: Annotated[str, typer.Argument(help="A JMESPath query; @ is all of it.")] = "@",
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Ask it a JMESPath query, where it is JSON or JSON lines of at most 16 MiB."""
    with ended(as_json):
        found = query(_opened(ref, place, quiet=as_json), expression)
    _tell(found, as_json)


@artifact.command("table")
def artifact_table(
    ref: Body,
    rows: Annotated[int, typer.Option("--rows", help="Rows at most.", min=1, max=200)] = 12,
    take: Annotated[Take, typer.Option("--take", help="spread (evenly over all), first or last.")] = "spread",
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="TEST",
            help="A condition: status=failed, name~smith, price>=10; repeatable, all must hold.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", metavar="NAME", help="A column to show; repeatable (a model's tool: columns); default: all."
        ),
    ] = None,
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """A sample of a table (CSV and its kin, Markdown, boxes, JSON objects): columns, row count, some rows."""
    with ended(as_json):
        body = _opened(ref, place, quiet=as_json)
        found = table(body, rows=rows, take=take, where=where or (), columns=column or ())
        if take == "spread" and found.next and _line(found.next) <= _line(found.rows[-1].ref if found.rows else ""):
            found = msgspec.structs.replace(found, next="")  # rows are missing between all of them: nothing is next
    _tell(found, as_json)


def _line(ref: str) -> int:
    """The first line that a ref opens; 0 where it names none."""
    lines = parse(ref).lines if ref else None
    return lines[0] if lines else 0


def _opened(ref: str, place: Place, *, quiet: bool) -> Opened:
    opened = place.open()
    if not quiet:
        print_chosen(place)
    return opened.open(ref)


def look_json(look: Look) -> dict[str, Any]:
    """A look as the JSON contract has it."""
    value: dict[str, Any] = msgspec.to_builtins(look)
    for name in ("next", "note", "media_type"):
        if name in value:
            value[name] = value[name] or None
    return value


def _tell(look: Look, as_json: bool) -> None:
    """Print a look. Lines and values stand alone, so that they can be piped; what is more of a report has a head."""
    if as_json:
        say_json(look_json(look))
        return
    found, out = told(look), terminal()
    if isinstance(look, Stat | Sample) or not found.text:
        out.tell(f"{found.ref}: {found.head}", "bold")
    if found.text:
        say(found.text, end="" if found.text.endswith("\n") else "\n")
    if found.note:
        out.tell(f"note: {found.note}", "yellow")
    if found.next:
        out.tell(f"next: {found.next}", "dim")
