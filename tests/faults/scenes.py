"""What the fault tests share: sessions with a ticking clock, both stores, and questions about a payload."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turns import errors, result_ids, strings, turns

from foldmark import MemoryStore, Policy, Session, wire
from foldmark.drafts import Request
from foldmark.events import Event, ToolCall, assistant, result
from foldmark.wire import anthropic, openai_chat

WIRES = (openai_chat, anthropic)
"""The wires whose payload is a list of `messages`, for tests that read those."""
EVERY_WIRE = wire.WIRES
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
    assert errors(payload, request.wire.NAME) == []
    assert request.tokens.total <= request.ceiling
    json.dumps(payload, ensure_ascii=False).encode("utf-8")
    assert turns(payload)[0].role == "user", "a conversation opens with a user message"
    numbers = Counter(event.seq for event in request.messages if event.seq)
    assert all(count == 1 for count in numbers.values()), "an event stands twice in the request"


def checked_on_both(session: Session, **options: Any) -> list[Request]:
    return [checked(session, wire, **options) for wire in WIRES]


def checked_on_all(session: Session, **options: Any) -> list[Request]:
    """On every wire there is: for questions that do not depend on how a payload is written (see `turns`)."""
    return [checked(session, wire, **options) for wire in EVERY_WIRE]


def text_of(payload: Mapping[str, Any]) -> str:
    """All words of a payload, without JSON escapes."""
    return "\n".join(strings(payload))


def words_of(message: Mapping[str, Any]) -> str:
    return text_of({"content": message.get("content")})


def classes(session: Session) -> dict[int, str]:
    """seq -> class, as `explain` gives it."""
    return {entry.seq: entry.status for entry in session.explain()}


def applied(session: Session) -> int:
    """How many compactions the session has."""
    return len(session.control.history())


TESTS = str(Path(__file__).resolve().parents[1])
PREFACE = f"import sys\nsys.path[:0] = [{TESTS!r}, {TESTS + '/faults'!r}]\n"
"""What a program in a child process begins with, so that it finds these helpers."""


def child(program: str, *arguments: str, stderr: int | None = None) -> subprocess.Popen[str]:
    """Another Python process with the same modules at hand; it speaks through its standard streams."""
    return subprocess.Popen(
        [sys.executable, "-c", PREFACE + program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
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


__all__ = [
    "EVERY_WIRE",
    "RAW",
    "SMALL",
    "WIRES",
    "applied",
    "check",
    "checked",
    "checked_on_all",
    "checked_on_both",
    "child",
    "classes",
    "fresh",
    "lines_of",
    "pair",
    "pairs_of",
    "released",
    "result_ids",
    "text_of",
    "words_of",
]
