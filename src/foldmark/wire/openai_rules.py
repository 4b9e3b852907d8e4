"""What chat completions refuses, as a table and a check of payloads. Knows nothing of how payloads come
about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.media import SUPPORTED, image_of_url
from foldmark.wire.openai_writing import ID_LIMIT
from foldmark.wire.plain import is_json
from foldmark.wire.strings import DIRT, dirty_strings, misshapen
from foldmark.wire.values import Problem, Rule, RuleBook

RULES = (
    Rule("shape", "known", "Messages, content blocks and calls are objects."),
    Rule("no_messages", "known", "The API answers that `messages` is too short when the list is empty."),
    Rule("role", "known", "Roles are system, developer, user, assistant, tool and the legacy function."),
    Rule(
        "orphan_result",
        "known",
        "A tool message must answer a call of the assistant message before its group.",
    ),
    Rule("missing_result", "known", "Every call needs a tool message directly after its assistant message."),
    Rule(
        "duplicate_result",
        "suspected",
        "Two results for one call: accepted by some servers, refused by others.",
    ),
    Rule("duplicate_call_id", "suspected", "Two calls of one message with one id cannot both be answered."),
    Rule(
        "call_id",
        "known",
        "Ids are text of 1 to 40 characters; longer ones are answered with `string too long`.",
    ),
    Rule("tool_name", "known", "Function names match [a-zA-Z0-9_-]{1,64}, in definitions and in calls."),
    Rule("duplicate_tool", "suspected", "Two tools of one name: refused by several compatible servers."),
    Rule("too_many_tools", "known", "At most 128 tools in a request."),
    Rule("arguments_type", "known", "Arguments are JSON as text, never an object."),
    Rule("arguments_json", "suspected", "Servers that parse arguments refuse a session over one cut-off text."),
    Rule("empty_calls", "known", "`tool_calls` must not be an empty list."),
    Rule(
        "empty_content",
        "known",
        "Content is required: null is refused except beside calls; so is an empty list.",
    ),
    Rule("blank_content", "suspected", "Empty text is accepted by OpenAI and refused by strict servers."),
    Rule("unencodable", "known", "The body must be UTF-8: a lone surrogate cannot be encoded at all."),
    Rule("nul", "suspected", "U+0000 in text is refused by servers that keep it in a database."),
    Rule("image_type", "known", "Images are png, jpeg, gif or webp."),
    Rule("image_role", "known", "Image parts are allowed in user messages only."),
    Rule("system_placement", "suspected", "Chat templates of open models want system text at the front only."),
    Rule("ends_with_assistant", "suspected", "Some servers want a user or tool message last."),
)
BOOK = RuleBook("openai", RULES)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def validate(payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False) -> list[Problem]:
    """What the provider would refuse; with `suspected` also what only some models and servers refuse.

    `known_prefix` messages at the front were validated before and are not looked at again (only the calls of
    the last round among them are).
    """
    messages: Sequence[Mapping[str, Any]] = payload.get("messages") or ()
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
    problems = [] if known_prefix else list(_tool_problems(payload.get("tools") or ()))
    problems += _pair_problems(messages, known_prefix)
    for at in range(known_prefix, len(messages)):
        problems += _message_problems(messages[at], at, f"messages[{at}]")
    if messages[-1].get("role") == "assistant":
        path = f"messages[{len(messages) - 1}]"
        problems.append(BOOK.problem(path, "ends_with_assistant", "the last message is the assistant's."))
    return problems


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
        yield from _text_problems(tool, path)


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
        call_id = call.get("id")
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= ID_LIMIT:
            yield BOOK.problem(f"{where}.id", "call_id", f"{call_id!r} is no id of 1 to {ID_LIMIT} characters.")
        function = call.get("function")
        if not isinstance(function, Mapping):
            continue
        if not _NAME.match(str(function.get("name") or "")):
            name = function.get("name")
            yield BOOK.problem(f"{where}.function.name", "tool_name", f"{name!r} does not match the pattern.")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            yield BOOK.problem(f"{where}.function.arguments", "arguments_type", "arguments are not text.")
        elif not is_json(arguments):
            yield BOOK.problem(f"{where}.function.arguments", "arguments_json", "arguments are no JSON.")


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
