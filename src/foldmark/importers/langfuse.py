"""Imports traces that Langfuse exported (JSON): the conversations behind the observations. Knows nothing of any one
framework.

Every generation repeats what came before it, so a conversation is put together from what each adds. A conversation
that ran inside a tool is a child of the call that started it; one that ran inside another agent is a child of that
agent's; others are sessions of their own. The first is named after the trace. What no message holds is taken from
the observations of tools: the results of calls, and whether they failed. An agent's own account of its messages adds
what its generations do not show. Other observations repeat the same and are left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Text, control
from foldmark.importers.langfuse_attributes import flattened
from foldmark.importers.langfuse_lines import Line, Lines
from foldmark.importers.langfuse_messages import answered, asked
from foldmark.importers.langfuse_observations import (
    KINDS,
    Observation,
    decoded,
    instructions_of,
    model_of,
    observations,
    provider_of,
    rows_of,
    tools_of,
    trace_of,
    usage_of,
)
from foldmark.importers.langfuse_parts import said
from foldmark.importers.langfuse_tools import Started, run_tools
from foldmark.importers.values import Child, Document, Format, Imported, Notes, nothing_to_import

NAME = "langfuse"

_ACCOUNT = "pydantic_ai.all_messages"


def sniff(document: Document) -> bool:
    found = rows_of(document.value)
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(row, Mapping) and "traceId" in row and "startTime" in row for row in found[:5])
    )


def read(document: Document, notes: Notes) -> list[Imported]:
    """The conversations of one trace. Raises WireError with the path of an observation that cannot be read."""
    found = observations(document.value)
    tree = _Tree(found)
    lines = Lines(notes)
    told = [each for each in found if each.is_generation and not tree.is_inside_generation(each)]
    for generation in told:
        _take(generation, tree, lines, notes)
    if not lines.all:
        raise nothing_to_import(document, "generation with messages")
    agents = [each for each in found if not each.is_generation and (each.is_agent or _ACCOUNT in each.attributes)]
    for agent in sorted(agents, key=lambda each: each.end):
        lines.complete(_account(agent, notes), agent.end)
    for each in found:
        if each.kind not in KINDS:
            kept = notes.kept(f"observation {each.kind}", dict(each.raw), each.path, provider=NAME, time=each.start)
            lines.all[0].add([kept], notes)
    started = run_tools(lines.all, found, notes)
    _say_what_is_left_out(found, told, agents, started, notes)
    sessions = _sessions(trace_of(document.value, found), lines.all, tree, started)
    return [msgspec.structs.replace(imported, warnings=notes.lines()) for imported in sessions]


class _Tree:
    """Who hangs on whom. A parent that is not in the file ends the way up."""

    def __init__(self, found: list[Observation]) -> None:
        self.by_key = {each.key: each for each in found}

    def above(self, found: Observation) -> Iterator[Observation]:
        seen = {found.key}
        at = self.by_key.get(found.parent)
        while at is not None and at.key not in seen:
            seen.add(at.key)
            yield at
            at = self.by_key.get(at.parent)

    def around(self, found: Observation) -> Iterator[Observation]:
        """What is above within the same agent: a tool that started it belongs to another one."""
        for each in self.above(found):
            if each.is_tool:
                return
            yield each

    def is_inside_generation(self, found: Observation) -> bool:
        """Whether two instruments traced the same call: the outer one is taken."""
        return any(each.is_generation for each in self.above(found))

    def agents(self, found: Observation) -> list[str]:
        return [each.key for each in self.above(found) if each.is_agent]


def _take(generation: Observation, tree: _Tree, lines: Lines, notes: Notes) -> None:
    question, answer = _asked(generation, notes), _said(generation, notes)
    if question is None and generation.input not in (None, "", [], {}):
        notes.warn("inputs that hold no messages are left out; what was said goes on with the step before it")
    if question is None and not answer:
        return
    if question is None and lines.beside(generation) is None:
        question = next((told for each in tree.around(generation) if (told := _asked(each, notes))), None)
    texts: list[str] = []
    while question and question[0].role == "system":
        texts.append(question.pop(0).text)
    instructions = (instructions_of(each) for each in (generation, *tree.around(generation)))
    beside = next((each for each in instructions if each), None)
    if not texts and beside:
        texts = [part.text for part in said(beside, f"{generation.path}.system") if isinstance(part, Text)]
    line = lines.take(generation, question, answer, "\n\n".join(text for text in texts if text))
    if not line.tools:
        line.tools = tools_of(generation)


def _asked(found: Observation, notes: Notes) -> list[Event] | None:
    read_now = asked(found.input, f"{found.path}.input", notes)
    if read_now is None:
        read_now = asked(flattened(found.attributes, "llm.input_messages"), f"{found.path}.metadata", notes)
    return read_now


def _said(found: Observation, notes: Notes) -> list[Event]:
    """What a generation said, with what is known of the step. One that failed is a control event."""
    events = answered(found.output, f"{found.path}.output", notes)
    if not events and len(rows := flattened(found.attributes, "llm.output_messages")) == 1:
        events = answered(rows, f"{found.path}.metadata", notes)
    if found.raw.get("level") == "ERROR":
        raw = {"statusMessage": found.raw.get("statusMessage"), "name": found.name}
        events.append(control("generation failed", raw, provider=NAME))
    known: dict[str, Any] = {"usage": usage_of(found), "model": model_of(found)}
    if provider := provider_of(found):
        known["provider"] = provider
    out: list[Event] = []
    for event in events:
        is_step = event.role == "assistant"
        out.append(msgspec.structs.replace(event, time=found.start, **(known if is_step else {})))
        known = {**known, "usage": None} if is_step else known
    return out


def _account(agent: Observation, notes: Notes) -> list[Event]:
    """The messages of a conversation as its agent tells them at its end, without the system text."""
    account = decoded(agent.attributes.get(_ACCOUNT))
    path = f"{agent.path}.metadata" if account else f"{agent.path}.input"
    told = asked(account if account else agent.input, path, notes) if isinstance(account or agent.input, list) else None
    if not told:
        return []
    end = (
        answered(agent.output, f"{agent.path}.output", notes)
        if isinstance(agent.output, Mapping) and not account
        else []
    )
    repeated = bool(end) and end[0].text.strip() == told[-1].text.strip()
    return [event for event in [*told, *(end[1:] if repeated else end)] if event.role != "system"]


def _say_what_is_left_out(
    found: list[Observation], told: list[Observation], agents: list[Observation], started: Started, notes: Notes
) -> None:
    read_now = {each.key for each in (*told, *agents)} | set(started)
    twice = [each for each in found if each.is_generation and each.key not in read_now]
    others = [each for each in found if not each.is_generation and each.kind in KINDS and each.key not in read_now]
    if twice:
        notes.warn(f"{len(twice)} generation(s) inside another one are the same call traced again, left out")
    if others:
        notes.warn(f"{len(others)} observation(s) say nothing beyond the generations and tools, left out")


def _sessions(trace: str, lines: list[Line], tree: _Tree, started: Started) -> list[Imported]:
    """Top sessions in order, each with what hangs on it."""
    names = {id(line): trace if at == 0 else f"{trace}-{line.source.key[:8]}" for at, line in enumerate(lines)}
    placed = [(line, *_place(line, lines, tree, started)) for line in lines]

    def imported(line: Line) -> Imported:
        children = tuple(
            Child(kind="fork", imported=imported(each), at=each.start)
            if each.parent is line
            else Child(kind="child", imported=imported(each), call_id=call_id)
            for each, holder, call_id in placed
            if holder is line
        )
        providers = [event.provider for event in line.events if event.role == "assistant"]
        return Imported(
            session=names[id(line)],
            format=NAME,
            wire="anthropic" if "anthropic" in providers else "openai-chat",
            system=line.system,
            tools=line.tools,
            events=tuple(line.events[line.start :]),
            children=children,
        )

    return [imported(line) for line, holder, _ in placed if holder is None]


def _place(line: Line, lines: list[Line], tree: _Tree, started: Started) -> tuple[Line | None, str]:
    """(the line that this one hangs on, the call that started it)."""
    if line.parent is not None:
        return line.parent, ""
    for above in tree.above(line.source):
        holder, call_id = started.get(above.key, (None, ""))
        if holder is not None and holder is not line:
            return holder, call_id
    agents = tree.agents(line.source)
    for other in lines:
        theirs = tree.agents(other.source)
        if other is not line and theirs and theirs[0] in agents[1:]:
            return other, ""
    return None, ""


FORMAT = Format(NAME, sniff, read)
