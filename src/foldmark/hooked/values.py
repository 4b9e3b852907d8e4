"""What a user's hooks are given and what they say. Knows nothing of when they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from foldmark.events import Event
from foldmark.store import HeldBack, Key


class Hold(msgspec.Struct, frozen=True):
    """What a hook returns in the place of an event that is not to be recorded; `reason` is told to whoever records."""

    reason: str


class Landed(msgspec.Struct, frozen=True):
    """What an append brought: the events as they are stored, and their refs."""

    key: Key
    events: tuple[Event, ...]
    refs: tuple[str, ...]


OnAppend = Callable[[Key, tuple[Event, ...]], Sequence[Event | Hold] | None]
OnRead = Callable[[Key, Event], Event | None]
After = Callable[[Landed], object]


class EventHooks(msgspec.Struct, frozen=True, kw_only=True):
    """A user's functions around append and read. Each may be left out.

    `on_append` gets the key of whoever records and the events offered, as they arrived. It returns as many: at the
    place of each the event to record (the same, or one with other parts, `scope`, `branch`, `meta`, `time`), or a
    `Hold`. None records them as they are. It may raise `Vetoed`: then nothing of the batch is recorded. An event may
    be offered again (after a crash, when another writer was first, and what was held back as long as no message behind
    it in its list is recorded), so a hook should do nothing but answer, and it should decide by what the event says.

    `on_read` gets the key of whoever reads and one stored event; it returns the event to show, or None to withhold it.
    It must give the same answer to the same event, now and later: a request must begin as the last one did.

    `after` gets what was appended, in a thread of its own (at the exit of the interpreter in the one that records), one
    append at a time, those of a session in the order of the log; what it raises is logged and changes nothing. `name`
    stands in errors and in what is told of held events (else the name of the function).
    """

    on_append: OnAppend | None = None
    on_read: OnRead | None = None
    after: After | None = None
    name: str = ""

    def called(self, hook: Callable[..., object]) -> str:
        """What the hook is called in messages."""
        return self.name or getattr(hook, "__qualname__", "") or type(hook).__name__


__all__ = ["EventHooks", "HeldBack", "Hold", "Landed"]
