"""Rounds: the unit of cutting, and the questions about calls that wait. Knows nothing of sizes, storage or
wires.

A round is an assistant step with all its calls and results, and the user or injected messages in front of
it. A request may begin or end only on a round border, so a call is never parted from results that arrived
in time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.events import CONTINUES, Event, Reasoning, ToolCall


class Round(msgspec.Struct, frozen=True):
    """Events that stay together; `first` and `last` are the seqs of the first and last of them."""

    first: int
    last: int
    events: tuple[Event, ...]

    @property
    def is_finished(self) -> bool:
        """Whether an assistant has answered; only the newest round may be unfinished."""
        return any(event.role == "assistant" for event in self.events)


def rounds(events: Sequence[Event]) -> list[Round]:
    """Cut events (ordered by seq, possibly a filtered list) into rounds; joined, they give the events
    back.

    A result that arrives after another assistant step belongs to the round in which it arrives. Control
    events ride along with the round they stand in. Newest user words that nobody answered yet are a round
    of their own.
    """
    out: list[Round] = []
    start = 0
    for end in _ends(events):
        part = tuple(events[start:end])
        out.append(Round(part[0].seq, part[-1].seq, part))
        start = end
    return out


def border(events: Sequence[Event], keep_rounds: int) -> int:
    """How many events stand before the newest `keep_rounds` rounds. Reads only the end of the list."""
    if keep_rounds <= 0:
        return len(events)
    start, seen, wanted = len(events), 0, keep_rounds
    while True:
        while start and seen <= wanted:
            start -= 1
            seen += events[start].role == "assistant" and CONTINUES not in events[start].meta
        start = start if seen > wanted else 0
        ends = [start + end for end in _ends(events[start:])]
        if len(ends) > keep_rounds:
            return ends[-keep_rounds - 1]
        if not start:
            return 0
        wanted *= 2  # several steps may be one round: look further back


def _ends(events: Sequence[Event]) -> list[int]:
    """Index after the last event of every round."""
    ends: list[int] = []
    end = 0  # after the last event that surely belongs to the current round
    answered = riding = False
    for index, event in enumerate(events):
        role = event.role
        if role == "assistant":
            if answered and CONTINUES not in event.meta:
                ends.append(end)
            answered, riding, end = True, True, index + 1
        elif answered and (role == "tool" or (role == "control" and riding)):
            # A result pulls in what was said while its tool ran: parting them would break the pair.
            riding, end = True, index + 1
        else:
            riding = False
    if answered:
        ends.append(end)
    if not ends or ends[-1] < len(events):
        ends.append(len(events))
    return [end for end in ends if end]


def _last_assistant(events: Sequence[Event]) -> int:
    """Index of the newest assistant event, -1 without one."""
    return next((at for at in range(len(events) - 1, -1, -1) if events[at].role == "assistant"), -1)


def open_calls(events: Sequence[Event]) -> list[tuple[Event, ToolCall]]:
    """Calls without a result that no later assistant event has passed over: their results may still come."""
    at = _last_assistant(events)
    if at < 0:
        return []
    answered = {found.call_id for event in events[at + 1 :] if (found := event.result)}
    return [(events[at], call) for call in events[at].calls if call.id not in answered]


def unanswered(events: Sequence[Event]) -> list[tuple[Event, ToolCall]]:
    """Every call without a result after it, open ones included, in order.

    An id that is used twice (some providers number per message) is matched with the nearest call before
    its result.
    """
    waiting: dict[str, list[tuple[Event, ToolCall]]] = {}
    for event in events:
        if event.role == "assistant":
            for call in event.calls:
                waiting.setdefault(call.id, []).append((event, call))
        elif event.role == "tool" and (found := event.result) and waiting.get(found.call_id):
            waiting[found.call_id].pop()
    left = {id(call): (event, call) for pairs in waiting.values() for event, call in pairs}
    return [left[id(call)] for event in events for call in event.calls if id(call) in left]


def unread_round(events: Sequence[Event]) -> tuple[Event, ...]:
    """Tool results that no assistant event has seen yet (nothing may drop or shorten them)."""
    return tuple(event for event in events[_last_assistant(events) + 1 :] if event.role == "tool")


def newest_user(events: Sequence[Event]) -> Event | None:
    """The newest message of a real user; injected rows do not count."""
    return next((event for event in reversed(events) if event.is_user), None)


def in_flight(events: Sequence[Event]) -> bool:
    """Whether the agent is in the middle of a turn: the newest event that is shown is no finished answer."""
    last = next((event for event in reversed(events) if event.role != "control"), None)
    return last is not None and (last.role != "assistant" or bool(last.calls))


def between_calls(events: Sequence[Event]) -> bool:
    """Whether a run is under way: the agent has taken a step since the newest real user message, and goes on (its last
    step called tools, or something came after it)."""
    for event in reversed(events):
        if event.is_user:
            return False
        if event.role == "assistant":
            return in_flight(events)
    return False


def is_thinking(events: Sequence[Event]) -> bool:
    """Whether the run in progress, behind the newest real user message, holds thinking that its provider checks."""
    for event in reversed(events):
        if event.is_user:
            return False
        if any(isinstance(part, Reasoning) and part.raw for part in event.parts):
            return True
    return False
