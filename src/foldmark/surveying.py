"""The extent of a log, from what a store knows of it: for the next checkpoint, and for an overview that stands alone.

Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Sequence

from foldmark.checkpoint import Extent, Fact, Unit
from foldmark.events import Event
from foldmark.extent import extent_of
from foldmark.overview import framed_overview
from foldmark.store import Key, Store, View

Material = tuple[dict[tuple[str, str], Fact], Sequence[Fact], Sequence[Unit]]
"""What a store gives of the covered log (`Store.covered`)."""

UNITS = 2_000
"""Of a log the best so many units give their words: more change nothing in a few hundred tokens."""


def covered_extent(store: Store, key: Key, upto: int, material: Material, view: View) -> Extent:
    """The extent of the scope's log up to a seq, given what the store knows of it, for the next compaction of a
    view."""
    state, _, units = material
    log = store.log(key, 1, upto)
    return extent_of(
        log, state, units, store.tally(key), compactions=1 + _compactions(store, key, view),
        version=1 + (view.checkpoint.version if view.checkpoint else 0), began=_began(store, key, log),
    )  # fmt: skip


def _compactions(store: Store, key: Key, view: View) -> int:
    """How many compactions the scope has: as its newest checkpoint counts them, else its history."""
    if view.checkpoint is None:
        return 0
    known = view.checkpoint.extent
    if known and known.compactions:
        return known.compactions
    return sum(one.kind == "compaction" for one in store.checkpoints(key))


def _began(store: Store, key: Key, log: Sequence[Event]) -> float | None:
    """When the first of the events happened, else when it was recorded live; None where nobody knows."""
    first = next((event.seq for event in log if event.role != "control"), 0)
    return store.times(key, first, first).get(first)


def log_overview(store: Store, key: Key, tokens: int, *, search: str, load: str) -> str:
    """An overview of all that the scope's log holds, framed, for a prompt of one's own. Empty for an empty log."""
    view = store.view(key)
    if not view.head:
        return ""
    state, _, units = store.covered(key, view.head, limit=UNITS)
    log = store.log(key, 1, view.head)
    extent = extent_of(
        log, state, units, store.tally(key), compactions=_compactions(store, key, view),
        began=_began(store, key, log),
    )  # fmt: skip
    return framed_overview(extent, view.head, tokens, search=search, load=load)
