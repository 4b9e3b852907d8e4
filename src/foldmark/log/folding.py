"""A lineage folded up to its head: what a scope sees of it, what new events become, what is found by name.

Pure: knows nothing of tables, transactions or time.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

import msgspec

from foldmark.checkpoint import Fact
from foldmark.errors import IdConflict
from foldmark.events import CONTINUES, Event, ToolCall, fingerprint, linked, to_json
from foldmark.log.knowing import State, Viewpoint, learn, viewpoint_of
from foldmark.log.lists import UNCHAINED
from foldmark.salience import Tally
from foldmark.store import Key, OpenCall, sees
from foldmark.store.calls import Calls
from foldmark.store.refusing import no_event


class Scope:
    """What one scope sees of a log: its seqs (None = every event) and its newest facts."""

    def __init__(self, key: Key, log: Log) -> None:
        self.key, self.log = key, log
        self.seqs: list[int] | None = None if key.sees == "all" else []
        self.state = State()
        self.pins = State()  # those of `state` that are pins: every view asks for them
        self.first_request = 0
        self._tally, self._counted = Tally(), 0  # the counts of the first so many of its events

    def add(self, event: Event) -> None:
        if not self.first_request and event.is_user and self.key.shows(event):
            self.first_request = event.seq
        if self.seqs is not None and self.key.shows(event):
            self.seqs.append(event.seq)

    def learn(self, fact: Fact) -> None:
        if self.log.shows(self.key, fact):
            learn(self.state, fact)
            if fact.kind == "pin":
                learn(self.pins, fact)

    def tally(self, whole: Tally) -> Tally:
        """The counts of what the scope sees, by what its events show, given those of the `whole` lineage. Each event is
        counted once, when somebody asks first. A copy: another thread may record meanwhile."""
        if self.seqs is None:
            return whole.copy()
        for seq in self.seqs[self._counted :]:
            self._tally.add(self.log.events[seq - 1])
        self._counted = len(self.seqs)
        return self._tally.known_to(whole)


class Log:
    """A lineage up to its head. Events are dense: event `seq` stands at `events[seq - 1]`, inherited ones
    first."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.events: list[Event] = []
        self.seqs: dict[str, int] = {}
        self.calls = Calls()
        self.chain = ""
        self.has_keys = False  # whether any event has a key of its own: agents share the session
        self.scopes: dict[Viewpoint, Scope] = {}

    @property
    def head(self) -> int:
        return len(self.events)

    def shows(self, key: Key, fact: Fact) -> bool:
        """Whether a scope may know a fact: it sees the event that established it, and every event that the fact rests
        on, for their words may stand in it. What is behind the head nobody sees yet."""
        if key.sees == "all":
            return True
        rests = (seq for seq in fact.refs if seq > 0)
        return sees(key.scope, fact.scope, key.sees) and all(
            seq <= self.head and key.shows(self.events[seq - 1]) for seq in rests
        )

    def chain_at(self, seq: int) -> str | None:
        """The chain of the event there, which tells all that came up to it; None when there is none."""
        return self.events[seq - 1].chain if 0 < seq <= self.head else None

    def extend(self, events: Iterable[Event]) -> None:
        """Fold in the next events; their seqs must go on from the head."""
        for event in events:
            if event.seq != len(self.events) + 1:
                raise ValueError(f"event {event.seq} cannot follow {len(self.events)}")
            self.events.append(event)
            self.seqs[event.id] = event.seq
            self.chain = event.chain or self.chain
            self.has_keys = self.has_keys or bool(event.key)
            self.calls.add(event)
            self.calls.answer(event, self.calls.answered_by(event))
            for scope in self.scopes.values():
                scope.add(event)

    def learn(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            for scope in self.scopes.values():
                scope.learn(fact)

    def scope(self, key: Key, facts: Callable[[], Iterable[Fact]]) -> Scope:
        """The fold of one scope; `facts` gives all facts of the lineage, in order, when it is asked for
        first."""
        viewpoint = viewpoint_of(key)
        found = self.scopes.get(viewpoint)
        if found is None:
            found = Scope(key, self)
            for event in self.events:
                found.add(event)
            for fact in facts():
                found.learn(fact)
            self.scopes[viewpoint] = found
        return found

    def number(self, offered: Iterable[Event]) -> tuple[list[Event], list[Event]]:
        """(new, known): new events with session, seq, id and fingerprints filled. Raises IdConflict."""
        new: list[Event] = []
        known: list[Event] = []
        batch: dict[str, Event] = {}
        chain, before = self.chain, self.events[-1].id if self.events else ""
        for event in offered:
            plain = fingerprint(event)
            if event.id and (stored := batch.get(event.id) or self.by_id(event.id)):
                if stored.plain != plain:
                    raise IdConflict(event.id, to_json(stored).decode(), to_json(event).decode())
                known.append(stored)
                continue
            link = ""
            if event.role not in UNCHAINED:
                if CONTINUES in event.meta:  # the whole step takes the place of its beginning
                    chain = self._chain_before(new)
                link = chain = linked(chain, plain)
            name = event.id or "e" + (link or _digest(f"{before} {plain}"))
            while name in batch or name in self.seqs:  # a client's id that looks like a derived one
                name = "e" + _digest(name)
            numbered = msgspec.structs.replace(
                event, session=self.session, seq=self.head + len(new) + 1, id=name, plain=plain, chain=link
            )
            new.append(numbered)
            batch[name], before = numbered, name
        return new, known

    def _chain_before(self, new: Sequence[Event]) -> str:
        """The chain in front of the newest step: of its beginning, whatever of it came later."""
        step = True
        for event in reversed((*self.events[-50:], *new)):
            if event.chain and not step:
                return event.chain
            step = step and (not event.chain or CONTINUES in event.meta)
        return ""

    def by_id(self, name: str) -> Event | None:
        seq = self.seqs.get(name)
        return self.events[seq - 1] if seq else None

    def event(self, name: str) -> Event:
        """By seq or by client id. Raises NotFound."""
        if name.isascii() and name.isdigit() and len(name) <= 18 and 1 <= int(name) <= self.head:
            return self.events[int(name) - 1]
        if found := self.by_id(name):
            return found
        raise no_event(name, self.session, self.head)

    def key_at(self, seq: int) -> str | None:
        """The key of the event there; None when there is none."""
        return self.events[seq - 1].key if 0 < seq <= self.head else None

    def seen(self, scope: Scope, first: int = 1, last: int | None = None) -> list[Event]:
        """Events that the scope sees, `first` to `last` inclusive."""
        first, last = max(1, first), self.head if last is None else min(last, self.head)
        if scope.seqs is None:
            return self.events[first - 1 : max(last, 0)]
        chosen = scope.seqs[bisect_left(scope.seqs, first) : bisect_right(scope.seqs, last)]
        return [self.events[seq - 1] for seq in chosen]

    def ends_step(self, event: Event) -> bool:
        """Whether work is due after this event: a final assistant text or the last result of a tool round."""
        if event.role == "assistant":
            return not event.calls
        if not event.result:
            return False
        called = self.calls.made.get(event.result.call_id, {}).values()
        made = next((one for one in called if one.answered == event.seq), None) or self.calls.answered_by(event)
        if made is None:
            return False
        return all(self._answered(made, call) for call in self.events[made.seq - 1].calls)

    def _answered(self, made: OpenCall, call: ToolCall) -> bool:
        newest = self.calls.made[call.id][made.key]
        return newest.seq != made.seq or newest.answered > 0  # made again later: the old one waits for nothing

    def upto(self, seq: int, session: str) -> Log:
        """The beginning of this log as another session inherits it: the events are shared."""
        other = Log(session)
        other.extend(self.events[:seq])
        return other


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
