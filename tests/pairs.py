"""An independent checker of tool pairs, for both payload shapes. Not our validator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def pair_errors(payload: Mapping[str, Any]) -> list[str]:
    """What breaks the rule: right behind a step with calls stand results for exactly those calls, each once."""
    errors: list[str] = []
    open_ids: list[str] = []
    for at, message in enumerate(payload["messages"]):
        calls, results = _ids(message)
        if message["role"] == "assistant":
            if open_ids:
                errors.append(f"{at}: {open_ids} unanswered")
            open_ids = calls
            continue
        for call_id in results:
            if call_id in open_ids:
                open_ids.remove(call_id)
            else:
                errors.append(f"{at}: result {call_id} without its call")
        if open_ids and (not results or message["role"] == "user"):
            errors.append(f"{at}: {open_ids} unanswered")
            open_ids = []
    return errors + ([f"end: {open_ids} unanswered"] if open_ids else [])


def _ids(message: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    results = [message["tool_call_id"]] if message["role"] == "tool" else []
    blocks = message.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        calls += [block["id"]] if block.get("type") == "tool_use" else []
        results += [block["tool_use_id"]] if block.get("type") == "tool_result" else []
    return calls, results
