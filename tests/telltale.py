"""What the tests of control share: sessions that compact only when asked to, a talk that cleanup cannot make small, and
everything that a database holds."""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from foldmark import MemoryStore, Policy, Session
from foldmark.driving import drive
from foldmark.events import Event, assistant, user
from foldmark.reports import Report
from foldmark.summarizer import Occasion
from foldmark.telling import tell
from making import tool_round

STEERED = Policy.coding(run="manual", budget={"landing_tokens": 4_000}, window=64_000)


def steered(store: Any = None, policy: Policy = STEERED, name: str = "s", **options: Any) -> Session:
    """A session that compacts when it is told to; its clock ticks a second at every look."""
    clock = itertools.count(1_000)
    options = {"clock": lambda: float(next(clock)), **options}
    return Session(name, store=store if store is not None else MemoryStore(), policy=policy, **options)


def talk(first: int, last: int, *, words: int = 14) -> list[Event]:
    """Rounds `first` to `last` of an agent that says a lot, with a user's message every fifth one; the last is an
    answer. What is said stays through every cleanup."""
    events: list[Event] = []
    for number in range(first, last + 1):
        if number % 5 == 1:
            events.append(user(f"Please look at invoice {number} and compare it with ledger_{number}.csv"))
        rows = range(number * 100, number * 100 + words)
        said = " ".join(f"row {row} of ledger_{number}.csv is charged twice by retry_{row % 7}" for row in rows)
        body = "\n".join(f"charge_{number}_{k} = {number * k}" for k in range(12))
        events += tool_round(number, body, say=f"Step {number}. {said}")
    return [*events, assistant(f"Invoice {last} is settled.")]


def compacted(session: Session, *, force: bool = True, focus: str = "", upto: int | None = None) -> Report:
    """A compaction by code of all that goes up to an event."""
    frame = session._out.frame(session._line)
    asked = Occasion(key=session.key, frame=frame, force=force, focus=focus, upto=upto)
    return drive(tell(session.store, session.policy, None, asked, clock=session._clock), session.lock)


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
"""The full text index keeps its rows in tables of their own."""


def dump(path: Path) -> dict[str, str]:
    """A hash of all rows of every table."""
    found = {}
    with closing(sqlite3.connect(path)) as db:
        tables = [row[0] for row in db.execute(_TABLES)]
        for table in tables:
            rows = sorted(map(repr, db.execute(f'SELECT * FROM "{table}"')))
            found[table] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    return found
