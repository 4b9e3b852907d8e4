"""What the fault tests share: sessions with a ticking clock, both stores, and questions about a payload."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foldmark import MemoryStore, Policy, Session
from foldmark.drafts import Request
from foldmark.events import Event, ToolCall, assistant, result
from foldmark.wire import anthropic, openai_chat
from pairs import pair_errors

WIRES = (openai_chat, anthropic)
SMALL = Policy.coding(
    budget={"target_tokens": 1_500}, admission={"limit_tokens": 200, "inline_bytes": 300}, window=12_000
)
RAW = {"limit_tokens": 1_000_000}
"""Admission that shortens nothing, so that sizes are those of the case."""


def fresh(policy: Policy = SMALL, store: Any = None, name: str = "s", **options: Any) -> Session:
    """A session whose clock ticks five seconds at every look."""
    clock = itertools.count(1_000, 5)
    return Session(
        name,
        store=store if store is not None else MemoryStore(),
        policy=policy,
        clock=lambda: float(next(clock)),
        **options,
    )


def lines_of(tokens: int, word: str = "row") -> str:
    """A text of made-up lines that costs about so many tokens (ten a line)."""
    return "\n".join(f"{word} {n} holds value_{n} of ledger" for n in range(max(1, tokens // 11)))


def pair(number: int | str, tokens: int = 60, *, name: str = "read", say: str = "") -> list[Event]:
    """An assistant step with one call, and a result of about so many tokens."""
    call = ToolCall(f"c{number}", name, json.dumps({"path": f"src/file_{number}.py"}))
    return [assistant(say or f"Step {number}.", call), result(call.id, lines_of(tokens, f"r{number}"), name=name)]


def pairs_of(count: int, tokens: int = 60, start: int = 1, **options: Any) -> list[Event]:
    return [event for number in range(start, start + count) for event in pair(number, tokens, **options)]


def checked(session: Session, wire: Any = openai_chat, **options: Any) -> Request:
    """The next request, after checking what holds for every one: pairs, roles, ids, size, UTF-8."""
    request = session.request(wire=wire, **options)
    check(request)
    return request


def check(request: Request) -> None:
    payload = request.payload()
    assert pair_errors(payload) == []
    assert request.tokens.total <= request.ceiling
    json.dumps(payload, ensure_ascii=False).encode("utf-8")
    first = next(message for message in payload["messages"] if message["role"] != "system")
    assert first["role"] == "user", "a conversation opens with a user message"
    if request.wire is anthropic:
        roles = [message["role"] for message in payload["messages"]]
        assert all(a != b for a, b in itertools.pairwise(roles)), "roles alternate"
    numbers = Counter(event.seq for event in request.messages if event.seq)
    assert all(count == 1 for count in numbers.values()), "an event stands twice in the request"


def checked_on_both(session: Session, **options: Any) -> list[Request]:
    return [checked(session, wire, **options) for wire in WIRES]


def text_of(payload: Mapping[str, Any]) -> str:
    """All words of a payload, without JSON escapes."""
    return "\n".join(_strings(payload))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _strings(inner)


def words_of(message: Mapping[str, Any]) -> str:
    return text_of({"content": message.get("content")})


def result_ids(payload: Mapping[str, Any]) -> list[str]:
    """Ids of all results, in the order of the payload."""
    found: list[str] = []
    for message in payload["messages"]:
        if message["role"] == "tool":
            found.append(message["tool_call_id"])
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result":
                found.append(block["tool_use_id"])
    return found


def classes(session: Session) -> dict[int, str]:
    """seq -> class, as `explain` gives it."""
    return {entry.seq: entry.status for entry in session.explain()}


def applied(session: Session) -> int:
    """How many compactions the session has."""
    return len(session.control.history())


TESTS = str(Path(__file__).resolve().parents[1])
PREFACE = f"import sys\nsys.path[:0] = [{TESTS!r}, {TESTS + '/faults'!r}]\n"
"""What a program in a child process begins with, so that it finds these helpers."""


def child(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Another Python process with the same modules at hand; it speaks through its standard streams."""
    return subprocess.Popen(
        [sys.executable, "-c", PREFACE + program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def released(children: Sequence[subprocess.Popen[str]]) -> list[str]:
    """Wait until all say `ready`, let them go together, and return the rest of what each says."""
    for one in children:
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
    for one in children:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [one.communicate()[0] for one in children]
    assert [one.returncode for one in children] == [0] * len(children), said
    return said
