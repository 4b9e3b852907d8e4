"""XML: an outline of elements with counts, attributes and first values. Knows nothing of vocabularies.

Entities are never expanded, nesting is followed without recursion: a bomb is a short text like any other.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, listed, plural, remembered
from foldmark.kinds.body import Body, Count, compose, edges, whole
from foldmark.kinds.cuts import without_controls
from foldmark.kinds.tags import is_empty, read_attributes, readable, tokens

_DEEP = 12
"""Levels of the outline; deeper elements are counted at their last ancestor in it."""
_PATHS = 400
_SHORT = 60

_OPENING = re.compile(r"\s*(?:<\?xml[\s?]|<!DOCTYPE\s+(?!html)\w|<!--|<([A-Za-z_][\w.:-]*)[\s/>])", re.IGNORECASE)
_CLOSING = re.compile(r"(?:</[\w.:-]+\s*>|/>|-->)\s*\Z")
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body|div|span|p|a|ul|table|script|style)[\s>]", re.IGNORECASE)


@dataclass
class Node:
    """All elements of one path: how many there are, how often each attribute stands, first values."""

    name: str
    children: dict[str, Node] = field(default_factory=dict)
    count: int = 0
    deeper: int = 0
    attributes: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    value: str = ""

    def say(self) -> str:
        said = without_controls(self.name if len(self.name) <= 80 else f"(name of {len(self.name):,} characters)")
        said += f" ×{self.count:,}" if self.count > 1 else ""
        for name in list(self.attributes)[:6]:
            part = "" if self.attributes[name] == self.count else f" (in {self.attributes[name]:,})"
            said += without_controls(f" {name}={self.first[name]}{part}")
        said += f" (+{len(self.attributes) - 6:,} more attributes)" if len(self.attributes) > 6 else ""
        said += f": {without_controls(self.value)}" if self.value else ""
        return said + (f" … {plural(self.deeper, 'element')} deeper inside …" if self.deeper else "")


@dataclass
class Outline:
    """The nodes below `top`; `beyond` counts elements of paths past the first 400, `unclosed` those without an
    end."""

    top: Node
    elements: int = 0
    paths: int = 0
    depth: int = 0
    beyond: int = 0
    entities: int = 0
    unclosed: int = 0
    read: int = 0

    def lines(self) -> Iterator[str]:
        yield from _lines(self.top, 0)


def _lines(node: Node, depth: int) -> Iterator[str]:
    for child in node.children.values():
        yield "  " * depth + child.say()
        yield from _lines(child, depth + 1)


class Open(NamedTuple):
    """An open element: its node, or, when it is not outlined, its innermost ancestor that is."""

    name: str
    node: Node
    is_outlined: bool = True


@remembered
def outline(text: str) -> Outline:
    """Reads a text once, from the front up to the bound."""
    text = readable(text)
    found = Outline(Node(""), read=len(text))
    stack: list[Open] = [Open("", found.top)]
    opened: Counter[str] = Counter()
    for kind, value, attributes, start, end in tokens(text):
        if kind == "open":
            inner = _enter(value, attributes, stack, found)
            if not is_empty(attributes):
                stack.append(inner)
                opened[value] += 1
        elif kind == "close":
            while opened[value]:
                name = stack.pop().name
                opened[name] -= 1
                if name == value:
                    break
        elif kind in ("text", "cdata"):
            node = stack[-1].node
            if not node.value and stack[-1].is_outlined and len(stack) > 1:
                node.value = _short(value.strip(), kind == "text")
        elif kind == "declaration":
            found.entities += text.count("<!ENTITY", start, end)
    found.unclosed = len(stack) - 1
    return found


def _enter(name: str, attributes: str, stack: list[Open], found: Outline) -> Open:
    """Counts an opening tag at its node, or at the innermost one that the outline still has."""
    found.elements += 1
    found.depth = max(found.depth, len(stack))
    parent = stack[-1].node
    node = parent.children.get(name) if stack[-1].is_outlined else None
    if node is None and (not stack[-1].is_outlined or len(stack) > _DEEP):
        parent.deeper += 1
        return Open(name, parent, False)
    if node is None:
        if found.paths >= _PATHS:
            found.beyond += 1
            return Open(name, parent, False)
        node = parent.children[name] = Node(name)
        found.paths += 1
    node.count += 1
    if "=" in attributes:
        for key, value in read_attributes(attributes).items():
            node.attributes[key] += 1
            if key not in node.first:
                node.first[key] = _short(value, False)
    return Open(name, node)


def _short(value: str, has_entities: bool) -> str:
    value = html.unescape(value) if has_entities and len(value) <= _SHORT * 8 else value
    return " ".join(value.split()) if len(value) <= _SHORT else f"({plural(len(value), 'character')})"


def _recognise(text: str, call: ToolCall | None) -> float:
    head = text[:2_000]
    if not _OPENING.match(head) or not _CLOSING.search(text[-200:]):
        return 0.0
    if head.lstrip()[:5].lower() == "<?xml" and "<html" not in head.lower():
        return 0.86
    opening = _OPENING.match(head)
    name = opening[1] if opening else None
    if _HTML.search(head) or (name and f"</{name}" not in text[-200:] and "/>" not in text[-200:]):
        return 0.0
    return 0.62 if head.count("<") > 2 or len(text) > 200 else 0.0


def say(found: Outline, size: int) -> str:
    roots = [without_controls(name) for name in found.top.children if len(name) <= 80]
    said = f"XML {listed(roots, 3)}, {plural(found.elements, 'element')}, {plural(found.depth, 'level')}"
    said += f", {plural(found.entities, 'entity', 'entities')} declared, not expanded" if found.entities else ""
    if found.read < size:
        return f"{said}, all in the first {found.read:,} of {size:,} characters"
    return said + (f", {plural(found.unclosed, 'element')} not closed" if found.unclosed else "")


def outcome(text: str, call: ToolCall | None) -> str:
    found = outline(text)
    below = [node for child in found.top.children.values() for node in child.children.values()]
    inside = listed([clip(node.say(), 80) for node in below], 5)
    return f"{say(found, len(text))}: {inside}" if inside else say(found, len(text))


def preview(text: str, budget_tokens: int, count: Count) -> str:
    """The outline as far as two thirds of the budget go, then lines from both ends."""
    if fits := whole(text, budget_tokens, count):
        return fits
    found = outline(text)
    top, room = [say(found, len(text))], budget_tokens * 2 // 3
    room -= count(top[0])
    lines = list(found.lines())
    for number, line in enumerate(lines):
        room -= count(line) + 1
        if room < 12:
            top.append(f"… {plural(len(lines) - number, 'more path')} of the outline not shown …")
            break
        top.append(line)
    else:
        top += [f"… {plural(found.beyond, 'element')} of further paths …"] if found.beyond else []
    body = Body(text)
    return compose(body, edges(body, 200, 60), budget_tokens, count, "\n".join(top))


XML = Kind("xml", _recognise, outcome, preview)
