"""What one reader sees of one session: each event through the read hooks, once, and what was derived from it only
where it still holds. Knows nothing of how a store keeps anything.

A decision rests on the event and on earlier ones alone, so what stood in a request stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import RLock

import msgspec

from foldmark.checkpoint import Fact, Unit
from foldmark.errors import HookError, NotFound, words_of_error
from foldmark.events import CONTINUES, Event, Image, Part, Paste, Text, ToolResult
from foldmark.hooked.checking import checked, name_of
from foldmark.hooked.values import EventHooks
from foldmark.readings import with_calls, words_of
from foldmark.redact import redactor
from foldmark.salience import Tally
from foldmark.seeking import Found, Piece
from foldmark.store import Key, Store, sees
from foldmark.tokens import event_tokens

SHORT = 3
"""Characters: a detail of a fact as short as that (an exit code, a count) tells nothing by itself."""


class Reader:
    """The fold of one lineage for one reader. `withheld` holds the scope key of every event that is not shown, by seq,
    `changed` every event that is shown otherwise than it is stored. `secret` keys the labels of redacted secrets.
    Whoever uses one holds its `lock`."""

    def __init__(self, key: Key, hooks: Sequence[EventHooks], secret: bytes = b"") -> None:
        self.key, self._hooks, self._redact = key, hooks, redactor(secret)
        self._whole = msgspec.structs.replace(key, scope="", sees="all")
        self.lock = RLock()
        self._forget()

    def _forget(self) -> None:
        self.withheld: dict[int, str] = {}
        self.changed: dict[int, Event] = {}
        self._last: Event | None = None
        self._gone: set[str] = set()  # calls that are not shown, and not made again since
        self._made: dict[str, int] = {}  # call id -> seq of the event that made it
        self._asked: dict[int, int] = {}  # seq of a result -> seq of its call
        self._texts: dict[int, str] = {}  # what changed events say, redacted as all derived text is
        self._tally, self._counted = Tally(), 0

    def catch_up(self, store: Store) -> Reader:
        """Let what was appended since pass the hooks. Raises HookError; nothing is shown then."""
        if self._last is not None and not self._is_there(store, self._last):
            self._forget()  # the session was deleted, its name given again
        for event in store.log(self._whole, self._last.seq + 1 if self._last else 1):
            self._add(event)
            self._last = event
        return self

    def _is_there(self, store: Store, event: Event) -> bool:
        try:
            found = store.event(self._whole, str(event.seq))
        except NotFound:
            return False
        return found is event or (found.id, found.plain, found.chain) == (event.id, event.plain, event.chain)

    def _add(self, event: Event) -> None:
        shown = None if self._hangs_on_withheld(event) else through(self._hooks, self.key, event)
        if event.result and (made := self._made.get(event.result.call_id)):
            self._asked[event.seq] = made
        if shown is not None and self._asked.get(event.seq) in self.changed:
            shown = _without_outcome(event, shown)  # it may name what the call was
        for call in event.calls:
            self._made[call.id] = event.seq
            (self._gone.discard if shown else self._gone.add)(call.id)
        if shown is None:
            self.withheld[event.seq] = event.key
        elif shown is not event:
            self.changed[event.seq] = shown

    def _hangs_on_withheld(self, event: Event) -> bool:
        """A result whose call is not shown, the rest of a step whose beginning is not."""
        begun = event.meta.get(CONTINUES, "")
        is_rest = begun.isdigit() and int(begun) in self.withheld
        return is_rest or bool(event.result and event.result.call_id in self._gone)

    # -- what is shown

    @property
    def hides(self) -> bool:
        """Whether anything is withheld or changed."""
        return bool(self.withheld or self.changed)

    def show(self, events: Iterable[Event]) -> list[Event]:
        """The events as this reader sees them."""
        return [self.changed.get(event.seq, event) for event in events if event.seq not in self.withheld]

    def unseen(self) -> int:
        """How many withheld events the reader's scope would have shown."""
        return sum(sees(self.key.scope, key, self.key.sees) for key in self.withheld.values())

    def units(self, units: Iterable[Unit]) -> list[Unit]:
        """Those of shown events; of a changed one those that still stand in it."""
        return [unit for unit in units if self._stands(unit.seq, unit.text)]

    def facts(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those that rest on shown events alone (`refs` too, a pin on what it pins, a result on its call); where one of
        these was changed, only what still stands in them. The scope's own rule is the store's (`Log.shows`)."""
        return [fact for fact in facts if self._holds(fact)]

    def altered(self) -> set[int]:
        """The seqs that are withheld or changed, and those of the results of such calls."""
        seqs = {*self.withheld, *self.changed}
        return seqs | {seq for seq, call in self._asked.items() if call in seqs}

    def found(self, found: Found) -> Found | None:
        """A match as this reader sees it, None where it must not be found."""
        piece = self._piece(found)
        if piece is None:
            return None
        (event,) = self.show([found.event])
        return found if event is found.event and piece is found.piece else Found(piece, event, found.session)

    def _piece(self, found: Found) -> Piece | None:
        """The piece, of a changed event with the words that are shown in the place of those that were indexed."""
        piece = found.piece
        if piece.seq in self.withheld:
            return None
        if self._asked.get(piece.seq) in self.changed:
            piece = msgspec.structs.replace(piece, head="")  # the call as it was stored
        if piece.seq not in self.changed or piece.text in self._shown(piece.seq):
            return piece
        lines = self._shown(piece.seq).split("\n")
        if not piece.number and len(lines) == _said(found.event).count("\n") + 1:  # line by line the same text
            text = "\n".join(lines[piece.line - 1 : piece.end_line])
            return msgspec.structs.replace(piece, text=text) if text.strip() else None
        same = [line for line in piece.text.split("\n") if line.strip() and line in lines]
        first = lines.index(same[0]) + 1 if same else 0
        last = min(first + len(same) - 1, len(lines))
        return Piece(piece.seq, piece.order, "\n".join(same), first, last, head=piece.head) if same else None

    def tally(self, store: Store) -> Tally:
        """Word and name counts of what is shown. A copy: another thread may record meanwhile."""
        for event in self.show(store.log(self._whole, self._counted + 1)):
            self._tally.add(event, text=self._redact(_said(event)), calls=())
        self._counted = self._last.seq if self._last else 0
        return self._tally.copy()

    def _shown(self, seq: int) -> str:
        """What a changed event says."""
        if seq not in self._texts:
            self._texts[seq] = self._redact(_said(self.changed[seq]))
        return self._texts[seq]

    def _stands(self, seq: int, text: str) -> bool:
        if seq in self.withheld:
            return False
        return seq not in self.changed or text in self._shown(seq)

    def _holds(self, fact: Fact) -> bool:
        pinned = (int(fact.key),) if fact.kind == "pin" and fact.key.isdecimal() else ()
        seqs = {seq for one in (fact.seq, *fact.refs, *pinned) for seq in (one, self._asked.get(one, one))}
        if not self.withheld.keys().isdisjoint(seqs):
            return False
        doubtful = [self._shown(seq) for seq in sorted(seqs) if seq in self.changed]
        if not doubtful:
            return True
        key = "" if fact.key.isdigit() or fact.key == fact.kind else fact.key
        said = [one for one in (fact.value, key, *fact.meta.values()) if len(one) > SHORT]
        return all(any(one in text for text in doubtful) for one in said)


def through(hooks: Sequence[EventHooks], key: Key, event: Event) -> Event | None:
    """The event as the read hooks show it; the last hook comes first, so that what the last one wrapped at append is
    unwrapped first. The very object that is stored where nothing changes. Raises HookError."""
    shown = event
    for hook in reversed(hooks):
        if hook.on_read is None:
            continue
        name = hook.called(hook.on_read)
        try:
            said = hook.on_read(key, shown)
        except Exception as error:
            text = f"The hook {name} failed on {name_of(event)} of session {key.session!r}: {words_of_error(error)}."
            raise HookError(f"{text} It is not shown: mend the hook and read again.") from error
        if said is None:
            return None
        shown = checked(shown, said, name)
    if shown is event or shown == event:
        return event
    return _as_changed(event, shown)


def _as_changed(event: Event, shown: Event) -> Event:
    """A changed event: seen where it is stored, its tokens counted anew. Bodies of changed parts, and a result's
    outcome line, tell what was stored: they are not named."""
    parts = tuple(part if part in event.parts else _without_body(part) for part in shown.parts)
    shown = msgspec.structs.replace(shown, parts=parts, scope=event.scope, branch=event.branch)
    shown = _without_outcome(event, shown) if parts != event.parts else shown
    return msgspec.structs.replace(shown, tokens=event_tokens(shown))


def _without_outcome(event: Event, shown: Event) -> Event:
    """Without the outcome line that was made when the event was stored; one that a hook wrote stays."""
    outcome = shown.meta.get("outcome")
    if outcome is None or outcome != event.meta.get("outcome"):
        return shown
    return msgspec.structs.replace(shown, meta={name: value for name, value in shown.meta.items() if name != "outcome"})


def _without_body(part: Part) -> Part:
    match part:
        case ToolResult() | Image():
            return msgspec.structs.replace(part, artifact=None)
        case Paste(text=text):
            return Text(text)
    return part


def _said(event: Event) -> str:
    return with_calls(words_of(event, {}), event.calls)
