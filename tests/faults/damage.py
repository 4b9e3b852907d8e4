"""Good transcripts in every format that doctor repairs, and damage to them. Made up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]


class Step:
    """An assistant step: what it says, how many calls it makes, whether it thinks first."""

    def __init__(self, number: int, calls: int, *, thinks: bool, asks: bool) -> None:
        self.number, self.calls, self.thinks, self.asks = number, calls, thinks, asks

    def ids(self) -> list[str]:
        return [f"call_{self.number}_{at}" for at in range(self.calls)]


def steps(shape: list[tuple[int, bool, bool]]) -> list[Step]:
    return [Step(at, calls, thinks=thinks, asks=asks or at == 0) for at, (calls, thinks, asks) in enumerate(shape)]


def chat(story: list[Step]) -> list[Row]:
    rows: list[Row] = [{"role": "system", "content": "system words"}]
    for step in story:
        if step.asks:
            rows.append({"role": "user", "content": f"question q{step.number}q"})
        calls = [
            {"id": key, "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": key})}}
            for key in step.ids()
        ]
        rows.append(
            {"role": "assistant", "content": f"step s{step.number}s", **({"tool_calls": calls} if calls else {})}
        )
        rows += [{"role": "tool", "tool_call_id": key, "content": f"result of r{key}r"} for key in step.ids()]
    return rows


def anthropic(story: list[Step]) -> list[Row]:
    rows: list[Row] = []
    waiting: list[Row] = []
    for step in story:
        if step.asks:
            waiting.append({"type": "text", "text": f"question q{step.number}q"})
        if waiting:
            rows.append({"role": "user", "content": waiting})
        rows.append({"role": "assistant", "content": _blocks(step)})
        waiting = _results(step)
    return [*rows, {"role": "user", "content": [*waiting, {"type": "text", "text": "the last question"}]}]


def _blocks(step: Step) -> list[Row]:
    number = step.number
    thought = {"type": "thinking", "thinking": f"thought t{number}t", "signature": f"c2ln{number}"}
    calls = [{"type": "tool_use", "id": key, "name": "read", "input": {"path": key}} for key in step.ids()]
    return [*([thought] if step.thinks else []), {"type": "text", "text": f"step s{number}s"}, *calls]


def _results(step: Step) -> list[Row]:
    return [{"type": "tool_result", "tool_use_id": key, "content": f"result of r{key}r"} for key in step.ids()]


def claude_code(story: list[Step]) -> list[Row]:
    rows: list[Row] = [{"type": "summary", "summary": "A plan", "leafUuid": "elsewhere"}]
    parent: str | None = None

    def add(kind: str, message: Row) -> None:
        nonlocal parent
        key = f"u-{len(rows)}"
        head = {"parentUuid": parent, "isSidechain": False, "cwd": "/garden", "sessionId": "s-1", "version": "1.0.98"}
        stamp = f"2026-03-01T10:{len(rows) // 60:02}:{len(rows) % 60:02}.000Z"
        rows.append({**head, "type": kind, "message": message, "uuid": key, "timestamp": stamp})
        parent = key

    for step in story:
        if step.asks:
            add("user", {"role": "user", "content": f"question q{step.number}q"})
        for block in _blocks(step):
            add("assistant", {"id": f"msg_{step.number}", "type": "message", "role": "assistant", "content": [block]})
        for block in _results(step):
            add("user", {"role": "user", "content": [block]})
    return rows


def items(story: list[Step]) -> list[Row]:
    rows: list[Row] = []
    for step in story:
        number = step.number
        if step.asks:
            text = {"type": "input_text", "text": f"question q{number}q"}
            rows.append({"type": "message", "role": "user", "content": [text]})
        if step.thinks:
            rows.append({"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"t{number}t"})
        text = {"type": "output_text", "text": f"step s{number}s"}
        rows.append({"type": "message", "role": "assistant", "content": [text]})
        for key in step.ids():
            arguments = json.dumps({"path": key})
            rows.append({"type": "function_call", "name": "read", "arguments": arguments, "call_id": key})
        for key in step.ids():
            rows.append({"type": "function_call_output", "call_id": key, "output": f"result of r{key}r"})
    return rows


def codex(story: list[Step]) -> list[Row]:
    head = {"timestamp": "t0", "type": "session_meta", "payload": {"id": "rollout", "cwd": "/garden"}}
    rows = [
        {"timestamp": f"t{at}", "type": "response_item", "payload": item} for at, item in enumerate(items(story), 1)
    ]
    note = {"timestamp": "t1", "type": "event_msg", "payload": {"type": "agent_message", "message": "words"}}
    return [head, *rows[:2], note, *rows[2:]]


def gemini(story: list[Step]) -> list[Row]:
    rows: list[Row] = []
    waiting: list[Row] = []
    for step in story:
        if not waiting:
            waiting.append({"text": f"question q{step.number}q"})
        rows.append({"role": "user", "parts": waiting})
        calls = [{"functionCall": {"name": f"read_{key}", "args": {"path": key}}} for key in step.ids()]
        rows.append({"role": "model", "parts": [{"text": f"step s{step.number}s"}, *calls]})
        waiting = [
            {"functionResponse": {"name": f"read_{key}", "response": {"output": f"result of r{key}r"}}}
            for key in step.ids()
        ]
    return [*rows, {"role": "user", "parts": waiting or [{"text": "the last question"}]}]


def lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def document(rows: list[Row], key: str = "", **fields: Any) -> bytes:
    return json.dumps({"model": "m", **fields, key: rows} if key else rows, indent=1).encode()


TOOL = {"name": "read", "input_schema": {"type": "object"}}


FORMATS: dict[str, Callable[[list[Step]], bytes]] = {
    "chat lines": lambda story: lines(chat(story)),
    "chat list": lambda story: document(chat(story)),
    "chat request": lambda story: document(chat(story), "messages"),
    "anthropic lines": lambda story: lines(anthropic(story)),
    "anthropic request": lambda story: document(anthropic(story), "messages", tools=[TOOL]),
    "claude code": lambda story: lines(claude_code(story)),
    "codex": lambda story: lines(codex(story)),
    "items": lambda story: document(items(story), "input"),
    "gemini": lambda story: document(gemini(story), "contents"),
}
"""Every format, in the forms in which its files come."""

NAMES = {
    "chat lines": "openai-messages", "chat list": "openai-messages", "chat request": "openai-messages",
    "anthropic lines": "anthropic-messages", "anthropic request": "anthropic-messages", "claude code": "claude-code",
    "codex": "codex", "items": "openai-items", "gemini": "gemini-contents",
}  # fmt: skip


# -- damage


def damaged(data: bytes, seed: int, times: int, *, inside: bool = True) -> bytes:
    """The file after some accidents, the same for the same seed; without `inside`, only to whole rows."""
    chance = random.Random(seed)
    for _ in range(times):
        data = chance.choice(ACCIDENTS if inside else ROW_ACCIDENTS)(data, chance)
    return data


def _rows_of(data: bytes) -> tuple[list[Any], Callable[[list[Any]], bytes]] | None:
    """The rows of a file and how to write them again; None when it is broken already."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text)
    except ValueError:
        if text[:1] == "[" or text[:3] == "{\n ":
            return None
        rows: list[Any] = text.split("\n")
        return rows, lambda held: "\n".join(held).encode("utf-8", "surrogateescape")
    if isinstance(value, list):
        return value, lambda held: json.dumps(held, indent=1).encode()
    key = next((key for key in ("messages", "contents", "input") if isinstance(value, dict) and key in value), "")
    if not key:
        return None
    return value[key], lambda held: json.dumps({**value, key: held}, indent=1).encode()


def _on_rows(change: Callable[[list[Any], random.Random], None]) -> Callable[[bytes, random.Random], bytes]:
    def accident(data: bytes, chance: random.Random) -> bytes:
        opened = _rows_of(data)
        if opened is None or len(opened[0]) < 3:
            return data
        change(opened[0], chance)
        return opened[1](opened[0])

    return accident


def _on_value(change: Callable[[Any, random.Random], Any]) -> Callable[[bytes, random.Random], bytes]:
    """An accident inside one row."""

    def inside(rows: list[Any], chance: random.Random) -> None:
        at = chance.randrange(len(rows))
        held = rows[at]
        if isinstance(held, str):
            try:
                rows[at] = json.dumps(change(json.loads(held), chance))
            except ValueError:
                return
        else:
            rows[at] = change(held, chance)

    return _on_rows(inside)


def _delete(rows: list[Any], chance: random.Random) -> None:
    del rows[chance.randrange(len(rows))]


def _double(rows: list[Any], chance: random.Random) -> None:
    at = chance.randrange(len(rows))
    rows.insert(at, rows[at])


def _move(rows: list[Any], chance: random.Random) -> None:
    row = rows.pop(chance.randrange(len(rows)))
    rows.insert(chance.randrange(len(rows) + 1), row)


def _swap(rows: list[Any], chance: random.Random) -> None:
    at = chance.randrange(len(rows) - 1)
    rows[at], rows[at + 1] = rows[at + 1], rows[at]


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path, *(leaf for key, item in value.items() for leaf in _leaves(item, (*path, key)))]
    if isinstance(value, list):
        return [path, *(leaf for at, item in enumerate(value) for leaf in _leaves(item, (*path, at)))]
    return [path]


def _holder(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


BAD: list[Any] = [None, "", " ", [], {}, 5, "x", True, "\ud83d", "a\x00b", ["x"], {"a": 1}]


def _spoil(value: Any, chance: random.Random) -> Any:
    places = [path for path in _leaves(value) if path and path[-1] not in KEPT]
    if places:
        path = chance.choice(places)
        _holder(value, path)[path[-1]] = chance.choice(BAD)
    return value


def _lose_key(value: Any, chance: random.Random) -> Any:
    places = [path for path in _leaves(value) if path and isinstance(path[-1], str) and path[-1] not in KEPT]
    if places:
        path = chance.choice(places)
        del _holder(value, path)[path[-1]]
    return value


KEPT = ("type", "payload")
"""What tells the sort of a record. A record that lost it is another sort of record, and no damage that one can see."""


def _truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) // 2, len(data))] if len(data) > 10 else data


def _tear(data: bytes, chance: random.Random) -> bytes:
    """A part in the middle is lost, over a line end or not."""
    if data[:1] == b"[" or data[:2] == b"{\n":
        return data
    at = chance.randrange(max(1, len(data) - 30))
    return data[:at] + data[at + chance.randrange(1, 30) :]


def _bad_byte(data: bytes, chance: random.Random) -> bytes:
    at = data.find(b"s of"[:1], chance.randrange(max(1, len(data))))
    at = data.find(b"result of ", chance.randrange(max(1, len(data))))
    return data[: at + 3] + b"\xff\xfe" + data[at + 3 :] if at >= 0 else data


def _zeros(data: bytes, chance: random.Random) -> bytes:
    return data + b"\x00" * chance.randrange(1, 50)


ACCIDENTS: list[Callable[[bytes, random.Random], bytes]] = [
    _on_rows(_delete), _on_rows(_delete), _on_rows(_double), _on_rows(_move), _on_rows(_swap), _on_value(_spoil),
    _on_value(_spoil), _on_value(_lose_key), _truncate, _tear, _bad_byte, _zeros,
]  # fmt: skip
ROW_ACCIDENTS = ACCIDENTS[:5]
