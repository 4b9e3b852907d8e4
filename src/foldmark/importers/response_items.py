"""Items of the Responses API as parts and results. Knows nothing of the files they stand in.

One item is one thing: a message, a piece of reasoning, a call, a call's output. Calls and outputs name each other by
`call_id`. An output is text, JSON text with the exit code beside it, or a list of texts and images.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Event, Opaque, Part, Reasoning, Text, ToolCall
from foldmark.importers.parts import arguments_of, mappings, result_of
from foldmark.wire.media import image_of_url
from foldmark.wire.plain import as_mapping, as_name, as_text, compact_json, items, parse_json
from foldmark.wire.responses_items import PROVIDER

CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")
OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "tool_search_output",
)
CARRIED = (
    "web_search_call",
    "image_generation_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
    "computer_call",
)
"""What the provider's own tools did within a step. Nothing answers it, so it is carried and not read."""

_EXITED = re.compile(
    r"\AExit code: (?P<shell>-?\d+)$"
    r"|\A(?:Chunk ID:.*\n)?Wall time:.*\nProcess exited with code (?P<terminal>-?\d+)$",
    re.MULTILINE,
)
"""The head that the program writes over a command's output, of a plain shell and of a terminal that stays open."""


_OF_THE_PROGRAM = ("internal_chat_message_metadata_passthrough", "metadata")
"""What a program that keeps items writes into them for itself; the API knows no such fields."""


def _whole(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item as the API gave it."""
    return {key: value for key, value in item.items() if value is not None and key not in _OF_THE_PROGRAM}


def step_part(item: Mapping[str, Any], path: str) -> tuple[Part, ...]:
    """What an item of the assistant's side says: reasoning, words, a call. Raises WireError with the path."""
    kind = item.get("type")
    if kind == "reasoning":
        return (_reasoning(item, path),)
    if kind == "message":
        return content_parts(item.get("content"), f"{path}.content")
    if kind in CALLS:
        return (_call(item, path),)
    return (Opaque(PROVIDER, _whole(item)),)


def _reasoning(item: Mapping[str, Any], path: str) -> Reasoning:
    shown = [*items(item.get("summary"), f"{path}.summary"), *items(item.get("content"), f"{path}.content")]
    texts = [as_text(block.get("text"), f"{path}.text") for block in shown if isinstance(block, Mapping)]
    return Reasoning("\n\n".join(text for text in texts if text), PROVIDER, _whole(item))


def _call(item: Mapping[str, Any], path: str) -> ToolCall:
    kind = item["type"]
    call_id = as_name(item.get("call_id") or item.get("id"), f"{path}.call_id")
    if kind == "local_shell_call":
        action = as_mapping(item.get("action"), f"{path}.action")
        kept = {key: value for key, value in action.items() if key != "type" and value is not None}
        return ToolCall(call_id, "local_shell", compact_json(kept))
    if kind == "tool_search_call":
        return ToolCall(call_id, "tool_search", arguments_of(item.get("arguments")))
    name = as_name(item.get("name"), f"{path}.name")
    if kind == "custom_tool_call":
        # Its input is free text, not JSON; kept under one key so that every reader of arguments finds JSON.
        return ToolCall(call_id, name, compact_json({"input": as_text(item.get("input"), f"{path}.input")}))
    space = as_text(item.get("namespace"), f"{path}.namespace")
    return ToolCall(call_id, f"{space}.{name}" if space else name, arguments_of(item.get("arguments")))


def content_parts(content: Any, path: str) -> tuple[Part, ...]:
    """The content of a message or an output: text, or a list of blocks."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_block(block, where) for where, block in mappings(content, path))


def _block(block: Mapping[str, Any], path: str) -> Part:
    kind = block.get("type")
    if kind in ("input_text", "output_text", "text", "summary_text", "reasoning_text"):
        return Text(as_text(block.get("text"), f"{path}.text"))
    if kind == "refusal":
        return Text(as_text(block.get("refusal"), f"{path}.refusal"), raw=dict(block))
    if kind == "input_image":
        url = block.get("image_url")
        if isinstance(url, str) and url:
            return image_of_url(url, as_text(block.get("detail"), f"{path}.detail"))
    if not isinstance(kind, str):
        raise WireError(f"{path}.type", "a content block has no type.")
    return Opaque(PROVIDER, dict(block))


def output_event(item: Mapping[str, Any], path: str, names: Mapping[str, str], **fields: Any) -> Event:
    """The result that an output item is. `names` are the tools of the calls so far. Raises WireError."""
    call_id = as_name(item.get("call_id") or item.get("id"), f"{path}.call_id")
    output = item.get("tools") if item.get("type") == "tool_search_output" else item.get("output")
    parts, is_error = _output(output, f"{path}.output")
    return result_of(call_id, parts, name=names.get(call_id, ""), is_error=is_error, **fields)


def _output(output: Any, path: str) -> tuple[tuple[Part, ...], bool]:
    if isinstance(output, str):
        output = _report(output) or output
    if isinstance(output, str):
        return (Text(output),), _has_failed(output)
    if isinstance(output, Mapping) and "content" in output:
        return content_parts(output["content"], f"{path}.content"), output.get("success") is False
    if isinstance(output, Mapping) and isinstance(output.get("output"), str):
        return (Text(_with_exit_code(output)),), _exit_code(output) not in (None, 0)
    if isinstance(output, Mapping) and _is_block(output):
        output = [output]
    if isinstance(output, Mapping):
        return (Text(compact_json(output)),), False
    if isinstance(output, list) and not all(isinstance(block, Mapping) and _is_block(block) for block in output):
        return (Text(compact_json(output)),), False
    return content_parts(output, path), False


def _has_failed(text: str) -> bool:
    found = _EXITED.match(text)
    return found is not None and int(found["shell"] or found["terminal"]) != 0


def _is_block(block: Mapping[str, Any]) -> bool:
    return isinstance(block.get("type"), str) and str(block["type"]).startswith(("input_", "output_", "encrypted"))


def _report(text: str) -> dict[str, Any] | None:
    """The JSON object with `output` and `metadata` that an output may be as text."""
    if not text.startswith('{"output"') and '"metadata"' not in text:
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    is_report = isinstance(value, dict) and isinstance(value.get("output"), str) and "metadata" in value
    return value if is_report else None


def _exit_code(report: Mapping[str, Any]) -> int | None:
    about = report.get("metadata")
    code = about.get("exit_code") if isinstance(about, Mapping) else None
    return code if isinstance(code, int) else None


def _with_exit_code(report: Mapping[str, Any]) -> str:
    """A report as later versions of the program write it: the exit code in words, then the output."""
    code = _exit_code(report)
    if code is None:
        return str(report["output"])
    seconds = report["metadata"].get("duration_seconds")
    lines = [f"Exit code: {code}", *([f"Wall time: {seconds} seconds"] if seconds is not None else []), "Output:"]
    return "\n".join([*lines, str(report["output"])])
