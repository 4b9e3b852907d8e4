"""Written parts as Gemini's turns: roles merged, responses in call order, ids of calls. Knows nothing of events' parts.

An id that reading derived is not written: what came without an id goes back without one, as some endpoints refuse the
field, and reading the turn derives the same id again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from foldmark.wire.gemini_reading import derived_id
from foldmark.wire.grouping import Group, Message, UsedIds

Block = dict[str, Any]

OLDER_MODELS = re.compile(r"(?:.*/)?gemini-(?:pro\Z|pro-vision|[12](?:\.\d+)?-)")
"""Models that take no media inside a function response, and on some endpoints no ids of calls."""


def extend(messages: list[Message], group: Group[list[Block]], _used: UsedIds) -> None:
    """Write one group behind the contents there are."""
    steps = [dict(block) for _, form in group.assistants for block in form]
    answers = [dict(block) for _, form in group.results for block in form]
    calls = _identified(steps)
    if steps:
        _append(messages, "model", steps)
    words = [block for _, form in group.others for block in form]
    if answers or words:
        _append(messages, "user", _answering(answers, calls) + words)


def fresh(message: Message) -> Message:
    """A copy that a caller may change without touching what is remembered."""
    return {"role": message["role"], "parts": [_copied(part) for part in message["parts"]]}


def _copied(part: Block) -> Block:
    copy = part.copy()
    for key, held in part.items():
        if type(held) is dict:
            copy[key] = held.copy()
    return copy


def _append(messages: list[Message], role: str, parts: list[Block]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1] = {"role": role, "parts": messages[-1]["parts"] + parts}
    else:
        messages.append({"role": role, "parts": parts})


def _identified(steps: list[Block]) -> list[tuple[str, Block]]:
    """Gives every call of a turn the id it goes out with, and returns (id of the event, call). An id that the turn has
    already gets a number; one that reading derives from the place of the call is left out."""
    counts: dict[str, int] = {}
    used: set[str] = set()
    calls: list[tuple[str, Block]] = []
    for part in steps:
        if "functionCall" not in part:
            continue
        call = part["functionCall"]
        call_id, number = call["id"], 2
        while call_id in used:
            call_id, number = f"{call['id']}_{number}", number + 1
        used.add(call_id)
        calls.append((call["id"], _with_id(call, call_id, counts)))
        part["functionCall"] = calls[-1][1]
    return calls


def _id_of(call: Block, counts: dict[str, int]) -> str:
    if "id" in call:
        return str(call["id"])
    counts[call["name"]] = counts.get(call["name"], 0) + 1
    return derived_id(call["name"], counts[call["name"]])


def _with_id(block: Block, block_id: str, counts: dict[str, int]) -> Block:
    """A call or response with that id: no field when its place says the same."""
    name = block["name"]
    if block_id == derived_id(name, counts.get(name, 0) + 1):
        counts[name] = counts.get(name, 0) + 1
        return {key: value for key, value in block.items() if key != "id"}
    return {**block, "id": block_id}


def _answering(answers: list[Block], calls: list[tuple[str, Block]]) -> list[Block]:
    """Responses in the order of the calls that they answer, under the names and ids of those; the rest behind them."""
    names: dict[str, int] = {}
    ids = [_id_of(call, names) for _, call in calls]
    open_calls = list(range(len(calls)))
    placed: list[tuple[int, Block]] = []
    for block in answers:
        response = block["functionResponse"]
        at = next((at for at in open_calls if calls[at][0] == response["id"]), None)
        if at is None:
            placed.append((len(calls), response))
            continue
        open_calls.remove(at)
        placed.append((at, {**response, "id": ids[at], "name": calls[at][1]["name"]}))
    placed.sort(key=lambda place: place[0])
    counts: dict[str, int] = {}
    out: list[Block] = []
    for at, response in placed:
        # An id is left out where the call has none and the place of the response says the same.
        keeps = "id" in calls[at][1] if at < len(calls) else bool(calls)
        out.append({"functionResponse": response if keeps else _with_id(response, response["id"], counts)})
    return out


def for_older(contents: Sequence[Message]) -> list[Message]:
    """Contents as models before the third generation take them: no ids, and a response turn holds nothing but as many
    responses as there were calls."""
    out: list[Message] = []
    for content in contents:
        responses: list[Block] = []
        others: list[Block] = []
        for part in content["parts"]:
            if "functionResponse" in part:
                response = part["functionResponse"]
                responses.append({"functionResponse": _without(response, "id", "parts")})
                if media := response.get("parts"):
                    others += [{"text": f"[media of the result of {response['name']}]"}, *({**one} for one in media)]
            elif "functionCall" in part:
                others.append({**part, "functionCall": _without(part["functionCall"], "id")})
            else:
                others.append(part)
        out += [{"role": content["role"], "parts": parts} for parts in (responses, others) if parts]
    return out


def _without(block: Block, *keys: str) -> Block:
    return {key: value for key, value in block.items() if key not in keys}
