"""Calls of a log by their ids, and which of them a result answers: agents that share a session may use the same ids.
Knows nothing of stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from foldmark.events import Event, ToolCall


class OpenCall(msgspec.Struct, frozen=True):
    """A call and where it was made: at which `seq`, by an event of which `key`; `answered` is the seq of its result, 0
    while there is none."""

    seq: int
    call: ToolCall
    answered: int = 0
    key: str = ""


class Calls(dict[str, OpenCall]):
    """The newest call of each id, and beside it the newest of each id and key (scope or branch)."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[tuple[str, str], OpenCall] = {}

    def add(self, event: Event) -> None:
        """The calls that an event makes."""
        for call in event.calls:
            made = OpenCall(event.seq, call, key=event.key)
            self[call.id] = self.own[call.id, event.key] = made

    def answer(self, event: Event) -> None:
        """The call that the event's result answers has it."""
        if (result := event.result) and (made := answered(result.call_id, event.key, self)):
            done = msgspec.structs.replace(made, answered=event.seq)
            self.own[result.call_id, made.key] = done
            if self[result.call_id].seq == made.seq:
                self[result.call_id] = done


def answers(events: Sequence[Event], earlier: Calls) -> Callable[[Event], OpenCall | None]:
    """For events that come in together, asked in their order: the call that each one's result answers, made among them
    or `earlier`."""
    here, coming = Calls(), iter(events)

    def of(event: Event) -> OpenCall | None:
        for one in coming:
            here.add(one)
            if one is event:
                break
        return answered(event.result.call_id, event.key, here, earlier) if event.result else None

    return of


def answered(call_id: str, key: str, *places: Calls) -> OpenCall | None:
    """The call that a result of that key answers: the newest of its own key, else the newest of any. Later `places` are
    older."""
    own = next((place.own[call_id, key] for place in places if (call_id, key) in place.own), None)
    return own or next((place[call_id] for place in places if call_id in place), None)
