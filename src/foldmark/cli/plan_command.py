"""`foldmark plan` and `preview`: what a compaction would do, before it does it. Knows nothing of how that is found
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from foldmark.cli.compacting import idle, money_json, offered
from foldmark.cli.endings import told
from foldmark.cli.options import AsJson, Focus, PolicyName, Reading, Target, Upto, Window, Writer, window_of
from foldmark.cli.place import Place, ScopedPlace, aimed, read_policy, remembered, targeted, whose
from foldmark.cli.summarizers import summarizer_of
from foldmark.cli.terminal import say, say_json
from foldmark.cli.work import read_transcript
from foldmark.control import Asks, Listed, Plan, Preview
from foldmark.errors import NotFound
from foldmark.importing import bring_in
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.refs import compaction_ref, event_ref
from foldmark.session import Session
from foldmark.store import Key
from foldmark.summarizer import Summarizer

Planned = Annotated[
    Path | None,
    typer.Argument(
        help="A transcript file, or -: planned as if it came in anew, and not imported; default: a session."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="What one would do now, whatever the size, also where none is due.")
]
Ids = Annotated[bool, typer.Option("--ids", help="List every event that goes, is kept or stays.")]


@dataclass(frozen=True, kw_only=True)
class Aim:
    """Which compaction is looked at."""

    window: Window = None
    target: Target = None
    policy: PolicyName = None
    force: Force = False
    focus: Focus = ""
    upto: Upto = ""


def plan(
    transcript: Planned = None,
    *,
    aim: Aim,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show the text of the checkpoint too; `foldmark preview` is the same.")
    ] = False,
    ids: Ids = False,
    writer: Writer,
    reading: Reading,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """What a compaction would do now: what goes and stays, sizes, price, cache. Nothing is written, nobody is asked."""
    with told(as_json):
        given = read_policy(aim.policy) if aim.policy else None
        targeted(given or Policy.coding(), aim.target)  # what makes no sense is told before anything is read
        asked = summarizer_of(writer.summarizer, writer.summary_window)
        if transcript:
            place.must_be_whole()
            rules = targeted(given or Policy.coding(), aim.target)
            opened = outside(transcript, rules, reading, place, summarizer=asked)
        else:
            reading.must_be_unsaid()
            meta = place.info().meta
            rules = targeted(given or aimed(meta, remembered(meta)), aim.target)
            opened = place.open(summarizer=asked, policy=rules)
        look = opened.control.preview if preview else opened.control.plan
        found = look(force=aim.force, focus=aim.focus, upto=aim.upto, window=window_of(aim.window))
        coming = _coming(opened, rules, aim.window) if found.outcome == "not_due" else None
    unused = idle(aim.upto, found.outcome, aim.force)
    if as_json:
        say_json(contract(opened.key, found, coming, unused))
    else:
        smaller = None
        if found.outcome in ("not_due", "ineffective"):
            smaller = offered(opened, found.sent, opened.peek().tokens.static, window_of(aim.window))
        _print(opened.key, found, coming, unused, smaller, ids=ids)


def preview(
    transcript: Planned = None,
    *,
    aim: Aim,
    ids: Ids = False,
    writer: Writer,
    reading: Reading,
    place: ScopedPlace,
    as_json: AsJson = False,
) -> None:
    """What a compaction would do now, and the text of the checkpoint it would write: `plan --preview`."""
    plan(transcript, aim=aim, preview=True, ids=ids, writer=writer, reading=reading, place=place, as_json=as_json)


def outside(
    transcript: Path, policy: Policy | None, reading: Reading, place: Place, *, summarizer: Summarizer | None
) -> Session:
    """The session of a transcript (or the one of its sub-agents that is named), in memory: nothing of it comes into a
    database. Raises NotFound."""
    session, imported = place.session, read_transcript(transcript, reading, place)
    store = MemoryStore()
    opened, _ = bring_in(imported, store, policy)
    known = [info.session for info in store.sessions(opened.key.tenant, opened.key.user)]
    if session and session not in known:
        names = f"{', '.join(known[:10])}{', …' if len(known) > 10 else ''}"
        raise NotFound(
            session,
            f"{transcript.name} holds no session {session!r}. It holds: {names}. Without a file, --session names one "
            "of the database.",
        )
    return Session(session or opened.name, store=store, policy=policy, summarizer=summarizer)


def _coming(opened: Session, rules: Policy, window: int | None) -> tuple[int, str]:
    """(size of the whole request at which a compaction is expected, why), in the window that was asked about."""
    if window is None:
        return opened.next_compaction()
    asked = Session(
        opened.name, store=opened.store, policy=rules.replace(window=window), summarizer=opened.summarizer,
        scope=opened.key.scope, sees=opened.key.sees,
    )  # fmt: skip
    return asked.next_compaction()


# -- JSON values


def contract(key: Key, found: Plan, coming: tuple[int, str] | None, unused: Sequence[str]) -> dict[str, Any]:
    """What `--json` prints."""
    preview = {"checkpoint": found.checkpoint} if isinstance(found, Preview) else {}
    return {
        "session": key.session,
        "scope": key.scope,
        "sees": key.sees,
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
        "sent_tokens": found.sent,
        "after_tokens": found.after,
        "target_tokens": found.target or None,
        "told_tokens": found.told,
        "asks": _asks(found.asks),
        "money": money_json(found.money),
        "cache": {"alive": found.alive, "cached": found.cached, "written": found.written},
        "next_tokens": coming[0] if coming else None,
        "next_why": coming[1] if coming else None,
        "warnings": [*found.warnings, *unused],
        **preview,
    }


def _events(listed: tuple[Listed, ...]) -> list[dict[str, Any]]:
    return [{"ref": one.ref, "role": one.role, "tokens": one.tokens} for one in listed]


def _asks(asks: Asks | None) -> dict[str, Any] | None:
    if asks is None:
        return None
    return {"model": asks.model, "mode": asks.mode, "calls": asks.calls, "first": asks.first, "tokens": asks.tokens}


# -- readable text


def _print(
    key: Key, found: Plan, coming: tuple[int, str] | None, unused: Sequence[str], smaller: int | None, *, ids: bool
) -> None:
    say(f"session {whose(key)}")
    say(str(found))
    half = f"--target {smaller} shows one to about half the size" if smaller else ""
    if coming:
        say(f"now      {f'{half}; ' if half else ''}--force shows one whatever the size")
    elif half:
        say(f"now      {half}")
    if coming:
        say(f"next     a compaction is due near {coming[0]:,} tokens ({coming[1]})")
    for line in unused:
        say(f"note     {line}")
    if ids:
        for name, listed in (("goes", found.goes), ("kept", found.kept), ("stays", found.stays)):
            for one in listed:
                say(f"{name:<9}{one.ref} {one.role}, {one.tokens:,} tokens")
    if isinstance(found, Preview):
        say(f"\n{found.checkpoint}" if found.version else "\nNo checkpoint would be written.")
