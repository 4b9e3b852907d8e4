"""`foldmark plan`: what a compaction would do, before it does it. Knows nothing of how that is found out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from foldmark.cli.endings import told
from foldmark.cli.options import (
    DEFAULT_DB,
    AsJson,
    Db,
    Focus,
    Format,
    PolicyName,
    ScopeKey,
    ScopeSees,
    SessionId,
    Strict,
    SummarizerName,
    SummaryWindow,
    Target,
    Upto,
    Window,
)
from foldmark.cli.place import Place, aimed, read_policy
from foldmark.cli.summarizers import summarizer_of
from foldmark.cli.terminal import say, say_json
from foldmark.cli.work import money_json, read_transcript
from foldmark.control import Asks, Listed, Plan, Preview
from foldmark.errors import PolicyError
from foldmark.importing import bring_in
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.refs import compaction_ref, event_ref
from foldmark.session import Session
from foldmark.summarizer import Summarizer


def plan(
    transcript: Annotated[
        Path | None,
        typer.Argument(
            help="A transcript file, or -: planned as if it came in anew, and not imported; default: a session."
        ),
    ] = None,
    window: Window = None,
    target: Target = None,
    policy: PolicyName = None,
    force: Annotated[bool, typer.Option("--force", help="As if it were asked for, whatever the size.")] = False,
    focus: Focus = "",
    upto: Upto = "",
    preview: Annotated[bool, typer.Option("--preview", help="Show the text of the checkpoint too.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="List every event that goes, is kept or stays.")] = False,
    summarizer: SummarizerName = "",
    summary_window: SummaryWindow = None,
    format: Format = "auto",
    strict: Strict = False,
    db: Db = DEFAULT_DB,
    session: SessionId = "",
    scope: ScopeKey = "",
    sees: ScopeSees = "",
    as_json: AsJson = False,
) -> None:
    """What a compaction would do now: what goes and stays, sizes, price, cache. Nothing is written, nobody is asked."""
    with told(as_json):
        rules: Policy | None = rules_of(policy, target)
        asked = summarizer_of(summarizer, summary_window)
        place = Place(db, session)
        if transcript:
            if scope or sees:
                raise PolicyError(
                    "--scope and --sees choose inside a session of the database; a file is planned whole."
                )
            opened = outside(transcript, rules, format=format, strict=strict, session=session, summarizer=asked)
        else:
            opened = place.open(scope=scope, sees=sees, summarizer=asked)
            if not policy:
                rules = None if target is None else aimed({"target": str(target)}, opened.policy)
        look = opened.control.preview if preview else opened.control.plan
        found = look(force=force, focus=focus, upto=upto, window=_window(window), policy=rules)
    if as_json:
        say_json(contract(opened.name, found))
    else:
        _print(opened.name, found, ids=ids)


def rules_of(policy: str | None, target: int | None) -> Policy:
    """The policy of the options, aimed at the target. Raises PolicyError before anything is read."""
    return aimed({"target": "" if target is None else str(target)}, read_policy(policy or "coding"))


def outside(
    transcript: Path, policy: Policy | None, *, format: str, strict: bool, session: str, summarizer: Summarizer | None
) -> Session:
    """The session of a transcript, in memory: nothing of it comes into a database."""
    imported = read_transcript(transcript, format, strict, session)
    store = MemoryStore()
    opened, _ = bring_in(imported, store, policy)
    known = {info.session for info in store.sessions(opened.key.tenant, opened.key.user)}
    chosen = session if session in known else opened.name  # one of its sub-agents, or the transcript itself
    return Session(chosen, store=store, policy=policy, summarizer=summarizer)


def _window(window: int | None) -> int | None:
    if window is not None and window < 1_000:
        raise PolicyError(f"--window is {window}; a context window has at least 1,000 tokens.")
    return window


# -- JSON values


def contract(session: str, found: Plan) -> dict[str, Any]:
    """What `--json` prints."""
    preview = {"checkpoint": found.checkpoint} if isinstance(found, Preview) else {}
    return {
        "session": session,
        "outcome": found.outcome,
        "trigger": found.trigger or None,
        "text": found.text,
        "goes": _events(found.goes),
        "kept": _events(found.kept),
        "stays": _events(found.stays),
        "was": event_ref(found.was) if found.was else None,
        "boundary": event_ref(found.boundary) if found.boundary else None,
        "compaction": compaction_ref(found.version) if found.version else None,
        "before_tokens": found.before,
        "after_tokens": found.after,
        "target_tokens": found.target or None,
        "told_tokens": found.told,
        "asks": _asks(found.asks),
        "money": money_json(found.money),
        "cache": {"alive": found.alive, "cached": found.cached, "written": found.written},
        "warnings": list(found.warnings),
        **preview,
    }


def _events(listed: tuple[Listed, ...]) -> list[dict[str, Any]]:
    return [{"ref": one.ref, "role": one.role, "tokens": one.tokens} for one in listed]


def _asks(asks: Asks | None) -> dict[str, Any] | None:
    if asks is None:
        return None
    return {"model": asks.model, "mode": asks.mode, "calls": asks.calls, "first": asks.first, "tokens": asks.tokens}


# -- readable text


def _print(session: str, found: Plan, *, ids: bool) -> None:
    say(f"session {session}")
    say(str(found))
    if ids:
        for name, listed in (("goes", found.goes), ("kept", found.kept), ("stays", found.stays)):
            for one in listed:
                say(f"{name:<9}{one.ref} {one.role}, {one.tokens:,} tokens")
    if isinstance(found, Preview):
        say(f"\n{found.checkpoint}" if found.version else "\nNo checkpoint would be written.")
