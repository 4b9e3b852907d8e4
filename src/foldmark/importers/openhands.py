"""Imports event streams of OpenHands: a list of events, or `history` in results, one run a line. Knows nothing of
other agents.

An action that came from a tool call carries the model's whole reply, which gives the step and all its calls; an
action of the text protocol becomes a call with an id from its event. An observation answers the call of its action.
What happens between `delegate` and its observation belongs to the sub-agent. Events of the newer kit are read by
`openhands_sdk`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Text, ToolCall, assistant, control
from foldmark.importers import openhands_sdk
from foldmark.importers.openhands_records import NAME, condensation_event, has_failed, shown_words, whole_usage
from foldmark.importers.parts import result_of, told
from foldmark.importers.values import Child, Document, Format, Imported, Notes, derived_id, nothing_to_import, seconds
from foldmark.wire import openai_reading
from foldmark.wire.media import image_of_url
from foldmark.wire.plain import as_mapping, as_name, as_text, compact_json, items
from foldmark.wire.tools import neutral_tools

_WIRE = "openai-chat"

_BOOKKEEPING = ("thought", "hidden", "blocking", "is_input", "confirmation_state", "security_risk", "impl_source")
"""Arguments of an action that the program adds for itself."""

_SILENT = ("null", "agent_state_changed", "change_agent_state", "pause", "resume", "stop", "loop_recovery")

Row = Mapping[str, Any]


def sniff(document: Document) -> bool:
    for _, rows in _runs(document)[:1]:
        shaped = [row for row in rows[:5] if isinstance(row, Mapping)]
        return bool(shaped) and all(_is_event(row) or openhands_sdk.is_event(row) for row in shaped)
    return False


def _is_event(row: Row) -> bool:
    return ("action" in row or "observation" in row) and "source" in row


def _runs(document: Document) -> list[tuple[Row, list[Any]]]:
    """The runs of a file: what is known of each, and its events."""
    value = document.value
    if isinstance(value, list):
        return [({}, value)]
    rows = [record for _, record in document.records if isinstance(record, Mapping)]
    if rows and isinstance(rows[0].get("history"), list):
        return [(row, _flat(row.get("history"))) for row in rows]
    return [({}, [record for _, record in document.records])]


def _flat(history: Any) -> list[Any]:
    """Older results hold pairs of an action and its observation."""
    rows: list[Any] = []
    for entry in history if isinstance(history, list) else ():
        rows += entry if isinstance(entry, list) else [entry]
    return rows


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a run, delegates as child sessions. Raises WireError with the path in the file."""
    found: list[Imported] = []
    runs = _runs(document)
    for number, (about, rows) in enumerate(runs):
        own = Notes(strict=notes.strict)
        head = f"[{number}].history" if about else ""
        if any(isinstance(row, Mapping) and openhands_sdk.is_event(row) for row in rows[:5]):
            imported = openhands_sdk.read_run(rows, head, own)
        else:
            imported = _run(rows, head, own)
        if imported.events:
            warnings = (*notes.lines(), *own.lines())
            session = str(about.get("instance_id") or imported.session)
            found.append(msgspec.structs.replace(imported, session=session, warnings=warnings))
    if not found:
        raise nothing_to_import(document)
    return found


def _run(rows: list[Any], head: str, notes: Notes) -> Imported:
    reader = _Reader(notes)
    for at, row in enumerate(rows):
        path = f"{head}[{at}]"
        reader.take(as_mapping(row, path), path)
    while len(reader.lines) > 1:
        reader.end_delegate()
    (line,) = reader.lines
    return line.imported(derived_id(NAME, line.events))


class _Line:
    """What one agent was told and did, its delegates, and which call began it."""

    def __init__(self, call_id: str = "") -> None:
        self.call_id = call_id
        self.systems: list[str] = []
        self.tools: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.children: list[Child] = []

    def imported(self, session: str) -> Imported:
        return Imported(
            session=session,
            format=NAME,
            wire=_WIRE,
            system="\n\n".join(self.systems),
            tools=tuple(self.tools),
            events=tuple(self.events),
            children=tuple(self.children),
        )


class _Reader:
    """Takes events in order; `lines` are the agents that are at work, the innermost last."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.lines = [_Line()]
        self.replies: set[str] = set()
        self.calls: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.typed: set[str] = set()

    def take(self, row: Row, path: str) -> None:
        time = seconds(row.get("timestamp"))
        if row.get("observation") == "delegate" and len(self.lines) > 1:
            self.end_delegate()
        found = self.action(row, path) if "action" in row else self.observation(row, path)
        for event in found:
            self.names.update((call.id, call.name) for call in event.calls)
            self.lines[-1].events.append(msgspec.structs.replace(event, time=time))
        if row.get("action") == "delegate" and row.get("source") == "agent":
            self.lines.append(_Line(self.calls.get(str(row.get("id")), "")))

    def end_delegate(self) -> None:
        line = self.lines.pop()
        imported = line.imported(f"delegate-{line.call_id or len(self.lines)}")
        self.lines[-1].children.append(Child(kind="child", imported=imported, call_id=line.call_id))

    def action(self, row: Row, path: str) -> Iterator[Event]:
        kind, source = str(row["action"]), row.get("source")
        args = as_mapping(row.get("args") or {}, f"{path}.args")
        if kind == "message":
            yield from self.message(row, args, path)
        elif kind == "system":
            self.lines[-1].systems.append(as_text(args.get("content"), f"{path}.args.content"))
            self.lines[-1].tools += neutral_tools(items(args.get("tools"), f"{path}.args.tools"))
        elif kind in _SILENT:
            yield control(kind, dict(row), provider=NAME)
        elif kind == "condensation":
            yield condensation_event(kind, row, args.get("summary"), f"{path}.args")
        elif row.get("tool_call_metadata"):
            yield from self.reply(row, path)
        elif source == "agent":
            call_id = self.calls[str(row.get("id"))] = f"action_{row.get('id')}"
            yield _own_words(row, call_id, kind, path)
        elif kind in ("run", "run_ipython") and source == "user":
            self.typed.add(str(row.get("id")))
            yield told([Text(f"The user ran `{args.get('command') or args.get('code')}`.")], is_user=False)
        elif kind == "recall":
            yield control(kind, dict(row), provider=NAME)
        else:
            yield self.notes.kept(f"action {kind}", dict(row), path, provider=NAME)

    def message(self, row: Row, args: Row, path: str) -> Iterator[Event]:
        if row.get("tool_call_metadata"):
            yield from self.reply(row, path)
            return
        words = as_text(args.get("content"), f"{path}.args.content")
        if row.get("source") == "agent":
            yield assistant(words)
            return
        urls = items(args.get("image_urls"), f"{path}.args.image_urls")
        images = [image_of_url(as_text(url, f"{path}.args.image_urls")) for url in urls]
        yield told([Text(words), *images], is_user=row.get("source") == "user")

    def reply(self, row: Row, path: str) -> Iterator[Event]:
        """The step that a reply of the model is, at the first of its actions; the others only name their call."""
        about = as_mapping(row["tool_call_metadata"], f"{path}.tool_call_metadata")
        call_id = self.calls[str(row.get("id"))] = as_name(
            about.get("tool_call_id"), f"{path}.tool_call_metadata.tool_call_id"
        )
        if about.get("model_response") is None:
            # An export may leave the reply out: what is left of it is this one action.
            name = as_name(about.get("function_name"), f"{path}.tool_call_metadata.function_name")
            yield _own_words(row, call_id, name, path)
            return
        response = as_mapping(about["model_response"], f"{path}.tool_call_metadata.model_response")
        key = str(response.get("id") or about.get("tool_call_id"))
        if key in self.replies:
            return
        self.replies.add(key)
        (event,) = openai_reading.read(response)
        yield msgspec.structs.replace(event, usage=whole_usage(event.usage, response.get("usage")))

    def observation(self, row: Row, path: str) -> Iterator[Event]:
        if "observation" not in row:
            yield self.notes.kept("event without action or observation", dict(row), path, provider=NAME)
            return
        kind, cause = str(row["observation"]), str(row.get("cause"))
        about = row.get("tool_call_metadata")
        call_id = str(about.get("tool_call_id") or "") if isinstance(about, Mapping) else self.calls.get(cause, "")
        if kind in _SILENT:
            yield control(kind, dict(row), provider=NAME)
            return
        extras = as_mapping(row.get("extras") or {}, f"{path}.extras")
        words = shown_words(row, extras, path)
        if extras.get("screenshot"):
            self.notes.warn("screenshots of the browser are not carried; what it read is")
        if call_id:
            name = self.names.get(call_id, "")
            yield result_of(call_id, words, name=name, is_error=has_failed(kind, row, extras))
        elif kind in ("recall", "error", "user_rejected") or cause in self.typed:
            yield told([Text(words)], is_user=False)
        else:
            yield self.notes.kept(f"observation {kind}", dict(row), path, provider=NAME)


def _own_words(row: Row, call_id: str, name: str, path: str) -> Event:
    """The step that an action is by itself: its thought, and a call with what the model chose."""
    args = as_mapping(row.get("args") or {}, f"{path}.args")
    chosen = {key: value for key, value in args.items() if key not in _BOOKKEEPING and value is not None}
    thought = as_text(args.get("thought"), f"{path}.args.thought").strip()
    return assistant(thought, ToolCall(call_id, name, compact_json(chosen)))


FORMAT = Format(NAME, sniff, read)
