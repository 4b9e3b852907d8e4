"""The conversations of a trace, grown message by message. Knows nothing of files.

A generation goes on with the conversation whose messages its input repeats; one that repeats only the first part of
a conversation and answers anew is a fork of it; one that repeats nothing begins a conversation of its own. Calls
without an id get one, and an id that comes back gets a number, so that every result names its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from foldmark.events import Event, ToolCall, injected, result
from foldmark.importers.langfuse_matching import Face, Match, face_of, match
from foldmark.importers.langfuse_observations import Observation
from foldmark.importers.values import Notes


class Line:
    """One conversation. `source` is the observation that began it, `start` how much it shares with its `parent`."""

    def __init__(self, source: Observation, system: str = "", parent: Line | None = None, start: int = 0) -> None:
        self.source, self.parent, self.start = source, parent, start
        self.system = system
        self.tools: tuple[dict[str, Any], ...] = ()
        self.forks: list[Line] = []
        self.events: list[Event] = []
        self.faces: list[Face] = []
        if parent is not None:
            self.events, self.faces = parent.events[:start], parent.faces[:start]
            parent.forks.append(self)
        self.origins: set[str] = set()
        self._ids: dict[str, str] = dict(parent._ids) if parent else {}
        self._made: dict[str, str] = {}
        for event in self.events:
            self._note(event)

    def add(self, events: Iterable[Event], notes: Notes, **fields: Any) -> None:
        """Put events at the end, each with the fields."""
        for event in events:
            placed = self._placed(event, notes)
            self.events.append(msgspec.structs.replace(placed, **fields))
            self.faces.append(face_of(placed))
            self._note(placed)

    def open_calls(self) -> list[ToolCall]:
        answered = {event.result.call_id for event in self.events if event.result}
        return [call for event in self.events for call in event.calls if call.id not in answered]

    def answer(self, call: ToolCall, text: str, *, is_error: bool, time: float) -> None:
        """Put a result behind the step of its call and the results that stand there."""
        at = next(place for place, event in enumerate(self.events) if call in event.calls) + 1
        while at < len(self.events) and self.events[at].result is not None:
            at += 1
        self._insert(at, result(call.id, text, name=call.name, is_error=is_error, time=time))

    def _insert(self, at: int, event: Event) -> None:
        """Put an event in, also into the part that forks share."""
        self.events.insert(at, event)
        self.faces.insert(at, face_of(event))
        for fork in self.forks:
            if at < fork.start:
                fork.start += 1
                fork._insert(at, event)

    def _note(self, event: Event) -> None:
        self._made.update((call.id, call.name) for call in event.calls)

    def _placed(self, event: Event, notes: Notes) -> Event:
        if event.result is not None:
            return self._result(event, notes)
        parts = tuple(self._call(part) if isinstance(part, ToolCall) else part for part in event.parts)
        return msgspec.structs.replace(event, parts=parts)

    def _call(self, call: ToolCall) -> ToolCall:
        name = call.id or f"call_{len(self._made) + 1}"
        taken, number = name, 2
        while taken in self._made:
            taken, number = f"{name}-{number}", number + 1
        self._ids[name] = taken
        self._made[taken] = call.name
        return msgspec.structs.replace(call, id=taken)

    def _result(self, event: Event, notes: Notes) -> Event:
        answer = event.result
        assert answer is not None
        waiting = self.open_calls()
        named = [call for call in waiting if not answer.name or call.name == answer.name]
        call_id = self._ids.get(answer.call_id) if answer.call_id else (named[0].id if named else "")
        if not call_id or call_id not in self._made:
            notes.warn("results whose calls this trace does not hold are injected text")
            return injected(answer.text)
        fields = {"call_id": call_id, "name": answer.name or self._made[call_id]}
        placed = msgspec.structs.replace(answer, **fields)
        parts = tuple(placed if part is answer else part for part in event.parts)
        return msgspec.structs.replace(event, parts=parts)


class Lines:
    """All conversations of a trace, in the order in which they began."""

    def __init__(self, notes: Notes) -> None:
        self.all: list[Line] = []
        self.notes = notes

    def take(self, source: Observation, asked: list[Event] | None, said: list[Event], system: str = "") -> Line:
        """Add what a generation was asked, as far as it is new, and what it said; gives the line it belongs to.
        Without a readable input it goes on with the line beside it."""
        line = self._asked(source, asked, system, is_answered=bool(said))
        line.origins.add(source.parent)
        line.system = line.system or system
        line.add(said, self.notes)
        return line

    def _asked(self, source: Observation, asked: list[Event] | None, system: str, *, is_answered: bool) -> Line:
        if asked is None:
            return self.beside(source) or self._begun(Line(source, system))
        going = self._goes_on_with(asked, system)
        if going is None:
            line, new = self._begun(Line(source, system)), tuple(asked)
        else:
            line, found = going
            new = found.new
            if is_answered and _leaves(line, found):
                line = self._begun(Line(source, line.system, line, found.end))
        line.add(new, self.notes, time=source.start)
        return line

    def complete(self, told: list[Event], time: float) -> None:
        """Add what a whole conversation, told by its agent at the end, has beyond the line that it tells."""
        going = self._goes_on_with(told, "")
        if going is not None and not _leaves(*going):
            line, found = going
            line.add(found.new, self.notes, time=time)

    def _begun(self, line: Line) -> Line:
        self.all.append(line)
        return line

    def beside(self, source: Observation) -> Line | None:
        """The newest line with a generation under the same parent."""
        return next((line for line in reversed(self.all) if source.parent in line.origins), None)

    def _goes_on_with(self, asked: Sequence[Event], system: str) -> tuple[Line, Match] | None:
        """The line of which most messages come again, the newest of equals."""
        best: tuple[Line, Match] | None = None
        faces = [face_of(event) for event in asked]
        for line in self.all:
            found = match(line.faces, asked, faces)
            is_trimmed = found.count > 1 and found.end == len(line.events)
            is_other_agent = bool(system and line.system and system != line.system) and found.count < 2
            if is_other_agent or not (found.is_from_start or is_trimmed):
                continue
            if best is None or found.count >= best[1].count:
                best = (line, found)
        return best


def _leaves(line: Line, found: Match) -> bool:
    """Whether the model is asked anew from before something it said. A step whose result arrives is none of that:
    its own words may be missing from the input."""
    has_results = any(event.result is not None for event in found.new)
    rest = line.events[found.end :]
    return any(event.role == "assistant" and not (event.calls and has_results) for event in rest)
