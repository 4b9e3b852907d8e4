"""Lines of a Codex rollout file as rows: which of its generations a record is from, and who wrote a user message.
Knows nothing of the session they form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part
from foldmark.importers.parts import told_in_runs
from foldmark.importers.response_items import CALLS, CARRIED, OUTPUTS
from foldmark.importers.values import Document, seconds
from foldmark.wire.plain import as_mapping
from foldmark.wire.tools import neutral_tools

WRAPPED = (
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "token_usage_record",
    "security_risk_score",
    "realtime_item",
)
"""Record types of the present form, `{timestamp, type, payload}`."""

BARE = ("message", "reasoning", *CALLS, *OUTPUTS, *CARRIED, "ghost_snapshot")
"""Item types that stand on a line of their own in the older form."""

_BY_PROGRAM = re.compile(
    r"\s*(<(environment_context|user_instructions|permissions[ _]instructions|collaboration_mode|personality_spec"
    r"|turn_aborted|subagent_notification|user_shell_command|user_action|skills?|skill_instructions|model_switch"
    r"|apps_instructions|plugins_instructions|recommended_plugins|realtime_conversation|codex_internal_context"
    r"|goal_context|hook_prompt|INSTRUCTIONS|system-reminder)\b"
    r"|# AGENTS\.md instructions\b)"
)


class Row(msgspec.Struct, frozen=True):
    """One line: its type, its payload, its time in Unix seconds."""

    number: int
    kind: str
    payload: Mapping[str, Any]
    time: float | None

    @property
    def path(self) -> str:
        return f"line {self.number}"


def rows_of(document: Document) -> Iterator[Row]:
    """The rows of a file of any generation. Raises WireError when a record is no object."""
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("items"), list):
        # The first program wrote one object: the session, then its items.
        head = as_mapping(value.get("session"), "session")
        yield Row(1, "session_meta", head, seconds(head.get("timestamp")))
        yield from (_row(at, item) for at, item in enumerate(value["items"], 1))
        return
    yield from (_row(number, record) for number, record in document.records)


def _row(number: int, value: Any) -> Row:
    record = as_mapping(value, f"line {number}")
    kind, time = str(record.get("type") or ""), seconds(record.get("timestamp"))
    if isinstance(record.get("payload"), Mapping):
        return Row(number, kind, record["payload"], time)
    if kind in WRAPPED:
        return Row(number, kind, as_mapping(record.get("payload"), f"line {number} payload"), time)
    if kind:
        return Row(number, "response_item", record, time)
    is_head = "id" in record and "timestamp" in record
    return Row(number, "session_meta" if is_head else str(record.get("record_type") or ""), record, time)


def is_rollout(document: Document) -> bool:
    """Whether the first records are those of a rollout file."""
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("items"), list):
        session = value.get("session")
        return isinstance(session, Mapping) and "id" in session
    return any(_is_record(record) for _, record in document.records[:20])


def _is_record(record: Any) -> bool:
    if not isinstance(record, Mapping):
        return False
    if isinstance(record.get("payload"), Mapping):
        return record.get("type") in WRAPPED
    if record.get("type") == "message":
        blocks = record.get("content")
        return isinstance(blocks, list) and any(
            isinstance(block, Mapping) and block.get("type") in ("input_text", "output_text") for block in blocks
        )
    return record.get("type") in BARE and ("call_id" in record or "summary" in record)


def spoken(parts: Iterable[Part], time: float | None) -> Iterator[Event]:
    """A user message by who wrote what of it."""
    return told_in_runs(parts, _BY_PROGRAM.match, time)


def schemas(tools: Any) -> list[dict[str, Any]]:
    """Tools that have a name and a schema; the provider's own are no part of a transcript."""
    named = [tool for tool in _flat(tools) if isinstance(tool.get("name"), str) and tool["name"]]
    return neutral_tools(
        {
            "name": tool["name"],
            "description": tool.get("description") or "",
            "parameters": tool.get("parameters") or tool.get("inputSchema") or tool.get("input_schema"),
        }
        for tool in named
        if tool.get("type") in (None, "function")
    )


def _flat(tools: Any) -> Iterator[Mapping[str, Any]]:
    """Tools, those of a group one by one."""
    for tool in [tools] if isinstance(tools, Mapping) else tools if isinstance(tools, list) else ():
        if isinstance(tool, Mapping):
            yield from _flat(tool["tools"]) if "tools" in tool else (tool,)
