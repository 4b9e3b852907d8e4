"""Brings an imported transcript into a store: the session, its children, its forks. Knows no file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from foldmark.following import Followed
from foldmark.importers import Child, Imported
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.store import SessionInfo, Store


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
    leaves of the transcript's tree become forks. An event without a time keeps none: it did not happen now.
    """
    opened = Session(session or imported.session, store=store, policy=policy, **options)
    found = opened.follow(
        imported.events, system=imported.system, tools=imported.tools, retry=False, progress=progress, live=False
    )
    children = tuple(
        name for child in imported.children for name in _bring_child(imported, child, opened, policy, options)
    )
    return opened, Brought(
        session=opened.name,
        new=len(found.new),
        known=found.known,
        forked_at=found.forked_at,
        children=children,
        warnings=(*imported.warnings, *_older(found)),
    )


def _older(found: Followed) -> tuple[str, ...]:
    if found.new or not found.known or found.head <= found.last_seq:
        return ()
    return (f"This is an older copy: it ends at event:{found.last_seq}, the session goes on to event:{found.head}.",)


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
    seq = _fork_point(parent.locate(imported.events, retry=False).seqs, child.at)
    info = SessionInfo(session=name, kind="fork", parent=parent.name, parent_seq=seq, meta={"branch": "transcript"})
    parent.store.open(key, info=info)
    whole = msgspec.structs.replace(child.imported, events=(*shared, *child.imported.events))
    opened, brought = bring_in(whole, parent.store, policy, session=name, **options)
    return opened.name, *brought.children


def _fork_point(seqs: Sequence[int], at: int) -> int:
    """The last seq that a line shares which leaves behind the `at`-th imported event: no event of the parent that comes
    later in the transcript may stand before it (a record that came in late stands at the end of the log)."""
    later = min((seq for seq in seqs[at:] if seq), default=0)
    return max((seq for seq in seqs[:at] if not later or seq < later), default=0)
