"""Imports what Claude Code showed on the screen, saved as text or Markdown. Knows nothing of its session files.

Every welcome of the program begins a session. `>` is the user, `⏺` the model's words or a call, `⎿` what came
back, `✻` thinking. Thinking, words and the call behind them are one step. A refused, interrupted or failed call
has a result that is an error; a call that only ever shows "Waiting…" stays unanswered, and shortened output stays
shortened. A plan that was put to the user is a call of `ExitPlanMode`. Slash commands and what the program read by
itself are injected; a compaction is a foreign summary. Banners and bills are control events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from foldmark.events import Event, Part, Reasoning, Text, ToolCall, chained, control, injected, result, user
from foldmark.importers.console_calls import WAITING, call_of, is_error, is_plan, plan_of, todos_of
from foldmark.importers.console_lines import WELCOME, Block, sessions
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, has_messages, nothing_to_import
from foldmark.wire.anthropic_reading import PROVIDER
from foldmark.wire.plain import compact_json

NAME = "claude-code-console"

_SUMMARY = re.compile(r"This session is being continued from a previous conversation")
_COMPACTED = re.compile(r"Compact summary\b|Compacted\b")
_COMMAND = re.compile(r"/[\w:-]+")
_OWN_COMMANDS = re.compile(
    r"/(add-dir|agents|bug|clear|compact|config|context|cost|doctor|exit|export|help|hooks|ide|init|login|logout|mcp"
    r"|memory|model|output-style|permissions|privacy-settings|quit|release-notes|resume|rewind|status|statusline"
    r"|terminal-setup|upgrade|usage|vim)"
)
_MODEL = re.compile(r"Set model to .*?\(([\w.-]+)\)")
_HEAD_LINES = 300
"""How far recognition looks: the welcome stands at the top, and calls follow within a few screens."""


def sniff(document: Document) -> bool:
    """The program's welcome box; or calls and results on a page where most lines that begin in the first column
    begin with one of its marks, which prose about such a page is not. A screen shown in a code fence is prose too."""
    lines = document.text.split("\n", _HEAD_LINES)[:_HEAD_LINES]
    lines = lines[: next((at for at, line in enumerate(lines) if line.startswith("```")), len(lines))]
    if any(line.startswith("│") and WELCOME in line for line in lines):
        return True
    heads = [line for line in lines if line and not line[0].isspace()]
    marked = [line for line in heads if line[0] in "⏺●✻>╭│╰"]
    has_steps = any(line.startswith(("⏺ ", "● ")) for line in heads)
    has_results = any(re.match(r" {1,4}⎿", line) for line in lines)
    return has_steps and has_results and len(marked) * 4 >= len(heads) * 3


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a welcome. Raises WireError when nothing was said in any."""
    found = [_imported(_Reader(notes).read(blocks)) for blocks in sessions(document.text)]
    spoken = [imported for imported in found if has_messages(imported.events)]
    if not spoken:
        raise nothing_to_import(document)
    if len(spoken) < len(found):
        notes.warn(f"{len(found) - len(spoken)} session(s) in which nothing was said are left out")
    return [msgspec.structs.replace(imported, warnings=notes.lines()) for imported in spoken]


def _imported(events: tuple[Event, ...]) -> Imported:
    """Named after everything up to the first words of the user: many sessions begin with the same command."""
    first = next((at for at, event in enumerate(events) if event.is_user), None)
    begun = [event for event in events[: first + 1] if event.role != "control"] if first is not None else []
    named = f"{NAME}-{chained(begun)[-1].chain[:16]}" if begun else derived_id(NAME, events)
    return Imported(session=named, format=NAME, wire=PROVIDER, events=events)


class _Reader:
    """Reads the blocks of one session in order. A step is open until its call, or until somebody else speaks."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.step: list[Part] = []
        self.waiting: ToolCall | None = None
        self.model = ""
        self.calls = 0

    def read(self, blocks: Sequence[Block]) -> tuple[Event, ...]:
        found: list[Event] = []
        is_taken = False
        for at, block in enumerate(blocks):
            after = blocks[at + 1] if at + 1 < len(blocks) else None
            below = after.text if after and after.kind == "result" else ""
            if not is_taken:
                found += self._block(block, below)
            # The plan below an approval is in its call already.
            is_taken = bool(below) and block.kind == "said" and is_plan(block.text)
        return (*found, *self._end_step())

    def _block(self, block: Block, below: str) -> Iterator[Event]:
        if block.kind == "thinking":
            self.step.append(Reasoning(block.text, PROVIDER))
        elif block.kind == "said":
            yield from self._said(block.text, below)
        elif block.kind == "result":
            yield from self._result(block.text)
        else:
            yield from self._end_step()
            self.waiting = None
            yield self._other(block)

    def _said(self, words: str, below: str) -> Iterator[Event]:
        self.waiting = None
        if _COMPACTED.match(words):
            yield from self._end_step()
            yield injected(words, meta={"foreign": "compact_summary"})
        elif is_plan(words):
            yield from self._plan(words, below)
        elif shown := call_of(words):
            name, arguments = shown
            todos = todos_of(below) if name == "TodoWrite" else None
            yield self._call(name, todos or arguments)
        else:
            self.step.append(Text(words))

    def _call(self, name: str, arguments: str) -> Event:
        self.calls += 1
        self.waiting = ToolCall(f"call_{self.calls}", name, arguments)
        self.step.append(self.waiting)
        return next(self._end_step())

    def _end_step(self) -> Iterator[Event]:
        if self.step:
            parts, self.step = tuple(self.step), []
            yield Event(role="assistant", origin="agent", parts=parts, provider=PROVIDER, model=self.model)

    def _result(self, shown: str) -> Iterator[Event]:
        if shown in WAITING:
            return
        if model := _MODEL.match(shown):
            self.model = model[1]
        if plan := plan_of(shown):
            yield from self._plan(*plan)
        elif self.waiting is not None:
            yield self._answer(shown)
        else:
            yield from self._end_step()
            meta = {"foreign": "compact_summary"} if _COMPACTED.match(shown) else {}
            yield injected(shown, meta=meta)

    def _plan(self, verdict: str, plan: str) -> Iterator[Event]:
        yield self._call("ExitPlanMode", compact_json({"plan": plan}))
        yield self._answer(verdict)

    def _answer(self, shown: str) -> Event:
        call, self.waiting = self.waiting, None
        assert call is not None
        return result(call.id, shown, name=call.name, is_error=is_error(shown))

    def _other(self, block: Block) -> Event:
        if block.kind == "user":
            return _user(block.text)
        if block.kind == "compacted":
            return injected(block.text.strip("= "), meta={"foreign": "compact_boundary"})
        if block.kind in ("program", "box"):
            return control("console", {"text": block.text}, provider=NAME)
        kind, raw = "screen text without a mark", {"text": block.text}
        return self.notes.kept(kind, raw, f"line {block.line}", provider=NAME)


def _user(words: str) -> Event:
    if _SUMMARY.match(words):
        return injected(words, meta={"foreign": "compact_summary"})
    return user(words) if _is_spoken(words) else injected(f"The user ran `{words.strip()}`.")


def _is_spoken(words: str) -> bool:
    """Whether a line of the user is meant for the model: no shell line, and no slash command but one of their own
    that came with words."""
    if words.startswith("!"):
        return False
    match = _COMMAND.match(words)
    if match is None:
        return True
    rest = words[match.end() :].strip()
    is_own = bool(_OWN_COMMANDS.fullmatch(match[0]))
    return len(rest.split()) > 1 if is_own else bool(rest) and not re.fullmatch(r"is running…\s*", rest)


FORMAT = Format(NAME, sniff, read, is_text=True)
