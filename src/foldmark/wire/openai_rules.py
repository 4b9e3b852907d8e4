"""What chat completions refuses, as a table and a check of payloads. Knows nothing of how payloads come
about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.media import SUPPORTED, image_of_url
from foldmark.wire.openai_reading import FOREIGN, PART
from foldmark.wire.openai_writing import ID_LIMIT
from foldmark.wire.plain import is_json
from foldmark.wire.shapes import LIST, Form, misshapen, text_or
from foldmark.wire.strings import DIRT, dirty_strings
from foldmark.wire.values import Problem, Rule, RuleBook

RULES = (
    Rule("shape", "known", "Messages, content blocks and calls are objects.", "2025-12"),
    Rule("no_messages", "known", "The API answers that `messages` is too short when the list is empty.", "2025-12"),
    Rule("role", "known", "Roles are system, developer, user, assistant, tool and the legacy function.", "2025-12"),
    Rule("developer_role", "suspected", "Many compatible servers know no role `developer`.", "2026-06"),
    Rule("message_name", "known", "`name` holds no white space and none of < | \\ / >.", "2025-06"),
    Rule("orphan_result", "known", "A tool message must answer a call of the assistant message before it.", "2026-09"),
    Rule("missing_result", "known", "Every call needs a tool message directly after its assistant message.", "2026-09"),
    Rule("duplicate_result", "suspected", "Two results for one call: some servers take them, some do not.", "2026-05"),
    Rule("duplicate_call_id", "suspected", "Two calls of one message with one id cannot both be answered.", "2026-03"),
    Rule("call_id", "known", "Ids are text of 1 to 40 characters, in calls and results: `string too long`.", "2026-03"),
    Rule("call_shape", "known", "A call names its type and holds that: `function` or `custom`.", "2025-12"),
    Rule("tool_name", "known", "Function names match [a-zA-Z0-9_-]{1,64}, in definitions and in calls.", "2026-05"),
    Rule("tool_shape", "known", "`Missing required parameter: 'tools[0].function'`: not flat here.", "2026-03"),
    Rule("duplicate_tool", "suspected", "Two tools of one name: refused by several compatible servers.", "2025-10"),
    Rule("too_many_tools", "known", "At most 128 tools in a request.", "2025-12"),
    Rule("empty_tools", "known", "`tools` must not be an empty list.", "2025-12"),
    Rule("tool_choice", "known", "`tool_choice` is only allowed when tools are specified.", "2025-12"),
    Rule("tool_description", "suspected", "A description of more than 1024 characters: `string too long`.", "2025-08"),
    Rule("schema_type", "known", "The parameters of a function are a schema of type object.", "2026-03"),
    Rule("arguments_type", "known", "Arguments are JSON as text, never an object.", "2025-12"),
    Rule(
        "arguments_json", "suspected", "Servers that parse arguments refuse a session over one cut-off text.", "2026-03"
    ),
    Rule("empty_calls", "known", "`tool_calls` must not be an empty list.", "2026-03"),
    Rule("empty_content", "known", "Content is required: null is refused except beside calls; so is [].", "2026-03"),
    Rule("blank_content", "suspected", "Empty text is accepted by OpenAI and refused by strict servers.", "2026-09"),
    Rule(
        "content_type", "known", "Blocks of other APIs: `Invalid value`, with the list of those taken here.", "2026-03"
    ),
    Rule("unknown_field", "suspected", "Strict servers refuse fields that they do not know.", "2026-09"),
    Rule(
        "reasoning_missing", "suspected", "Thinking models want their `reasoning_content` with every call.", "2026-06"
    ),
    Rule("unencodable", "known", "The body must be UTF-8: a lone surrogate cannot be encoded at all.", "2026-11"),
    Rule("nul", "suspected", "U+0000 in text is refused by servers that keep it in a database.", "2026-11"),
    Rule("image_type", "known", "Images are png, jpeg, gif or webp.", "2025-12"),
    Rule("image_role", "known", "Image parts are allowed in user messages only.", "2025-12"),
    Rule(
        "too_many_images", "suspected", "Some servers take few images in a request: 5 at Groq, 8 at Mistral.", "2025-11"
    ),
    Rule(
        "system_placement", "suspected", "Chat templates of open models want system text at the front only.", "2026-06"
    ),
    Rule(
        "role_order",
        "suspected",
        "Chat templates that alternate; `Unexpected role 'user' after role 'tool'`.",
        "2026-06",
    ),
    Rule("no_user", "suspected", "Chat templates that look for it: `No user query found in messages`.", "2026-06"),
    Rule("ends_with_assistant", "suspected", "Some servers want a user or tool message last.", "2025-12"),
)
BOOK = RuleBook("openai", RULES)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_MESSAGE_NAME = re.compile(r"[^\s<|\\/>]+\Z")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_FIELDS = frozenset(
    ["role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations"]
)
MOST_IMAGES = 5

_CALL = {"id": str, "type": str, "function": {"name": str}, "custom": {"name": str}}
_FORM = Form(
    key="messages",
    head={"messages": LIST, "tools": [{"type": str, "function": {"name": str, "description": str}}]},
    message={
        **{"role": str, "name": str, "content": text_or([PART]), "refusal": str, "audio": Mapping},
        **{"tool_call_id": str, "tool_calls": [_CALL], "function_call": Mapping},
    },
)


def validate(payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False) -> list[Problem]:
    """What the provider would refuse; with `suspected` also what only some models and servers refuse.

    `known_prefix` messages at the front were validated before and are not looked at again (only the calls of
    the last round among them are).
    """
    if wrong := misshapen(payload, _FORM, known_prefix):
        return BOOK.shapes(wrong)
    messages: Sequence[Mapping[str, Any]] = payload.get("messages") or ()
    if not messages:
        return [BOOK.problem("messages", "no_messages", "there is no message to send.")]
    found = _problems(payload, messages, known_prefix)
    return found if suspected else [problem for problem in found if problem.certainty == "known"]


def _problems(payload: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], known_prefix: int) -> list[Problem]:
    problems = [] if known_prefix else list(_head_problems(payload))
    problems += _pair_problems(messages, known_prefix)
    for at in range(known_prefix, len(messages)):
        problems += _message_problems(messages[at], at, f"messages[{at}]")
        if at and _breaks_order(messages[at - 1].get("role"), messages[at].get("role")):
            problems.append(BOOK.problem(f"messages[{at}]", "role_order", "a role that cannot follow the one before."))
    problems += _list_problems(messages)
    if messages[-1].get("role") == "assistant":
        path = f"messages[{len(messages) - 1}]"
        problems.append(BOOK.problem(path, "ends_with_assistant", "the last message is the assistant's."))
    return problems


def _breaks_order(before: Any, role: Any) -> bool:
    return (before == role and role in ("user", "assistant")) or (before == "tool" and role == "user")


def _list_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """What only the whole list tells."""
    if not any(message.get("role") == "user" for message in messages):
        yield BOOK.problem("messages", "no_user", "there is no message of a user.")
    steps = [at for at, message in enumerate(messages) if message.get("tool_calls")]
    thinking = [at for at in steps if "reasoning_content" in messages[at]]
    if thinking and len(thinking) < len(steps):
        bare = next(at for at in steps if at not in thinking)
        yield BOOK.problem(f"messages[{bare}]", "reasoning_missing", "calls without the thinking that others have.")
    images = sum(part.get("type") == "image_url" for message in messages for part in _parts(message))
    if images > MOST_IMAGES:
        yield BOOK.problem("messages", "too_many_images", f"{images} images.")


def _parts(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message.get("content")
    return () if content is None or isinstance(content, str) else content


def _head_problems(payload: Mapping[str, Any]) -> Iterator[Problem]:
    tools = payload.get("tools")
    if tools is not None and not tools:
        yield BOOK.problem("tools", "empty_tools", "the list of tools is empty.")
    if not tools and payload.get("tool_choice"):
        yield BOOK.problem("tool_choice", "tool_choice", "there is no tool to choose.")
    yield from _tool_problems(tools or ())


def _tool_problems(tools: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    if len(tools) > 128:
        yield BOOK.problem("tools", "too_many_tools", f"{len(tools)} tools; at most 128 are taken.")
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        path = f"tools[{at}]"
        function = tool.get("function")
        if isinstance(function, Mapping):
            name = str(function.get("name") or "")
            if not _NAME.match(name):
                yield BOOK.problem(f"{path}.function.name", "tool_name", f"{name!r} does not match the pattern.")
            if name in seen:
                yield BOOK.problem(f"{path}.function.name", "duplicate_tool", f"{name!r} is defined twice.")
            seen.add(name)
            if len(str(function.get("description") or "")) > 1024:
                yield BOOK.problem(
                    f"{path}.function.description", "tool_description", "is longer than 1024 characters."
                )
            if "parameters" in function and not _is_object_schema(function["parameters"]):
                yield BOOK.problem(f"{path}.function.parameters", "schema_type", "is no schema of type object.")
        elif tool.get("type", "function") == "function":
            yield BOOK.problem(f"{path}.function", "tool_shape", "the tool holds no function.")
        yield from _text_problems(tool, path)


def _is_object_schema(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def _pair_problems(messages: Sequence[Mapping[str, Any]], known_prefix: int) -> Iterator[Problem]:
    """Calls and results of every round that is not wholly inside the known prefix."""
    start = known_prefix
    while start > 0 and messages[start - 1].get("role") in ("tool", "function"):
        start -= 1
    open_ids: dict[str, str] = {}
    answered: set[str] = set()
    for at in range(max(0, start - 1), len(messages)):
        message, path = messages[at], f"messages[{at}]"
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if call_id in answered:
                yield BOOK.problem(path, "duplicate_result", f"call {call_id!r} is answered twice.")
            elif call_id not in open_ids:
                yield BOOK.problem(path, "orphan_result", f"no call {call_id!r} in the assistant message before.")
            else:
                open_ids.pop(call_id)
                answered.add(call_id)
            continue
        yield from _unanswered(open_ids)
        open_ids, answered = {}, set()
        if message.get("role") == "assistant":
            for number, call in enumerate(message.get("tool_calls") or ()):
                call_path = f"{path}.tool_calls[{number}]"
                if call.get("id") in open_ids:
                    yield BOOK.problem(call_path, "duplicate_call_id", f"id {call.get('id')!r} is used twice.")
                open_ids[call.get("id")] = call_path
    yield from _unanswered(open_ids)


def _unanswered(open_ids: Mapping[str, str]) -> Iterator[Problem]:
    for call_id, path in open_ids.items():
        yield BOOK.problem(path, "missing_result", f"call {call_id!r} has no result directly after it.")


def _message_problems(message: Mapping[str, Any], at: int, path: str) -> Iterator[Problem]:
    role = message.get("role")
    if role not in _ROLES:
        yield BOOK.problem(f"{path}.role", "role", f"{role!r} is no role of this API.")
    if role == "developer":
        yield BOOK.problem(f"{path}.role", "developer_role", "the role developer.")
    if message.get("name") is not None and not _MESSAGE_NAME.match(str(message["name"])):
        yield BOOK.problem(f"{path}.name", "message_name", f"{message['name']!r} is no name that the API takes.")
    for field in message:
        if field not in _FIELDS:
            yield BOOK.problem(f"{path}.{field}", "unknown_field", "is no field of the API.")
    if role == "tool":
        yield from _id_problems(message.get("tool_call_id"), f"{path}.tool_call_id")
    if role in ("system", "developer") and at > 0:
        yield BOOK.problem(path, "system_placement", "system text stands behind other messages.")
    if role == "assistant":
        yield from _call_problems(message, path)
    yield from _content_problems(message, path)
    yield from _text_problems(message, path)


def _call_problems(message: Mapping[str, Any], path: str) -> Iterator[Problem]:
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        yield BOOK.problem(f"{path}.tool_calls", "empty_calls", "the list of calls is empty.")
    for number, call in enumerate(calls or ()):
        where = f"{path}.tool_calls[{number}]"
        yield from _id_problems(call.get("id"), f"{where}.id")
        function = call.get("function")
        if not isinstance(function, Mapping):
            if call.get("type") != "custom" or not isinstance(call.get("custom"), Mapping):
                yield BOOK.problem(where, "call_shape", "the call holds no function.")
            continue
        if not _NAME.match(str(function.get("name") or "")):
            name = function.get("name")
            yield BOOK.problem(f"{where}.function.name", "tool_name", f"{name!r} does not match the pattern.")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            yield BOOK.problem(f"{where}.function.arguments", "arguments_type", "arguments are not text.")
        elif not is_json(arguments):
            yield BOOK.problem(f"{where}.function.arguments", "arguments_json", "arguments are no JSON.")


def _id_problems(call_id: Any, path: str) -> Iterator[Problem]:
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= ID_LIMIT:
        yield BOOK.problem(path, "call_id", f"{call_id!r} is no id of 1 to {ID_LIMIT} characters.")


def _content_problems(message: Mapping[str, Any], path: str) -> Iterator[Problem]:
    content, role = message.get("content"), message.get("role")
    where = f"{path}.content"
    if content is None or content == []:
        has_other = any(message.get(key) for key in ("tool_calls", "function_call", "audio", "refusal"))
        if content == [] or not (role == "assistant" and has_other):
            yield BOOK.problem(where, "empty_content", "the message holds nothing.")
        return
    if isinstance(content, str):
        if not content.strip():
            yield BOOK.problem(where, "blank_content", "the text is empty or only white space.")
        return
    for number, part in enumerate(content):
        kind = part.get("type")
        if kind in FOREIGN:
            yield BOOK.problem(f"{where}[{number}].type", "content_type", f"{kind!r} is a block of another API.")
        if kind == "text" and not str(part.get("text") or "").strip():
            yield BOOK.problem(f"{where}[{number}]", "blank_content", "the text is empty or only white space.")
        if kind == "image_url":
            if role != "user":
                yield BOOK.problem(f"{where}[{number}]", "image_role", f"an image in a message of role {role}.")
            image = image_of_url(str((part.get("image_url") or {}).get("url") or ""))
            if image.data and image.media_type not in SUPPORTED:
                yield BOOK.problem(f"{where}[{number}]", "image_type", f"{image.media_type!r} is not taken.")


def _text_problems(value: Any, path: str) -> Iterator[Problem]:
    for where, code in dirty_strings(value, path):
        yield BOOK.problem(where, code, DIRT[code])
