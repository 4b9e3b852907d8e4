"""What the Messages API refuses around a conversation: system text, tools, thinking, marks for caching. Knows
nothing of calls or results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.anthropic_blocks import all_blocks, blocks_of
from foldmark.wire.anthropic_refusals import BOOK
from foldmark.wire.strings import DIRT, dirty_strings
from foldmark.wire.values import Problem

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")
MOST_MARKS = 4
LEAST_THINKING = 1024

Message = Mapping[str, Any]


def head_problems(payload: Mapping[str, Any], messages: Sequence[Message]) -> Iterator[Problem]:
    first = blocks_of(messages[0])
    if messages[0].get("role") == "assistant" and not (first and first[0].get("type") == "compaction"):
        yield BOOK.problem("messages[0]", "first_user", "the first message is the assistant's.")
    system = payload.get("system", "")
    if not isinstance(system, str):
        if not isinstance(system, list) or not all(map(_is_text, system)):
            yield BOOK.problem("system", "system_type", "is neither text nor a list of text blocks.")
        elif any(not (block.get("text") or "").strip() for block in system):
            yield BOOK.problem("system", "blank_text", "a text block is empty or only white space.")
    yield from dirt(system, "system")
    if payload.get("tool_choice") and not payload.get("tools"):
        yield BOOK.problem("tool_choice", "tool_choice", "there is no tool to choose.")
    seen: set[str] = set()
    for at, tool in enumerate(payload.get("tools") or ()):
        name, path = str(tool.get("name") or ""), f"tools[{at}]"
        if not NAME.match(name):
            yield BOOK.problem(f"{path}.name", "tool_name", f"{name!r} does not match the pattern.")
        if name in seen:
            yield BOOK.problem(f"{path}.name", "duplicate_tool", f"{name!r} is defined twice.")
        seen.add(name)
        if isinstance(tool.get("input_schema"), Mapping):
            yield from _schema_problems(tool["input_schema"], f"{path}.input_schema")
        yield from dirt(tool, path)


def _is_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text") or "", str)


def _schema_problems(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind = schema.get("type")
    if kind != "object":
        said = repr(kind) if isinstance(kind, str) else "not said" if kind is None else "no text"
        yield BOOK.problem(f"{path}.type", "schema_type", f"the type is {said}.")
    for key in ("oneOf", "allOf", "anyOf"):
        if key in schema:
            yield BOOK.problem(f"{path}.{key}", "schema_union", f"{key} stands at the top of the schema.")
    properties = schema.get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        if not _PROPERTY.match(str(name)):
            yield BOOK.problem(f"{path}.properties", "schema_key", f"{name!r} does not match the pattern.")


def thinking_problems(payload: Mapping[str, Any]) -> Iterator[Problem]:
    thinking, limit = payload.get("thinking") or {}, payload.get("max_tokens")
    budget = thinking.get("budget_tokens")
    if thinking.get("type") != "enabled":
        return
    if isinstance(budget, int) and (budget < LEAST_THINKING or (isinstance(limit, int) and budget >= limit)):
        within = limit if isinstance(limit, int) else "no number"
        yield BOOK.problem("thinking.budget_tokens", "thinking_budget", f"a budget of {budget} within {within}.")
    if (payload.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield BOOK.problem("tool_choice", "thinking_choice", "a tool is forced while thinking is on.")


def mark_problems(payload: Mapping[str, Any], messages: Sequence[Message]) -> Iterator[Problem]:
    """Marks for caching in the order of the prompt: tools, system, messages."""
    system = payload.get("system")
    held = [*(payload.get("tools") or ()), *filter(_is_text, system if isinstance(system, list) else ())]
    held += [block for message in messages for block in all_blocks(message)]
    marks = [block["cache_control"] for block in held if block.get("cache_control")]
    if len(marks) > MOST_MARKS:
        yield BOOK.problem("messages", "too_many_marks", f"{len(marks)} blocks are marked for caching.")
    hours = [mark.get("ttl") == "1h" for mark in marks if isinstance(mark, Mapping)]
    if hours != sorted(hours, reverse=True):
        yield BOOK.problem("messages", "mark_order", "a mark of one hour stands behind one of five minutes.")


def dirt(value: Any, path: str) -> Iterator[Problem]:
    for where, code in dirty_strings(value, path):
        yield BOOK.problem(where, code, DIRT[code])
