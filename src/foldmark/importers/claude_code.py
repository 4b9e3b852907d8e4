"""Imports Claude Code session files (JSON lines, a tree by `uuid`). Knows nothing of other agents.

The main line is the path to the newest message; other leaves are forks. Side chains are child sessions, linked to
the call whose prompt began them. Lines with one API message id are one assistant event. Rows that the program
wrote in the user's name (meta rows, reminders, command output, a compaction's summary) are injected; a slash
command with arguments holds the user's own words and stays the user's. `toolUseResult` repeats the result block
in a form for the screen and is not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, control
from foldmark.importers.claude_code_rows import Row, event_rows, row_of, tool_uses
from foldmark.importers.tree import Line, Node, main_line
from foldmark.importers.values import Child, Document, Format, Imported, Notes, derived_id
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
    """The one session of the file, with forks and side chains as children. Raises WireError naming the line."""
    rows = list(_rows(document.records, notes))
    if not any(row.is_message for row in rows):
        raise WireError(document.name or "file", "holds no message; there is nothing to import.")
    aside = [row for row in rows if row.is_side]
    main = [row for row in rows if not row.is_side]
    if not any(row.is_message for row in main):
        # The file of one sub-agent: nothing but its side chain.
        main, aside = rows, []
    session = next((row.session for row in reversed(main) if row.is_message and row.session), "")
    if main is rows:
        session = next((row.agent for row in rows if row.agent), session)
    chains = _side_chains(aside, rows, notes)
    imported = _imported(_line_of(main), {row.key: row for row in rows}, session, chains, notes)
    if chains:
        left = [_child(chain, "", session, rows, notes) for chain in _flat(chains)]
        imported = msgspec.structs.replace(imported, children=(*imported.children, *left))
    return [msgspec.structs.replace(imported, warnings=notes.lines())]


def _rows(records: Iterable[tuple[int, Any]], notes: Notes) -> Iterator[Row]:
    seen: set[str] = set()
    for number, record in records:
        row = row_of(record, number, notes)
        if row.key in seen:
            notes.warn(f"line {number} repeats the record {row.key}; the first is taken")
            continue
        seen.add(row.key)
        yield row


def _line_of(rows: list[Row]) -> Line:
    """Rows as a tree. A compaction boundary has no parent: it goes on from its logical one, else from the row before."""
    known = {row.key: row for row in rows}
    nodes: list[Node] = []
    before = ""
    for row in rows:
        parent = row.parent
        if row.is_boundary and parent not in known:
            parent = row.logical_parent if row.logical_parent in known else before
        nodes.append(Node(row.key, parent, row.number, row.is_message))
        before = row.key if row.in_tree else before
    uses = {row.key: tool_uses(row.record) for row in rows if row.is_message}

    def belongs(node: Node, line: Mapping[str, Node]) -> bool:
        row = known[node.key]
        if row.message_id:
            return any(known[key].message_id == row.message_id for key in line)
        return bool(row.answers) and any(call_id in uses.get(key, {}) for key in line for call_id in row.answers)

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


def _flat(chains: Chains) -> list[list[Row]]:
    found = [chain for call_id in list(chains) for chain in chains[call_id]]
    chains.clear()
    return found


def _imported(line: Line, rows: Mapping[str, Row], session: str, chains: Chains, notes: Notes) -> Imported:
    """A line as a session. `chains` gives up the side chains that its calls started."""
    events: list[Event] = []
    ends: dict[str, int] = {}
    for group in event_rows([rows[node.key] for node in line.nodes]):
        events += group.events(notes)
        ends.update((key, len(events)) for key in group.keys)
    for warning in unknown_blocks(events):
        notes.warn(warning)
    session = session or derived_id(NAME, events)
    everything = list(rows.values())
    children = [
        _child(chain, call.id, session, everything, notes, chains)
        for event in events
        for call in event.calls
        for chain in chains.pop(call.id, ())
    ]
    for fork in line.forks:
        name = f"{session}.{fork.nodes[0].key[:8]}"
        imported = _imported(fork, rows, name, chains, notes)
        children.append(Child(kind="fork", imported=imported, at=_place(fork.after, ends)))
    return Imported(session=session, format=NAME, wire="anthropic", events=tuple(events), children=tuple(children))


def _place(key: str, ends: Mapping[str, int]) -> int:
    return ends.get(key, 0)


def _child(
    chain: list[Row], call_id: str, session: str, rows: list[Row], notes: Notes, chains: Chains | None = None
) -> Child:
    name = f"{session}.{chain[0].agent or call_id or chain[0].key[:8]}"
    imported = _imported(_line_of(chain), {row.key: row for row in rows}, name, {} if chains is None else chains, notes)
    return Child(kind="child", imported=imported, call_id=call_id)


FORMAT = Format(NAME, sniff, read)
