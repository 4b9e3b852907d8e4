"""`foldmark gc`: erases sessions that are older than their policy keeps them, and bodies that nobody refers to. Knows
nothing of how either is found.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foldmark.cli.endings import told
from foldmark.cli.options import AsJson
from foldmark.cli.place import TENANT, USER, Database
from foldmark.cli.terminal import say, say_json
from foldmark.policy import Policy
from foldmark.retention import Expired, PolicyOf, expire, kept_policy


def gc(
    days: Annotated[
        float, typer.Option("--days", help="Of bodies without an event only those older than so many days.", min=0)
    ] = 1.0,
    session_days: Annotated[
        float | None,
        typer.Option(
            "--session-days",
            help="Erase all sessions without an event for so many days; default: as the policy kept with each says.",
            min=0,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and erase nothing.")] = False,
    *,
    place: Database,
    as_json: AsJson = False,
) -> None:
    """Erase sessions that are older than their policy keeps them, and sweep artifact bodies that no event refers to."""
    with told(as_json):
        rule = kept_policy if session_days is None else _for_all(session_days)
        done = expire(place.store(), policy_of=rule, tenant=TENANT, user=USER, dry_run=dry_run)
        orphans = place.sweep(days, dry_run=dry_run)
    if as_json:
        say_json(contract(done, orphans, dry_run=dry_run))
    else:
        _print(done, orphans, dry_run=dry_run)


def _for_all(days: float) -> PolicyOf:
    policy = Policy.coding(retention={"session_days": days})
    return lambda info: policy


def contract(done: Expired, orphans: int, *, dry_run: bool) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "dry_run": dry_run,
        "sessions": list(done.sessions),
        "session_artifacts": done.artifacts,
        "kept_for_forks": {name: list(others) for name, others in done.kept_for_forks.items()},
        "returned": list(done.returned),
        "at_work": list(done.at_work),
        "unread": done.unread,
        "orphans": orphans,
    }


def _print(done: Expired, orphans: int, *, dry_run: bool) -> None:
    for name in done.sessions:
        say(f"session {name} {'would be' if dry_run else 'is'} erased")
    for name, others in done.kept_for_forks.items():
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        say(f"session {name} is old and stays for {', '.join(others[:3])}{more}")
    for name in done.returned:
        say(f"session {name} stays: it got an event or a fork just now")
    for name in done.at_work:
        say(f"session {name} stays: a worker is at it")
    for name, reason in done.unread.items():
        say(f"session {name} stays: its policy cannot be read. {reason}")
    if done.artifacts:
        say(f"{done.artifacts} artifact(s) of erased sessions removed.")
    say(f"{orphans} orphaned artifact(s) {'would be ' if dry_run else ''}removed.")
