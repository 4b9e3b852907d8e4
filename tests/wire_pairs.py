"""An independent checker of tool pairs for the payloads of every wire. Not our validators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldmark.wire import Wire
from pairs import pair_errors


def broken_pairs(wire: Wire, payload: Mapping[str, Any]) -> list[str]:
    """What breaks the rule of pairs in a payload of any wire."""
    if wire.NAME == "openai-responses":
        return _item_pairs(payload["input"])
    if wire.NAME == "gemini":
        return _turn_pairs(payload["contents"])
    return pair_errors(payload)


def _item_pairs(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every call has exactly one output behind it, every output a call before it."""
    wrong: list[str] = []
    calls: set[str] = set()
    answered: set[str] = set()
    for at, item in enumerate(items):
        kind = str(item.get("type", "message"))
        if kind.endswith("_output"):
            call_id = item["call_id"]
            if call_id not in calls or call_id in answered:
                wrong.append(f"{at}: output of {call_id!r} without its call, or again")
            answered.add(call_id)
        elif kind.endswith("_call") and "call_id" in item:
            if item["call_id"] in calls:
                wrong.append(f"{at}: call id {item['call_id']!r} again")
            calls.add(item["call_id"])
    return wrong + [f"{call_id!r} unanswered" for call_id in sorted(calls - answered)]


def _turn_pairs(contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Right behind a turn with calls stands a turn with as many responses, and nowhere else."""
    wrong: list[str] = []
    waiting: list[str] = []
    for at, content in enumerate(contents):
        calls = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
        answers = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        if sorted(answers) != sorted(waiting):
            wrong.append(f"{at}: answers {answers} to calls {waiting}")
        waiting = calls
    return wrong + ([f"end: {waiting} unanswered"] if waiting else [])
