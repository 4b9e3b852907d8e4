"""`foldmark scopes`: the scopes of a session and how far each is compacted. Knows nothing of who compacts them."""

from __future__ import annotations

import time
from typing import Any

from rich.table import Table

from foldmark.cli.endings import told
from foldmark.cli.options import AsJson
from foldmark.cli.output import cell
from foldmark.cli.place import Place
from foldmark.cli.terminal import say, say_json, terminal
from foldmark.refs import event_ref
from foldmark.session import Session
from foldmark.store import Key, Work


def scopes(*, place: Place, as_json: AsJson = False) -> None:
    """The scopes of a session that exist (requested, enlisted or compacted), and how far each is compacted."""
    with told(as_json):
        opened = place.open()
        works = {work.key: work for work in opened.store.works(opened.key)}
        rows = [row_of(opened, key, works.get(key)) for key in opened.store.scopes(opened.key)]
    if as_json:
        say_json(rows)
    elif rows:
        _print(opened.name, rows)
    else:
        say(f"session {opened.name}: no scope exists yet; one does once a request was made for it")


def row_of(opened: Session, key: Key, work: Work | None) -> dict[str, Any]:
    """A scope as the JSON contract has it."""
    view = opened.store.view(key)
    made = view.checkpoint
    return {
        "session": key.session,
        "scope": key.scope,
        "sees": key.sees,
        "events": view.all_events,
        "version": made.version if made else 0,
        "boundary": event_ref(made.boundary) if made and made.boundary else None,
        "behind": len(view.events),
        "dirty": work is not None and work.wanted > work.done,
        "leased": work is not None and work.lease_until > time.time(),
    }


def _print(name: str, rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("scope", "sees", "events", "version", "boundary", "behind", "work"):
        table.add_column(column, justify="right" if column in ("events", "version", "behind") else "left")
    for row in rows:
        table.add_row(
            cell(row["scope"] or "(whole session)"), row["sees"], f"{row['events']:,}", str(row["version"]),
            row["boundary"] or "none", f"{row['behind']:,}",
            "leased" if row["leased"] else "dirty" if row["dirty"] else "",
        )  # fmt: skip
    out = terminal()
    out.tell(f"session {name}: {len(rows)} scope(s)")
    out.print(table)
