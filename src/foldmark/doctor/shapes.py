"""Values brought into the shape that the APIs take, so that everything else can be looked at. Each function gives the
same object back when it is of that shape. Knows nothing of files or rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from foldmark.doctor.talk import words
from foldmark.wire.plain import compact_json


def parsed_object(value: Any) -> dict[str, Any]:
    """Arguments as the object they hold, else wrapped as the wires wrap them."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return {"_raw": value}
        return inner if isinstance(inner, dict) else {"_raw": value}
    return {} if value is None else {"_raw": compact_json(value)}


def shaped_message(message: Any) -> Any:
    """A message of the shape that can be looked at: the same object when it is, None when it holds nothing."""
    if isinstance(message, str):
        return {"role": "user", "content": message} if message.strip() else None
    if not isinstance(message, dict):
        return None if message is None else {"role": "user", "content": compact_json(message)}
    content = message.get("content")
    shaped = shaped_content(content)
    return message if shaped is content else {**message, "content": shaped}


def shaped_content(content: Any) -> Any:
    """Content as text or a list of blocks; the same object when it is."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, dict):
        return [shaped_block(content)]
    if not isinstance(content, list):
        return compact_json(content)
    blocks = [shaped_block(block) for block in content if block is not None]
    is_same = len(blocks) == len(content) and all(new is old for new, old in zip(blocks, content, strict=True))
    return content if is_same else blocks


def with_text_ids(held: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The same object, with ids and names that are no text written as text."""
    odd = {key: held[key] for key in keys if held.get(key) is not None and not isinstance(held[key], str)}
    return {**held, **{key: compact_json(value) for key, value in odd.items()}} if odd else held


def shaped_block(block: Any) -> Any:
    """A block with a type; text that stands for itself becomes a text block, and so does what nobody can read."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict):
        return {"type": "text", "text": compact_json(block)}
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        return {"type": "text", "text": block["text"] if isinstance(block.get("text"), str) else compact_json(block)}
    if kind in ("tool_use", "tool_result"):
        block = with_text_ids(block, "id", "tool_use_id", "name")
    if block.get("type") == "text" and not isinstance(block.get("text"), str):
        return {**block, "text": words(block.get("text")) or compact_json(block.get("text"))}
    if block.get("type") == "image" and not isinstance(block.get("source"), dict):
        return {"type": "text", "text": compact_json(block)}
    if block.get("type") == "tool_result":
        inner = shaped_content(block.get("content"))
        return block if inner is block.get("content") else {**block, "content": inner}
    return block


def shaped_chat_message(message: Any) -> Any:
    """A message whose content and calls can be looked at; the same object when it is of the right shape."""
    shaped = shaped_message(message)
    if not isinstance(shaped, dict):
        return shaped
    content = shaped.get("content")
    parts = [_shaped_part(part) for part in content] if isinstance(content, list) else []
    if isinstance(content, list) and any(new is not old for new, old in zip(parts, content, strict=True)):
        shaped = {**shaped, "content": parts}
    calls = shaped.get("tool_calls")
    if isinstance(calls, dict):
        return {**shaped, "tool_calls": [calls]}
    if calls is not None and not isinstance(calls, list):
        return {key: value for key, value in shaped.items() if key != "tool_calls"}
    shaped = with_text_ids(shaped, "tool_call_id", "role")
    if isinstance(calls, list) and not all(_is_call(call) for call in calls):
        return {**shaped, "tool_calls": [_shaped_call(call) for call in calls if isinstance(call, dict)]}
    return shaped


def _shaped_part(part: Any) -> Any:
    if part.get("type") == "image_url" and not isinstance(part.get("image_url"), dict):
        return {**part, "image_url": {"url": str(part.get("image_url") or "")}}
    return part


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str | None):
        return False
    return isinstance(call.get("function"), dict) or (
        call.get("type") == "custom" and isinstance(call.get("custom"), dict)
    )


def _shaped_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call in the shape of the API; one that has name and arguments beside its id gets its `function`."""
    call = with_text_ids(call, "id")
    if _is_call(call):
        return call
    function = {"name": call.get("name") or "tool", "arguments": call.get("arguments", "{}")}
    return {"id": call.get("id"), "type": "function", "function": function}


def shaped_item(item: Any) -> Any:
    """An item of the shape that can be looked at: the same object when it is, None when it holds nothing."""
    if isinstance(item, str):
        return {"type": "message", "role": "user", "content": item} if item.strip() else None
    if not isinstance(item, dict):
        return None if item is None else {"type": "message", "role": "user", "content": compact_json(item)}
    item = with_text_ids(item, "id", "call_id", "name")
    if item.get("type") == "reasoning":
        return _shaped_reasoning(item)
    if item.get("type", "message") != "message":
        output = item.get("output")
        is_own_form = isinstance(output, dict) and "content" in output  # Codex keeps them so for a while
        if item.get("type") not in ("function_call_output", "custom_tool_call_output") or output is None or is_own_form:
            return item
        shaped = shaped_content(output)
        return item if shaped is output else {**item, "output": _typed(shaped, "input_text")}
    content = item.get("content")
    shaped = shaped_content(content)
    if shaped is content:
        return item
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    return {**item, "content": _typed(shaped, kind)}


def _shaped_reasoning(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Sealed reasoning whose lists hold blocks only; the seal is not touched."""
    lists = {key: item[key] for key in ("summary", "content") if item.get(key) is not None}
    wrong = {
        key: [block for block in held if isinstance(block, dict)] if isinstance(held, list) else []
        for key, held in lists.items()
        if not isinstance(held, list) or not all(isinstance(block, dict) for block in held)
    }
    return {**item, **wrong} if wrong else item


def _typed(shaped: Any, kind: str) -> Any:
    """Text blocks under the name that this API gives them."""
    if not isinstance(shaped, list):
        return shaped
    return [{**part, "type": kind} if part.get("type") == "text" else part for part in shaped]
