"""The kinds of items of the Responses API: which are calls, what answers them, and how an answer of each kind is
taken apart and put together. Knows nothing of events' order, requests or rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from foldmark.errors import WireError
from foldmark.events import Image, ToolResult
from foldmark.wire.media import image_of_url, is_supported, url_of_image
from foldmark.wire.plain import as_mapping, as_name, as_text, clean_text, clean_value, compact_json, items, parse_json
from foldmark.wire.shapes import fits, text_or

PROVIDER = "openai-responses"

Item = dict[str, Any]


class CallKind(NamedTuple):
    """A kind of call: the type of the item that `answer`s it, the `field` with its arguments, the `name` of the tool
    where the item has none, and whether the field stays a key of the arguments (`is_kept`: its value is free text or
    stands beside others)."""

    answer: str
    field: str
    name: str = ""
    is_kept: bool = False


CALLS: dict[str, CallKind] = {
    "function_call": CallKind("function_call_output", "arguments"),
    "custom_tool_call": CallKind("custom_tool_call_output", "input", is_kept=True),
    "local_shell_call": CallKind("local_shell_call_output", "action", "local_shell"),
    "shell_call": CallKind("shell_call_output", "action", "shell"),
    "apply_patch_call": CallKind("apply_patch_call_output", "operation", "apply_patch"),
    "computer_call": CallKind("computer_call_output", "action", "computer", is_kept=True),
    "tool_search_call": CallKind("tool_search_output", "arguments", "tool_search"),
}
ANSWERS = frozenset(kind.answer for kind in CALLS.values())

HOSTED = frozenset(
    [
        *["web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"],
        *["mcp_list_tools", "mcp_call", "mcp_approval_request", "program", "program_output"],
    ]
)
"""What ran on the provider's side inside a step: carried whole, with nothing of ours to answer."""
INPUT_ONLY = frozenset(["mcp_approval_response", "additional_tools", "configuration_update", "compaction_trigger"])
_NEUTRAL = frozenset(["message", "reasoning", *CALLS, *ANSWERS])
"""Items that are parts of events in their own right, never carried whole."""
KNOWN = HOSTED | INPUT_ONLY | {"message", "reasoning", "compaction", *CALLS, *ANSWERS}
"""Types that need no warning. `item_reference` does: what it points to is held by the provider and cannot be read."""

ID_PREFIXES = {
    **{"reasoning": "rs", "message": "msg", "function_call": "fc", "custom_tool_call": "ctc"},
    "web_search_call": "ws",
}
"""How ids of items begin; the API refuses others (`Expected an ID that begins with 'fc'`)."""


_BLOCK = {"type": str, "text": str, "refusal": str, "detail": str}
_WORDS = text_or([_BLOCK])
_FIELDS = {"type": str, "role": str, "id": str, "call_id": str, "name": str}
_SHAPES: dict[str, Any] = {
    "message": {"content": _WORDS},
    "reasoning": {"summary": [Mapping], "content": [Mapping], "encrypted_content": str},
    "compaction": {"encrypted_content": str},
    "local_shell_call": {"action": Mapping},
    "shell_call": {"action": Mapping},
    "apply_patch_call": {"operation": Mapping},
    "computer_call": {"action": Mapping, "actions": [Mapping]},
    "custom_tool_call": {"input": str},
    "function_call_output": {"output": _WORDS},
    "custom_tool_call_output": {"output": _WORDS},
    "shell_call_output": {"output": text_or([{"stdout": str, "stderr": str, "outcome": {"type": str}}])},
    "apply_patch_call_output": {"output": str},
    "computer_call_output": {"output": Mapping},
    "tool_search_output": {"tools": [Mapping]},
}


def item_shape(item: Any) -> Any:
    """The shape that an item of this type has, for `misfits`; nothing has that of an item which nothing tells the type
    of."""
    if not isinstance(item, Mapping) or not isinstance(item.get("type") or "", str):
        return _FIELDS
    kind = item.get("type") or ("message" if "role" in item else "item_reference" if "id" in item else "")
    return {**_FIELDS, **_SHAPES.get(kind, {})} if kind else ()


def is_block(raw: Mapping[str, Any]) -> bool:
    """Whether something carried whole is a block of a message, not an item of its own."""
    return str(raw.get("type")).startswith(("input_", "output_")) or raw.get("type") == "computer_screenshot"


def is_sendable_item(raw: Mapping[str, Any]) -> bool:
    """Whether an item that was carried whole may go out: its type is no part of an event in its own right, and it has
    its shape. A tool search of the provider's side is the one call that is nobody's to answer."""
    kind = raw.get("type")
    if not isinstance(kind, str) or not kind or is_block(raw) or not fits(raw, item_shape):
        return False
    return kind not in _NEUTRAL or (kind.startswith("tool_search") and not raw.get("call_id"))


def is_sendable_block(raw: Mapping[str, Any]) -> bool:
    """Whether a block that was carried whole may go out in a message to the model or in an answer."""
    return is_block(raw) and raw.get("type") not in ("input_text", "output_text") and fits(raw, _BLOCK)


def kind_of(item: Mapping[str, Any], path: str) -> str:
    """The type of an item; short forms leave it out. Raises WireError when nothing tells it."""
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "role" in item:
        return "message"
    if "id" in item:
        return "item_reference"
    raise WireError(f"{path}.type", "an item has neither a type nor a role.")


def is_answer(item: Mapping[str, Any], kind: str) -> bool:
    """Whether an item answers a call that is ours to answer."""
    return kind in ANSWERS and bool(item.get("call_id") or (kind == "local_shell_call_output" and item.get("id")))


def is_call(item: Mapping[str, Any], kind: str) -> bool:
    """Whether an item is a call that is ours to answer. A tool search without `call_id` ran on the provider's side."""
    return kind in CALLS and (kind != "tool_search_call" or bool(item.get("call_id")))


def is_of_a_step(item: Mapping[str, Any], kind: str) -> bool:
    """Whether an item belongs to the model's side. Of types nobody knows, those that end like an answer do not."""
    if kind == "message":
        return item.get("role") == "assistant"
    if kind in INPUT_ONLY or "role" in item:
        return False
    return kind in HOSTED or not kind.endswith(("_output", "_response", "_trigger", "_update"))


# -- arguments of calls


def arguments_of(item: Mapping[str, Any], kind: CallKind, path: str) -> str:
    """The arguments of a call as JSON text: exactly as they arrived where they are such text."""
    value = item.get(kind.field)
    if kind.is_kept:
        held = {key: item[key] for key in (kind.field, "actions") if key in item}
        if kind.name == "":
            held = {kind.field: as_text(value, f"{path}.{kind.field}")}
        return compact_json(held)
    if isinstance(value, (Mapping, list)):
        return compact_json(value)
    return as_text(value, f"{path}.{kind.field}")


def with_arguments(kind: CallKind, arguments: str) -> Item | None:
    """The fields of a call of a kind of its own; None when the arguments are not of its shape (any more)."""
    try:
        value = parse_json(arguments)
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    if not kind.is_kept:
        return {kind.field: clean_value(value)}
    if kind.name == "":
        text = value.get(kind.field)
        return {kind.field: clean_text(text)} if isinstance(text, str) and len(value) == 1 else None
    return clean_value(value) if value and not set(value) - {kind.field, "actions"} else None


# -- answers of kinds that are more than text


class Answer(msgspec.Struct, frozen=True):
    """What an answer says: its text, its images, whether it failed, and what else its form needs to be built again."""

    text: str = ""
    images: tuple[Image, ...] = ()
    is_error: bool = False
    rest: dict[str, Any] = {}


def read_answer(item: Mapping[str, Any], kind: str, path: str) -> Answer | None:
    """A shell's, patch's, screen's or tool search's answer; None for one that is text or a list of blocks."""
    output = item.get("output")
    if kind == "shell_call_output" and isinstance(output, (list, tuple)):
        chunks = [as_mapping(chunk, f"{path}.output[{at}]") for at, chunk in enumerate(output)]
        return _read_shell(chunks, f"{path}.output")
    if kind == "apply_patch_call_output":
        return Answer(as_text(output, f"{path}.output"), is_error=item.get("status") == "failed")
    if kind == "computer_call_output":
        screen = as_mapping(output, f"{path}.output")
        if url := screen.get("image_url"):
            return Answer(images=(image_of_url(as_name(url, f"{path}.output.image_url")),))
        return Answer(rest={"output": dict(screen)})
    if kind == "tool_search_output":
        return Answer(compact_json(items(item.get("tools"), f"{path}.tools")))
    return None


def _read_shell(chunks: Sequence[Mapping[str, Any]], path: str) -> Answer:
    """The words of all chunks in order; how long each was and how it ended is kept beside them."""
    pieces = [str(chunk.get(stream) or "") for chunk in chunks for stream in ("stdout", "stderr")]
    outcomes = [as_mapping(chunk.get("outcome") or {}, f"{path}[{at}].outcome") for at, chunk in enumerate(chunks)]
    failed = any(outcome.get("type") == "timeout" or outcome.get("exit_code") for outcome in outcomes)
    lengths = [len(piece) for piece in pieces]
    return Answer("".join(pieces), is_error=failed, rest={"lengths": lengths, "outcomes": outcomes})


def written_answer(call: Mapping[str, Any], result: ToolResult, plain: Item, rest: Mapping[str, Any]) -> Item | None:
    """The answer in the form that this call wants, made of its `plain` form (a function's output); None when what there
    is to say does not fit that form (a screenshot that became words)."""
    kind = CALLS[call["type"]].answer
    item: Item = {"type": kind, "call_id": plain["call_id"]}
    if kind in ("function_call_output", "custom_tool_call_output"):
        return {**item, "output": plain["output"]}
    if kind == "local_shell_call_output":
        if rest.get("type") != kind:  # the API takes a function's output here too, and clients send that
            return {**plain}
        link = "id" if rest.get("is_linked_by_id") else "call_id"
        answer = {"type": kind, link: plain["call_id"], "output": plain["output"]}
        return answer if isinstance(plain["output"], str) else None
    if kind == "shell_call_output":
        return {**item, "output": _shell(result, plain, rest)} if isinstance(plain["output"], str) else None
    if kind == "apply_patch_call_output":
        words = {"output": plain["output"]} if result.text.strip() else {}
        return {**item, "status": "failed" if result.is_error else "completed", **words} if not result.images else None
    if kind == "computer_call_output":
        screen = _screen(result, rest)
        return {**item, "output": screen} if screen else None
    return _found_tools(item, result)


def _shell(result: ToolResult, plain: Item, rest: Mapping[str, Any]) -> list[Item]:
    lengths, outcomes = rest.get("lengths") or [], rest.get("outcomes") or []
    if lengths and sum(lengths) == len(result.text):
        pieces, at = [], 0
        for length in lengths:
            pieces.append(clean_text(result.text[at : at + length]))
            at += length
        return [
            {"stdout": pieces[2 * number], "stderr": pieces[2 * number + 1], "outcome": outcome}
            for number, outcome in enumerate(outcomes)
        ]
    outcome = outcomes[-1] if outcomes else {"type": "exit", "exit_code": int(result.is_error)}
    return [{"stdout": plain["output"], "stderr": "", "outcome": outcome}]


def _screen(result: ToolResult, rest: Mapping[str, Any]) -> Item | None:
    if not result.text and not result.images and rest.get("output"):
        return dict(rest["output"])
    if len(result.images) != 1 or result.text.strip() or not is_supported(result.images[0]):
        return None
    return {"type": "computer_screenshot", "image_url": clean_text(url_of_image(result.images[0]))}


def _found_tools(item: Item, result: ToolResult) -> Item | None:
    try:
        tools = parse_json(result.text)
    except ValueError:
        return None
    return {**item, "tools": clean_value(tools)} if isinstance(tools, list) and not result.images else None
