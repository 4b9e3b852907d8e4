"""Makes hostile inputs from a seed: transcripts with pieces broken, conversations in odd orders, payloads and texts.
Knows nothing of what should happen to them; that is in `oracles`.

Every maker takes a `random.Random` and returns bytes, so that an input can be kept, shortened and tried again.
"""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import msgspec

from foldmark.events import Event, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, control, to_json
from foldmark.wire import WIRES, tools_of_calls
from mutating import BYTE_EDITS, DIRT, copied, encoded, mutated, mutated_value, places, rows_of, samples


def transcript(rng: Random, real_bytes: int = 0) -> bytes:
    """A transcript of any format with something wrong with it."""
    return mutated(rng.choice(list(samples(real_bytes).values())), rng)


# -- conversations


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
THOUGHTS = [
    Reasoning("hm", "anthropic", SIGNED),
    Reasoning("", "anthropic", {"type": "redacted_thinking", "data": "eHh4"}),
    Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm"}),
    Reasoning("hm", "openai", {"reasoning_content": "hm"}),
    Reasoning("hm", "openai-responses", {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}),
    Reasoning("", "openai-responses", {"type": "reasoning", "summary": []}),
    Reasoning("hm", "gemini", {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}),
    Reasoning("hm", "gemini", {"thoughtSignature": "c2ln"}),
    Reasoning("hm", "somebody", {"x": 1}),
    Reasoning("hm"),
]
BLOCKS = [
    Opaque("anthropic", {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}),
    Opaque("anthropic", {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}),
    Opaque("anthropic", {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}),
    Opaque("anthropic", {}),
    Opaque("openai", {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
    Opaque("openai-responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
    Opaque("gemini", {"executableCode": {"language": "PYTHON", "code": "1"}}),
    Opaque("gemini", {"fileData": {"fileUri": "gs://x", "mimeType": "image/png"}}),
    Opaque("", {"type": None, "deep": [[[[{}]]]]}),
]
PICTURES = [
    Image(media_type="image/png", data="AAAA"),
    Image(media_type="image/bmp", data="Qk0="),
    Image(media_type="", data="not base64!"),
    Image(url="https://example.org/a.png"),
    Image(url="data:image/png;base64,AAAA"),
    Image(),
]
DEEP_JSON = ['{"a":' + "[" * levels + "]" * levels + "}" for levels in (250, 5_000)]
ARGUMENTS = [
    *DEEP_JSON,
    "{}",
    "",
    '{"a":1}',
    '{"a',
    "[1]",
    "null",
    "NaN",
    '{"path":"a.py"}',
    '{"command":"pytest -q"}',
    '{"a":"\\ud83d"}',
]
NAMES = ["read", "bash", "Edit", "files.read:0", "läs", "n" * 80, " ", "todo_write"]
IDS = ["a", "b", "c", "call_1", "toolu_1", "a.b", "x" * 70, "\ud83d", " "]
SAID = ["", " ", "Fix it.", "Do not touch the schema!", "done", *DIRT, "1. a\n2. b", "word " * 400, "line\n" * 300]


def said(rng: Random) -> str:
    return " ".join(rng.choice(SAID) for _ in range(rng.choice([1, 1, 2, 3])))


def body(rng: Random) -> str:
    """A result's text: now and then a big one."""
    return said(rng) if rng.random() < 0.6 else text(rng).decode("utf-8", "surrogatepass")


def _step(rng: Random) -> Event:
    parts: list[Any] = []
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        parts.append(rng.choice(THOUGHTS))
    for _ in range(rng.choice([0, 1, 1, 2])):
        parts.append(Text(said(rng)))
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        parts.append(ToolCall(rng.choice(IDS), rng.choice(NAMES), rng.choice(ARGUMENTS)))
    if rng.random() < 0.1:
        parts.append(rng.choice([*BLOCKS, *PICTURES]))
    if rng.random() < 0.2:
        rng.shuffle(parts)
    return Event(role="assistant", origin="agent", parts=tuple(parts))


def _outcome(rng: Random, waiting: list[str]) -> Event:
    call_id = rng.choice(waiting) if waiting and rng.random() < 0.85 else rng.choice(IDS)
    shown = tuple(rng.choice(PICTURES) for _ in range(rng.choice([0, 0, 0, 1, 2])))
    part = ToolResult(call_id, body(rng), rng.choice(["", "read"]), rng.random() < 0.2, shown)
    more = (rng.choice(BLOCKS),) if rng.random() < 0.05 else ()
    return Event(role="tool", origin="tool", parts=(part, *more))


def _speech(rng: Random) -> Event:
    if rng.random() < 0.1:
        return control("note", {"x": said(rng)})
    parts: list[Any] = [Text(said(rng)) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    parts += [rng.choice([*PICTURES, *BLOCKS]) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    return Event(role="user", origin=rng.choice(["user", "user", "injected"]), parts=tuple(parts))


def conversation(rng: Random) -> list[Event]:
    """Events in nearly any order: calls without results, results without calls, ids that come again."""
    events: list[Event] = []
    waiting: list[str] = []
    for _ in range(rng.choice([1, 3, 8, 20])):
        one = rng.choices([_step(rng), _outcome(rng, waiting), _speech(rng)], [4, 4 if waiting else 1, 2])[0]
        waiting += [call.id for call in one.calls]
        if one.result and one.result.call_id in waiting:
            waiting.remove(one.result.call_id)
        events.append(one)
    return events


def told(rng: Random) -> bytes:
    """A conversation as JSON lines of events."""
    return b"\n".join(map(to_json, conversation(rng)))


def spoken(rng: Random) -> bytes:
    """The same, of events that all say something on every wire: what is silent cannot come back."""
    events = [event for event in conversation(rng) if event.result or event.calls or event.text.strip()]
    return b"\n".join(map(to_json, [event for event in events if event.role != "control"]))


def events_of(data: bytes) -> list[Event]:
    return [msgspec.convert(json.loads(line), Event) for line in data.split(b"\n") if line]


def payload(rng: Random) -> bytes:
    """A payload of any wire with something wrong with it: `{"wire": …, "payload": …}`."""
    wire = rng.choice(WIRES)
    events = [event for event in conversation(rng) if not any(isinstance(part, Opaque) for part in event.parts)]
    made = wire.write("Be brief.", tools_of_calls(events), events, model="a-model", max_output=100)
    return encoded({"wire": wire.NAME, "payload": mutated_value(copied(made), rng, rng.choice([0, 1, 2, 4, 8]))}, rng)


# -- texts


@cache
def texts() -> tuple[str, ...]:
    """Texts of the sort that tools return, out of the transcripts, and the transcripts themselves."""
    found: dict[str, None] = {}
    for data in samples(200_000).values():
        found[data[:60_000].decode("utf-8", "replace")] = None
        for holder, key in places(rows_of(data) or []):
            if isinstance(holder[key], str) and len(holder[key]) > 80:
                found[holder[key][:60_000]] = None
    return tuple(found)


def text(rng: Random, sources: tuple[str, ...] = ()) -> bytes:
    """A tool's output with something wrong with it, small or big."""
    base = rng.choice(sources or texts())
    if rng.random() < 0.5:
        base = "\n".join(base.replace("1", str(number)) for number in range(rng.choice([2, 10, 40])))[:80_000]
    data = base.encode("utf-8", "surrogatepass")
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        data = rng.choice(BYTE_EDITS)(data, rng) if data else b"x"
    # A text of Python may hold lone surrogates; bytes that are no text at all never get this far.
    try:
        return data.decode("utf-8", "surrogatepass").encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
