"""The part of a store that is the same in every place: a lineage folded up to its head, and what is read
off it.

Pure: knows nothing of tables, transactions or time. A store feeds rows in and asks for numbers, views and
matches.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log as logarithm

import msgspec

from foldmark.checkpoint import Checkpoint, Fact, Mark
from foldmark.errors import HasForks, HeadMoved, IdConflict, NotFound
from foldmark.events import CONTINUES, Event, ToolCall, fingerprint, linked, to_json
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.store import Key, OpenCall, ScopeState, View, sees

State = dict[tuple[str, str], Fact]
Viewpoint = tuple[str, str]  # (scope, sees): what makes two scopes of a session the same

WHOLE: Viewpoint = ("", "all")
"""The scope that sees the whole session: what you get without saying anything."""
UNCHAINED = ("control", "system")
"""Roles that take no part in the chain and in no comparison of lists: they may come and go without breaking a match."""
ATTEMPTS_SHOWN = 20
"""Newest attempts in a view, and as many of the older ones that asked a model: while models rest, what code makes must
not push out why they rest."""


class Scope:
    """What one scope sees of a log: its seqs (None = every event) and its newest facts."""

    def __init__(self, key: Key, log: Log) -> None:
        self.key, self.log = key, log
        self.seqs: list[int] | None = None if key.sees == "all" else []
        self.state: State = {}
        self.pins: State = {}  # those of `state` that are pins: every view asks for them
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
        counted once, when somebody asks first. Do not change them."""
        if self.seqs is None:
            return whole
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
        self.calls: dict[str, OpenCall] = {}
        self.chain = ""
        self.has_keys = False  # whether any event has a key of its own: agents share the session
        self.scopes: dict[Viewpoint, Scope] = {}

    @property
    def head(self) -> int:
        return len(self.events)

    def shows(self, key: Key, fact: Fact) -> bool:
        """Whether a scope may know a fact: it sees the event that established it, and every event that the fact rests
        on, for their words may stand in it."""
        if key.sees == "all":
            return True
        rests = (self.events[seq - 1] for seq in fact.refs if 0 < seq <= self.head)
        return sees(key.scope, fact.scope, key.sees) and all(map(key.shows, rests))

    def is_at(self, seq: int, chain: str) -> bool:
        """Whether the event there has that chain, that is, whether it is the same past up to it."""
        return 1 <= seq <= self.head and self.events[seq - 1].chain == chain

    def extend(self, events: Iterable[Event]) -> None:
        """Fold in the next events; their seqs must go on from the head."""
        for event in events:
            if event.seq != len(self.events) + 1:
                raise ValueError(f"event {event.seq} cannot follow {len(self.events)}")
            self.events.append(event)
            self.seqs[event.id] = event.seq
            self.chain = event.chain or self.chain
            self.has_keys = self.has_keys or bool(event.key)
            for call in event.calls:
                self.calls[call.id] = OpenCall(event.seq, call, key=event.key)
            if (answer := event.result) and (made := self.calls.get(answer.call_id)):
                self.calls[answer.call_id] = msgspec.structs.replace(made, answered=event.seq)
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
        if name.isascii() and name.isdigit() and 1 <= int(name[:18]) <= self.head:
            return self.events[int(name) - 1]
        if found := self.by_id(name):
            return found
        raise no_event(name, self.session, self.head)

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
        made = self.calls.get(answer.call_id) if (answer := event.result) else None
        if made is None:
            return False
        return all(self._answered(made.seq, call) for call in self.events[made.seq - 1].calls)

    def _answered(self, seq: int, call: ToolCall) -> bool:
        newest = self.calls[call.id]
        return newest.seq != seq or newest.answered > 0  # made again later: the old one waits for nothing

    def upto(self, seq: int, session: str) -> Log:
        """The beginning of this log as another session inherits it: the events are shared."""
        other = Log(session)
        other.extend(self.events[:seq])
        return other


def no_session(name: str) -> NotFound:
    return NotFound(name, f"There is no session {name!r}. `foldmark sessions` lists those there are.")


def no_event(name: str, session: str, head: int) -> NotFound:
    return NotFound(f"event:{name}", f"Session {session!r} has no event {name!r}; it ends at {head}.")


def still_there(session: str, ends: Mapping[str, int], heads: Mapping[str, int] | None) -> None:
    """Whether what goes with a session is what somebody looked at: `ends` are the heads of all that goes. Raises
    HasForks for one that is not in `heads`, HeadMoved for one that went on since. None: nobody looked."""
    if heads is None:
        return
    if others := tuple(name for name in ends if name not in heads):
        raise HasForks(session, others)
    for name, head in ends.items():
        if heads[name] != head:
            raise HeadMoved(name, heads[name], head)


def replaced(session: str) -> NotFound:
    """The session was deleted, and its name given to another one."""
    return NotFound(session, f"Session {session!r} is another one by now; nothing was written into it.")


def viewpoint_of(key: Key) -> Viewpoint:
    return WHOLE if key.sees == "all" and not key.scope else (key.scope, key.sees)


def learn(state: State, fact: Fact) -> None:
    """Newest wins: the higher seq, among equals the one that came later."""
    name = (fact.kind, fact.key)
    if (known := state.get(name)) is None or known.seq <= fact.seq:
        state[name] = fact


def newest(facts: Iterable[Fact]) -> State:
    state: State = {}
    for fact in facts:
        learn(state, fact)
    return state


def pinned(state: Mapping[tuple[str, str], Fact]) -> frozenset[int]:
    """Seqs that are pinned: those a pin names in its refs, else the one in its key."""
    seqs: set[int] = set()
    for fact in state.values():
        if fact.kind == "pin" and fact.status != "gone":
            seqs.update(fact.refs or ((int(fact.key),) if fact.key.isdigit() else ()))
    return frozenset(seqs)


def shown_attempts(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts of a view, oldest first, of all there are."""
    older = [one for one in attempts[:-ATTEMPTS_SHOWN] if one.calls]
    return (*older[-ATTEMPTS_SHOWN:], *attempts[-ATTEMPTS_SHOWN:])


def build_view(
    key: Key,
    log: Log,
    scope: Scope,
    checkpoint: Checkpoint | None,
    state: ScopeState,
    attempts: Sequence[Attempt],
) -> View:
    """The scope as the next request sees it."""
    boundary = checkpoint.boundary if checkpoint else 0
    kept = [
        log.events[seq - 1] for seq in (checkpoint.kept if checkpoint else ()) if 0 < seq <= min(boundary, log.head)
    ]
    pins = pinned(scope.pins)
    return View(
        key=key,
        checkpoint=checkpoint,
        kept=tuple(filter(key.shows, kept)),
        events=tuple(log.seen(scope, boundary + 1)),
        state=state,
        pins=pins,
        pinned=tuple(
            filter(key.shows, (log.events[seq - 1] for seq in sorted(pins) if 0 < seq <= min(boundary, log.head)))
        ),
        attempts=shown_attempts(attempts),
        all_events=log.head if scope.seqs is None else len(scope.seqs),
        head=log.head,
        first_request=scope.first_request,
    )


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


def committed(state: ScopeState, checkpoint: Checkpoint) -> ScopeState:
    """A scope's state after a compaction: its mark moves with the boundary, and never back but by an undo: while a
    model was asked a request may have gone out behind a further one. An undo holds the triggers."""
    made, sent = checkpoint.mark, state.mark
    further = sent.options == made.options and sent.seq > max(made.seq, checkpoint.boundary)
    further = further and sent.time > checkpoint.time and checkpoint.kind != "undo"
    return msgspec.structs.replace(state, mark=sent if further else made, held=checkpoint.held)


def overlap(offered: Sequence[str], tail: Sequence[str]) -> int:
    """How long a head of `offered` is the end of `tail`; linear (a failure table, as in string matching)."""
    if not offered:
        return 0
    table, length = [0] * len(offered), 0
    for place in range(1, len(offered)):
        while length and offered[place] != offered[length]:
            length = table[length - 1]
        length += offered[place] == offered[length]
        table[place] = length
    length = 0
    for plain in tail:
        if length == len(offered):
            length = table[length - 1]
        while length and plain != offered[length]:
            length = table[length - 1]
        length += plain == offered[length]
    return length


def ordered(postings: Mapping[str, Sequence[int]], total: int) -> list[int]:
    """The pieces that hold the rarest and most terms, best first, newer first among equals.

    Rarity is counted in the searched sessions alone: counts over everybody would tell what others write
    about.
    """
    scores: dict[int, float] = {}
    for numbers in postings.values():
        weight = logarithm(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
        for number in numbers:
            scores[number] = scores.get(number, 0.0) + weight
    return sorted(scores, key=lambda number: (scores[number], number), reverse=True)


def count_event(tally: Tally, event: Event, texts: Sequence[str]) -> None:
    """Count an event by its pieces: they hold its whole text and its calls' arguments, redacted. What has none (a
    recalled text) is no news."""
    tally.add(event, text="".join(texts), calls=())


def started(log: Log, key: Key, call_id: str, *, own: bool, at: int = 0) -> bool:
    """Whether a child session belongs to what the key sees: the call that started it does. It was made `at` a seq,
    where that is known: ids of calls may come again under another key. A child without a known call belongs to its
    parent itself (`own`), seen as a whole."""
    if 0 < at <= len(log.events):
        return key.shows(log.events[at - 1])
    made = log.calls.get(call_id)
    return sees(key.scope, made.key, key.sees) if made else own and key.sees == "all"


def holds_call(event: Event) -> bool:
    """Whether the event carries a call's id, which makes one event alone recognisable."""
    return bool(event.calls or event.result)


def described(old: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Settings with the changes made; an empty value removes one."""
    return {name: value for name, value in {**old, **changes}.items() if value}


def title_of(events: Iterable[Event], texts: Mapping[int, str]) -> str:
    """A session's title: the beginning of the first user's words, as they were indexed (redacted)."""
    for event in events:
        if event.is_user:
            words = " ".join((texts.get(event.seq) or event.text).split())
            return words if len(words) <= 80 else words[:79].rstrip() + "…"
    return ""


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
