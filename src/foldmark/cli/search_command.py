"""`foldmark search`: finds what was said and done, with limits. Knows nothing of ranking."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from foldmark import moments
from foldmark.cli.embedders import EmbedderName, embedder_of, note_of
from foldmark.cli.endings import told
from foldmark.cli.nothing_found import not_searched, nothing_found, when
from foldmark.cli.options import AsJson
from foldmark.cli.output import print_chosen, print_scope
from foldmark.cli.place import ScopedPlace
from foldmark.cli.terminal import say_json, terminal
from foldmark.errors import PolicyError
from foldmark.reports import Looked, Observation
from foldmark.retrieval import Hit
from foldmark.seeking import ROLES, Where

_WHEN = "A date or time (2026-03-01, 2026-03, 2026-03-01T14:30, UTC), yesterday, 3d, 12h ago, last week, last Tuesday."
_DATE = re.compile(r"\d{4}(?:\d{4})?(?!\d)")
"""What begins so says itself which moment it is."""


def search(
    query: Annotated[
        list[str] | None,
        typer.Argument(help="Words, names, a path, an error message …; none: the newest that the options allow."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="How many hits at most.", min=1, max=200)] = 10,
    where: Annotated[
        Where,
        typer.Option(
            "--where",
            help="session, covered (what a compaction covers), children (and its sub-agents), others (the user's other "
            "sessions) or user (all).",
        ),
    ] = "session",
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role", metavar="ROLE", help="Who speaks: user, assistant, tool, injected or system; repeatable."
        ),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME", help="Calls and results of this tool (* for any letters); repeatable."),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="PATH", help="What names this path, or its last parts; repeatable."),
    ] = None,
    branch: Annotated[
        list[str] | None,
        typer.Option("--branch", metavar="KEY", help="Events with this key, and all below it; repeatable."),
    ] = None,
    since: Annotated[str, typer.Option("--since", help=f"{_WHEN} What has no date is left out.")] = "",
    until: Annotated[str, typer.Option("--until", help="The same, to its end.")] = "",
    embedder: EmbedderName = "",
    *,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """Find events and artifacts of the session, also those no request holds any more."""
    with told(as_json):
        limits, words = limits_of(role, tool, file, branch, since, until), " ".join(query or ())
        if not words.strip() and not limits:
            raise PolicyError("search: say what to look for, or limit it: --role, --tool, --file, --since and others.")
        seen: list[Observation] = []
        chosen = embedder_of(embedder)
        opened = place.open(embedder=chosen, observer=seen.append)
        hits = opened.search(words, limit=limit, where=where, **limits)
        vain = [] if hits or as_json else nothing_found(opened, words, where, limits)
        beside = not_searched(opened, where) if hits and not as_json else ""
    taken = [said_of("--since", since, limits), said_of("--until", until, limits)]
    for note in (note_of(chosen), *taken, *(one.remark for one in seen if isinstance(one, Looked))):
        if note:
            terminal(errors=True).tell(f"note: {note}", "yellow")
    if as_json:
        say_json([hit_json(hit) for hit in hits])
    else:
        print_chosen(place)
        print_scope(opened.key)
        _print(hits, vain, beside)


def limits_of(
    role: Sequence[str] | None, tool: Sequence[str] | None, file: Sequence[str] | None, branch: Sequence[str] | None,
    since: str, until: str,
) -> dict[str, Any]:  # fmt: skip
    """The limits that were given, as a search takes them. Raises PolicyError for an unknown role, an unreadable date,
    and for dates between which nothing lies."""
    if unknown := next((one for one in role or () if one not in ROLES), None):
        raise PolicyError(f"--role takes one of {', '.join(ROLES)}, not {unknown!r}.")
    found: dict[str, Any] = {
        "roles": tuple(role or ()), "tools": tuple(tool or ()), "files": tuple(file or ()),
        "branches": tuple(branch or ()), "since": moment(since, "--since"), "until": moment(until, "--until", end=True),
    }  # fmt: skip
    if None not in (found["since"], found["until"]) and found["since"] > found["until"]:
        raise PolicyError(f"--since {since!r} is later than --until {until!r}: nothing lies between them. Swap them?")
    return {name: value for name, value in found.items() if value not in ((), None)}


def moment(text: str, option: str, *, end: bool = False, now: float | None = None) -> float | None:
    """A date, time or stretch back from now (today, yesterday, 3d) in Unix seconds: its beginning, or its `end`. None
    for no text. Raises PolicyError."""
    return moments.moment(text, option, now=time.time() if now is None else now, end=end)


def said_of(option: str, text: str, limits: dict[str, Any]) -> str:
    """Which moment was taken for what is no plain date; empty for one, and where nothing was said."""
    found = limits.get(option.removeprefix("--"))
    return "" if found is None or _DATE.match(text.strip()) else f"{option} {text!r} is {when(found)}"


def hit_json(hit: Hit) -> dict[str, Any]:
    """A hit as the JSON contract has it."""
    return {
        "ref": hit.ref,
        "date": hit.date,
        "speaker": hit.speaker,
        "snippet": hit.snippet,
        "score": hit.score,
        "session": hit.session or None,
        "at": hit.at or None,
        "why": hit.why or None,
    }


def _print(hits: Sequence[Hit], vain: Sequence[str], beside: str) -> None:
    """Hits and what was not searched for them, or why there are none."""
    out = terminal()
    if vain:
        out.tell(" ".join(vain))
    for hit in hits:
        where = f" in {hit.session}" if hit.session else ""
        out.tell(f"{hit.at or hit.ref}{where} · {hit.speaker} · {hit.date or 'no date'} · {hit.score:.2f}", "bold")
        if hit.why:
            out.tell(f"({hit.why})", "dim")
        out.tell(f"{hit.snippet}\n")
    if beside:
        out.tell(beside, "dim")
