"""Checks a payload of the Responses API against the table of what it refuses. Knows nothing of how payloads come
about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.media import SUPPORTED, image_of_url
from foldmark.wire.plain import is_json
from foldmark.wire.responses_ids import ID_LIMIT, is_valid_id
from foldmark.wire.responses_items import ANSWERS, CALLS, KNOWN, Item, item_shape
from foldmark.wire.responses_refusals import BOOK, RULES
from foldmark.wire.shapes import LIST, Form, misshapen, text_or
from foldmark.wire.strings import DIRT, dirty_strings
from foldmark.wire.values import Problem

__all__ = ["RULES", "validate"]

MINIMUM_OUTPUT = 16
_FORM = Form(key="input", head={"input": text_or(LIST), "tools": [{"type": str, "name": str}]}, message=item_shape)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ROLES = ("system", "developer", "user", "assistant")
_BOUND = ("message", "function_call", "custom_tool_call")
_FOREIGN_FIELDS = (
    *("tool_calls", "tool_call_id", "reasoning_content", "function_call", "cache_control"),
    *("parsed", "parsed_arguments"),
)


def validate(payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False) -> list[Problem]:
    """What the provider would refuse; with `suspected` also what only some models and servers refuse.

    `known_prefix` items at the front were validated before and are not looked at again (only their ids are).
    """
    if wrong := misshapen(payload, _FORM, known_prefix):
        return BOOK.shapes(wrong)
    given = payload.get("input") or ()
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
        payload = {**payload, "input": given}
    items: Sequence[Item] = given
    if not items:
        elsewhere = any(payload.get(key) for key in ("previous_response_id", "prompt", "conversation"))
        return [] if elsewhere else [BOOK.problem("input", "no_messages", "there is no item to send.")]
    found = list(_problems(payload, items, known_prefix))
    return found if suspected else [problem for problem in found if problem.certainty == "known"]


def _problems(payload: Mapping[str, Any], items: Sequence[Item], known_prefix: int) -> Iterator[Problem]:
    if not known_prefix:
        yield from _head_problems(payload)
    yield from _pair_problems(items, known_prefix, bool(payload.get("previous_response_id")))
    yield from _id_problems(items, known_prefix)
    yield from _reasoning_problems(items, known_prefix)
    for at in range(known_prefix, len(items)):
        path = f"input[{at}]"
        yield from _item_problems(items[at], path)
        if payload.get("store") is False and _is_by_id(items[at]):
            yield BOOK.problem(path, "not_stored", "is known by its id only, and nothing is stored.")
        for where, code in dirty_strings(items[at], path):
            yield BOOK.problem(where, code, DIRT[code])


def _kind(item: Mapping[str, Any]) -> str:
    kind = item.get("type")
    return str(kind) if kind else "message" if "role" in item else "item_reference" if "id" in item else ""


def _head_problems(payload: Mapping[str, Any]) -> Iterator[Problem]:
    instructions, limit = payload.get("instructions"), payload.get("max_output_tokens")
    if instructions is not None and not isinstance(instructions, str):
        yield BOOK.problem("instructions", "instructions", "is no text.")
    if isinstance(limit, int) and limit < MINIMUM_OUTPUT:
        yield BOOK.problem("max_output_tokens", "max_output", f"{limit} is less than {MINIMUM_OUTPUT}.")
    for where, code in dirty_strings(instructions, "instructions"):
        yield BOOK.problem(where, code, DIRT[code])
    tools = payload.get("tools") or ()
    if len(tools) > 128:
        yield BOOK.problem("tools", "too_many_tools", f"{len(tools)} tools; at most 128 are taken.")
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        yield from _tool_problems(tool, f"tools[{at}]", seen)


def _tool_problems(tool: Mapping[str, Any], path: str, seen: set[str]) -> Iterator[Problem]:
    if tool.get("type") in ("function", "custom"):
        name = tool.get("name")
        if name is None:
            yield BOOK.problem(f"{path}.name", "tool_shape", "the tool has no name beside its type.")
        elif not _NAME.match(str(name)):
            yield BOOK.problem(f"{path}.name", "tool_name", f"{name!r} does not match the pattern.")
        if name in seen:
            yield BOOK.problem(f"{path}.name", "duplicate_tool", f"{name!r} is defined twice.")
        seen.update([str(name)] if name else [])
    for where, code in dirty_strings(tool, path):
        yield BOOK.problem(where, code, DIRT[code])


def _pair_problems(items: Sequence[Item], known_prefix: int, goes_on: bool) -> Iterator[Problem]:
    """Calls and answers name each other anywhere in the list; `goes_on` says that calls may stand in the response
    before."""
    calls: dict[Any, int] = {}
    answered: set[Any] = set()
    for at, item in enumerate(items):
        kind, path = _kind(item), f"input[{at}]"
        call_id = item.get("call_id") or (item.get("id") if kind == "local_shell_call_output" else None)
        if call_id is None:
            continue
        if kind in CALLS:
            if call_id in calls and at >= known_prefix:
                yield BOOK.problem(path, "duplicate_call_id", f"call_id {call_id!r} is used twice.")
            calls[call_id] = at
        elif kind in ANSWERS:
            if at >= known_prefix:
                yield from _answer_problems(
                    items, calls.get(call_id), call_id in answered, kind, path, call_id, goes_on
                )
            answered.add(call_id)
    for call_id, at in calls.items():
        if call_id not in answered:
            yield BOOK.problem(f"input[{at}]", "missing_result", f"call {call_id!r} has no output.")


def _answer_problems(
    items: Sequence[Item], call: int | None, is_again: bool, kind: str, path: str, call_id: Any, goes_on: bool
) -> Iterator[Problem]:
    if is_again:
        yield BOOK.problem(path, "duplicate_result", f"call {call_id!r} is answered twice.")
    if call is None:
        if not goes_on:
            yield BOOK.problem(path, "orphan_result", f"no call {call_id!r} stands before it.")
        return
    wanted = CALLS[_kind(items[call])].answer
    if kind != wanted and (kind, wanted) != ("function_call_output", "local_shell_call_output"):
        yield BOOK.problem(f"{path}.type", "output_kind", f"the call wants a {wanted}.")


def _id_problems(items: Sequence[Item], known_prefix: int) -> Iterator[Problem]:
    used: set[Any] = set()
    for at, item in enumerate(items):
        kind, item_id = _kind(item), item.get("id")
        if item_id is None or kind == "local_shell_call_output":
            continue
        if at >= known_prefix and item_id in used:
            yield BOOK.problem(f"input[{at}].id", "duplicate_item", f"id {item_id!r} stands twice.")
        if at >= known_prefix and not is_valid_id(item):
            yield BOOK.problem(f"input[{at}].id", "item_id", f"{item_id!r} is no id of a {kind}.")
        used.add(item_id)


def _reasoning_problems(items: Sequence[Item], known_prefix: int) -> Iterator[Problem]:
    """Reasoning and what stands behind it. A step is told by what interrupts it: an answer or an input item."""
    start = known_prefix
    while start and _is_of_model(items[start - 1]):
        start -= 1
    has_reasoning = False
    for at in range(start, len(items)):
        item, path = items[at], f"input[{at}]"
        following = items[at + 1] if at + 1 < len(items) else None
        if not _is_of_model(item):
            has_reasoning = False
        elif _kind(item) == "reasoning":
            has_reasoning = True
            if following is None or not _is_of_model(following):
                yield BOOK.problem(path, "reasoning_last", "nothing of the model stands behind this reasoning.")
            elif _kind(following) == "reasoning":
                yield BOOK.problem(path, "reasoning_run", "more reasoning stands behind this one.")
        elif "id" in item and not has_reasoning and at >= known_prefix and _kind(item) in _BOUND:
            yield BOOK.problem(f"{path}.id", "reasoning_gone", "an id is kept and no reasoning stands before it.")


def _is_of_model(item: Mapping[str, Any]) -> bool:
    kind = _kind(item)
    return item.get("role") == "assistant" if kind == "message" else kind not in ANSWERS and "role" not in item


def _is_by_id(item: Mapping[str, Any]) -> bool:
    if _kind(item) == "reasoning":
        return not item.get("encrypted_content") and not item.get("content")
    return _kind(item) == "item_reference"


def _item_problems(item: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind = _kind(item)
    if kind == "message":
        yield from _message_problems(item, path)
    elif kind in CALLS:
        yield from _call_problems(item, kind, path)
    elif kind in ANSWERS:
        yield from _output_problems(item, kind, path)
    elif kind == "reasoning" and not isinstance(item.get("summary"), (list, tuple)):
        yield BOOK.problem(f"{path}.summary", "summary_missing", "the reasoning has no list of summaries.")
    elif kind == "compaction" and not item.get("encrypted_content"):
        yield BOOK.problem(path, "compaction", "the compaction has no encrypted content.")
    elif kind not in KNOWN and kind != "item_reference":
        yield BOOK.problem(f"{path}.type", "item_type", f"{kind!r} is no type that we know.")
    for field in _FOREIGN_FIELDS:
        if field in item:
            yield BOOK.problem(f"{path}.{field}", "unknown_field", "is a field of another API.")


def _message_problems(item: Mapping[str, Any], path: str) -> Iterator[Problem]:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        yield BOOK.problem(f"{path}.role", "role", f"{role!r} is no role of this API.")
    if content is None:
        yield BOOK.problem(f"{path}.content", "empty_content", "the message holds nothing.")
    elif not content or (isinstance(content, str) and not content.strip()):
        yield BOOK.problem(f"{path}.content", "blank_content", "the content is empty or only white space.")
    elif not isinstance(content, str):
        yield from _block_problems(content, f"{path}.content", is_output=role == "assistant")


def _block_problems(blocks: Sequence[Mapping[str, Any]], path: str, *, is_output: bool) -> Iterator[Problem]:
    for number, block in enumerate(blocks):
        kind, where = str(block.get("type")), f"{path}[{number}]"
        if (kind in ("output_text", "refusal")) != is_output:
            yield BOOK.problem(f"{where}.type", "content_type", f"a {kind} block cannot stand here.")
        if kind in ("input_text", "output_text") and not str(block.get("text") or "").strip():
            yield BOOK.problem(where, "blank_content", "the text is empty or only white space.")
        if kind == "input_image" and isinstance(block.get("image_url"), str):
            image = image_of_url(block["image_url"])
            if image.data and image.media_type not in SUPPORTED:
                yield BOOK.problem(where, "image_type", f"{image.media_type!r} is not taken.")
        for field in _FOREIGN_FIELDS:
            if field in block:
                yield BOOK.problem(f"{where}.{field}", "unknown_field", "is a field of another API.")


def _call_problems(item: Mapping[str, Any], kind: str, path: str) -> Iterator[Problem]:
    yield from _call_id_problems(item.get("call_id"), path, is_needed=kind != "tool_search_call")
    if not CALLS[kind].name and not _NAME.match(str(item.get("name") or "")):
        yield BOOK.problem(f"{path}.name", "tool_name", f"{item.get('name')!r} does not match the pattern.")
    if kind == "function_call":
        arguments = item.get("arguments")
        if not isinstance(arguments, str):
            yield BOOK.problem(f"{path}.arguments", "arguments_type", "arguments are not text.")
        elif not is_json(arguments):
            yield BOOK.problem(f"{path}.arguments", "arguments_json", "arguments are no JSON.")


def _output_problems(item: Mapping[str, Any], kind: str, path: str) -> Iterator[Problem]:
    yield from _call_id_problems(item.get("call_id"), path, is_needed=kind in ("function_call_output",))
    output = item.get("output")
    if output is None and kind not in ("apply_patch_call_output", "tool_search_output"):
        yield BOOK.problem(f"{path}.output", "output_missing", "the answer holds no output.")
    elif isinstance(output, (list, tuple)) and kind in ("function_call_output", "custom_tool_call_output"):
        yield from _block_problems(output, f"{path}.output", is_output=False)


def _call_id_problems(call_id: Any, path: str, *, is_needed: bool) -> Iterator[Problem]:
    if call_id is None and not is_needed:
        return
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= ID_LIMIT:
        yield BOOK.problem(f"{path}.call_id", "call_id", f"{call_id!r} is no id of 1 to {ID_LIMIT} characters.")
