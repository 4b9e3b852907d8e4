"""Events as rounds on their way out, and the memory of what was written. Knows nothing of any provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from foldmark.events import CONTINUES, Event, Image, ToolResult

Form = TypeVar("Form")
Message = dict[str, Any]
UsedIds = dict[str, None]
"""Call ids in the order of their first use: a set whose first part can be told."""


FORM_PICTURES = 1_000
"""Characters of picture data from which the form of an event is built each time: 8,192 screenshots are gigabytes."""

LIST_PICTURES = 2_000_000
"""Characters of picture data up to which the beginning of a list is remembered: some screenshots."""


def picture_characters(event: Event) -> int:
    """Characters that the pictures of an event take in a request."""
    size = 0
    for part in event.parts:  # plain loops: asked for every new event
        if isinstance(part, Image):
            size += len(part.data) + len(part.url)
        elif isinstance(part, ToolResult) and part.images:
            size += sum(len(image.data) + len(image.url) for image in part.images)
    return size


class Group(NamedTuple, Generic[Form]):
    """Assistant events that become one assistant message, the results that follow, and everything else up to
    the next assistant: each as (event, its written form). `start` is the place of the first event."""

    start: int
    assistants: list[tuple[Event, Form]]
    results: list[tuple[Event, Form]]
    others: list[tuple[Event, Form]]


class Forms(Generic[Form]):
    """Remembers the written form of events, so that a request touches only what is new.

    Events are immutable, so the object is its own key; it is kept beside its form so that the key cannot be
    given to another object. Bounded: the oldest half leaves when `limit` is reached, and an event with
    pictures (`FORM_PICTURES`) is never held. Callers copy what they hand out.
    """

    def __init__(self, build: Callable[[Event], Form], limit: int = 8192) -> None:
        self._build, self._limit = build, limit
        self._known: dict[int, tuple[Event, Form]] = {}

    def of(self, event: Event) -> Form:
        known = self._known.get(id(event))
        if known is not None and known[0] is event:
            return known[1]
        form = self._build(event)
        if picture_characters(event) > FORM_PICTURES:
            return form
        if len(self._known) >= self._limit:
            for key in list(self._known)[: self._limit // 2]:
                self._known.pop(key, None)
        self._known[id(event)] = (event, form)
        return form


class Written(NamedTuple):
    """The messages of the first events of a list, up to the last group (which may still grow), the call ids they
    use, and the characters of their pictures."""

    events: list[Event]
    messages: list[Message]
    used: tuple[str, ...]
    pictures: int = 0


class Writer(Generic[Form]):
    """Turns events into messages; a list that goes on from one written before costs only its new end.

    `extend(messages, group, used)` writes one group, and may put another message in place of one of the newest two
    (it never changes a message: that may be remembered). `copy(message)` makes a message that the caller may
    change. The last `keep` lists are remembered, so that a few sessions can take turns; of a list with many
    pictures only the part in front of them (`LIST_PICTURES`). `may_grow(message)` says whether a step that follows
    could be merged into this message.
    """

    def __init__(
        self,
        build: Callable[[Event], Form],
        extend: Callable[[list[Message], Group[Form], UsedIds], None],
        copy: Callable[[Message], Message],
        keep: int = 4,
        may_grow: Callable[[Message], bool] = lambda message: message["role"] == "assistant",
    ) -> None:
        self._forms, self._extend, self._copy, self._keep = Forms(build), extend, copy, keep
        self._may_grow = may_grow
        self._memory: tuple[Written, ...] = ()

    def messages(self, events: Sequence[Event]) -> list[Message]:
        events = list(events)
        known, groups = self._known_part(events)
        messages, used = list(known.messages), dict.fromkeys(known.used)
        pictures = known.pictures
        latest: tuple[int, int, list[Message], int, int] | None = None
        for group in groups:
            # A message of the same role might be merged into the one before: that is no place to go on from.
            if group.assistants and messages and not self._may_grow(messages[-1]) and pictures <= LIST_PICTURES:
                latest = group.start, len(messages), messages[-2:], len(used), pictures
            self._extend(messages, group, used)
            pictures += sum(picture_characters(event) for each in group[1:] for event, _ in each)
        if latest is not None:
            start, written, ends, ids, shown = latest
            newest = Written(events[:start], [*messages[: written - len(ends)], *ends], tuple(used)[:ids], shown)
            rest = tuple(entry for entry in self._memory if entry is not known)
            self._memory = (newest, *rest[: self._keep - 1])
        copy = self._copy
        return [copy(message) for message in messages]

    def _known_part(self, events: list[Event]) -> tuple[Written, list[Group[Form]]]:
        """What of the list was written before, and the groups still to write.

        A remembered part ends where an assistant step began; a list that goes on in any other way would add
        to the last group of that part, so it is written anew.
        """
        for entry in self._memory:
            length = len(entry.events)
            # The comparison is by identity first, so a known list of thousands costs microseconds.
            if length <= len(events) and entry.events == events[:length]:
                groups = grouped(events[length:], self._forms, start=length)
                if not groups or groups[0].assistants:
                    return entry, groups
        return Written([], [], ()), grouped(events, self._forms)


def grouped(events: Iterable[Event], forms: Forms[Form], start: int = 0) -> list[Group[Form]]:
    """Events as groups; the first event counts as number `start`.

    An event that writes nothing (control, an aborted empty step) takes no part.

    Two assistant events with nothing between them share a group while the first has calls: a call must be
    answered before the next assistant message, and transcripts that split one step over several records mean
    one message.
    """
    groups: list[Group[Form]] = [Group(start, [], [], [])]
    _, assistants, results, others = groups[0]
    for at, event in enumerate(events, start):
        role = event.role
        form = None if role == "control" else forms.of(event)
        if not form:
            continue
        if role == "assistant":
            is_one_step = CONTINUES in event.meta or any(held[0].calls for held in assistants)
            if assistants and not results and not others and is_one_step:
                assistants.append((event, form))
                continue
            assistants, results, others = [(event, form)], [], []
            groups.append(Group(at, assistants, results, others))
        elif role == "tool":
            results.append((event, form))
        else:
            others.append((event, form))
    return [_in_call_order(group) for group in groups if group.assistants or group.results or group.others]


def _in_call_order(group: Group[Form]) -> Group[Form]:
    """Results in the order of their calls; results of no call here keep their order and come last."""
    if len(group.results) > 1:
        calls = [call.id for event, _ in group.assistants for call in event.calls]
        place = {call_id: at for at, call_id in reversed(list(enumerate(calls)))}
        group.results.sort(key=lambda held: place.get(held[0].result.call_id if held[0].result else "", len(calls)))
    return group
