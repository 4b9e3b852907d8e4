"""What the Messages API refuses, as a table and a check of payloads. Knows nothing of how payloads come
about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.media import SUPPORTED
from foldmark.wire.strings import DIRT, dirty_strings, misshapen
from foldmark.wire.values import Problem, Rule, RuleBook

RULES = (
    Rule("shape", "known", "Messages, content blocks and calls are objects."),
    Rule("no_messages", "known", "At least one message is required."),
    Rule("role", "known", "Roles in `messages` are user and assistant."),
    Rule("system_placement", "known", "System text is a top-level field; a message of role system is refused."),
    Rule("first_user", "known", "The first message must be the user's."),
    Rule(
        "role_order",
        "suspected",
        "Neighbours of one role are merged by the API and refused by older gateways.",
    ),
    Rule("orphan_result", "known", "A tool_result must answer a tool_use of the message directly before it."),
    Rule("missing_result", "known", "Every tool_use needs its tool_result in the next message."),
    Rule("duplicate_result", "known", "A tool_use has a single result; several are refused."),
    Rule("result_order", "known", "tool_result blocks stand in front of every other block of their message."),
    Rule("duplicate_call_id", "known", "tool_use ids must be unique in the whole request."),
    Rule("call_id", "known", "Ids of tool_use and tool_result match [a-zA-Z0-9_-]+."),
    Rule("tool_name", "known", "Tool names match [a-zA-Z0-9_-]{1,128}, in definitions and in calls."),
    Rule("duplicate_tool", "known", "Tool names must be unique."),
    Rule("tools_missing", "suspected", "Gateways refuse tool blocks when the request defines no tool."),
    Rule("input_type", "known", "The input of a tool_use is an object."),
    Rule("block_role", "known", "tool_use and thinking belong to the assistant, tool_result to the user."),
    Rule("signature", "known", "A thinking block needs the signature it came with."),
    Rule("thinking_first", "known", "With thinking enabled, a step with tools begins with its thinking block."),
    Rule(
        "thinking_order",
        "suspected",
        "Thinking behind other blocks of its message: only with interleaved thinking.",
    ),
    Rule("thinking_last", "known", "The final block of an assistant message cannot be thinking."),
    Rule(
        "empty_content",
        "known",
        "All messages but a final assistant one must have content that is not empty.",
    ),
    Rule("blank_text", "known", "Text blocks must hold more than white space."),
    Rule("trailing_space", "known", "A final assistant message cannot end with white space."),
    Rule("prefill", "suspected", "Newer models refuse a request that ends with the assistant's message."),
    Rule("system_type", "known", "`system` is text or a list of text blocks."),
    Rule("image_type", "known", "Images are png, jpeg, gif or webp."),
    Rule("unencodable", "known", "The body must be UTF-8: a lone surrogate cannot be encoded at all."),
    Rule("nul", "suspected", "U+0000 in text is refused by servers that keep it in a database."),
)
BOOK = RuleBook("anthropic", RULES)

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_THINKING = ("thinking", "redacted_thinking")

Message = Mapping[str, Any]


def validate(payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False) -> list[Problem]:
    """What the provider would refuse; with `suspected` also what only some models and servers refuse.

    `known_prefix` messages at the front were validated before and are not looked at again (only their call
    ids and the last of them are).
    """
    messages: Sequence[Message] = payload.get("messages") or ()
    if not messages:
        return [BOOK.problem("messages", "no_messages", "there is no message to send.")]
    wrong = [
        BOOK.problem(path, "shape", "is not of the shape that the API takes.")
        for path in misshapen(messages, known_prefix)
    ]
    if wrong:
        return wrong
    found = _problems(payload, messages, known_prefix)
    return found if suspected else [problem for problem in found if problem.certainty == "known"]


def _problems(payload: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], known_prefix: int) -> list[Problem]:
    problems: list[Problem] = []
    if not known_prefix:
        problems += _head_problems(payload, messages)
    problems += _pair_problems(messages, known_prefix)
    for at in range(known_prefix, len(messages)):
        problems += _message_problems(messages[at], f"messages[{at}]", is_last=at == len(messages) - 1)
        if at and messages[at].get("role") == messages[at - 1].get("role"):
            problems.append(BOOK.problem(f"messages[{at}]", "role_order", "the same role twice in a row."))
    problems += _ending_problems(payload, messages)
    if not payload.get("tools") and any(_has_tools(message) for message in messages[known_prefix:]):
        problems.append(BOOK.problem("tools", "tools_missing", "there are tool blocks and no tool is defined."))
    return problems


def _blocks(message: Message) -> Sequence[Mapping[str, Any]]:
    content = message.get("content")
    return () if content is None or isinstance(content, str) else content


def _has_tools(message: Message) -> bool:
    return any(block.get("type") in ("tool_use", "tool_result") for block in _blocks(message))


def _head_problems(payload: Mapping[str, Any], messages: Sequence[Message]) -> Iterator[Problem]:
    if messages[0].get("role") == "assistant":
        yield BOOK.problem("messages[0]", "first_user", "the first message is the assistant's.")
    system = payload.get("system", "")
    if not isinstance(system, str):
        if not isinstance(system, list) or any(block.get("type") != "text" for block in system):
            yield BOOK.problem("system", "system_type", "is neither text nor a list of text blocks.")
        elif any(not str(block.get("text") or "").strip() for block in system):
            yield BOOK.problem("system", "blank_text", "a text block is empty or only white space.")
    yield from _dirt(system, "system")
    seen: set[str] = set()
    for at, tool in enumerate(payload.get("tools") or ()):
        name, path = str(tool.get("name") or ""), f"tools[{at}]"
        if not _NAME.match(name):
            yield BOOK.problem(f"{path}.name", "tool_name", f"{name!r} does not match the pattern.")
        if name in seen:
            yield BOOK.problem(f"{path}.name", "duplicate_tool", f"{name!r} is defined twice.")
        seen.add(name)
        yield from _dirt(tool, path)


def _pair_problems(messages: Sequence[Message], known_prefix: int) -> Iterator[Problem]:
    start = max(0, known_prefix - 1)
    used = {
        block.get("id")
        for message in messages[:start]
        if message["role"] == "assistant"
        for block in _blocks(message)
        if block.get("type") == "tool_use"
    }
    open_ids: dict[Any, str] = {}
    for at in range(start, len(messages)):
        answered: set[Any] = set()
        for number, block in enumerate(_blocks(messages[at])):
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
        for number, block in enumerate(_blocks(messages[at])):
            if block.get("type") == "tool_use":
                path = f"messages[{at}].content[{number}]"
                if block.get("id") in used and at >= known_prefix:
                    yield BOOK.problem(path, "duplicate_call_id", f"id {block.get('id')!r} is used twice.")
                used.add(block.get("id"))
                open_ids[block.get("id")] = path
    for call_id, path in open_ids.items():
        yield BOOK.problem(path, "missing_result", f"call {call_id!r} has no result.")


def _message_problems(message: Message, path: str, *, is_last: bool) -> Iterator[Problem]:
    role, content = message.get("role"), message.get("content")
    if role == "system":
        yield BOOK.problem(f"{path}.role", "system_placement", "system text must be the top-level field.")
    elif role not in ("user", "assistant"):
        yield BOOK.problem(f"{path}.role", "role", f"{role!r} is no role of this API.")
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
    yield from _dirt(message, path)


def _order_problems(content: Sequence[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    kinds = [block.get("type") for block in content]
    others = 0
    for number, kind in enumerate(kinds):
        if kind == "tool_result" and others:
            yield BOOK.problem(f"{path}.content[{number}]", "result_order", "a result stands behind other blocks.")
        others += kind != "tool_result"
    if kinds[-1] in _THINKING:
        yield BOOK.problem(f"{path}.content[{len(kinds) - 1}]", "thinking_last", "the message ends in thinking.")
    if kinds[0] not in _THINKING and any(kind in _THINKING for kind in kinds):
        yield BOOK.problem(f"{path}.content", "thinking_order", "thinking stands behind other blocks.")


def _block_problems(block: Mapping[str, Any], role: Any, path: str) -> Iterator[Problem]:
    kind = block.get("type")
    if (kind == "tool_result") != (role == "user") and kind in ("tool_use", "tool_result", *_THINKING):
        yield BOOK.problem(path, "block_role", f"a {kind} block in a message of role {role}.")
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
            yield from _block_problems(part, None, f"{path}.content[{number}]")
    elif kind == "image":
        source = block.get("source") or {}
        if source.get("type") == "base64" and source.get("media_type") not in SUPPORTED:
            yield BOOK.problem(path, "image_type", f"{source.get('media_type')!r} is not taken.")


def _call_problems(block: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if not _ID.match(str(block.get("id") or "")):
        yield BOOK.problem(f"{path}.id", "call_id", f"{block.get('id')!r} is no valid id.")
    if not _NAME.match(str(block.get("name") or "")):
        yield BOOK.problem(f"{path}.name", "tool_name", f"{block.get('name')!r} does not match the pattern.")
    if not isinstance(block.get("input"), Mapping):
        yield BOOK.problem(f"{path}.input", "input_type", "the input is no object.")


def _ending_problems(payload: Mapping[str, Any], messages: Sequence[Message]) -> Iterator[Problem]:
    """How the request ends: nothing the assistant said last, and thinking at the head of the running step."""
    last, path = messages[-1], f"messages[{len(messages) - 1}]"
    if last.get("role") == "assistant":
        yield BOOK.problem(path, "prefill", "the request ends with the assistant's message.")
        content = last.get("content")
        final = content if isinstance(content, str) else (_blocks(last)[-1].get("text") if _blocks(last) else "")
        if isinstance(final, str) and final != final.rstrip():
            yield BOOK.problem(f"{path}.content", "trailing_space", "the final text ends with white space.")
    if (payload.get("thinking") or {}).get("type") != "enabled":
        return
    running = last if last.get("role") == "assistant" else (messages[-2] if len(messages) > 1 else {})
    blocks = _blocks(running)
    has_calls = any(block.get("type") == "tool_use" for block in blocks)
    if running.get("role") == "assistant" and has_calls and blocks[0].get("type") not in _THINKING:
        where = f"messages[{len(messages) - (1 if running is last else 2)}].content[0]"
        yield BOOK.problem(where, "thinking_first", "thinking is on and the step does not begin with it.")


def _dirt(value: Any, path: str) -> Iterator[Problem]:
    for where, code in dirty_strings(value, path):
        yield BOOK.problem(where, code, DIRT[code])
