"""Imports eval logs of Inspect (JSON): each sample is a session. Knows nothing of what was evaluated or how.

A user message is the user's when the log says it is input or an operator's; without that word only the first is.
The agents that a tool call started are child sessions, from their newest model call. Texts that the log stores
apart (`attachment://…`) are put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part, ToolCall
from foldmark.importers.inspect_content import PROVIDER, content_parts, usage_of_output
from foldmark.importers.inspect_spans import flat_events, is_within, reply_id, reply_of
from foldmark.importers.parts import arguments_of, mappings, result_of, told
from foldmark.importers.values import (
    Child,
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
    seconds,
)
from foldmark.wire.plain import as_mapping, as_name, as_text, items
from foldmark.wire.tools import neutral_tools

NAME = "inspect"

Row = Mapping[str, Any]


def sniff(document: Document) -> bool:
    value = document.value
    return (
        isinstance(value, Mapping) and isinstance(value.get("eval"), Mapping) and isinstance(value.get("samples"), list)
    )


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a sample, in file order. Raises WireError with the path of a message that cannot be read."""
    run = as_mapping(document.value["eval"], "eval")
    found: list[Imported] = []
    for path, sample in mappings(document.value["samples"], "samples"):
        imported = _Sample(sample, path, run, notes).read()
        if imported.events:
            found.append(imported)
        else:
            notes.warn(f"{path} holds no message and is left out")
    if not found:
        raise nothing_to_import(document)
    return found


class _Sample:
    """One sample: its messages, and what its events know of them by their ids."""

    def __init__(self, sample: Row, path: str, run: Row, notes: Notes) -> None:
        self.sample, self.path, self.run = sample, path, run
        self.outer = notes
        self.notes = Notes(strict=notes.strict)
        attachments = sample.get("attachments")
        self.attachments: Mapping[str, Any] = attachments if isinstance(attachments, Mapping) else {}
        self.log = [event for event in flat_events(sample.get("events")) if isinstance(event, Mapping)]
        self.has_sources = any(
            isinstance(row, Mapping) and row.get("role") == "user" and row.get("source")
            for row in items(sample.get("messages"), f"{path}.messages")
        )

    def read(self) -> Imported:
        rows = [
            (f"{self.path}.messages[{at}]", row)
            for at, row in enumerate(items(self.sample.get("messages"), f"{self.path}.messages"))
        ]
        system, events = self.messages(rows)
        shown = {str(row.get("id")) for _, row in rows if isinstance(row, Mapping) and row.get("id")}
        children = list(self.sub_agents(events, shown))
        if error := self.sample.get("error"):
            words = str(error.get("message") if isinstance(error, Mapping) else error)
            first = words.strip().partition("\n")[0]
            self.notes.warn(f"the sample ended with an error: {first[:200]}")
        if self.sample.get("scores"):
            self.notes.warn("scores and target: about the run and no part of it, left out")
        return Imported(
            session=self.name(events),
            format=NAME,
            wire="anthropic" if str(self.run.get("model") or "").startswith("anthropic/") else "openai-chat",
            system=system,
            tools=tuple(self.tools()),
            events=tuple(events),
            children=tuple(children),
            warnings=(*self.outer.lines(), *self.notes.lines()),
        )

    def name(self, events: list[Event]) -> str:
        own = self.sample.get("uuid")
        run = self.run.get("eval_id") or self.run.get("run_id")
        if not own and not run:
            return derived_id(NAME, events)
        return str(own or f"{run}-{self.sample.get('id')}-{self.sample.get('epoch', 1)}")

    def whole(self, value: Any) -> Any:
        """A value with the texts that the log stores apart put back."""
        if isinstance(value, str):
            held = (
                self.attachments.get(value.removeprefix("attachment://")) if value.startswith("attachment://") else None
            )
            return held if isinstance(held, str) else value
        if isinstance(value, Mapping):
            return {key: self.whole(item) for key, item in value.items()}
        return [self.whole(item) for item in value] if isinstance(value, list) else value

    def messages(self, rows: Iterable[tuple[str, Any]]) -> tuple[str, list[Event]]:
        """(system text, events) of messages."""
        systems: list[str] = []
        events: list[Event] = []
        reports = {message_id: event for event in self.log if (message_id := reply_id(event))}
        for path, row in rows:
            message = self.whole(as_mapping(row, path))
            role = message.get("role")
            spoken = has_messages(events)
            if role == "system" and not spoken:
                systems += [event.text for event in _system(message, path)]
            elif role == "system":
                events += _system(message, path)
            elif role == "user":
                events.append(self.said(message, path, is_first=not any(event.is_user for event in events)))
            elif role == "assistant":
                events.append(_step(message, path, reports.get(str(message.get("id")), {}), self.run))
            elif role == "tool":
                events.append(_result(message, path))
            else:
                events.append(self.notes.kept(f"role {role}", message, path, provider=NAME))
        return "\n\n".join(text for text in systems if text), events

    def said(self, message: Row, path: str, *, is_first: bool) -> Event:
        source = message.get("source")
        is_user = source in ("input", "operator") if self.has_sources else is_first
        return told(content_parts(message.get("content"), f"{path}.content"), is_user=is_user)

    def tools(self) -> list[dict[str, Any]]:
        """The schemas that the model calls were given, each once."""
        found: dict[str, dict[str, Any]] = {}
        for event in self.log:
            given = items(event.get("tools"), f"{self.path}.events.tools") if event.get("event") == "model" else ()
            for tool in neutral_tools(self.whole(tool) for tool in given if isinstance(tool, Mapping)):
                found.setdefault(tool["name"], tool)
        return list(found.values())

    def sub_agents(self, events: list[Event], shown: set[str]) -> Iterator[Child]:
        """The conversation of every call that an agent answered: the newest model call of its spans."""
        parents = {
            str(event.get("id")): str(event.get("parent_id") or "")
            for event in self.log
            if event.get("event") == "span_begin"
        }
        calls = {call.id: call for event in events for call in event.calls}
        for event in self.log:
            call = calls.get(str(event.get("id"))) if event.get("event") == "tool" else None
            if call is None:
                continue
            span = str(event.get("agent_span_id") or "")
            inner = [inside for inside in flat_events(event.get("events")) if isinstance(inside, Mapping)]
            inner += [other for other in self.log if span and is_within(str(other.get("span_id") or ""), span, parents)]
            replies = [inside for inside in inner if reply_id(inside) not in ("", *shown)]
            if replies:
                yield self.child(call, event, replies[-1])

    def child(self, call: ToolCall, event: Row, reply: Row) -> Child:
        path = f"{self.path}.events"
        said = [row for row in items(reply.get("input"), f"{path}.input") if isinstance(row, Mapping)]
        rows = [(f"{path}.input[{at}]", row) for at, row in enumerate([*said, reply_of(reply)])]
        system, events = self.messages(rows)
        name = str(event.get("agent") or call.name)
        imported = Imported(
            session=f"{name}-{call.id}", format=NAME, wire="openai-chat", system=system, events=tuple(events)
        )
        return Child(kind="child", imported=imported, call_id=call.id)


def _system(message: Row, path: str) -> list[Event]:
    parts = content_parts(message.get("content"), f"{path}.content")
    return [Event(role="system", origin="injected", parts=tuple(parts))]


def _step(message: Row, path: str, report: Row, run: Row) -> Event:
    model = str(message.get("model") or "")
    maker = str(run.get("model") or "").partition("/")[0]
    parts: list[Part] = list(content_parts(message.get("content"), f"{path}.content", maker))
    parts += [_call(call, where) for where, call in mappings(message.get("tool_calls"), f"{path}.tool_calls")]
    output = report.get("output")
    event = Event(
        role="assistant",
        origin="agent",
        parts=tuple(parts),
        provider=maker or PROVIDER,
        model=model,
        time=seconds(report.get("completed") or report.get("timestamp")),
    )
    return msgspec.structs.replace(event, usage=usage_of_output(output)) if isinstance(output, Mapping) else event


def _call(call: Row, path: str) -> ToolCall:
    function = call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else function
    return ToolCall(
        as_name(call.get("id"), f"{path}.id"), as_name(name, f"{path}.function"), arguments_of(call.get("arguments"))
    )


def _result(message: Row, path: str) -> Event:
    error = message.get("error")
    parts = content_parts(message.get("content"), f"{path}.content")
    if isinstance(error, Mapping) and not any(getattr(part, "text", "") for part in parts):
        parts = content_parts(as_text(error.get("message"), f"{path}.error.message"), path)
    return result_of(
        as_name(message.get("tool_call_id"), f"{path}.tool_call_id"),
        parts,
        name=as_text(message.get("function"), f"{path}.function"),
        is_error=bool(error),
    )


FORMAT = Format(NAME, sniff, read)
