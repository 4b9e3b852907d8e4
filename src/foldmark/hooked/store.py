"""A store round another one: events pass hooks on their way in and out. Knows nothing of how either side works.

Append: the hooks are called where recording begins, in `context`, because all that is made of an event (its place in
the log, preview, units, facts, pieces, work) is made of what `context` returns. Read: what a request, a compaction,
search and load see goes through the read hooks; the stored rows stay as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress

import msgspec

from foldmark.checkpoint import Fact, Unit
from foldmark.errors import HookError, NotFound, StoreError
from foldmark.events import Event
from foldmark.hooked.doors import Doors
from foldmark.hooked.entering import call_flag, flags, newest_message, passed, with_its_call
from foldmark.hooked.landing import Line
from foldmark.hooked.leaving import Left, without_held
from foldmark.hooked.readers import READERS, Readers
from foldmark.hooked.shielding import HookedVectors
from foldmark.hooked.showing import through
from foldmark.hooked.values import EventHooks, HeldBack, Landed
from foldmark.hooked.wrapping import Wrapping
from foldmark.log import newest
from foldmark.refs import event_ref
from foldmark.salience import Tally
from foldmark.seeking import Finding, Found, Piece, Sought
from foldmark.store import Context, Key, Raising, SessionInfo, Store, View, Work
from foldmark.vectors import Vectors, vectors_of

FIRST = 50
"""Events among which the first words of a user mostly stand."""

logger = logging.getLogger("foldmark.hooked")


def hooked(store: Store, *hooks: EventHooks, readers: int | None = None) -> HookedStore:
    """The store with hooks round append and read. Several are called in order at append, in reverse order at read;
    those of a store that has some already come last at append.

    `readers` is how many readers (a session as one scope sees it) are kept in the process between reads: 1,024 when
    nobody says, as many as the store that is wrapped has. Each takes about 20 kB for 1,000 events; with more of them in
    use, read hooks are called again for every event of a session that was pushed out. Raises PolicyError for a number
    below 1.
    """
    if isinstance(store, HookedStore):
        return HookedStore(
            store.inner, (*hooks, *store.hooks), readers=store.readers if readers is None else readers, line=store.line
        )
    return HookedStore(store, hooks, readers=READERS if readers is None else readers)


def as_recorded(store: Store) -> Store:
    """The store without its read hooks: a list is matched with the log as it is kept."""
    return _AsRecorded(store) if isinstance(store, HookedStore) else store


def unheld(store: Store, key: Key, events: Sequence[Event]) -> Left:
    """A message list without what the store's hooks held back when it came before; whole for a store without hooks."""
    if isinstance(store, HookedStore):
        return without_held(store.inner, key, events)
    return Left(tuple(events), tuple(range(len(events))), len(events))


class HookedStore(Wrapping):
    """Wraps `inner`; every method that a hook does not touch is the inner one."""

    def __init__(
        self, inner: Store, hooks: Sequence[EventHooks], *, readers: int = READERS, line: Line | None = None
    ) -> None:
        super().__init__(inner)
        self.hooks, self.readers, self.line = tuple(hooks), readers, line or Line()
        self._reads = any(hook.on_read for hook in hooks)
        self._enters = any(hook.on_append for hook in hooks)
        self._after = [hook for hook in hooks if hook.after]
        self._readers = Readers(self.hooks, readers)

    # -- events come in

    def context(self, key: Key, events: Sequence[Event]) -> Context:
        """As the inner store's, of the events as the hooks made them; what they held back is in `held_back`. Raises
        Vetoed and HookError."""
        if not self._enters or not events:
            return self.inner.context(key, events)
        before = self.inner.context(key, events)  # no hook is asked about what is recorded already
        known = {event.id for event in before.known if event.seq <= before.head}
        left, held = passed(self.hooks, key, events, before.secret, known)
        context = self.inner.context(key, list(left.values()))
        if orphans := self._orphans(key, left, context):
            held = sorted((*held, *orphans), key=lambda one: one.place)
            gone = {one.place for one in orphans}
            context = self.inner.context(key, [event for at, event in left.items() if at not in gone])
        if held:
            self.inner.wrote(key, flags(events, held, newest_message(self.inner, key, context.head)))
            _log_held(key, held)
        return msgspec.structs.replace(context, held_back=tuple(held)) if held else context

    def _orphans(self, key: Key, left: Mapping[int, Event], context: Context) -> list[HeldBack]:
        """Results whose calls were held back in an earlier batch."""
        here = {call.id for event in left.values() for call in event.calls}
        waiting = {
            at: event.result.call_id
            for at, event in left.items()
            if event.result and event.result.call_id not in context.calls and event.result.call_id not in here
        }
        known = self.inner.written(key, [call_flag(name) for name in waiting.values()]) if waiting else {}
        return [
            with_its_call(at, left[at], "as it was offered", "of its call")
            for at, name in waiting.items()
            if call_flag(name) in known
        ]

    def append(
        self,
        key: Key,
        events: Sequence[Event],
        *,
        head: int,
        units: Sequence[Unit] = (),
        facts: Sequence[Fact] = (),
        pieces: Sequence[Piece] = (),
        tally: Tally | None = None,
        now: float,
        raising: Raising = Raising(),
        live: bool = True,
    ) -> tuple[Work, ...]:
        """As the inner store's; the `after` hooks are called behind it, in a thread of their own."""
        with self.line.of(key) if self._after and events else nullcontext():
            dirty = self.inner.append(
                key, events, head=head, units=units, facts=facts, pieces=pieces, tally=tally, now=now, raising=raising,
                live=live,
            )  # fmt: skip
            if self._after and events:
                self.line.add(self._after, Landed(key, tuple(events), tuple(event_ref(event.seq) for event in events)))
        if self._after and events:
            self.line.go()
        return dirty

    def drain(self, timeout_seconds: float | None = None) -> None:
        """Wait until the `after` hooks of all appends so far were called, those through stores that were made of this
        one (or that it was made of) too. Raises TimeoutError."""
        self.line.drain(timeout_seconds)

    # -- what is read

    def view(self, key: Key) -> View:
        """As the inner store's, of what the reader is shown. The checkpoint is the scope's, as it was written."""
        view = self.inner.view(key)
        if not self._reads:
            return view
        with self._readers.of(self.inner, key) as reader:
            return msgspec.structs.replace(
                view,
                kept=tuple(reader.show(view.kept)),
                events=tuple(reader.show(view.events)),
                pins=view.pins - reader.withheld.keys(),
                pinned=tuple(reader.show(view.pinned)),
                all_events=view.all_events - reader.unseen(),
            )

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        events = self.inner.log(key, first, last)
        if not self._reads:
            return events
        with self._readers.of(self.inner, key) as reader:
            return reader.show(events)

    def event(self, key: Key, name: str) -> Event:
        """As the inner store's. Raises NotFound for an event that is withheld too."""
        event = self.inner.event(key, name)
        if not self._reads:
            return event
        with self._readers.of(self.inner, key) as reader:
            shown = reader.show([event])
        if not shown:
            raise NotFound(f"event:{name}", f"Session {key.session!r} has no event {name!r} that this reader may see.")
        return shown[0]

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        if not self._reads:
            return self.inner.covered(key, upto, limit=limit)
        with self._readers.of(self.inner, key) as reader:
            asked = max(0, limit)
            while True:  # what is left out must not cost the others their places
                _, facts, units = self.inner.covered(key, upto, limit=asked)
                shown = reader.units(units)
                if len(shown) >= limit or len(units) < asked or not reader.hides:
                    break
                asked *= 2
            facts = reader.facts(facts)
        return newest(facts), facts, shown[: max(0, limit)]

    def tally(self, key: Key) -> Tally:
        if not self._reads:
            return self.inner.tally(key)
        with self._readers.of(self.inner, key) as reader:
            if not reader.hides:
                return self.inner.tally(key)
            whole = reader.tally(self.inner)
        return whole if key.sees == "all" else whole.within(self.log(key))

    def find(self, key: Key, terms: Sequence[str], *, limit: int = 150, sought: Sought = Sought()) -> Finding:
        """As the inner store's, without what the reader is not shown and could not open: what a call started that is
        withheld. `pieces` and `frequencies` stay those of all that was searched."""
        if not self._reads:
            return self.inner.find(key, terms, limit=limit, sought=sought)
        asked, doors = max(0, limit), Doors(self.inner, self, key, sought.where)
        while True:
            finding = self.inner.find(key, terms, limit=asked, sought=sought)
            shown = [one for found in finding.found if (one := self._found(doors, found))]
            if len(shown) >= limit or len(finding.found) < asked:
                near = tuple(one for found in finding.near if (one := self._found(doors, found)))
                return msgspec.structs.replace(finding, found=tuple(shown[: max(0, limit)]), near=near)
            asked *= 2

    @property
    def vectors(self) -> Vectors | None:
        """The inner store's, without what the reader is not shown; None where the inner store keeps none."""
        inner = vectors_of(self.inner)
        return HookedVectors(inner, self.inner, self, self._readers) if inner and self._reads else inner

    def _found(self, doors: Doors, found: Found) -> Found | None:
        """A match as the reader sees it; None for one of another session that cannot be read: damaged, or erased
        meanwhile."""
        try:
            if (key := doors.key(found.session)) is None:
                return None
            with self._readers.of(self.inner, key) as reader:
                return reader.found(found)
        except StoreError:
            if not found.session:
                raise
            return None

    # -- a title is made of the first user's words as they are stored: a reader who is not shown those gets none

    def _titled(self, key: Key, info: SessionInfo) -> SessionInfo:
        if not self._reads or not info.title:
            return info
        whole = msgspec.structs.replace(key, session=info.session, scope="", sees="all")
        with suppress(StoreError, HookError):  # erased meanwhile, or damaged; a hook that fails shows nothing
            first = self._first_words(whole)
            if first is None or through(self.hooks, whole, first) is first:
                return info
        return msgspec.structs.replace(info, title="")

    def _first_words(self, whole: Key) -> Event | None:
        for first, last in ((1, FIRST), (FIRST + 1, None)):
            if found := next((event for event in self.inner.log(whole, first, last) if event.is_user), None):
                return found
        return None

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        return self._titled(key, self.inner.open(key, info=info))

    def info(self, key: Key) -> SessionInfo:
        return self._titled(key, self.inner.info(key))

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        return self._titled(key, self.inner.describe(key, meta))

    def sessions(self, tenant: str, user: str) -> list[SessionInfo]:
        """As the inner store's. With a read hook the first events of every session are looked at."""
        key = Key(session="", tenant=tenant, user=user)
        return [self._titled(key, info) for info in self.inner.sessions(tenant, user)]

    def close(self) -> None:
        """Waits for the `after` hooks, then closes the inner store."""
        self.line.close()
        self.inner.close()


def _log_held(key: Key, held: Sequence[HeldBack]) -> None:
    """Ids and hooks, never what was said."""
    told = ", ".join(f"{one.id or f'event {one.place + 1} of the batch'} by {one.hook}" for one in held)
    logger.info("Held back from session %r: %s.", key.session, told)


class _AsRecorded(Wrapping):
    """The log of a hooked store as it is kept; the rows of sessions as its readers see them."""

    def __init__(self, store: HookedStore) -> None:
        super().__init__(store.inner)
        self._store = store

    def open(self, key: Key, *, info: SessionInfo | None = None) -> SessionInfo:
        return self._store.open(key, info=info)

    def info(self, key: Key) -> SessionInfo:
        return self._store.info(key)

    def describe(self, key: Key, meta: Mapping[str, str]) -> SessionInfo:
        return self._store.describe(key, meta)
