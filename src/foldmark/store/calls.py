"""Calls of a log by their ids, and which of them a result answers: agents that share a session may use the same ids.
Knows nothing of stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from foldmark.events import Event, ToolCall
from foldmark.store.keys import sees


class OpenCall(msgspec.Struct, frozen=True):
    """A call and where it was made: at which `seq`, by an event of which `key`; `answered` is the seq of its result, 0
    while there is none."""

    seq: int
    call: ToolCall
    answered: int = 0
    key: str = ""


class Calls(dict[str, OpenCall]):
    """The newest call of each id; `made` has by id the newest of each key (scope or branch). Those of a log are living:
    another thread may record meanwhile, so they are looked up (`get`, `in`, `of`) and not walked."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, dict[str, OpenCall]] = {}

    def of(self, call_id: str) -> dict[str, OpenCall]:
        """The newest call with that id by each key. A copy."""
        return self.made.get(call_id, {}).copy()

    def add(self, event: Event) -> None:
        """The calls that an event makes."""
        for call in event.calls:
            self[call.id] = made = OpenCall(event.seq, call, key=event.key)
            self.made.setdefault(call.id, {})[event.key] = made

    def answer(self, event: Event, made: OpenCall | None) -> None:
        """That call has its answer in the event."""
        if made is not None:
            done = msgspec.structs.replace(made, answered=event.seq)
            self.made.setdefault(made.call.id, {})[made.key] = done
            if (newest := self.get(made.call.id)) and newest.seq == made.seq:
                self[made.call.id] = done

    def answered_by(self, event: Event, earlier: Calls | None = None) -> OpenCall | None:
        """The call that the event's result answers, made here or `earlier`: of its own key, where that waits, else the
        newest that waits under a key above or below it, else the newest of its own key, else of any."""
        if event.result is None:
            return None
        call_id = event.result.call_id
        calls = {**(earlier.of(call_id) if earlier else {}), **self.of(call_id)}
        own = calls.get(event.key)
        if own and not own.answered:
            return own
        near = [one for one in calls.values() if not one.answered and sees(event.key, one.key, "lineage")]
        return _newest(near) or own or _newest(calls.values())


def _newest(calls: Iterable[OpenCall]) -> OpenCall | None:
    return max(calls, key=lambda one: one.seq, default=None)


def answers(events: Sequence[Event], earlier: Calls) -> list[OpenCall | None]:
    """For each of some events that come in together the call that its result answers, made among them or `earlier`."""
    here, out = Calls(), list[OpenCall | None]()
    for event in events:
        here.add(event)
        out.append(here.answered_by(event, earlier))
        here.answer(event, out[-1])
    return out
