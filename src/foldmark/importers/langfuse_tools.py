"""Observations of tools and the calls they ran: results that no message holds. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.events import Text, ToolCall
from foldmark.importers.langfuse_lines import Line
from foldmark.importers.langfuse_matching import value_of
from foldmark.importers.langfuse_observations import Observation
from foldmark.importers.langfuse_parts import said
from foldmark.importers.parts import words_of
from foldmark.importers.values import Notes

Started = dict[str, tuple[Line, str]]
"""For the observation of a tool: the line and the id of the call that it ran."""


def run_tools(lines: list[Line], found: list[Observation], notes: Notes) -> Started:
    """Give every tool that ran its call, and every call without a result what its tool returned. A tool that
    returned nothing and did not fail gives no result: the trace shows none."""
    names = {call.name for line in lines for call in _calls(line)}
    tools = [each for each in found if each.is_tool or (not each.is_generation and each.name in names)]
    started: Started = {}
    taken: set[tuple[int, str]] = set()
    for tool in tools:
        place = _call_of(tool, lines, taken)
        if place is None:
            continue
        line, call = place
        taken.add((id(line), call.id))
        started[tool.key] = (line, call.id)
        has_failed = tool.raw.get("level") == "ERROR"
        words = _words(tool)
        if call in line.open_calls() and (words or has_failed):
            line.answer(call, words, is_error=has_failed, time=tool.start)
    return started


def _calls(line: Line) -> Iterator[ToolCall]:
    """The calls of a line's own part: a fork's shared part is its parent's."""
    return (call for event in line.events[line.start :] for call in event.calls)


def _call_of(tool: Observation, lines: list[Line], taken: set[tuple[int, str]]) -> tuple[Line, ToolCall] | None:
    """The first free call with the tool's call id, else with its arguments, else of its name alone."""
    free = [
        (line, call)
        for line in lines
        for call in _calls(line)
        if call.name == tool.tool and (id(line), call.id) not in taken
    ]
    named = str(tool.attributes.get("gen_ai.tool.call.id") or "")
    given = [tool.input, tool.input.get("input") if isinstance(tool.input, Mapping) else None]
    with_id = [place for place in free if named and place[1].id == named]
    alike = [place for place in free if value_of(place[1].arguments) in given]
    return next(iter(with_id or alike or free), None)


def _words(tool: Observation) -> str:
    """What a tool returned, as text: the words of a message or of content blocks, else as the trace has it."""
    output: Any = tool.output
    if isinstance(output, Mapping) and output.get("lc") and isinstance(output.get("kwargs"), Mapping):
        output = output["kwargs"]
    if isinstance(output, Mapping) and isinstance(output.get("content"), (list, str)):
        parts = said(output["content"], f"{tool.path}.output.content")
        if all(isinstance(part, Text) for part in parts):
            return "\n".join(part.text for part in parts if isinstance(part, Text))
    written = tool.raw.get("output")
    return words_of(written if isinstance(written, str) else output) or str(tool.raw.get("statusMessage") or "")
