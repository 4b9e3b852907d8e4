"""Lines of a Claude Code file as rows and events: what each record is. Knows nothing of the tree they
form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Part, Text, control
from foldmark.importers.parts import told, told_in_runs
from foldmark.importers.values import Notes, seconds
from foldmark.wire.anthropic_reading import PROVIDER, read_message, read_usage

_CONTROL = frozenset(
    [
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "system",
        "progress",
        "attachment",
        "custom-title",
        "ai-title",
        "agent-name",
        "last-prompt",
        "permission-mode",
        "tag",
        "pr-link",
        "mode",
        "agent-setting",
    ]
)
"""Record types that are known to hold no message."""

_WRITTEN_BY_PROGRAM = re.compile(
    r"\s*(<(system-reminder|command-name|command-message|command-args|local-command-[a-z]+|bash-input|bash-stdout"
    r"|bash-stderr|task-notification|user-prompt-submit-hook|ide_opened_file|ide_selection|user-memory-input)\b"
    r"|Caveat: The messages below were generated|\[Request interrupted by user"
    r"|This session is being continued from a previous conversation)"
)
_ARGUMENTS = re.compile(r"<command-args>\s*\S.*?</command-args>", re.DOTALL)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the file, with what the tree needs to know of it. `answers` are the calls it has results
    for; `started_agent` is the sub-agent whose end it reports."""

    number: int
    key: str
    record: dict[str, Any]
    parent: str = ""
    logical_parent: str = ""
    session: str = ""
    agent: str = ""
    started_agent: str = ""
    message_id: str = ""
    words: str = ""
    answers: tuple[str, ...] = ()
    kind: str = ""
    is_message: bool = False
    is_side: bool = False
    is_known: bool = True

    @property
    def in_tree(self) -> bool:
        return "uuid" in self.record

    @property
    def is_boundary(self) -> bool:
        return self.record.get("subtype") == "compact_boundary"


def row_of(record: Any, number: int, notes: Notes) -> Row:
    """A line as a row. Raises WireError when the line is no object, or a message without content."""
    if not isinstance(record, dict):
        raise WireError(f"line {number}", f"expected an object, found {type(record).__name__}.")
    kind = str(record.get("type") or "")
    is_message = kind in ("user", "assistant")
    message = record.get("message")
    if is_message and not isinstance(message, Mapping):
        raise WireError(f"line {number} message", f"a record of type {kind} needs its message here.")
    content = message.get("content") if is_message and isinstance(message, Mapping) else None
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    outcome = record.get("toolUseResult")
    return Row(
        number=number,
        key=str(record.get("uuid") or f"line {number}"),
        record=record,
        parent=str(record.get("parentUuid") or ""),
        logical_parent=str(record.get("logicalParentUuid") or ""),
        session=str(record.get("sessionId") or ""),
        agent=str(record.get("agentId") or ""),
        started_agent=str(outcome.get("agentId") or "") if isinstance(outcome, Mapping) else "",
        message_id=str(message.get("id") or "") if kind == "assistant" and isinstance(message, Mapping) else "",
        words=content if isinstance(content, str) else "\n".join(str(block.get("text") or "") for block in blocks),
        answers=tuple(str(b.get("tool_use_id")) for b in blocks if b.get("type") == "tool_result"),
        kind=kind,
        is_message=is_message,
        is_side=bool(record.get("isSidechain")),
        is_known=is_message or kind in _CONTROL,
    )


def tool_uses(record: Mapping[str, Any]) -> dict[str, Any]:
    """The calls of a record: id to input."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return {
        str(block.get("id")): block.get("input")
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, Mapping) and block.get("type") == "tool_use"
    }


class Step(msgspec.Struct, frozen=True):
    """Rows that are one event source: the lines of one API message, or any single row."""

    rows: list[Row]

    @property
    def keys(self) -> list[str]:
        return [row.key for row in self.rows]

    def events(self, notes: Notes) -> list[Event]:
        row = self.rows[0]
        if row.kind == "assistant":
            return [_assistant(self.rows)]
        if row.kind == "user":
            return _user(row)
        if row.is_boundary:
            words = str(row.record.get("content") or "Conversation compacted")
            return [_boundary(words, row)]
        time = seconds(row.record.get("timestamp"))
        if row.is_known:
            return [control(row.kind, row.record, provider="claude-code", time=time)]
        return [notes.kept(row.kind, row.record, f"line {row.number}", provider="claude-code", time=time)]


def event_rows(rows: list[Row]) -> Iterator[Step]:
    """Rows as steps, in order; an assistant message stands where its first line stood."""
    steps: list[Step] = []
    messages: dict[str, Step] = {}
    for row in rows:
        if row.message_id and row.message_id in messages:
            messages[row.message_id].rows.append(row)
            continue
        step = Step([row])
        if row.message_id:
            messages[row.message_id] = step
        steps.append(step)
    yield from steps


def _boundary(words: str, row: Row) -> Event:
    time = seconds(row.record.get("timestamp"))
    return told([Text(words)], is_user=False, time=time, meta={"foreign": "compact_boundary"})


def _assistant(rows: list[Row]) -> Event:
    record = rows[0].record
    time = seconds(record.get("timestamp"))
    if record.get("isApiErrorMessage"):
        # Written by the program when the API failed; the model never said it.
        return control("api-error", record, provider="claude-code", time=time)
    parts: list[Part] = []
    for row in rows:
        for part in read_message({**row.record["message"], "role": "assistant"}, f"line {row.number} message")[0].parts:
            if part not in parts or isinstance(part, Text):
                parts.append(part)
    last = rows[-1].record["message"]
    return Event(
        role="assistant",
        origin="agent",
        parts=tuple(parts),
        time=time,
        usage=read_usage(last.get("usage")),
        provider=PROVIDER,
        model=str(last.get("model") or ""),
    )


def _user(row: Row) -> list[Event]:
    record = row.record
    events = read_message({**record["message"], "role": "user"}, f"line {row.number} message")
    time = seconds(record.get("timestamp"))
    is_summary = bool(record.get("isCompactSummary"))
    out: list[Event] = []
    for event in events:
        if event.role == "tool":
            out.append(msgspec.structs.replace(event, time=time))
        elif is_summary or record.get("isMeta"):
            meta = {"foreign": "compact_summary"} if is_summary else {}
            out.append(told(event.parts, is_user=False, time=time, meta=meta))
        else:
            out += told_in_runs(event.parts, is_written_by_program, time)
    return out


def is_written_by_program(text: str) -> bool:
    """Whether a text in a user row is the program's. A slash command with arguments is the user's: they
    typed it."""
    return bool(_WRITTEN_BY_PROGRAM.match(text)) and not _ARGUMENTS.search(text)
