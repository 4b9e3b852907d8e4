"""Versions of a checkpoint: what a fork inherits of them, and what moves with a new one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from foldmark.checkpoint import Checkpoint, Mark
from foldmark.errors import StaleBoundary
from foldmark.store import ScopeState
from foldmark.store.refusing import no_event, replaced


def fitting(checkpoints: Sequence[Checkpoint], seq: int) -> list[Checkpoint]:
    """The versions that a fork at `seq` inherits: those that tell of nothing behind it."""
    return [checkpoint for checkpoint in checkpoints if checkpoint.reach <= seq]


def inherit(state: ScopeState, checkpoints: Sequence[Checkpoint], seq: int) -> ScopeState:
    """A scope's state as a fork at `seq` begins with it. With the same checkpoint and a mark that fits, all
    of it holds, so the fork's prefix stays the one that is cached; else the mark of the inherited
    checkpoint does. What an undo holds is held where the fork begins behind it: the size was that of the whole log."""
    inherited = fitting(checkpoints, seq)
    same = bool(checkpoints) == bool(inherited) and (not checkpoints or checkpoints[-1] is inherited[-1])
    held = state.held if same and inherited and inherited[-1].head <= seq else 0
    if same and state.mark.seq <= seq:
        return state if held == state.held else msgspec.structs.replace(state, held=held)
    mark = inherited[-1].mark if inherited else Mark()
    if mark.seq > seq:  # what comes behind the fork is not cleaned before its time
        mark = msgspec.structs.replace(mark, seq=seq, head=min(mark.head, seq))
    return msgspec.structs.replace(state, mark=mark, last_size=0, last_usage=None, last_hash="", held=held)


def check_commit(
    session: str,
    head: int,
    chain_at: Callable[[int], str | None],
    checkpoint: Checkpoint,
    newest: Checkpoint | None,
    *,
    expected: int,
    anchor: str | None,
    fenced: bool = False,
) -> None:
    """Whether a checkpoint may be written over the `newest` one of a log that ends at `head`; `chain_at` gives the
    chain of an event of it. `fenced`: its maker holds the lease no more. Raises NotFound and StaleBoundary, as
    `Store.commit` says."""
    boundary = checkpoint.boundary
    if anchor is not None and (not 0 < boundary <= head or chain_at(boundary) != anchor):
        raise replaced(session)
    if boundary > head:
        raise no_event(str(boundary), session, head)
    found = newest.version if newest else 0
    if found != expected or checkpoint.version <= found or fenced:
        raise StaleBoundary(expected, found)


def committed(state: ScopeState, checkpoint: Checkpoint) -> ScopeState:
    """A scope's state after a compaction: its mark moves with the boundary, and never back but by an undo: while a
    model was asked a request may have gone out behind a further one. An undo holds the triggers."""
    made, sent = checkpoint.mark, state.mark
    further = sent.options == made.options and sent.seq > max(made.seq, checkpoint.boundary)
    further = further and sent.time > checkpoint.time and checkpoint.kind != "undo"
    return msgspec.structs.replace(state, mark=sent if further else made, held=checkpoint.held)
