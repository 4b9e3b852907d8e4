"""Small pieces that readers of foreign messages share: arguments, thinking, results, who said what, and what was taken
back. Knows nothing of any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolResult, Usage
from foldmark.importers.values import Child, Imported
from foldmark.wire.anthropic_reading import PROVIDER as ANTHROPIC
from foldmark.wire.plain import as_count, as_mapping, compact_json, items


def mappings(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(path, object) of every entry of a list, None as the empty one. Raises WireError with the path of one that is
    no object."""
    for at, entry in enumerate(items(value, path)):
        yield f"{path}[{at}]", as_mapping(entry, f"{path}[{at}]")


def arguments_of(value: Any) -> str:
    """Arguments as JSON text: text as it arrived, None as no arguments, anything else as compact JSON."""
    if value is None:
        return "{}"
    return value if isinstance(value, str) else compact_json(value)


def words_of(value: Any) -> str:
    """A result's value as text: text as it is, None as the empty text, anything else as compact JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value)


def signed_thinking(words: str, signature: Any) -> Reasoning:
    """Anthropic's thinking as its API gave it, so that it can go back as it came."""
    return Reasoning(words, ANTHROPIC, {"type": "thinking", "thinking": words, "signature": signature})


def redacted_thinking(data: Any, shown: str = "") -> Reasoning:
    """Thinking that Anthropic gave encrypted; `shown` is what a summary says of it."""
    return Reasoning(shown, ANTHROPIC, {"type": "redacted_thinking", "data": data})


def thinking_blocks(blocks: Any, path: str) -> list[Reasoning]:
    """Anthropic's thinking as proxies put it beside the content of chat completions."""
    found = (block for _, block in mappings(blocks, path))
    return [Reasoning(str(block.get("thinking") or ""), ANTHROPIC, dict(block)) for block in found]


def result_of(
    call_id: str, content: Sequence[Part] | str, *, name: str = "", is_error: bool = False, **fields: Any
) -> Event:
    """One result event. Texts are joined by line breaks, images stay images, blocks nobody reads follow whole."""
    parts: Sequence[Part] = (Text(content),) if isinstance(content, str) else content
    outcome = ToolResult(
        call_id,
        "\n".join(part.text for part in parts if isinstance(part, Text)),
        name=name,
        is_error=is_error,
        images=tuple(part for part in parts if isinstance(part, Image)),
    )
    extra = tuple(part for part in parts if isinstance(part, Opaque))
    return Event(role="tool", origin="tool", parts=(outcome, *extra), **fields)


def failed(event: Event) -> Event:
    """The same result, as an error."""
    parts = tuple(
        msgspec.structs.replace(part, is_error=True) if isinstance(part, ToolResult) else part for part in event.parts
    )
    return msgspec.structs.replace(event, parts=parts)


def told(parts: Iterable[Part], *, is_user: bool, **fields: Any) -> Event:
    """A user-role event: the user's own when `is_user`, else injected."""
    return Event(role="user", origin="user" if is_user else "injected", parts=tuple(parts), **fields)


def told_in_runs(parts: Iterable[Part], is_by_program: Callable[[str], object], time: float | None) -> Iterator[Event]:
    """The parts of a user message as runs: texts that the program wrote are injected, the rest is the user's."""
    run: list[Part] = []
    was_user = True
    for part in parts:
        is_user = not (isinstance(part, Text) and is_by_program(part.text))
        if run and is_user != was_user:
            yield told(run, is_user=was_user, time=time)
            run = []
        run.append(part)
        was_user = is_user
    if run:
        yield told(run, is_user=was_user, time=time)


def usage_of(found: Any, whole: str, output: str, read: str = "", write: str = "") -> Usage | None:
    """Usage from a mapping, by the names of its keys; the `whole` prompt holds cached tokens already. None when
    it reports nothing."""
    if not isinstance(found, Mapping):
        return None
    usage = Usage(as_count(found.get(whole)), as_count(found.get(output)), as_count(found.get(read)))
    usage = msgspec.structs.replace(usage, cache_write=as_count(found.get(write)))
    return usage if usage != Usage() else None


class Waiting:
    """The calls of one line that wait for a result, oldest first, for formats whose results may name no id."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def made(self, events: Iterable[Event]) -> None:
        """Note the calls and the results of events, in their order."""
        for event in events:
            for call in event.calls:
                self._open[call.id] = self.names[call.id] = call.name
            if event.result is not None:
                self._open.pop(event.result.call_id, None)

    def oldest(self, name: str = "") -> str:
        """The id of the oldest waiting call (of that name, when one is given), "" when none waits."""
        return next((call_id for call_id, known in self._open.items() if not name or known == name), "")


class Told:
    """A session as it is told: events in order, and what was taken back from its end, which becomes forks."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.children: list[Child] = []

    def take_back(self, at: int, name: str, format: str, wire: str) -> None:
        """End the line behind its first `at` events; the rest is the fork `name`."""
        if at >= len(self.events):
            return
        called = {call.id for event in self.events[at:] for call in event.calls}
        theirs = [child for child in self.children if child.at > at or (child.call_id and child.call_id in called)]
        rest = Imported(session=name, format=format, wire=wire, events=tuple(self.events[at:]), children=tuple(theirs))
        self.events = self.events[:at]
        self.children = [child for child in self.children if child not in theirs]
        self.children.append(Child(kind="fork", imported=rest, at=at))

    def forks_with(self, system: str, tools: Sequence[dict[str, Any]] = ()) -> tuple[Child, ...]:
        """The children, forks with the system text and the tools of the line that they left."""
        return tuple(_with(child, system, tuple(tools)) for child in self.children)


def _with(child: Child, system: str, tools: tuple[dict[str, Any], ...]) -> Child:
    if child.kind != "fork":
        return child
    inner = tuple(_with(each, system, tools) for each in child.imported.children)
    imported = msgspec.structs.replace(child.imported, system=system, tools=tools, children=inner)
    return msgspec.structs.replace(child, imported=imported)
