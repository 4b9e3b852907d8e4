"""Imports tau-bench result files: a list of runs, each with its messages in `traj`. Knows nothing of other
agents.

A run is a session of its own, named after task and trial. What is *about* a run (reward, task, cost) is no
part of the conversation and is left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.importers.messages import read_rows
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, placed_rows

NAME = "tau-bench"


def sniff(document: Document) -> bool:
    runs = _runs(document)
    return bool(runs) and all(isinstance(run, Mapping) and "traj" in run for run in runs[:5])


def _runs(document: Document) -> list[Any]:
    return [run for _, run in placed_rows(document, "")]


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a run. Raises WireError with the path `[run].traj[message]`."""
    found: list[Imported] = []
    for at, run in enumerate(_runs(document)):
        if not isinstance(run, Mapping) or not isinstance(run.get("traj"), list):
            raise WireError(f"[{at}].traj", "a run needs a list of messages here.")
        about = Notes(strict=notes.strict)
        rows = [(f"[{at}].traj[{number}]", message) for number, message in enumerate(run["traj"])]
        system, events = read_rows(rows, "openai-chat", about)
        if others := sorted(key for key in run if key != "traj"):
            about.warn(f"{', '.join(others)}: about the run and no part of it, left out")
        session = f"{NAME}-{run['task_id']}.{run.get('trial', 0)}" if "task_id" in run else derived_id(NAME, events)
        found.append(
            Imported(
                session=session,
                format=NAME,
                wire="openai-chat",
                system=system,
                events=tuple(events),
                warnings=(*notes.lines(), *about.lines()),
            )
        )
    return found


FORMAT = Format(NAME, sniff, read)
