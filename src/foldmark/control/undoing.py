"""Takes compactions back: a new version that shows an older one's record, boundary and mark. Knows nothing of how one
is made.

Nothing is deleted: the version only rises, so who held an older view loses the race and mixes nothing in, and what was
undone can itself be restored.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from foldmark.checkpoint import Checkpoint, Mark
from foldmark.control.committing import at_the_cap, gauged, said_of, seen, tried, unchanged, version_of, written
from foldmark.control.setting import Setting, Wish
from foldmark.errors import NotFound, PolicyError
from foldmark.refs import compaction_ref, parse
from foldmark.reports import Report
from foldmark.store import View


def undone(at: Setting, to: int | str | None, expected: int | None, wish: Wish) -> Report:
    """Restore version `to` (None: the one before the newest; 0: before any). Raises NotFound, StaleBoundary."""
    view = seen(at, expected)
    versions = [one for one in at.store.checkpoints(at.key) if one.version <= version_of(view)]
    target = _target(at, view, versions, to)
    if target == version_of(view):
        return unchanged(at, view, "is the newest version already: nothing to undo.")
    made = _restored(at, view, versions, target)
    size = gauged(at, tried(at, view, made), wish)  # held already: as it will go out
    above, landing = size.sizes.whole - size.room.static, size.room.landing
    made = msgspec.structs.replace(made, held=above + landing, warnings=at_the_cap(size))
    what = compaction_ref(target) if target else "the time before any compaction"
    holds = f"Nothing but the cap (or force) compacts until {landing:,} tokens were added."
    return written(at, view, made, f"{said_of(made)}, as at {what}. {holds}", wish)


def _restored(at: Setting, view: View, versions: Sequence[Checkpoint], target: int) -> Checkpoint:
    """The older version under a new number. Its text stays byte for byte, so the earlier prompt comes back, its own ref
    in it included."""
    now = at.clock()
    old = next((one for one in versions if one.version == target), None)
    empty = Checkpoint(version=0, boundary=0, text="", tokens=0)
    return msgspec.structs.replace(
        old or empty,
        version=version_of(view) + 1,
        mark=_mark(versions, old, target, now),
        kind="undo",
        source=target,
        held=sys.maxsize,
        head=view.head,
        time=now,
        replaced=view.mark,
    )


def _mark(versions: Sequence[Checkpoint], old: Checkpoint | None, target: int, now: float) -> Mark:
    """The mark that was in force last while the target was the newest version: the version behind it remembers. One
    that does not (it was written before marks were remembered, or a fork has not inherited it) leaves the target's own.
    """
    behind = next((one for one in versions if one.version == target + 1), None)
    mark = behind.replaced if behind else Mark()
    if mark == Mark() and old is not None:
        mark = old.mark
    return msgspec.structs.replace(mark, reason="undo", time=now)  # its own, so that no stale request writes over it


def _target(at: Setting, view: View, versions: Sequence[Checkpoint], to: int | str | None) -> int:
    """The version that is meant. Raises NotFound and PolicyError."""
    if not versions or view.checkpoint is None:
        raise NotFound("compaction:1", f"Session {at.key.session!r} has no compaction yet: there is nothing to undo.")
    if to is None:
        return versions[-2].version if len(versions) > 1 else 0
    number = _number(at, to)
    if number and number not in {one.version for one in versions}:
        known = ", ".join(compaction_ref(one.version) for one in versions)
        raise NotFound(compaction_ref(number), f"There is no {compaction_ref(number)} here; this scope has: {known}.")
    return number


def _number(at: Setting, to: int | str) -> int:
    if isinstance(to, int) and not isinstance(to, bool) and to >= 0:
        return to
    if isinstance(to, str):
        address = parse(f"compaction:{to}" if to.isdigit() else to)
        if address.kind == "compaction" and address.seq is not None and address.session in ("", at.key.session):
            return address.seq
    raise PolicyError(f"undo(to={to!r}): it takes a version (2), its ref ('compaction:2'), or 0 for before any.")
