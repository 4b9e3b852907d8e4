"""`foldmark search`: finds what was said and done, with limits. Knows nothing of ranking."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from foldmark.cli.embedders import EmbedderName, embedder_of, note_of
from foldmark.cli.endings import told
from foldmark.cli.options import DEFAULT_DB, AsJson, Db, ScopeKey, ScopeSees, SessionId
from foldmark.cli.output import print_scope
from foldmark.cli.place import Place
from foldmark.cli.terminal import say_json, terminal
from foldmark.errors import PolicyError
from foldmark.reports import Looked, Observation
from foldmark.retrieval import Hit
from foldmark.seeking import ROLES, Where
from foldmark.tools import asked

_AGO = re.compile(r"(\d{1,5})\s*(d|h|days?|hours?)(?: ago)?")
_WHEN = "A date or time (2026-03-01, 2026-03, 2026-03-01T14:30, UTC), today, yesterday, 3d or 12h ago."


def search(
    query: Annotated[
        str, typer.Argument(help="Words, names, a path, an error message …; none: the newest that the options allow.")
    ] = "",
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
        typer.Option("--role", help="Who speaks: user, assistant, tool, injected or system; may be repeated."),
    ] = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", help="Calls and results of this tool (* for any letters); repeatable.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", help="What names this path, or its last parts; repeatable.")
    ] = None,
    branch: Annotated[
        list[str] | None, typer.Option("--branch", help="Events with this key, and all below it; repeatable.")
    ] = None,
    since: Annotated[str, typer.Option("--since", help=_WHEN)] = "",
    until: Annotated[str, typer.Option("--until", help="The same, to its end.")] = "",
    embedder: EmbedderName = "",
    db: Db = DEFAULT_DB,
    session: SessionId = "",
    scope: ScopeKey = "",
    sees: ScopeSees = "",
    as_json: AsJson = False,
) -> None:
    """Find events and artifacts of the session, also those no request holds any more."""
    with told(as_json):
        limits = limits_of(role, tool, file, branch, since, until)
        if not query.strip() and not limits:
            raise PolicyError("search: say what to look for, or limit it: --role, --tool, --file, --since and others.")
        seen: list[Observation] = []
        chosen = embedder_of(embedder)
        opened = Place(db, session).open(scope=scope, sees=sees, embedder=chosen, observer=seen.append)
        hits = opened.search(query, limit=limit, where=where, **limits)
    for note in (note_of(chosen), *(one.remark for one in seen if isinstance(one, Looked))):
        if note:
            terminal(errors=True).tell(f"note: {note}", "yellow")
    if as_json:
        say_json([hit_json(hit) for hit in hits])
    else:
        print_scope(opened.key)
        _print(query, hits, limited=bool(limits))


def limits_of(
    role: Sequence[str] | None, tool: Sequence[str] | None, file: Sequence[str] | None, branch: Sequence[str] | None,
    since: str, until: str,
) -> dict[str, Any]:  # fmt: skip
    """The limits that were given, as a search takes them. Raises PolicyError for an unknown role or unreadable date."""
    if unknown := next((one for one in role or () if one not in ROLES), None):
        raise PolicyError(f"--role takes one of {', '.join(ROLES)}, not {unknown!r}.")
    found: dict[str, Any] = {
        "roles": tuple(role or ()), "tools": tuple(tool or ()), "files": tuple(file or ()),
        "branches": tuple(branch or ()), "since": moment(since, "--since"), "until": moment(until, "--until", end=True),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in ((), None)}


def moment(text: str, option: str, *, end: bool = False, now: float | None = None) -> float | None:
    """A date, time or stretch back from now (today, yesterday, 3d) in Unix seconds: its beginning, or its `end`. None
    for no text. Raises PolicyError."""
    today = datetime.fromtimestamp(time.time() if now is None else now, UTC)
    word = text.strip().lower()
    if ago := _AGO.fullmatch(word):
        return (today - timedelta(**{"days" if ago[2][0] == "d" else "hours": int(ago[1])})).timestamp()
    if word in ("today", "yesterday"):
        word = (today - timedelta(days=word == "yesterday")).date().isoformat()
    try:
        return asked.moment({option: word.upper()}, option, end=end)
    except asked.Unclear as error:
        raise PolicyError(f"{str(error).removesuffix('.')}; today, yesterday and 3d are taken too.") from None


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


def _print(query: str, hits: Sequence[Hit], *, limited: bool) -> None:
    out = terminal()
    if not hits:
        fewer = " Or limit it less." if limited else ""
        out.tell(f"No event matches {query!r}. Try fewer or other words, or a name as it was written.{fewer}")
    for hit in hits:
        where = f" in {hit.session}" if hit.session else ""
        out.tell(f"{hit.at or hit.ref}{where} · {hit.speaker} · {hit.date or 'no date'} · {hit.score:.2f}", "bold")
        if hit.why:
            out.tell(f"({hit.why})", "dim")
        out.tell(f"{hit.snippet}\n")
