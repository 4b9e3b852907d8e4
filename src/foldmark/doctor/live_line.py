"""Which rows of a Claude Code session are sent when it is resumed: the path from the newest message back, and what
belongs to it. Knows nothing of what the messages hold.

Lines that a rewind has left are not on it; their calls are dead, and nobody answers them. The importer sees the same
line (and the others too, which takes it a level of recursion for each).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from foldmark.importers.claude_code_rows import Row as Known
from foldmark.importers.claude_code_rows import tool_uses


def live_line(rows: Sequence[Known]) -> list[Known]:
    """The rows that a resumed session sends, in the order of the file."""
    known = {row.key: row for row in rows}
    parents = _parents(known)
    newest = max((row for row in known.values() if row.is_message), key=lambda row: row.number, default=None)
    if newest is None:
        return list(known.values())
    path: dict[str, None] = {}
    at = newest.key
    while at in known and at not in path:
        path[at] = None
        at = parents[at]
    return sorted((known[key] for key in _claimed(known, parents, path)), key=lambda row: row.number)


def _parents(known: Mapping[str, Known]) -> dict[str, str]:
    """The row that each one goes on from; a compaction goes on from what it says, else from the row before it."""
    parents: dict[str, str] = {}
    before = ""
    for key, row in known.items():
        parent = row.parent
        if row.is_boundary and parent not in known:
            parent = row.logical_parent if row.logical_parent in known else before
        parents[key] = parent
        before = key if row.in_tree else before
    return parents


def _claimed(known: Mapping[str, Known], parents: Mapping[str, str], path: Mapping[str, None]) -> set[str]:
    """The path with what belongs to it: other lines of its messages, results of its calls, rows that hang on it and
    are no message."""
    led_to = _led_to(known, parents)
    taken = set(path) | {key for key, row in known.items() if not row.is_message and not parents[key]}
    waiting = list(taken)
    while waiting:
        for key in led_to.pop(waiting.pop(), ()):
            if key not in taken:
                taken.add(key)
                waiting.append(key)
    return taken


def _led_to(known: Mapping[str, Known], parents: Mapping[str, str]) -> dict[str, list[str]]:
    """For each row the rows that belong to a line when it does. Lines of one message lead to each other in a ring."""
    led_to: defaultdict[str, list[str]] = defaultdict(list)
    caller: dict[str, str] = {}
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for key, row in known.items():
        caller.update((call_id, key) for call_id in tool_uses(row.record))
        if row.message_id:
            lines[row.message_id].append(key)
    for key, row in known.items():
        if not row.is_message:
            led_to[parents[key]].append(key)
        for call_id in row.answers if not row.message_id else ():
            led_to[caller.get(call_id, "")].append(key)
    for keys in lines.values():
        for key, following in zip(keys, [*keys[1:], keys[0]], strict=True):
            led_to[key].append(following)
    led_to.pop("", None)
    return led_to
