"""Imports Codex rollout files (JSON lines). Knows nothing of other agents.

Items of the model's side between two others form one assistant step. `event_msg` lines repeat the items for the
screen: only token counts, exit codes and rollbacks are taken from them. What the program wrote in the user's name
(environment, AGENTS.md, notices) is injected. A `compacted` line is an injected event, and the items before it stay.
Turns that the user rolled back are a fork.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part, Text, ToolCall, control
from foldmark.importers.codex_rows import Row, is_rollout, rows_of, schemas, spoken
from foldmark.importers.parts import Told, failed, told, usage_of
from foldmark.importers.response_items import (
    CALLS,
    CARRIED,
    OUTPUTS,
    content_parts,
    output_event,
    step_part,
)
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, has_messages, nothing_to_import
from foldmark.wire.plain import as_text, compact_json
from foldmark.wire.responses_items import PROVIDER

NAME = "codex"
_WIRE = "openai-responses"

_SETTINGS = (
    "turn_context",
    "world_state",
    "inter_agent_communication_metadata",
    "token_usage_record",
    "security_risk_score",
    "realtime_item",
    "state",
)
_SILENT_ITEMS = ("ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "compaction_trigger")
"""Items that are kept and say nothing: snapshots of files, and compactions that only the provider can read."""


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file, rolled-back turns as forks. Raises WireError naming the line and the field."""
    reader = _Reader(notes)
    for row in rows_of(document):
        reader.take(row)
    reader.close()
    events = reader.line.events
    if not has_messages([*events, *reader.taken_back()]):
        raise nothing_to_import(document)
    system = "\n\n".join(reader.systems)
    return [
        Imported(
            session=reader.session or derived_id(NAME, events),
            format=NAME,
            wire=_WIRE,
            system=system,
            tools=tuple(reader.tools),
            events=tuple(events),
            children=reader.line.forks_with(system, reader.tools),
            warnings=notes.lines(),
        )
    ]


class _Reader:
    """Takes rows in order. `step` holds the parts of the assistant step that is being read."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.line = Told()
        self.session = self.model = ""
        self.systems: list[str] = []
        self.tools: list[dict[str, Any]] = []
        self.step: list[Part] = []
        self.step_time: float | None = None
        self.names: dict[str, str] = {}
        self.own_kinds: dict[str, dict[str, str]] = {}
        self.failed: set[str] = set()
        self.turns: list[int] = []
        self.counted: Any = None

    def taken_back(self) -> list[Event]:
        return [event for child in self.line.children for event in child.imported.events]

    def take(self, row: Row) -> None:
        if row.kind == "response_item":
            self.item(row)
        elif row.kind == "event_msg":
            self.message(row)
        elif row.kind == "compacted":
            self.summary(row)
        elif row.kind == "session_meta":
            self.head(row)
        elif row.kind == "inter_agent_communication" and row.payload.get("content"):
            words = Text(as_text(row.payload["content"], f"{row.path} content"))
            self.add(told([words], is_user=False, time=row.time))
        else:
            self.setting(row)

    def add(self, *events: Event) -> None:
        self.close()
        self.line.events += events

    def close(self) -> None:
        """End the assistant step."""
        if not self.step:
            return
        event = Event(
            role="assistant",
            origin="agent",
            parts=tuple(self.step),
            time=self.step_time,
            provider=PROVIDER,
            model=self.model,
            meta={PROVIDER: compact_json({"calls": self.own_kinds})} if self.own_kinds else {},
        )
        self.own_kinds = {}
        self.names.update((call.id, call.name) for call in event.calls)
        self.line.events.append(event)
        self.step = []

    def head(self, row: Row) -> None:
        about = row.payload
        self.add(control("session_meta", dict(about), provider=NAME, time=row.time))
        if self.session:
            return  # a forked file goes on with the lines of its parent, that one's head too
        self.session = str(about.get("id") or "")
        if parent := about.get("forked_from_id") or about.get("forked_from"):
            self.notes.warn(f"this session was forked from {parent}; what they share is in this file too")
        if parent := about.get("parent_thread_id"):
            self.notes.warn(f"this is the session of a sub-agent of {parent}, whose file says which call began it")
        base = about.get("base_instructions")
        words = base.get("text") if isinstance(base, Mapping) else base
        if isinstance(words, str) and words:
            self.systems.append(words)
        self.know(about.get("dynamic_tools"))

    def know(self, tools: Any) -> None:
        known = {tool["name"] for tool in self.tools}
        self.tools += [tool for tool in schemas(tools) if tool["name"] not in known]

    def setting(self, row: Row) -> None:
        if row.kind in _SETTINGS:
            self.model = str(row.payload.get("model") or self.model) if row.kind == "turn_context" else self.model
            self.add(control(row.kind, dict(row.payload), provider=NAME, time=row.time))
        else:
            kind = row.kind or "(no type)"
            self.add(self.notes.kept(kind, dict(row.payload), row.path, provider=NAME, time=row.time))

    def summary(self, row: Row) -> None:
        if row.payload.get("replacement_history") or row.payload.get("replacement_history_entries"):
            self.notes.warn("replacement_history: what the program went on with after compacting, left out")
        words = as_text(row.payload.get("message"), f"{row.path} message")
        if not words:
            self.add(control("compacted", dict(row.payload), provider=NAME, time=row.time))
            return
        self.add(
            Event(role="user", origin="injected", parts=(Text(words),), time=row.time, meta={"foreign": "compacted"})
        )

    def item(self, row: Row) -> None:
        kind, item = row.payload.get("type"), row.payload
        if kind in ("reasoning", *CALLS, *CARRIED) or (kind == "message" and item.get("role") == "assistant"):
            self.step_time = self.step_time if self.step else row.time
            parts = step_part(item, row.path)
            self.step += parts
            if kind == "custom_tool_call":  # its wire keeps the kind here, so that the call goes back as it came
                self.own_kinds.update({part.id: {"type": kind} for part in parts if isinstance(part, ToolCall)})
        elif kind in OUTPUTS:
            self.close()
            event = output_event(item, row.path, self.names, time=row.time)
            self.add(failed(event) if event.result and event.result.call_id in self.failed else event)
        elif kind == "message":
            self.said(row)
        elif kind == "agent_message":
            self.add(told(content_parts(item.get("content"), f"{row.path} content"), is_user=False, time=row.time))
        elif kind in _SILENT_ITEMS or kind == "additional_tools":
            self.know(item.get("tools"))
            self.add(control(str(kind), dict(item), provider=NAME, time=row.time))
        else:
            self.add(self.notes.kept(f"item {kind}", dict(item), row.path, provider=NAME, time=row.time))

    def said(self, row: Row) -> None:
        role, parts = row.payload.get("role"), content_parts(row.payload.get("content"), f"{row.path} content")
        if role == "user":
            self.close()
            events = list(spoken(parts, row.time))
            if any(event.is_user for event in events):
                self.turns.append(len(self.line.events))
            self.add(*events)
        elif role not in ("system", "developer"):
            kind = f"message of role {role}"
            self.add(self.notes.kept(kind, dict(row.payload), row.path, provider=NAME, time=row.time))
        elif has_messages(self.line.events) or self.step:
            self.add(Event(role="system", origin="injected", parts=parts, time=row.time))
        else:
            self.systems += [part.text for part in parts if isinstance(part, Text) and part.text]

    def message(self, row: Row) -> None:
        """A line for the screen: what it alone knows is taken from it."""
        kind, said = row.payload.get("type"), row.payload
        if kind == "token_count":
            self.count(said.get("info"))
        elif kind == "thread_rolled_back":
            self.roll_back(said.get("num_turns"), row)
        elif kind in ("exec_command_end", "patch_apply_end") and isinstance(said.get("call_id"), str):
            if said.get("exit_code", 0) != 0 or said.get("success") is False:
                self.failed.add(said["call_id"])
        else:
            self.notes.warn("event_msg lines are for the screen and repeat the items; they are not imported")

    def count(self, info: Any) -> None:
        """Give the newest step its usage; the same total once more is a repeated report, not another request."""
        if not isinstance(info, Mapping) or not isinstance(info.get("last_token_usage"), Mapping):
            return
        total = info.get("total_token_usage")
        if total is not None and total == self.counted:
            return
        self.counted = total
        usage = usage_of(info["last_token_usage"], "input_tokens", "output_tokens", "cached_input_tokens")
        self.close()
        events = self.line.events
        at = next((at for at in range(len(events) - 1, -1, -1) if events[at].role == "assistant"), -1)
        if at >= 0 and events[at].usage is None:
            events[at] = msgspec.structs.replace(events[at], usage=usage)

    def roll_back(self, turns: Any, row: Row) -> None:
        self.close()
        count = turns if isinstance(turns, int) and turns > 0 else 0
        if not count or not self.turns:
            return
        at = self.turns[-count] if count <= len(self.turns) else self.turns[0]
        self.turns = [turn for turn in self.turns if turn < at]
        self.line.take_back(at, f"rolled-back-line-{row.number}", NAME, _WIRE)


FORMAT = Format(NAME, is_rollout, read)
