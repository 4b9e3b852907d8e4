"""Imports Claude Code session files (JSON lines, a tree by `uuid`). Knows nothing of other agents.

The main line is the path to the newest message; other leaves are forks. Side chains are child sessions,
linked to the call whose prompt began them. Lines with one API message id are one assistant event. Rows that
the program wrote in the user's name (meta rows, reminders, command output, a compaction's summary) are
injected; a slash command with arguments holds the user's own words and stays the user's. `toolUseResult`
repeats the result block in a form for the screen and is not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event
from foldmark.importers.claude_code_rows import Row, event_rows, row_of, tool_uses
from foldmark.importers.tree import Line, Node, main_line
from foldmark.importers.values import Child, Document, Format, Imported, Notes, derived_id, nothing_to_import
from foldmark.wire.anthropic_reading import unknown_blocks

NAME = "claude-code"

_KINDS = ("summary", "file-history-snapshot", "queue-operation")


def sniff(document: Document) -> bool:
    for _, record in document.records[:50]:
        if isinstance(record, Mapping) and "type" in record:
            if "sessionId" in record and ("uuid" in record or record["type"] in _KINDS):
                return True
            if record["type"] == "summary" and "leafUuid" in record:
                return True
    return False


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file, with forks and side chains as children. Raises WireError naming the
    line."""
    rows = list(_rows(document.records, notes))
    if not any(row.is_message for row in rows):
        raise nothing_to_import(document)
    aside = [row for row in rows if row.is_side]
    main = [row for row in rows if not row.is_side]
    if not any(row.is_message for row in main):
        # The file of one sub-agent: nothing but its side chain.
        main, aside = rows, []
    session = next((row.session for row in reversed(main) if row.is_message and row.session), "")
    if main is rows:
        session = next((row.agent for row in rows if row.agent), session)
    reader = _Reader(rows, _side_chains(aside, rows, notes), notes)
    imported = reader.session(_line_of(main, notes), session)
    unclaimed = [child for call_id in sorted(reader.chains) for child in reader.side_chains(call_id)]
    children = (*imported.children, *unclaimed)
    return [msgspec.structs.replace(imported, children=children, warnings=notes.lines())]


def _rows(records: Iterable[tuple[int, Any]], notes: Notes) -> Iterator[Row]:
    seen: dict[str, Any] = {}
    for number, record in records:
        row = row_of(record, number, notes)
        if row.key in seen:
            same = seen[row.key] == record
            what = "repeats the record" if same else "has other content under the id of a record in front,"
            notes.warn(f"line {number} {what} {row.key}; {'the first is taken' if same else 'it is kept as its own'}")
            if same:
                continue
            row = msgspec.structs.replace(row, key=f"{row.key}/{number}")
        seen[row.key] = record
        yield row


def _line_of(rows: list[Row], notes: Notes) -> Line:
    """Rows as a tree. A compaction boundary has no parent: it goes on from its logical one, else from the row before.
    So does a row whose parent was lost: the beginning of the session must not become a way not taken."""
    known = {row.key: row for row in rows}
    nodes: list[Node] = []
    before = ""
    for row in rows:
        parent = row.parent
        if row.is_boundary and parent not in known:
            parent = row.logical_parent if row.logical_parent in known else before
        elif parent and parent not in known and before:
            notes.warn(
                f"line {row.number} goes on from a record that is not in the file ({parent}); it was joined to the one "
                "in front. `foldmark doctor` shows what is missing"
            )
            parent = before
        nodes.append(Node(row.key, parent, row.number, row.is_message))
        before = row.key if row.in_tree else before
    by_message: dict[str, list[str]] = {}
    caller: dict[str, str] = {}
    for row in rows:
        if row.message_id:
            by_message.setdefault(row.message_id, []).append(row.key)
        caller.update((call_id, row.key) for call_id in tool_uses(row.record))

    def belongs(node: Node, line: Mapping[str, Node]) -> bool:
        """Other records of a message of the line, and results of its calls: parallel ones stand beside the
        path."""
        row = known[node.key]
        if row.message_id:
            return any(key in line for key in by_message[row.message_id])
        return any(caller.get(call_id) in line for call_id in row.answers)

    return main_line(nodes, belongs)


Chains = dict[str, list[list[Row]]]
"""Side chains by the call that started each; those that nobody claims stand under the empty text."""


def _side_chains(aside: list[Row], rows: list[Row], notes: Notes) -> Chains:
    groups: dict[str, list[Row]] = {}
    top: dict[str, str] = {}
    for row in aside:
        top[row.key] = top.get(row.parent) or row.agent or row.key
        groups.setdefault(top[row.key], []).append(row)
    started = {row.started_agent: row.answers[0] for row in rows if row.started_agent and row.answers}
    prompts: dict[str, list[str]] = {}
    for row in rows:
        for call_id, arguments in tool_uses(row.record).items():
            if isinstance(arguments, Mapping) and isinstance(arguments.get("prompt"), str):
                prompts.setdefault(arguments["prompt"].strip(), []).append(call_id)
    chains: Chains = {}
    for chain in groups.values():
        waiting = prompts.get(chain[0].words.strip()) or []
        call_id = started.get(chain[0].agent) or (waiting.pop(0) if waiting else "")
        if not call_id:
            notes.warn(f"no call says that it started the side chain at line {chain[0].number}")
        chains.setdefault(call_id, []).append(chain)
    return chains


class _Reader:
    """Turns lines into sessions; each side chain goes to the first line that made its call."""

    def __init__(self, rows: list[Row], chains: Chains, notes: Notes) -> None:
        self.rows = {row.key: row for row in rows}
        self.chains, self.notes = chains, notes

    def session(self, line: Line, name: str) -> Imported:
        events: list[Event] = []
        ends: dict[str, int] = {}
        for step in event_rows([self.rows[node.key] for node in line.nodes]):
            events += step.events(self.notes)
            ends.update((key, len(events)) for key in step.keys)
        for warning in unknown_blocks(events):
            self.notes.warn(warning)
        children = [child for event in events for call in event.calls for child in self.side_chains(call.id)]
        for fork in line.forks:
            imported = self.session(fork, f"fork-{fork.nodes[0].key[:8]}")
            children.append(Child(kind="fork", imported=imported, at=ends.get(fork.after, 0)))
        return Imported(
            session=name or derived_id(NAME, events),
            format=NAME,
            wire="anthropic",
            events=tuple(events),
            children=tuple(children),
        )

    def side_chains(self, call_id: str) -> Iterator[Child]:
        for chain in self.chains.pop(call_id, ()):
            name = chain[0].agent or call_id or f"side-{chain[0].key[:8]}"
            yield Child(kind="child", imported=self.session(_line_of(chain, self.notes), name), call_id=call_id)


FORMAT = Format(NAME, sniff, read)
