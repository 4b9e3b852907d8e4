"""Loads the four real histories as OpenAI-style messages. Knows nothing of foldmark: a reader of its own.

Foreign compaction records are left out, so that every history is what really happened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Message = dict[str, Any]

SHARED = Path(os.environ.get("FOLDMARK_SHARED", Path(__file__).resolve().parents[2] / "shared"))
DATA = SHARED / "data" / "trajectories"


class History(NamedTuple):
    """`preset` is fixed beforehand; `tuned` says that settings were chosen on it."""

    name: str
    preset: str
    tuned: bool
    messages: list[Message]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if part.get("type") == "text")


def _call(call_id: str, name: str, arguments: Any) -> Message:
    text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _assistant(text: str, calls: list[Message]) -> Message:
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    return message


def load_pi(path: Path) -> list[Message]:
    """A pi session. Commands that the user ran himself (three, one of 27,000 tokens at the very end) are left out."""
    out: list[Message] = []
    for row in _rows(path):
        message = row.get("message") or {}
        role, content = message.get("role"), message.get("content")
        if role == "user":
            out.append({"role": "user", "content": _plain(content)})
        elif role == "toolResult":
            out.append({"role": "tool", "tool_call_id": message["toolCallId"], "content": _plain(content)})
        elif role == "assistant":
            calls = [
                _call(part["id"], part["name"], part["arguments"]) for part in content if part.get("type") == "toolCall"
            ]
            if _plain(content) or calls:
                out.append(_assistant(_plain(content), calls))
    return out


def load_claude_sidechains(path: Path) -> list[Message]:
    """The side chains of a Claude Code log, one after the other; rows of one assistant message are joined."""
    rows = {row["uuid"]: row for row in _rows(path) if row.get("uuid") and row.get("isSidechain")}
    chains: dict[str, list[dict[str, Any]]] = {}
    for uuid, row in rows.items():
        root, parent = uuid, row.get("parentUuid")
        while parent in rows:
            root, parent = parent, rows[parent].get("parentUuid")
        chains.setdefault(root, []).append(row)
    out: list[Message] = []
    for chain in chains.values():
        last_id = None
        for row in chain:
            last_id = _add_claude_row(out, row, last_id)
    return out


def _add_claude_row(out: list[Message], row: dict[str, Any], last_id: str | None) -> str | None:
    message = row["message"]
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if message["role"] == "assistant":
        calls = [_call(part["id"], part["name"], part["input"]) for part in parts if part["type"] == "tool_use"]
        if message.get("id") and message["id"] == last_id and out[-1]["role"] == "assistant":
            out[-1]["content"] = "\n".join(filter(None, (out[-1]["content"], _plain(parts)))) or None
            if calls:
                out[-1].setdefault("tool_calls", []).extend(calls)
        elif _plain(parts) or calls:
            out.append(_assistant(_plain(parts), calls))
        return message.get("id")
    for part in parts:
        if part["type"] == "tool_result":
            out.append({"role": "tool", "tool_call_id": part["tool_use_id"], "content": _plain(part["content"])})
    if text := _plain(parts):
        out.append({"role": "user", "content": text})
    return None


def load_tau(path: Path) -> list[Message]:
    """The tau-bench chats in a row; the policy text, the same in all, stands once at the start."""
    out: list[Message] = []
    for number, run in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        pending: dict[str, str] = {}
        for message in run["traj"]:
            if message["role"] == "system":
                if not out:
                    out.append({"role": "system", "content": message["content"]})
            elif message["role"] == "user":
                out.append({"role": "user", "content": message["content"]})
            elif message["role"] == "tool":
                call_id = pending.pop(message["tool_call_id"])
                out.append({"role": "tool", "tool_call_id": call_id, "content": message["content"]})
            else:
                calls = []
                for call in message.get("tool_calls") or []:
                    pending[call["id"]] = f"{call['id']}_{number}_{len(out)}"
                    calls.append({**call, "id": pending[call["id"]]})
                out.append(_assistant(message.get("content") or "", calls))
    return out


def repair(messages: list[Message]) -> list[Message]:
    """Results directly after their calls, every call answered: what a provider would have accepted."""
    results: dict[str, Message] = {}
    for message in messages:
        if message["role"] == "tool":
            results.setdefault(message["tool_call_id"], message)
    out: list[Message] = []
    for message in messages:
        if message["role"] == "tool":
            continue
        out.append(message)
        for call in message.get("tool_calls") or []:
            answer = results.pop(call["id"], None)
            out.append(answer or {"role": "tool", "tool_call_id": call["id"], "content": "(no result recorded)"})
    return out


SOURCES: tuple[tuple[str, str, bool, str, Callable[[Path], list[Message]]], ...] = (
    ("pi 1", "coding", True, "pi-coding-agent/before-compaction.jsonl", load_pi),
    ("pi 2", "coding", False, "pi-coding-agent/large-session.jsonl", load_pi),
    ("claude code", "coding", False, "claude-code/fe5e1c67.jsonl", load_claude_sidechains),
    ("tau-bench", "chat", True, "tau-bench/gpt-4o-airline.subset.json", load_tau),
)


def load(names: list[str] | None = None) -> list[History]:
    """The real histories, all or those named. Raises FileNotFoundError when the shared data is not there."""
    return [
        History(name, preset, tuned, repair(reader(DATA / path)))
        for name, preset, tuned, path, reader in SOURCES
        if not names or name in names
    ]
