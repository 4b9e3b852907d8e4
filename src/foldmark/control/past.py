"""What became of a scope's past, version by version: compactions, undos, edits, what was adopted and inherited, and the
attempts that came to nothing. Knows nothing of how any of it is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from foldmark.checkpoint import Checkpoint, CheckpointKind
from foldmark.events import Usage
from foldmark.prices import Money, dollars
from foldmark.refs import compaction_ref
from foldmark.reports import COMMITTED, Attempt, Outcome, Run, summed
from foldmark.store import Key, Store


class Compaction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a scope's history. An attempt that came to nothing has version 0, no ref, and kind `attempt`.

    `inherited` names the session that a fork has it from (empty: its own). `source` is the version it was made from:
    the one before it, the one that an edit changed, the one that an undo restored (0: none). `boundary` is a seq,
    `tokens` what the record costs. From the note of the attempt (`noted`) come trigger,
    reasons, run, mode, the sizes of the request `before` and `after`, the `target`, and what the model's calls took.
    """

    version: int = 0
    ref: str = ""
    kind: CheckpointKind | Literal["attempt"] = "attempt"
    outcome: Outcome = "applied"
    time: float = 0.0
    author: str = ""
    inherited: str = ""
    source: int = 0
    boundary: int = 0
    tokens: int = 0
    noted: bool = False
    trigger: str = ""
    reasons: tuple[str, ...] = ()
    run: Run = "caller"
    mode: str = "code"
    before: int = 0
    after: int = 0
    target: int = 0
    calls: int = 0
    model: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    money: Money | None = None
    warnings: tuple[str, ...] = ()


def compactions(store: Store, key: Key) -> list[Compaction]:
    """The whole history of the scope, oldest first."""
    attempts = store.attempts(key)
    notes = {one.version: one for one in attempts if one.outcome in COMMITTED and one.version}
    parents = list(_parents(store, key))
    found: list[Compaction] = []
    before = 0
    for made in store.checkpoints(key):
        session, theirs = _origin(made, parents)
        note = (theirs if session else notes).get(made.version)
        found.append(_entry(made, note if made.kind == "compaction" else None, session, before))
        before = made.version
    tried = [_attempt(one) for one in attempts if one.outcome not in COMMITTED]
    return _merged(found, tried)


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What a scope's compactions took in this session, by its newest 10,000 notes: how many `attempts` that were due,
    how many of them `moved` the boundary, `calls` of summary models with the `usage` that their providers billed and
    the `seconds` they took (failed and cancelled ones too), and their price in `dollars` (None: no note has one; calls
    of models whose price is not known are not in it)."""

    attempts: int = 0
    moved: int = 0
    calls: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    dollars: float | None = None


def totals(store: Store, key: Key) -> Totals:
    """The sums over the notes of the scope: the newest 10,000, as many as a store gives."""
    notes = store.attempts(key)
    paid = [found for one in notes if one.money and (found := dollars(one.money.call, one.money.price)) is not None]
    return Totals(
        attempts=len(notes), moved=sum(one.outcome in COMMITTED for one in notes),
        calls=sum(one.calls for one in notes), usage=summed(one.usage for one in notes),
        seconds=sum(one.seconds for one in notes), dollars=sum(paid) if paid else None,
    )  # fmt: skip


def _merged(made: Sequence[Compaction], tried: Sequence[Compaction]) -> list[Compaction]:
    """Versions in their order, whatever their clocks said; attempts of this session between them, by time."""
    out: list[Compaction] = []
    waiting = list(tried)
    for one in made:
        while waiting and not one.inherited and waiting[0].time < one.time:
            out.append(waiting.pop(0))
        out.append(one)
    return [*out, *waiting]


_Parent = tuple[str, Sequence[Checkpoint], Mapping[int, Attempt]]  # session, its versions, their notes


def _parents(store: Store, key: Key) -> Iterator[_Parent]:
    """The sessions that this one inherits from, the nearest first."""
    info = store.open(key)
    while info.kind == "fork" and info.parent:
        key = msgspec.structs.replace(key, session=info.parent)
        notes = {one.version: one for one in store.attempts(key) if one.outcome in COMMITTED and one.version}
        yield key.session, store.checkpoints(key), notes
        info = store.open(key)


def _origin(made: Checkpoint, parents: Sequence[_Parent]) -> tuple[str, Mapping[int, Attempt]]:
    """(the session that a version was made in, the notes of that one); empty for this one."""
    name, notes = "", dict[int, Attempt]()
    for session, versions, theirs in parents:
        if made not in versions:
            break
        name, notes = session, dict(theirs)
    return name, notes


def _entry(made: Checkpoint, note: Attempt | None, inherited: str, before: int) -> Compaction:
    is_compaction = made.kind == "compaction"
    entry = Compaction(
        version=made.version, ref=compaction_ref(made.version), kind=made.kind, time=made.time, author=made.author,
        inherited=inherited, source=made.source or (before if is_compaction else 0), boundary=made.boundary,
        tokens=made.tokens, warnings=made.warnings, trigger=made.trigger, before=made.sizes[0], after=made.sizes[1],
        target=made.compacted_size if is_compaction else 0,
    )  # fmt: skip
    return _with_note(entry, note) if note else entry


def _attempt(note: Attempt) -> Compaction:
    return _with_note(Compaction(time=note.time, boundary=note.boundary), note)


def _with_note(entry: Compaction, note: Attempt) -> Compaction:
    return msgspec.structs.replace(
        entry, noted=True, outcome=note.outcome, trigger=note.trigger, reasons=note.reasons, run=note.run,
        mode=note.mode, before=note.before, after=note.after, target=note.target, calls=note.calls, model=note.model,
        usage=note.usage, seconds=note.seconds, money=note.money,
    )  # fmt: skip
