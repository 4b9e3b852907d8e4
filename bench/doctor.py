"""CPU and wall seconds and memory of `foldmark doctor` on large transcripts: `python -m bench.doctor [MEGABYTES]`.

Made-up transcripts of four formats, whole, and with five in a hundred results lost. Each runs in a process of its own,
so that the peak is its own; it holds the file and the copy too.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from foldmark import doctor

Row = dict[str, Any]
FORMATS = ("claude-code", "codex", "anthropic-messages", "openai-messages")
LOST = 0.05
_WORDS = [f"{head}{tail}" for head in ("gate", "garden", "path", "seed", "water") for tail in range(400)]


def transcript(format: str, megabytes: int, lost: float) -> bytes:
    """JSON lines of a format, of about so many megabytes, without a share of its results."""
    rng = random.Random(7)
    lines: list[bytes] = []
    size, parent = 0, None
    if format == "codex":
        lines.append(_line({"timestamp": "t", "type": "session_meta", "payload": {"id": "a", "cwd": "/garden"}}))
    while size < megabytes * 1_000_000:
        number = len(lines)
        body = "\n".join(" ".join(rng.choices(_WORDS, k=9)) for _ in range(40))
        for message in _step(format, number, body, is_lost=rng.random() < lost):
            key = f"u{len(lines)}"
            lines.append(_line(_wrapped(message, key, parent) if format == "claude-code" else message))
            parent, size = key, size + len(lines[-1])
    return b"".join(lines)


def _line(row: Row) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _wrapped(message: Row, key: str, parent: str | None) -> Row:
    head = {"parentUuid": parent, "isSidechain": False, "sessionId": "s", "type": message["role"]}
    return {**head, "message": message, "uuid": key, "timestamp": "2026-01-01T00:00:00Z"}


def _step(format: str, number: int, body: str, *, is_lost: bool) -> Iterator[Row]:
    """A question, a call and, unless it is lost, its result."""
    key, asked = f"call_{number}", f"Question {number}"
    if format == "codex":
        yield _item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]})
        arguments = json.dumps({"path": key})
        yield _item({"type": "function_call", "name": "read", "arguments": arguments, "call_id": key})
        if not is_lost:
            yield _item({"type": "function_call_output", "call_id": key, "output": body})
        return
    yield {"role": "user", "content": asked}
    if format == "openai-messages":
        call = {"id": key, "type": "function", "function": {"name": "read", "arguments": "{}"}}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        if not is_lost:
            yield {"role": "tool", "tool_call_id": key, "content": body}
        return
    block = {"type": "tool_use", "id": key, "name": "read", "input": {"path": key}}
    named = {"id": f"msg_{number}", "type": "message"} if format == "claude-code" else {}
    yield {**named, "role": "assistant", "content": [block]}
    if not is_lost:
        yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": key, "content": body}]}


def _item(item: Row) -> Row:
    return {"timestamp": "t", "type": "response_item", "payload": item}


def measure(format: str, megabytes: int, verb: str) -> None:
    """Run one measure in this process and print its row."""
    data = transcript(format, megabytes, LOST if verb == "repair" else 0)
    gc.collect()
    gc.disable()  # as the command does
    cpu, wall = time.process_time(), time.perf_counter()
    if verb == "examine":
        count = len(doctor.examine(data, format=format).problems)
    else:
        count = len(doctor.repair(data, format=format).changes)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / len(data)
    print(
        f"| {format} | {verb} | {len(data) / 1e6:.0f} | {count:,} | {cpu:.1f} | {wall:.1f} | {peak:.1f} |", flush=True
    )


def main(words: list[str]) -> None:
    """Print the table, a process for each row."""
    if len(words) == 3:
        measure(words[0], int(words[1]), words[2])
        return
    print("| format | verb | MB | found | CPU s | wall s | peak, times the file |\n|" + "---|" * 7, flush=True)
    for format in FORMATS:
        for verb in ("examine", "repair"):
            command = [sys.executable, "-m", "bench.doctor", format, words[0] if words else "50", verb]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
