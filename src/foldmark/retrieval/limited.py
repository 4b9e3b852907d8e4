"""What a search without words brings: the newest that its limits let through. Knows nothing of scores."""

from __future__ import annotations

from math import inf

from foldmark.retrieval.ranking import Ranked
from foldmark.seeking import Finding, Sought, telling_line
from foldmark.words import distinct


def limited(finding: Finding, sought: Sought) -> list[Ranked]:
    """The newest first, of each event the first line that names a file or tool which the limits ask for, else the first
    that they let through. All of them, alike or not: what was asked for is a list."""
    chosen: dict[tuple[str, int], Ranked] = {}
    told: set[tuple[str, int]] = set()
    for found in sorted(finding.found, key=lambda found: found.place):
        event, line = found.place[:2], telling_line(sought, found)
        if event not in chosen or (line is not None and event not in told):
            chosen[event] = Ranked(found, 1.0, line or 0, line or 0)
        if line is not None:
            told.add(event)
    return sorted(chosen.values(), key=_newness, reverse=True)


def told_by(sought: Sought) -> frozenset[str]:
    """The tokens of the files and tools that are asked for: of a long line what stands round them is shown."""
    return frozenset(token for name in (*sought.files, *sought.tools) for token in distinct(name))


def _newness(one: Ranked) -> tuple[float, int, str]:
    time = one.found.time
    return -inf if time is None else time, one.found.event.seq, one.found.session
