"""Imports mini-swe-agent trajectories. Knows nothing of other agents.

Three protocols: the action as text in a fence, whose observation is the next user row; tool calls of chat
completions; items of the Responses API. An action in text becomes a call of `bash` with an id from its place. The first
user row is the user's, and so is what a person typed in between; every other user row is injected. The last
row, `exit`, is what the program says of the run; after a submission it answers the call that made it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Part, Text, ToolCall, control
from foldmark.importers.parts import Waiting, failed, mappings, result_of, thinking_blocks, told, usage_of
from foldmark.importers.response_items import content_parts, output_event, step_part
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
from foldmark.wire.openai_reading import read_message, read_usage
from foldmark.wire.plain import as_mapping, as_text, compact_json, items
from foldmark.wire.responses_items import PROVIDER

NAME = "mini-swe-agent"
_TOOL = "bash"

_FENCES = re.compile(
    r"^```(?:mswea_bash_command|bash)[ \t]*\n(?P<fence>.*?)\n?```"
    r"|<mswea_bash_command>(?P<tag>.*?)</mswea_bash_command>",
    re.DOTALL | re.MULTILINE,
)
_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d+)</returncode>")

Row = Mapping[str, Any]


def sniff(document: Document) -> bool:
    value = document.value
    if isinstance(value, Mapping):
        info = value.get("info")
        named = str(value.get("trajectory_format") or "").startswith(NAME)
        versioned = isinstance(info, Mapping) and "mini_version" in info
        return isinstance(value.get("messages"), list) and (named or versioned)
    return isinstance(value, list) and any(_is_telling(row) for row in value[:20])


def _is_telling(row: Any) -> bool:
    content = row.get("content") if isinstance(row, Mapping) else None
    if not isinstance(content, str):
        return False
    return "```mswea_bash_command" in content or (row.get("role") == "user" and bool(_RETURN_CODE.match(content)))


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file. Raises WireError with the path of a row that cannot be read."""
    value = document.value
    about: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    rows = items(about.get("messages") if about else value, "messages")
    reader = _Reader(notes)
    for at, row in enumerate(rows):
        path = f"messages[{at}]" if about else f"[{at}]"
        reader.events += list(reader.row(as_mapping(row, path), path, at))
    if not has_messages(reader.events):
        raise nothing_to_import(document)
    if about.get("info"):
        notes.warn("info: the outcome of the run (exit status, submission) is no part of the conversation, left out")
    return [
        Imported(
            session=str(about.get("instance_id") or derived_id(NAME, reader.events)),
            format=NAME,
            wire="openai-chat",
            system="\n\n".join(reader.systems),
            events=tuple(reader.events),
            warnings=notes.lines(),
        )
    ]


class _Reader:
    """Takes rows in order; knows the calls that wait for their observation."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.events: list[Event] = []
        self.systems: list[str] = []
        self.waiting = Waiting()
        self.action = ""
        self.has_user = False

    def row(self, row: Row, path: str, at: int) -> Iterator[Event]:
        kind = row.get("type") or row.get("object")
        time = seconds(_extra(row).get("timestamp"))
        found = list(
            self.item(row, path) if kind in ("function_call_output", "response") else self.message(row, path, at)
        )
        self.waiting.made(found)
        yield from (msgspec.structs.replace(event, time=time) for event in found)

    def item(self, row: Row, path: str) -> Iterator[Event]:
        """A reply of the Responses API, or the output of one of its calls."""
        if row.get("type") == "function_call_output":
            event = output_event(row, path, self.waiting.names)
            yield failed(event) if _has_failed(row) else event
            return
        output = mappings(row.get("output"), f"{path}.output")
        parts = [part for where, item in output for part in step_part(item, where)]
        yield Event(
            role="assistant",
            origin="agent",
            parts=tuple(parts),
            provider=PROVIDER,
            model=str(row.get("model") or ""),
            usage=usage_of(row.get("usage"), "input_tokens", "output_tokens"),
        )

    def message(self, row: Row, path: str, at: int) -> Iterator[Event]:
        role = row.get("role")
        if role in ("system", "developer"):
            self.systems.append(_words(row, path))
        elif role == "assistant":
            yield self.step(row, path, at)
        elif role == "tool":
            event = read_message(row, path, self.waiting.names)[0]
            yield failed(event) if _has_failed(row) else event
        elif role == "user":
            yield self.said(row, path)
        elif role == "exit":
            yield self.end(row, path)
        else:
            yield self.notes.kept(f"role {role}", dict(row), path, provider=NAME)

    def step(self, row: Row, path: str, at: int) -> Event:
        thinking = thinking_blocks(row.get("thinking_blocks"), f"{path}.thinking_blocks")
        bare = {key: value for key, value in row.items() if key != "reasoning_content"} if thinking else row
        event = read_message(bare, path, self.waiting.names)[0]
        parts: list[Part] = [*thinking, *event.parts]
        if not event.calls and (found := _action(row, event.text)):
            command, rest = found
            self.action = f"action_{at}"
            spoken = [part for part in parts if not isinstance(part, Text)]
            words = [Text(rest)] if rest else []
            parts = [*spoken, *words, ToolCall(self.action, _TOOL, compact_json({"command": command}))]
        reply = _extra(row).get("response")
        reply = reply if isinstance(reply, Mapping) else {}
        usage, model = read_usage(reply.get("usage")), str(reply.get("model") or "")
        return msgspec.structs.replace(event, parts=tuple(parts), usage=usage, model=model)

    def said(self, row: Row, path: str) -> Event:
        parts = read_message({**row, "role": "user", "content": _content(row, path)}, path)[0].parts
        interrupt = str(_extra(row).get("interrupt_type") or "")
        if self.action and self.waiting.oldest() == self.action and not interrupt:
            code = _RETURN_CODE.match(_words(row, path))
            is_error = _has_failed(row) or (code is not None and int(code[1]) != 0)
            answered, self.action = self.action, ""
            return result_of(answered, parts, name=_TOOL, is_error=is_error)
        is_user = not self.has_user or interrupt.startswith("User")
        self.has_user = True
        return told(parts, is_user=is_user)

    def end(self, row: Row, path: str) -> Event:
        call_id = self.waiting.oldest()
        if call_id and _extra(row).get("exit_status") == "Submitted":
            return result_of(call_id, _words(row, path), name=_TOOL)
        return control("exit", dict(row), provider=NAME)


def _extra(row: Row) -> Mapping[str, Any]:
    extra = row.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def _content(row: Row, path: str) -> Any:
    """Content in the form of chat completions; Responses rows have blocks of their own."""
    if row.get("type") != "message":
        return row.get("content")
    parts = content_parts(row.get("content"), f"{path}.content")
    return [{"type": "text", "text": part.text} for part in parts if isinstance(part, Text)]


def _words(row: Row, path: str) -> str:
    if isinstance(row.get("content"), str):
        return as_text(row["content"], f"{path}.content")
    return "\n".join(event.text for event in read_message({**row, "role": "user"}, path))


def _action(row: Row, content: str) -> tuple[str, str] | None:
    """The one action of a text, and the text without it. None where the program found none, or several."""
    found = list(_FENCES.finditer(content))
    actions = _extra(row).get("actions")
    listed = actions if isinstance(actions, list) else ()
    commands = [action.get("command") for action in listed if isinstance(action, Mapping)]
    if len(commands) == 1 and isinstance(commands[0], str):
        same = [match for match in found if _command(match) == commands[0].strip()]
        return commands[0], _without(content, same[0]) if same else content
    if len(found) != 1 or actions == []:
        return None
    return _command(found[0]), _without(content, found[0])


def _command(match: re.Match[str]) -> str:
    return (match["fence"] if match["fence"] is not None else match["tag"]).strip()


def _without(content: str, match: re.Match[str]) -> str:
    """The words around the fence: the call holds what stands inside."""
    around = (content[: match.start()].strip(), content[match.end() :].strip())
    return "\n\n".join(words for words in around if words)


def _has_failed(row: Row) -> bool:
    extra = _extra(row)
    return extra.get("returncode") not in (None, 0) or bool(extra.get("exception_info"))


FORMAT = Format(NAME, sniff, read)
