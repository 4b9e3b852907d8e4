"""Imports ReAct text logs: numbered thoughts, actions and observations. Knows nothing of other agents.

    Question: …
    Thought 1: …
    Action 1: Search[…]
    Observation 1: …

Every question begins a session of its own. A thought and its action are one assistant step, the action a call
with a derived id (also `Action: name` with `Action Input: …` below it), the observation its result. An
observation belongs to its action until the next line that begins so. Headings between episodes are control
events of the session after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, ToolCall, assistant, control, result, user
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, nothing_to_import
from foldmark.wire.plain import compact_json

NAME = "react"

_MARK = re.compile(r"(Question|Thought|Action Input|Action|Observation|Final Answer)(?: \d+)?: ?(.*)", re.DOTALL)
_CALL = re.compile(r"\s*([A-Za-z]\w*)\[(.*)\]\s*", re.DOTALL)
_HEADING = re.compile(r"-{3,} (\S.*?) -{3,}\s*")
_REFUSED = re.compile(r"\s*Invalid Action")
_HEAD_LINES = 400
"""How far recognition looks: an episode shows all three marks within a few steps."""


class Block(msgspec.Struct, frozen=True):
    """Lines from one mark to the next: what it is (`""` for lines before any mark), its words, its first line."""

    kind: str
    words: str
    line: int


def sniff(document: Document) -> bool:
    """A thought, an action in brackets (or with its input below) and an observation, in this order, with nothing but
    headings before the first mark: prose about the pattern begins as prose."""
    wanted = ["Thought", "Action", "Observation"]
    is_begun = False
    for line in document.text.split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        mark = _MARK.fullmatch(line)
        is_begun |= bool(mark)
        if not is_begun and line.strip() and not _HEADING.fullmatch(line):
            return False
        if mark and mark[1] == wanted[0]:
            is_call = mark[1] != "Action" or _CALL.fullmatch(mark[2]) or "\nAction Input:" in document.text
            wanted = wanted[1:] if is_call else wanted
        if not wanted:
            return True
    return False


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a question. Raises WireError naming the line of an observation without its action."""
    found = [_session(blocks, notes) for blocks in _episodes(_blocks(document.text))]
    if not found:
        raise nothing_to_import(document)
    return [msgspec.structs.replace(imported, warnings=notes.lines()) for imported in found]


def _blocks(text: str) -> Iterator[Block]:
    kind, first = "", 1
    lines: list[str] = []
    for at, line in enumerate(text.split("\n"), 1):
        mark, heading = _MARK.fullmatch(line), _HEADING.fullmatch(line)
        if not mark and not heading:
            lines.append(line)
            continue
        if kind or any(line.strip() for line in lines):
            yield Block(kind, "\n".join(lines).strip("\n"), first)
        if mark:
            kind, first, lines = mark[1], at, [mark[2]]
        elif heading:
            kind, first, lines = "heading", at, [heading[1]]
    if kind or any(line.strip() for line in lines):
        yield Block(kind, "\n".join(lines).strip("\n"), first)


def _episodes(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    """Blocks by question; headings and loose lines in front of a question go with it."""
    episode: list[Block] = []
    front: list[Block] = []
    for block in blocks:
        if block.kind in ("heading", ""):
            front.append(block)
            continue
        if block.kind == "Question" and any(earlier.kind not in ("heading", "") for earlier in episode):
            yield episode
            episode = []
        episode += [*front, block]
        front = []
    if episode or front:
        yield [*episode, *front]


def _session(blocks: Sequence[Block], notes: Notes) -> Imported:
    reader = _Reader(notes)
    for at, block in enumerate(blocks):
        reader.take(block, blocks[at + 1] if at + 1 < len(blocks) else None)
    reader.end_thought()
    events = tuple(reader.events)
    return Imported(session=derived_id(NAME, events), format=NAME, wire="openai-chat", events=events)


class _Reader:
    """Takes the blocks of one episode in order; thoughts wait for the action or the answer that they lead to."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.events: list[Event] = []
        self.thoughts: list[str] = []
        self.waiting: ToolCall | None = None
        self.calls = 0

    def take(self, block: Block, after: Block | None) -> None:
        if block.kind == "Thought":
            self.thoughts.append(block.words)
        elif block.kind == "Action":
            self.act(block, after if after and after.kind == "Action Input" else None)
        elif block.kind == "Observation":
            self.observe(block)
        elif block.kind == "Final Answer":
            self.thoughts.append(f"Final Answer: {block.words}")
            self.end_thought()
        elif block.kind == "Question":
            self.events.append(user(block.words))
        elif block.kind == "heading":
            self.events.append(control("heading", {"text": block.words}, provider=NAME))
        elif block.kind == "":
            kind, raw = "text outside an episode", {"text": block.words}
            self.events.append(self.notes.kept(kind, raw, f"line {block.line}", provider=NAME))

    def act(self, action: Block, given: Block | None) -> None:
        self.calls += 1
        self.waiting = _call(action, given, self.calls)
        self.end_thought(self.waiting)

    def observe(self, block: Block) -> None:
        call, self.waiting = self.waiting, None
        if call is None:
            raise WireError(f"line {block.line}", "an observation without its action.")
        is_error = bool(_REFUSED.match(block.words))
        self.events.append(result(call.id, block.words, name=call.name, is_error=is_error))

    def end_thought(self, *calls: ToolCall) -> None:
        if self.thoughts or calls:
            self.events.append(assistant("\n".join(self.thoughts), *calls))
            self.thoughts = []


def _call(action: Block, given: Block | None, count: int) -> ToolCall:
    """The action as a call; one that is not in the form `name[input]` is a call of `action` with all its words,
    as the model wrote it."""
    if given is not None:
        return ToolCall(f"action_{count}", action.words.strip() or "action", compact_json({"input": given.words}))
    match = _CALL.fullmatch(action.words)
    name, words = (match[1], match[2]) if match else ("action", action.words)
    return ToolCall(f"action_{count}", name, compact_json({"input": words}))


FORMAT = Format(NAME, sniff, read, is_text=True)
