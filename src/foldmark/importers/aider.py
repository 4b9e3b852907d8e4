"""Imports aider chat histories (`.aider.chat.history.md`). Knows nothing of other agents.

Every chat of the file is a session of its own, named after its start; chats in which nobody said or ran anything are
left out, with a warning. Edits in the model's words are calls of `edit`; "Applied edit to …" and the program's
complaint about a block that did not match are their results, and an edit of which the program says nothing stays
unanswered. A slash command is injected text, but the question behind `/ask` and its like is the user's. What the
program prints before anybody speaks is a control event, later output is injected; its token report is the usage of
the step. Times have no zone in the file and are read as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from foldmark.events import Event, Text, ToolCall, Usage, control, injected, result, user
from foldmark.importers.aider_edits import Edit, outcomes, split_edits
from foldmark.importers.aider_lines import STARTED, Block, Chat, chats
from foldmark.importers.values import (
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
    seconds,
)
from foldmark.wire.plain import compact_json

NAME = "aider"
_TOOL = "edit"

_ASKS = re.compile(r"/(ask|code|architect|context|help)\s+\S", re.IGNORECASE)
_COMMAND = re.compile(r"[/!]\S")
_WRITTEN_BY_PROGRAM = re.compile(r"# Fix any errors below, if possible\.|# \d+ SEARCH/REPLACE block")
_MODEL = re.compile(r"(?:Main m|M)odels?: (\S+) with ")
_TOKENS = re.compile(r"Tokens: .*\breceived\b.*")
_COUNT = re.compile(r"([\d,.]+)(k|M)? (sent|received|cache write|cache hit)")


def sniff(document: Document) -> bool:
    """A line that says when a chat started, outside code fences, and a line of the program or the user."""
    is_fenced = is_started = False
    for line in document.text.split("\n"):
        is_fenced ^= not is_started and line.startswith("```")
        is_started |= not is_fenced and bool(STARTED.fullmatch(line.rstrip()))
        if is_started and line.startswith(("> ", "#### ")):
            return True
    return False


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a chat. Raises WireError when nobody says or runs anything in any of them."""
    found: list[Imported] = []
    silent = 0
    for chat in chats(document.text):
        reader = _Reader(chat)
        events = tuple(reader.events())
        if has_messages(events):
            found.append(_imported(chat, events))
        else:
            silent += bool(chat.started or chat.blocks)
    if not found:
        raise nothing_to_import(document)
    if silent:
        notes.warn(f"{silent} chat(s) in which nobody said or ran anything are left out")
    return [msgspec.structs.replace(imported, warnings=notes.lines()) for imported in found]


def _imported(chat: Chat, events: tuple[Event, ...]) -> Imported:
    named = f"{NAME}-{re.sub('[ :]', '-', chat.started)}" if chat.started else derived_id(NAME, events)
    return Imported(session=named, format=NAME, wire="openai-chat", events=events)


class _Reader:
    """Reads the blocks of one chat in order; the model, the number of edits and who waits carry over."""

    def __init__(self, chat: Chat) -> None:
        self.blocks = chat.blocks
        self.time = seconds(chat.started)
        self.model = ""
        self.calls = 0

    def events(self) -> Iterator[Event]:
        is_opened = False
        for at, block in enumerate(self.blocks):
            before = self.blocks[at - 1] if at else None
            after = self.blocks[at + 1] if at + 1 < len(self.blocks) else None
            if block.speaker == "user":
                yield self._said(block.text)
            elif block.speaker == "assistant":
                yield from self._step(block, after.text if after and after.speaker == "console" else "")
            else:
                # Right before the model speaks the program asked it (`aider --lint`).
                is_banner = not is_opened and (after is None or after.speaker != "assistant")
                yield from self._printed(block, before, is_banner=is_banner)
            is_opened |= block.speaker != "console"

    def _said(self, words: str) -> Event:
        """What it printed stays an event of its own: it may arrive after the next import."""
        if _WRITTEN_BY_PROGRAM.match(words):
            return injected(words, time=self._moment())
        if _COMMAND.match(words) and not _ASKS.match(words):
            return injected(f"The user ran `{words}`.", time=self._moment())
        return user(words, time=self._moment())

    def _moment(self) -> float | None:
        """The time of the first words of the chat: later ones have none in the file."""
        time, self.time = self.time, None
        return time

    def _step(self, block: Block, output: str) -> Iterator[Event]:
        words, edits = split_edits(block.text)
        calls = [self._call(edit) for edit in edits]
        text = (Text(words),) if words.strip() else ()
        yield Event(role="assistant", origin="agent", parts=(*text, *calls), usage=_usage(output), model=self.model)
        for call, outcome in zip(calls, outcomes(edits, output), strict=True):
            if outcome is not None:
                yield result(call.id, outcome.text, name=_TOOL, is_error=outcome.is_error)

    def _call(self, edit: Edit) -> ToolCall:
        self.calls += 1
        return ToolCall(f"edit_{self.calls}", _TOOL, compact_json(edit.arguments))

    def _printed(self, block: Block, before: Block | None, *, is_banner: bool) -> Iterator[Event]:
        if model := _MODEL.search(block.text):
            self.model = model[1]
        if is_banner:
            yield control("console", {"text": block.text}, provider=NAME, time=self.time)
        elif rest := _unclaimed(block.text, before):
            yield injected(rest, time=self._moment())


def _unclaimed(console: str, before: Block | None) -> str:
    """What the program printed, without the lines that are usage or the result of an edit already."""
    claimed: set[str] = set()
    if before and before.speaker == "assistant":
        _, edits = split_edits(before.text)
        for outcome in outcomes(edits, console):
            claimed.update(outcome.text.split("\n") if outcome else ())
    lines = [line for line in console.split("\n") if line not in claimed and not _TOKENS.fullmatch(line)]
    return "\n".join(lines).strip()


def _usage(console: str) -> Usage | None:
    """The program's own report, rounded as it prints it. What it calls sent is the whole prompt."""
    report = next((line for line in console.split("\n") if _TOKENS.fullmatch(line)), "")
    if not report:
        return None
    scale = {"k": 1_000, "M": 1_000_000, "": 1}
    counts = {
        what: round(float(number.replace(",", "")) * scale[unit]) for number, unit, what in _COUNT.findall(report)
    }
    written, hit = counts.get("cache write", 0), counts.get("cache hit", 0)
    sent = counts.get("sent", 0)
    return Usage(input=sent, output=counts.get("received", 0), cache_read=hit, cache_write=written)


FORMAT = Format(NAME, sniff, read, is_text=True)
