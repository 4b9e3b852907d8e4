"""An independent checker of tool pairs in OpenAI chat messages: thirty lines that share nothing with the library."""

from __future__ import annotations

from typing import Any


def pair_errors(messages: list[dict[str, Any]]) -> list[str]:
    """What a provider would refuse: results without a call in front, calls without results, ids used twice."""
    errors: list[str] = []
    waiting: dict[str, int] = {}
    seen: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = message.get("tool_call_id", "")
            if call_id not in waiting:
                errors.append(f"message {at}: result for {call_id!r}, which no call just before asks for")
            waiting.pop(call_id, None)
            continue
        errors += [
            f"message {at}: call {call_id!r} of message {asked} has no result" for call_id, asked in waiting.items()
        ]
        waiting = {}
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            errors.append(f"message {at}: an assistant message with neither text nor calls")
        for call in message.get("tool_calls") or []:
            if call["id"] in seen:
                errors.append(f"message {at}: call id {call['id']!r} is used twice")
            seen.add(call["id"])
            waiting[call["id"]] = at
    errors += [f"at the end: call {call_id!r} of message {asked} has no result" for call_id, asked in waiting.items()]
    return errors
