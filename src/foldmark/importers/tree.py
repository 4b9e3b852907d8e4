"""Records that name their parent, as lines: the main one and the ways not taken. Knows nothing of any
format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec


class Node(msgspec.Struct, frozen=True):
    """A record's place: its key, its parent's key (empty at a root), its order in the file, and whether it
    is a message (only those can end a line)."""

    key: str
    parent: str
    order: int
    is_message: bool


class Line(msgspec.Struct):
    """Nodes that make one session, in file order, and the lines that leave it. `after` is the key that a line
    starts behind, empty when it shares nothing with the line above."""

    nodes: list[Node]
    after: str = ""
    forks: list[Line] = []


def main_line(nodes: Iterable[Node], belongs: Callable[[Node, Mapping[str, Node]], bool] | None = None) -> Line:
    """The path to the newest message is the main line; what is not on it becomes forks, newest first.

    `belongs(node, line)` may claim a node that the path misses: one of parallel results, or another record
    of the same message. Records that are no message stay with the line of their parent.
    """
    line, forks = _line({node.key: node for node in nodes}, "", belongs)
    waiting = [(line, fork) for fork in reversed(forks)]
    while waiting:  # a file may fork as often as it has records: no recursion
        parent, (component, after) = waiting.pop()
        made, forks = _line(component, after, belongs)
        parent.forks.append(made)
        waiting += [(made, fork) for fork in reversed(forks)]
    return line


def _line(
    mine: Mapping[str, Node], after: str, belongs: Callable[[Node, Mapping[str, Node]], bool] | None
) -> tuple[Line, list[_Rest]]:
    """The line to the newest message of these nodes, and the groups that leave it, each with the key before it."""
    newest = max((n for n in mine.values() if n.is_message), key=lambda n: n.order, default=None)
    if newest is None:
        return Line(sorted(mine.values(), key=lambda n: n.order), after), []
    taken: dict[str, Node] = {}
    at: Node | None = newest
    while at is not None and at.key not in taken:
        taken[at.key] = at
        at = mine.get(at.parent)
    _claim(mine, taken, belongs)
    line = Line(sorted(taken.values(), key=lambda n: n.order), after, [])
    rest = {key: node for key, node in mine.items() if key not in taken}
    forks: list[_Rest] = []
    for component in _components(rest):
        top = min(component.values(), key=lambda n: n.order)
        forks.append((component, top.parent if top.parent in taken else ""))
    return line, forks


_Rest = tuple[dict[str, Node], str]


def _claim(
    mine: Mapping[str, Node],
    taken: dict[str, Node],
    belongs: Callable[[Node, Mapping[str, Node]], bool] | None,
) -> None:
    """Add what belongs to the line without being on its path, until nothing more does."""
    grown = True
    while grown:
        grown = False
        for node in mine.values():
            if node.key in taken:
                continue
            trailing = not node.is_message and (node.parent in taken or not node.parent)
            if trailing or (belongs is not None and belongs(node, taken)):
                taken[node.key] = node
                grown = True


def _components(rest: Mapping[str, Node]) -> list[dict[str, Node]]:
    """Nodes grouped by their topmost ancestor among them, in file order."""
    groups: dict[str, dict[str, Node]] = {}
    tops: dict[str, str] = {}
    for node in sorted(rest.values(), key=lambda n: n.order):
        trail: dict[str, None] = {}
        at = node
        while at.key not in tops and at.parent in rest and at.key not in trail:
            trail[at.key] = None
            at = rest[at.parent]
        top = tops.get(at.key, at.key)
        for key in (*trail, node.key):
            tops[key] = top
        groups.setdefault(top, {})[node.key] = node
    return list(groups.values())
