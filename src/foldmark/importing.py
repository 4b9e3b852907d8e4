"""Brings an imported transcript into a store: the session, its children, its forks. Knows no file format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from foldmark.following import Followed
from foldmark.importers import Child, Imported
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.store import SessionInfo, Store

BATCH = 500  # events a transaction: progress is visible, and a crash loses little


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did: the session it ended in, how many events were new or known, where it forked (a seq),
    and the names of child sessions and branches."""

    session: str
    new: int
    known: int
    forked_at: int | None
    children: tuple[str, ...]
    warnings: tuple[str, ...]


def bring_in(
    imported: Imported,
    store: Store,
    policy: Policy | None = None,
    *,
    session: str = "",
    progress: Callable[[int, int], Any] = lambda done, total: None,
    **options: Any,
) -> tuple[Session, Brought]:
    """Follow the transcript into the store: only what is new is recorded; an edited past becomes a fork.

    `session` overrides the transcript's own id. Sub-agents become child sessions linked to their call, other
    leaves of the transcript's tree become forks.
    """
    opened = Session(session or imported.session, store=store, policy=policy, **options)
    opened.describe(system=imported.system, tools=imported.tools)
    found = opened.locate(imported.events, retry=False)
    for at in range(0, len(found.new), BATCH):
        opened.record(*found.new[at : at + BATCH])
        progress(min(at + BATCH, len(found.new)), len(found.new))
    children = tuple(
        name for child in imported.children for name in _bring_child(imported, child, opened, policy, options)
    )
    return opened, Brought(
        session=opened.name,
        new=len(found.new),
        known=found.known,
        forked_at=found.forked_at,
        children=children,
        warnings=(*imported.warnings, *_older(opened, found)),
    )


def _older(opened: Session, found: Followed) -> tuple[str, ...]:
    head = opened.store.open(opened.key).head
    if found.new or not found.known or head <= found.last_seq:
        return ()
    return (f"This is an older copy: it ends at event:{found.last_seq}, the session goes on to event:{head}.",)


def _bring_child(
    imported: Imported, child: Child, parent: Session, policy: Policy | None, options: dict[str, Any]
) -> tuple[str, ...]:
    name = f"{parent.name}/{child.imported.session}"
    key = msgspec.structs.replace(parent.key, session=name)
    if child.kind == "child":
        parent.store.open(
            key, info=SessionInfo(session=name, kind="child", parent=parent.name, parent_call=child.call_id)
        )
        opened, brought = bring_in(child.imported, parent.store, policy, session=name, **options)
        return opened.name, *brought.children
    shared = imported.events[: child.at]
    seq = _seq_of(parent, imported, child.at)
    parent.store.open(key, info=SessionInfo(session=name, kind="fork", parent=parent.name, parent_seq=seq, meta={"branch": "transcript"}))
    whole = msgspec.structs.replace(child.imported, events=(*shared, *child.imported.events))
    opened, brought = bring_in(whole, parent.store, policy, session=name, **options)
    return opened.name, *brought.children


def _seq_of(parent: Session, imported: Imported, at: int) -> int:
    """The seq of the parent's `at`-th imported event (its log may hold more events than the transcript)."""
    offset = parent.store.open(parent.key).head - len(imported.events)
    return max(0, at + offset)
