"""Brings an imported transcript into a store: the session, its children, its forks. Knows no file format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from foldmark.importers import Imported
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.store import Key, SessionInfo, Store

BATCH = 500  # events a transaction: progress is visible, and a crash loses little


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did: the session it ended in, how many events were new or known, and where it forked."""

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

    `session` overrides the transcript's own id. Sub-agents become child sessions, linked to their call.
    """
    name = session or imported.session
    opened = Session(name, store=store, policy=policy, **options)
    opened.describe(system=imported.system, tools=imported.tools)
    found = opened.locate(imported.events)
    for at in range(0, len(found.new), BATCH):
        opened.record(*found.new[at : at + BATCH])
        progress(min(at + BATCH, len(found.new)), len(found.new))
    children = _children(imported, opened, policy, options)
    return opened, Brought(
        session=opened.name,
        new=len(found.new),
        known=found.known,
        forked_at=found.forked_at,
        children=children,
        warnings=tuple(imported.warnings),
    )


def _children(
    imported: Imported, parent: Session, policy: Policy | None, options: dict[str, Any]
) -> tuple[str, ...]:
    names: list[str] = []
    for child in imported.children:
        name = f"{parent.name}/{child.imported.session}"
        key = msgspec.structs.replace(parent.key, session=name)
        _open_child(parent.store, key, parent.name, child.call_id)
        opened, brought = bring_in(child.imported, parent.store, policy, session=name, **options)
        names += [opened.name, *brought.children]
    return tuple(names)


def _open_child(store: Store, key: Key, parent: str, call_id: str) -> None:
    store.open(key, info=SessionInfo(session=key.session, kind="child", parent=parent, parent_call=call_id))
