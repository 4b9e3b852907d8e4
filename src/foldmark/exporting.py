"""Hands whole sessions to a long-term memory of the user's choice, once each. Knows nothing of what becomes of them
there, and changes nothing of a session but the note of how far it was handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.awaiting import unawaited
from foldmark.checkpoint import Fact
from foldmark.errors import NotFound, PolicyError
from foldmark.events import Event
from foldmark.hooked import Landed
from foldmark.originals import whole
from foldmark.readings import without_secrets
from foldmark.redact import Redactor, redactor
from foldmark.refs import event_ref
from foldmark.store import Key, SessionInfo, Store, View

BATCH = 500
"""Events that a sink gets at a time."""
NOTE = "exported:"
"""Beginning of the names under which a session's settings remember how far a sink has it."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink gets: `events` of one session in order, inherited ones included, behind seq `since` and up to
    `next`; `more` says that further ones follow. `facts` are the newest of each kind and key, `checkpoint` is the text
    of the newest checkpoint of the scope (empty for none); both as of the end of the session."""

    key: Key
    info: SessionInfo
    events: tuple[Event, ...]
    facts: tuple[Fact, ...] = ()
    checkpoint: str = ""
    since: int = 0
    next: int = 0
    more: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """The events as plain values, ready for JSON, each with the `ref` that opens it."""
        return [{"ref": event_ref(event.seq), **msgspec.to_builtins(event)} for event in self.events]


class Handed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an export: how many `events` in how many `batches`, the seq to go on from (`next`), and the same
    of child sessions."""

    key: Key
    events: int = 0
    batches: int = 0
    next: int = 0
    children: tuple[Handed, ...] = ()


Sink = Callable[[Exported], object]
"""Takes a batch. When it raises, it gets the same again the next time."""


def export(
    store: Store, key: Key, sink: Sink, *, name: str = "", since: int | None = None, include_children: bool = False,
    original: bool = False, bodies: bool = False, artifacts: Artifacts | None = None, batch: int = BATCH,
) -> Handed:  # fmt: skip
    """Hand a session to `sink`, oldest events first, `batch` at a time. What the sink raises comes through.

    With a `name` it is remembered up to where the sink of that name took the session (its scope), and only what is new
    is handed over; `since` starts behind that seq instead. A fork goes on from where its parent was handed over.
    Secrets are redacted unless `original` is True. Big results are previews with their artifacts unless `bodies` is
    True. `include_children` hands over the sessions that calls of this one started, each under its own key.
    Raises NotFound for a session that is not there (any more), PolicyError for a sink that is async.
    """
    if batch < 1:
        raise PolicyError(f"batch must be at least 1, not {batch}.")
    view = store.view(key)  # raises NotFound where `open` would make a session
    info = store.open(key)
    start = _start(store, key, info, name) if since is None else max(0, since)
    redact = redactor(view.secret, not original)
    shelf = artifacts or store.artifacts if bodies else None
    made = _exported(store, key, info, view, redact)
    count = batches = 0
    for first, events, upto in _windows(store, key, start, view.head, batch):
        cleaned = tuple(_cleaned(event, redact, shelf, key.tenant, original=original) for event in events)
        _give(sink, msgspec.structs.replace(made, events=cleaned, since=first, next=upto, more=upto < view.head))
        _note(store, key, name, events[-1], upto)
        count, batches = count + len(events), batches + 1
    children = _children(store, key, info) if include_children else ()
    return Handed(
        key=key, events=count, batches=batches, next=max(start, view.head),
        children=tuple(
            export(store, child, sink, name=name, include_children=True, original=original, bodies=bodies,
                   artifacts=artifacts, batch=batch)
            for child in children
        ),
    )  # fmt: skip


def export_after(
    store: Store, sink: Sink, *, name: str, when: Literal["final", "append"] = "final", **options: Any
) -> Callable[[Landed], None]:
    """An `after` hook that hands over what is new in the whole session: after every final answer, or every append.

    `options` are those of `export`. It runs in the thread of the `after` hooks, so nobody waits for the sink; what it
    raises is logged, and the next call hands over the same again.
    """
    if not name:
        raise PolicyError("export_after needs a name, under which it is remembered what the sink has already.")

    def after(landed: Landed) -> None:
        if when == "append" or any(event.role == "assistant" and not event.calls for event in landed.events):
            export(store, msgspec.structs.replace(landed.key, scope="", sees="all"), sink, name=name, **options)

    return after


# -- what is handed over


def _exported(store: Store, key: Key, info: SessionInfo, view: View, redact: Redactor) -> Exported:
    state, _, _ = store.covered(key, view.head, limit=0)
    meta = {name: redact(value) for name, value in info.meta.items() if not name.startswith(NOTE)}
    return Exported(
        key=key,
        info=msgspec.structs.replace(info, meta=meta),
        events=(),
        facts=tuple(fact for fact in state.values() if fact.status != "gone"),
        checkpoint=redact(view.checkpoint.text) if view.checkpoint else "",
    )


def _windows(store: Store, key: Key, start: int, head: int, batch: int) -> Iterator[tuple[int, list[Event], int]]:
    """(seq in front, events, last seq) of one batch after the other; stretches that the scope does not see are passed
    over."""
    for first in range(start, head, batch):
        upto = min(first + batch, head)
        if events := store.log(key, first + 1, upto):
            yield first, events, upto


def _give(sink: Sink, exported: Exported) -> None:
    if unawaited(sink(exported)):
        raise PolicyError("The sink is async, and nobody would await it: give one that returns when it has the events.")


def _cleaned(event: Event, redact: Redactor, shelf: Artifacts | None, tenant: str, *, original: bool) -> Event:
    """The event as the sink gets it."""
    if shelf is not None:
        event = whole(event, shelf, tenant, plain=True)
    if original:
        return event
    return without_secrets(event, redact)


# -- how far


def _place(name: str, key: Key) -> str:
    """Where a session's settings have the note of a sink and a scope. A scope may hold anything, so the name holds no
    blank there: the first one ends it."""
    return NOTE + name.replace("%", "%25").replace(" ", "%20") + ("" if key.is_whole else f" {key.sees} {key.scope}")


def _start(store: Store, key: Key, info: SessionInfo, name: str) -> int:
    """The seq up to which the sink has the session: as noted there (a fork's settings may hold its parent's note), else
    what it has of the parent's past that a fork inherits."""
    seq, _, session = info.meta.get(_place(name, key), "").partition(" ") if name else ("", "", "")
    if session == info.session and seq.isdigit():
        return min(int(seq), info.head)
    if not name or info.kind != "fork" or not info.parent:
        return 0
    parent = msgspec.structs.replace(key, session=info.parent)
    return min(_start(store, parent, store.open(parent), name), info.parent_seq)


def _note(store: Store, key: Key, name: str, last: Event, upto: int) -> None:
    """Remember that the sink has everything up to a seq, in the very log that it was read from: the session may have
    been deleted while the sink was at work, and `describe` would make it again."""
    if store.event(key, str(last.seq)).id != last.id:
        raise NotFound(key.session, f"Session {key.session!r} was deleted while it was handed over.")
    info = store.open(key)
    if name and _start(store, key, info, name) < upto:
        store.describe(key, {_place(name, key): f"{upto} {info.session}"})


def _children(store: Store, key: Key, info: SessionInfo) -> tuple[Key, ...]:
    """The sessions that calls of this lineage started, oldest first."""
    infos = {one.session: one for one in store.sessions(key.tenant, key.user)}
    limits, at, limit = {info.session: info.head}, info, info.head
    while at.kind == "fork" and at.parent in infos:
        limit = min(limit, at.parent_seq)
        at = infos[at.parent]
        limits[at.session] = limit
    found = [one for one in infos.values() if one.kind == "child" and one.parent_seq <= limits.get(one.parent, -1)]
    found.sort(key=lambda one: (one.created, one.session))
    return tuple(msgspec.structs.replace(key, session=one.session, scope="", sees="all") for one in found)


__all__ = ["Exported", "Handed", "Sink", "export", "export_after"]
