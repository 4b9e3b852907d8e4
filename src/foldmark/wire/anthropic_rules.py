"""Checks a payload of the Messages API against the table of what it refuses. Knows nothing of how payloads come
about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.anthropic_blocks import FOREIGN, THINKING, all_blocks, block_shape, blocks_of, linked
from foldmark.wire.anthropic_fields import (
    NAME,
    dirt,
    head_problems,
    mark_problems,
    thinking_problems,
)
from foldmark.wire.anthropic_refusals import BOOK, RULES
from foldmark.wire.anthropic_writing import is_too_large
from foldmark.wire.media import SUPPORTED
from foldmark.wire.shapes import LIST, Form, misshapen, text_or
from foldmark.wire.values import Problem

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
MOST_IMAGES = 20

_FORM = Form(
    key="messages",
    head={
        "messages": LIST,
        "tools": [{"type": str, "name": str, "input_schema": Mapping, "cache_control": Mapping}],
        "tool_choice": Mapping,
        "thinking": Mapping,
    },
    message={"role": str, "content": text_or([block_shape])},
)

Message = Mapping[str, Any]

__all__ = ["RULES", "validate"]


def validate(payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False) -> list[Problem]:
    """What the provider would refuse; with `suspected` also what only some models and servers refuse.

    `known_prefix` messages at the front were validated before and are not looked at again (only their call
    ids and the last of them are).
    """
    if wrong := misshapen(payload, _FORM, known_prefix):
        return BOOK.shapes(wrong)
    messages: Sequence[Message] = payload.get("messages") or ()
    if not messages:
        return [BOOK.problem("messages", "no_messages", "there is no message to send.")]
    found = _problems(payload, messages, known_prefix)
    return found if suspected else [problem for problem in found if problem.certainty == "known"]


def _problems(payload: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], known_prefix: int) -> list[Problem]:
    problems: list[Problem] = []
    if not known_prefix:
        problems += head_problems(payload, messages)
    problems += _pair_problems(messages, known_prefix)
    problems += _server_problems(messages, known_prefix)
    for at in range(known_prefix, len(messages)):
        problems += _message_problems(messages[at], f"messages[{at}]", is_last=at == len(messages) - 1)
        if at and messages[at].get("role") == messages[at - 1].get("role"):
            problems.append(BOOK.problem(f"messages[{at}]", "role_order", "the same role twice in a row."))
    problems += _ending_problems(payload, messages)
    problems += thinking_problems(payload)
    problems += mark_problems(payload, messages)
    images = sum(block.get("type") in ("image", "document") for message in messages for block in all_blocks(message))
    if images > MOST_IMAGES:
        problems.append(BOOK.problem("messages", "too_many_images", f"{images} images and documents."))
    if not payload.get("tools") and any(_has_tools(message) for message in messages[known_prefix:]):
        problems.append(BOOK.problem("tools", "tools_missing", "there are tool blocks and no tool is defined."))
    return problems


def _is_compaction(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "compaction" and bool(block.get("signature"))


def _has_tools(message: Message) -> bool:
    return any(block.get("type") in ("tool_use", "tool_result") for block in blocks_of(message))


def _pair_problems(messages: Sequence[Message], known_prefix: int) -> Iterator[Problem]:
    start = max(0, known_prefix - 1)
    used = {
        block.get("id")
        for message in messages[:start]
        if message.get("role") == "assistant"
        for block in blocks_of(message)
        if block.get("type") == "tool_use"
    }
    open_ids: dict[Any, str] = {}
    for at in range(start, len(messages)):
        answered: set[Any] = set()
        for number, block in enumerate(blocks_of(messages[at])):
            if block.get("type") != "tool_result":
                continue
            call_id, path = block.get("tool_use_id"), f"messages[{at}].content[{number}]"
            if call_id in answered:
                yield BOOK.problem(path, "duplicate_result", f"call {call_id!r} is answered twice.")
            elif call_id not in open_ids and at >= known_prefix:
                yield BOOK.problem(path, "orphan_result", f"no call {call_id!r} in the message before.")
            open_ids.pop(call_id, None)
            answered.add(call_id)
        for call_id, path in open_ids.items():
            yield BOOK.problem(path, "missing_result", f"call {call_id!r} has no result in the next message.")
        open_ids = {}
        for number, block in enumerate(blocks_of(messages[at])):
            if block.get("type") == "tool_use":
                path = f"messages[{at}].content[{number}]"
                if block.get("id") in used and at >= known_prefix:
                    yield BOOK.problem(path, "duplicate_call_id", f"id {block.get('id')!r} is used twice.")
                used.add(block.get("id"))
                open_ids[block.get("id")] = path
    for call_id, path in open_ids.items():
        yield BOOK.problem(path, "missing_result", f"call {call_id!r} has no result.")


def _server_problems(messages: Sequence[Message], known_prefix: int) -> Iterator[Problem]:
    """What tools of the server were asked and gave. What was asked in the known prefix may have waited until now."""
    for at in range(max(0, known_prefix - 2), len(messages)):
        blocks = blocks_of(messages[at]) if messages[at].get("role") == "assistant" else ()
        kept = linked(messages, at) if blocks else []
        for number, block in enumerate(blocks if len(kept) < len(blocks) else ()):
            if any(block is one for one in kept):
                continue
            path = f"messages[{at}].content[{number}]"
            if "tool_use_id" not in block:
                yield BOOK.problem(path, "server_result", f"{block.get('id')!r} has no result.")
            elif at >= known_prefix:
                said = f"{block.get('tool_use_id')!r} was asked nowhere before."
                yield BOOK.problem(path, "server_orphan", said)


def _message_problems(message: Message, path: str, *, is_last: bool) -> Iterator[Problem]:
    role, content = message.get("role"), message.get("content")
    if role == "system":
        yield BOOK.problem(f"{path}.role", "system_placement", "system text must be the top-level field.")
    elif role not in ("user", "assistant"):
        yield BOOK.problem(f"{path}.role", "role", f"{role!r} is no role of this API.")
    for field in message:
        if field not in ("role", "content"):
            yield BOOK.problem(f"{path}.{field}", "unknown_field", "is no field of a message.")
    if not content:
        if not (is_last and role == "assistant"):
            yield BOOK.problem(f"{path}.content", "empty_content", "the message holds nothing.")
    elif isinstance(content, str):
        if not content.strip():
            yield BOOK.problem(f"{path}.content", "blank_text", "the text is only white space.")
    else:
        for number, block in enumerate(content):
            yield from _block_problems(block, role, f"{path}.content[{number}]")
        yield from _order_problems(content, path)
        yield from _compaction_problems(content, path)
    yield from dirt(message, path)


def _order_problems(content: Sequence[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    kinds = [block.get("type") for block in content]
    others = 0
    for number, kind in enumerate(kinds):
        if kind == "tool_result" and others:
            yield BOOK.problem(f"{path}.content[{number}]", "result_order", "a result stands behind other blocks.")
        others += kind != "tool_result"
    if kinds[-1] in THINKING:
        yield BOOK.problem(f"{path}.content[{len(kinds) - 1}]", "thinking_last", "the message ends in thinking.")
    if kinds[0] not in THINKING and any(kind in THINKING for kind in kinds):
        yield BOOK.problem(f"{path}.content", "thinking_order", "thinking stands behind other blocks.")


def _compaction_problems(content: Sequence[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    for number, block in enumerate(content):
        where = f"{path}.content[{number}]"
        if _is_compaction(block) and where != "messages[0].content[0]":
            yield BOOK.problem(where, "compaction_first", "other content stands in front of the compaction.")


def _block_problems(block: Mapping[str, Any], role: Any, path: str) -> Iterator[Problem]:
    kind = block.get("type")
    if (kind == "tool_result") != (role == "user") and kind in ("tool_use", "tool_result", *THINKING):
        yield BOOK.problem(path, "block_role", f"a {kind} block in a message of role {role}.")
    if kind in FOREIGN:
        yield BOOK.problem(f"{path}.type", "block_type", f"{kind!r} is a block of another API.")
    if kind in THINKING and block.get("cache_control"):
        yield BOOK.problem(f"{path}.cache_control", "mark_place", "thinking cannot be marked for caching.")
    if kind == "text" and not str(block.get("text") or "").strip():
        yield BOOK.problem(path, "blank_text", "the text is empty or only white space.")
    elif kind == "thinking" and not block.get("signature"):
        yield BOOK.problem(f"{path}.signature", "signature", "the thinking block has no signature.")
    elif kind == "tool_use":
        yield from _call_problems(block, path)
    elif kind == "tool_result":
        if not _ID.match(str(block.get("tool_use_id") or "")):
            yield BOOK.problem(f"{path}.tool_use_id", "call_id", f"{block.get('tool_use_id')!r} is no valid id.")
        inner = block.get("content")
        for number, part in enumerate(inner if isinstance(inner, list) else ()):
            if block.get("is_error") and part.get("type") != "text":
                where = f"{path}.content[{number}]"
                yield BOOK.problem(where, "error_content", "a failed result may hold text only.")
            yield from _block_problems(part, None, f"{path}.content[{number}]")
    elif kind == "image":
        source = block.get("source") or {}
        if source.get("type") == "base64" and source.get("media_type") not in SUPPORTED:
            yield BOOK.problem(path, "image_type", f"{source.get('media_type')!r} is not taken.")
        if is_too_large(str(source.get("data") or "")):
            yield BOOK.problem(path, "image_size", "the image is larger than 5 MB.")


def _call_problems(block: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if not _ID.match(str(block.get("id") or "")):
        yield BOOK.problem(f"{path}.id", "call_id", f"{block.get('id')!r} is no valid id.")
    if not NAME.match(str(block.get("name") or "")):
        yield BOOK.problem(f"{path}.name", "tool_name", f"{block.get('name')!r} does not match the pattern.")
    if not isinstance(block.get("input"), Mapping):
        yield BOOK.problem(f"{path}.input", "input_type", "the input is no object.")


def _ending_problems(payload: Mapping[str, Any], messages: Sequence[Message]) -> Iterator[Problem]:
    """How the request ends: nothing the assistant said last, and thinking at the head of the running step."""
    last, path = messages[-1], f"messages[{len(messages) - 1}]"
    if last.get("role") == "assistant":
        yield BOOK.problem(path, "prefill", "the request ends with the assistant's message.")
        content = last.get("content")
        final = content if isinstance(content, str) else (blocks_of(last)[-1].get("text") if blocks_of(last) else "")
        if isinstance(final, str) and final != final.rstrip():
            yield BOOK.problem(f"{path}.content", "trailing_space", "the final text ends with white space.")
    if (payload.get("thinking") or {}).get("type") != "enabled":
        return
    running = last if last.get("role") == "assistant" else (messages[-2] if len(messages) > 1 else {})
    blocks = blocks_of(running)
    has_calls = any(block.get("type") == "tool_use" for block in blocks)
    if running.get("role") == "assistant" and has_calls and blocks[0].get("type") not in THINKING:
        where = f"messages[{len(messages) - (1 if running is last else 2)}].content[0]"
        yield BOOK.problem(where, "thinking_first", "thinking is on and the step does not begin with it.")
