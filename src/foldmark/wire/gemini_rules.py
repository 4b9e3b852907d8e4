"""What the Gemini API refuses, as a table and a check of payloads. Knows nothing of how payloads come about; tools are
checked next door."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.gemini_reading import DATA, PART
from foldmark.wire.gemini_tool_rules import NAME, NAME_EVERYWHERE, TOOL_RULES, TOOL_SHAPES, tool_problems
from foldmark.wire.gemini_turns import OLDER_MODELS
from foldmark.wire.gemini_writing import display_names, media_faults, refs_in
from foldmark.wire.shapes import LIST, Form, misshapen
from foldmark.wire.strings import DIRT, dirty_strings
from foldmark.wire.values import Problem, Rule, RuleBook

RULES = (
    Rule("shape", "known", "Contents, parts, calls and responses are objects (Invalid JSON payload).", "2026-09"),
    Rule("no_messages", "known", "Contents must be given and not be empty (contents is not specified).", "2026-09"),
    Rule("role", "known", "Valid roles are user and model; none means user.", "2024-04"),
    Rule("empty_content", "known", "A content holds at least one part (parts must not be empty).", "2026-05"),
    Rule("empty_part", "known", "A part holds data (required oneof field data must have one initialized).", "2026-01"),
    Rule("part_data", "known", "A part holds one kind of data; text beside a call is set twice.", "2026-01"),
    Rule(
        "blank_text", "known", "Text is not empty (it has an empty text parameter), but under a signature.", "2024-11"
    ),
    Rule("orphan_result", "known", "A function response turn comes directly after a function call turn.", "2026-05"),
    Rule("missing_result", "known", "A call turn is directly followed by the turn with its responses.", "2026-05"),
    Rule("result_count", "known", "There are as many function response parts as function call parts.", "2026-03"),
    Rule("call_placement", "known", "A call turn comes directly after a user or function response turn.", "2026-09"),
    Rule("result_id", "suspected", "Documented: a response carries the id of its call when that has one.", "2026-06"),
    Rule("result_name", "suspected", "Documented: a response carries the name of the call it answers.", "2026-06"),
    Rule(
        "response_only", "suspected", "Gemini 2 refused other parts beside parallel responses, not always.", "2026-04"
    ),
    Rule(
        "part_role", "suspected", "Calls and thoughts belong to the model, function responses to the user.", "2026-05"
    ),
    Rule("args_type", "known", "The args of a call are an object (a protobuf Struct).", "2026-03"),
    Rule("response_type", "known", "The response of a function is an object (a protobuf Struct).", "2026-03"),
    Rule("response_ref", "known", "A $ref inside a response must name media of that response.", "2026-08"),
    Rule("response_parts", "known", "Models before Gemini 3 take no parts inside a function response.", "2026-02"),
    Rule("call_ids", "suspected", "Vertex knew no id field of calls and responses until September 2026.", "2026-09"),
    Rule(
        "signature",
        "suspected",
        "Gemini 3 refuses the first call of a step of the current turn without its thought signature; older models "
        "do not. For calls of another model a placeholder is documented, which nothing here makes up.",
        "2026-08",
    ),
    Rule("media_type", "known", "Images are png, jpeg, webp, heic or heif (Unsupported MIME type).", "2026-01"),
    Rule("base64", "known", "Inline data is base64, without the head of a data: address.", "2025-09"),
    Rule(
        "first_user", "suspected", "Chat helpers of older SDKs refuse a history that begins with the model.", "2024-12"
    ),
    Rule("role_order", "suspected", "Gemini 1 refused neighbours of one role; newer models take them.", "2024-01"),
    Rule("last_turn", "suspected", "Newer models refuse a request that ends with a model turn.", "2026-09"),
    Rule("system_type", "known", "The system instruction is a content that holds text only.", "2026-06"),
    *TOOL_RULES,
    Rule("unencodable", "known", "The body must be UTF-8: a lone surrogate cannot be encoded at all.", "2026-11"),
    Rule("nul", "suspected", "U+0000 in text is refused by servers that keep it in a database.", "2026-11"),
)
BOOK = RuleBook("gemini", RULES)

_NEWER_MODELS = re.compile(r"(?:.*/)?gemini-(?:[3-9]|\d\d)")

_FORM = Form(
    key="contents",
    head={"contents": LIST, "model": str, **TOOL_SHAPES},
    message={"role": str, "parts": [PART]},
)

Content = Mapping[str, Any]
Place = tuple[str, Mapping[str, Any]]
"""A path and the object there."""


def validate(payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False) -> list[Problem]:
    """What the provider would refuse; with `suspected` also what only some models and endpoints refuse.

    `known_prefix` contents at the front were validated before and are not looked at again (only the open calls of the
    last of them are). `model`, when the payload names it, decides what depends on the model.
    """
    if wrong := misshapen(payload, _FORM, known_prefix):
        return BOOK.shapes(wrong)
    contents: Sequence[Content] = payload.get("contents") or ()
    if not contents:
        return [BOOK.problem("contents", "no_messages", "there is no content to send.")]
    found = list(_problems(payload, contents, known_prefix))
    return found if suspected else [problem for problem in found if problem.certainty == "known"]


def _problems(payload: Mapping[str, Any], contents: Sequence[Content], known: int) -> Iterator[Problem]:
    if not known:
        yield from _head_problems(payload, contents)
    yield from _pair_problems(contents, known)
    is_older = bool(OLDER_MODELS.match(str(payload.get("model") or "")))
    for at in range(known, len(contents)):
        yield from _content_problems(contents[at], f"contents[{at}]", is_older=is_older)
        if at and _role(contents[at]) == _role(contents[at - 1]):
            yield BOOK.problem(f"contents[{at}]", "role_order", "the same role twice in a row.")
    yield from _signature_problems(str(payload.get("model") or ""), contents, known)
    if _role(contents[-1]) == "model":
        yield BOOK.problem(f"contents[{len(contents) - 1}]", "last_turn", "the request ends with a model turn.")


def _role(content: Content) -> str:
    return str(content.get("role") or "user")


def _parts(content: Content) -> Sequence[Mapping[str, Any]]:
    return content.get("parts") or ()


def _held(content: Content, path: str, key: str) -> list[Place]:
    return [(f"{path}.parts[{at}]", part[key]) for at, part in enumerate(_parts(content)) if part.get(key) is not None]


def _head_problems(payload: Mapping[str, Any], contents: Sequence[Content]) -> Iterator[Problem]:
    if _role(contents[0]) == "model":
        yield BOOK.problem("contents[0]", "first_user", "the first content is the model's.")
    system = payload.get("systemInstruction")
    if system is not None:
        parts = system.get("parts") if isinstance(system, Mapping) else None
        if not isinstance(parts, (list, tuple)) or any(
            not isinstance(part, Mapping) or set(part) != {"text"} for part in parts
        ):
            yield BOOK.problem("systemInstruction", "system_type", "is no content that holds text only.")
        elif not all(part["text"] for part in parts):
            yield BOOK.problem("systemInstruction", "blank_text", "a text is empty.")
        yield from _dirt(system, "systemInstruction")
    yield from tool_problems(payload.get("tools") or (), BOOK)
    for at, tool in enumerate(payload.get("tools") or ()):
        yield from _dirt(tool, f"tools[{at}]")


def _pair_problems(contents: Sequence[Content], known: int) -> Iterator[Problem]:
    start = max(0, known - 1)
    calls: list[Place] = []
    for at in range(start, len(contents)):
        path = f"contents[{at}]"
        responses = _held(contents[at], path, "functionResponse")
        if calls and not responses:
            for where, call in calls:
                yield BOOK.problem(where, "missing_result", f"call of {call.get('name')!r} has no response behind it.")
        elif at >= known:
            yield from _answer_problems(calls, responses, path)
        calls = _held(contents[at], path, "functionCall")
        if calls and at >= known and (not at or _role(contents[at - 1]) == "model"):
            yield BOOK.problem(path, "call_placement", "a call turn stands behind no user turn.")
    for where, call in calls:
        yield BOOK.problem(where, "missing_result", f"call of {call.get('name')!r} has no response.")


def _answer_problems(calls: list[Place], responses: list[Place], path: str) -> Iterator[Problem]:
    if not calls:
        for where, response in responses:
            yield BOOK.problem(where, "orphan_result", f"no call of {response.get('name')!r} in the turn before.")
        return
    if len(calls) != len(responses):
        yield BOOK.problem(path, "result_count", f"{len(responses)} responses to {len(calls)} calls.")
    ids = {call.get("id") for _, call in calls}
    names = {call.get("name") for _, call in calls}
    for where, response in responses:
        if response.get("id") not in ids:
            yield BOOK.problem(where, "result_id", f"no call has the id {response.get('id')!r}.")
        if response.get("name") not in names:
            yield BOOK.problem(where, "result_name", f"no call has the name {response.get('name')!r}.")


def _content_problems(content: Content, path: str, *, is_older: bool) -> Iterator[Problem]:
    role, parts = _role(content), _parts(content)
    if role not in ("user", "model"):
        yield BOOK.problem(f"{path}.role", "role", f"{role!r} is no role of this API.")
    if not parts:
        yield BOOK.problem(f"{path}.parts", "empty_content", "the content holds nothing.")
    kinds = ["functionResponse" in part for part in parts]
    if kinds.count(True) > 1 and not all(kinds):
        yield BOOK.problem(path, "response_only", "other parts stand beside parallel responses.")
    for at, part in enumerate(parts):
        yield from _part_problems(part, role, f"{path}.parts[{at}]", is_older=is_older)
    yield from _dirt(content, path)


def _part_problems(part: Mapping[str, Any], role: str, path: str, *, is_older: bool) -> Iterator[Problem]:
    held = [key for key, value in part.items() if key in DATA and value is not None]
    if not held:
        yield BOOK.problem(path, "empty_part", "the part holds no data.")
    elif len(held) > 1:
        yield BOOK.problem(path, "part_data", f"the part holds {' and '.join(held)}.")
    if part.get("text") == "" and not part.get("thoughtSignature"):
        yield BOOK.problem(path, "blank_text", "the text is empty.")
    call, response = part.get("functionCall"), part.get("functionResponse")
    if (call is not None or part.get("thought")) and role == "user":
        yield BOOK.problem(path, "part_role", "a call or thought in a user turn.")
    if response is not None and role == "model":
        yield BOOK.problem(path, "part_role", "a function response in a model turn.")
    if call is not None:
        yield from _call_problems(call, f"{path}.functionCall", is_older=is_older)
    if response is not None:
        yield from _response_problems(response, f"{path}.functionResponse", is_older=is_older)
    yield from _media_problems(part, path)


def _call_problems(call: Mapping[str, Any], path: str, *, is_older: bool) -> Iterator[Problem]:
    if not isinstance(call.get("args", {}), Mapping):
        yield BOOK.problem(f"{path}.args", "args_type", "the arguments are no object.")
    yield from _name_problems(call, path, is_older=is_older)


def _name_problems(block: Mapping[str, Any], path: str, *, is_older: bool) -> Iterator[Problem]:
    name = str(block.get("name") or "")
    if not NAME.match(name):
        yield BOOK.problem(f"{path}.name", "tool_name", f"{name!r} does not match the pattern.")
    elif not NAME_EVERYWHERE.match(name):
        yield BOOK.problem(f"{path}.name", "tool_name_style", f"{name!r} is not taken everywhere.")
    if is_older and block.get("id"):
        yield BOOK.problem(f"{path}.id", "call_ids", "the model may know no ids of calls.")


def _response_problems(response: Mapping[str, Any], path: str, *, is_older: bool) -> Iterator[Problem]:
    yield from _name_problems(response, path, is_older=is_older)
    value = response.get("response")
    media = response.get("parts") or ()
    if not isinstance(value, Mapping):
        yield BOOK.problem(f"{path}.response", "response_type", "the response is no object.")
    elif missing := sorted(refs_in(value) - display_names(media)):
        yield BOOK.problem(f"{path}.response", "response_ref", f"$ref {missing[0]!r} names no media of the response.")
    if media and is_older:
        yield BOOK.problem(f"{path}.parts", "response_parts", "the model takes no media inside a response.")
    for at, part in enumerate(media):
        yield from _media_problems(part, f"{path}.parts[{at}]")


def _media_problems(part: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for key, media in part.items():
        for field, code in media_faults(key, media):
            said = (
                f"{media.get('mimeType') or ''!r} is not taken." if code == "media_type" else "the data is not base64."
            )
            yield BOOK.problem(f"{path}.{key}.{field}", code, said)


def _signature_problems(model: str, contents: Sequence[Content], known: int) -> Iterator[Problem]:
    """The first call of every step of the current turn carries a signature: for models that sign, which the model's
    name or another call of the turn tells. The current turn begins with the newest words of the user."""
    start = next((at for at in range(len(contents) - 1, -1, -1) if _has_words(contents[at])), -1) + 1
    firsts = [
        (at, number, part)
        for at in range(start, len(contents))
        for number, part in [
            next(((n, p) for n, p in enumerate(_parts(contents[at])) if "functionCall" in p), (-1, {}))
        ]
        if part
    ]
    if not _NEWER_MODELS.match(model) and not any(part.get("thoughtSignature") for _, _, part in firsts):
        return
    for at, number, part in firsts:
        if at >= known and not part.get("thoughtSignature"):
            path = f"contents[{at}].parts[{number}].thoughtSignature"
            yield BOOK.problem(path, "signature", "the call of the current turn has no thought signature.")


def _has_words(content: Content) -> bool:
    return _role(content) == "user" and any("functionResponse" not in part for part in _parts(content))


def _dirt(value: Any, path: str) -> Iterator[Problem]:
    for where, code in dirty_strings(value, path):
        yield BOOK.problem(where, code, DIRT[code])
