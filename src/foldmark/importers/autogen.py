"""Imports AutoGen recordings of model calls. Knows nothing of teams or of what the agents were for.

Each record is one call: the messages that were sent, and the reply. Later calls of an agent send its earlier
messages again, so a call goes on with the line that its messages continue; one that leaves a line midway (a retry, an
edited past) is a fork of it; one that shares no message with a line of the same system text is another session.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec

from foldmark.events import Event
from foldmark.importers.autogen_messages import NAME, message_events, message_key
from foldmark.importers.values import Child, Document, Format, Imported, Notes, nothing_to_import, placed_rows
from foldmark.wire.plain import as_mapping, as_text, digest, items

_WIRE = "openai-chat"

Row = Mapping[str, Any]


def sniff(document: Document) -> bool:
    rows = [row for _, row in islice(placed_rows(document, ""), 5)]
    return bool(rows) and all(_is_call(row) for row in rows)


def _is_call(row: Any) -> bool:
    return isinstance(row, Mapping) and "mode" in row and isinstance(row.get("messages"), list) and "response" in row


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session for each line of messages, in order of first call. Raises WireError with the path in the file."""
    recording = _Recording(notes)
    for path, row in placed_rows(document, ""):
        recording.take(as_mapping(row, path), path)
    found = [line.imported() for line in recording.lines if line.parent is None and line.messages]
    if not found:
        raise nothing_to_import(document)
    return [msgspec.structs.replace(imported, warnings=notes.lines()) for imported in found]


class _Sent(msgspec.Struct, frozen=True):
    """A message of a call as it stands in the file. `key` is what makes two the same: kind and what they say."""

    key: str
    message: Row
    path: str


class _Message(msgspec.Struct, frozen=True):
    """A message of a line with its events."""

    key: str
    events: tuple[Event, ...]


class _Line:
    """Messages that one agent sent and got. A fork holds only its own, behind the first `at` of its parent."""

    def __init__(self, system: str, parent: _Line | None = None, at: int = 0) -> None:
        self.system, self.parent, self.at = system, parent, at
        self.messages: list[_Message] = []
        self.forks: list[_Line] = []

    def whole(self) -> list[_Message]:
        return [*(self.parent.whole()[: self.at] if self.parent else ()), *self.messages]

    def imported(self) -> Imported:
        name = digest("\n".join([self.system, *(message.key for message in self.messages[:1])]), 16)
        return Imported(
            session=f"{'fork' if self.parent else NAME}-{name}",
            format=NAME,
            wire=_WIRE,
            system=self.system,
            events=tuple(event for message in self.messages for event in message.events),
            children=tuple(
                Child(kind="fork", imported=fork.imported(), at=self.events_before(fork)) for fork in self.forks
            ),
        )

    def events_before(self, fork: _Line) -> int:
        return sum(len(message.events) for message in self.whole()[: fork.at])


class _Recording:
    """Takes calls in order and finds the line that each goes on with."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.lines: list[_Line] = []

    def take(self, row: Row, path: str) -> None:
        systems: list[str] = []
        sent: list[_Sent] = []
        for at, value in enumerate(items(row.get("messages"), f"{path}.messages")):
            where = f"{path}.messages[{at}]"
            message = as_mapping(value, where)
            if message.get("type") == "SystemMessage" and not sent:
                systems.append(as_text(message.get("content"), f"{where}.content"))
            else:
                sent.append(_Sent(message_key(str(message.get("type")), message), message, where))
        if (reply := self.reply(row, path)) is not None:
            sent.append(_Sent(message_key("AssistantMessage", reply), reply, f"{path}.response"))
        self.place("\n\n".join(systems), sent)

    def place(self, system: str, sent: list[_Sent]) -> None:
        best, shared = None, 0
        for line in (line for line in self.lines if line.system == system):
            count = _shared(line.whole(), sent)
            if count > shared:
                best, shared = line, count
        if best is None:
            best = _Line(system)
            self.lines.append(best)
        elif shared == len(sent):
            self.notes.warn("a call that was made before with the same reply is taken once")
        elif shared < len(best.whole()):
            best = self.fork(best, shared)
        best.messages += [
            _Message(each.key, tuple(message_events(each.message, each.path, self.notes))) for each in sent[shared:]
        ]

    def fork(self, line: _Line, shared: int) -> _Line:
        fork = _Line(line.system, line, shared)
        line.forks.append(fork)
        self.lines.append(fork)
        return fork

    def reply(self, row: Row, path: str) -> Row | None:
        """The reply of a call; that of a stream stands at the stream's end."""
        response = row.get("response")
        if isinstance(response, Mapping) and "content" in response:
            return {"finish_reason": "", **response}
        for part in reversed(items(row.get("stream"), f"{path}.stream")):
            if isinstance(part, Mapping) and "content" in part:
                return {"finish_reason": "", **part}
        self.notes.warn("a call without a reply (it failed, or is running) gives its messages alone")
        return None


def _shared(known: list[_Message], sent: list[_Sent]) -> int:
    """How many messages both begin with."""
    count = 0
    for mine, theirs in zip(known, sent, strict=False):
        if mine.key != theirs.key:
            break
        count += 1
    return count


FORMAT = Format(NAME, sniff, read)
