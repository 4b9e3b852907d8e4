"""The summary request: what goes to the summary model is plain text, redacted, and fits that model's own window.

Each case is the one with the id in its docstring, from events to the payload of every wire.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest

from foldmark.asking import Ask, ModelInfo
from foldmark.checkpoint import Item
from foldmark.events import Event, Image, Opaque, Reasoning, ToolCall, assistant, injected, result, user
from foldmark.narrative import as_text
from foldmark.parting import parts_of
from foldmark.prompts import room_for_records, standalone
from foldmark.records import records
from foldmark.redact import redactor
from foldmark.summarizer import Hooks, Summarizer
from foldmark.tokens import count
from foldmark.wire import VARIANTS, WIRES

REDACT = redactor(b"k" * 32)
TOOL_BLOCKS = frozenset(("tool_calls", "tool_use", "tool_result", "functionCall", "function_call", "tools"))


def asks(
    events: Iterable[Event], window: int, *, previous: tuple[Item, ...] = (), focus: str = "", parts: int = 1_000
) -> Iterator[Ask]:
    """Every request that a summary model of that window would get for these events."""

    def model(ask: Ask) -> str:
        return ""

    model.info = info = ModelInfo(name="small", window=window)  # type: ignore[attr-defined]
    given = Summarizer(models=(model,))
    room = room_for_records(info, given, previous=as_text(previous), focus=focus)
    log = [msgspec.structs.replace(event, seq=number) for number, event in enumerate(events, 1)]
    found, _ = records(log, style="coding", hooks=Hooks(), redact=REDACT, limit_tokens=room // 4)
    cut = parts_of(found, room, parts)
    for number, part in enumerate(cut, 1):
        yield standalone(model, given, part, previous=previous, focus=focus, part=number, parts=len(cut), redact=REDACT)


def fits(ask: Ask, window: int) -> bool:
    """Counted on the payload as JSON text, apart from our own sums, at the factor of an unknown model."""
    return count(ask.prompt) * 1.15 + ask.max_output <= window


def blocks(value: Any) -> Iterator[str]:
    """Every key and type of a payload."""
    if isinstance(value, dict):
        yield from value
        yield str(value.get("type", ""))
        for item in value.values():
            yield from blocks(item)
    elif isinstance(value, list):
        for item in value:
            yield from blocks(item)


@pytest.mark.parametrize("wire", [*WIRES, *VARIANTS], ids=lambda wire: str(wire.NAME))
def test_parallel_calls_reach_the_summary_model_as_text_on_every_wire(wire: Any) -> None:
    """PAIR-14, PAIR-20: no tool block and no role that needs a pair, however the calls and results stand."""
    events = [
        user("Look at both."),
        assistant("", ToolCall("p", "read", '{"path":"a"}'), ToolCall("q", "read", '{"path":"b"}')),
        result("p", "first body", name="read"),
        result("q", "second body", name="read"),
        assistant("", ToolCall("open", "read", '{"path":"c"}')),
    ]
    (ask,) = asks(events, 8_192)
    payload = ask.payload(wire, model="m")
    assert wire.validate(payload, suspected=True) == []
    assert not {"tool_calls", "tool_use", "tool_result", "functionCall", "function_call", "tools"} & set(
        blocks(payload)
    )
    assert "second body" in json.dumps(payload)


def test_a_history_larger_than_the_summary_models_window_goes_in_parts_that_fit() -> None:
    """FIT-01, FIT-07, FIT-08: 117,000 tokens, a summary model of 16,000: every event is seen once, no request is the
    same as another."""
    events: list[Event] = [user("Make the charges idempotent.")]
    for number in range(190):
        body = "\n".join(f"value_{number}_{line} = charge({line}) # a row of the ledger" for line in range(40))
        events += [assistant(f"Step {number}.", ToolCall(f"c{number}", "bash", '{"command":"make"}'))]
        events += [result(f"c{number}", body, name="bash")]
    assert sum(count(event.text) for event in events) > 117_000
    made = list(asks(events, 16_000))
    assert len(made) > 1
    assert all(fits(ask, 16_000) for ask in made)
    assert len({ask.prompt for ask in made}) == len(made)
    for seq in range(1, len(events) + 1):
        assert sum(f"[event:{seq} " in ask.prompt for ask in made) == 1


def test_one_result_or_none_at_all_is_asked_about_as_well() -> None:
    """FIT-08: no tool result, and exactly one."""
    (none,) = asks([user("Hello"), assistant("Hi.")], 8_192)
    assert "[event:2 agent] Hi." in none.prompt
    (one,) = asks([user("Hello"), assistant("", ToolCall("c", "bash", "{}")), result("c", "done")], 8_192)
    assert "[event:3 result of bash] done" in one.prompt


def test_extension_messages_and_thinking_are_capped_like_results() -> None:
    """FIT-02: 850 injected messages of 6,000 characters, thinking and huge arguments, in a bounded number of parts."""
    bulk = "a status board of the extension, with many words in it. " * 107
    events: list[Event] = [user("Go on.")]
    for number in range(850):
        events.append(injected(f"{number} {bulk}"))
        if number % 25 == 0:
            call = ToolCall(f"c{number}", "write", json.dumps({"path": "a.py", "content": bulk}))
            events.append(Event(role="assistant", origin="agent", parts=(Reasoning(bulk * 4), call)))
            events.append(result(f"c{number}", bulk, images=[Image(data="A" * 90_000)]))
            events.append(Event(role="user", origin="user", parts=(Opaque("x", {"type": "y", "data": bulk}),)))
    made = list(asks(events, 32_000, parts=8))
    assert len(made) <= 8
    assert all(fits(ask, 32_000) for ask in made)
    assert all(f"[event:{seq} " in "".join(ask.prompt for ask in made) for seq in range(1, len(events) + 1, 7))


def test_what_does_not_fit_is_said_in_its_place_and_can_be_opened() -> None:
    """FIT-09: 120,000 tokens evicted, a summary model of 4,000: nothing is left out without a word."""
    events = [user(f"Message {number}. " + "words of a long message " * 150) for number in range(270)]
    assert sum(count(event.text) for event in events) > 120_000
    made = list(asks(events, 4_096, parts=10))
    shown = "\n".join(ask.prompt for ask in made)
    for seq in range(1, len(events) + 1):
        assert f"[event:{seq} user] Message {seq - 1}." in shown
        assert f"load event:{seq} …" in shown
    assert all(fits(ask, 4_096) for ask in made)


SECRETS = (
    "AKIAIOSFODNN7EXAMPLQ", "ghp_" + "a1B2c3D4e5" * 4, "sk-ant-api03-" + "Ab3dE6gH9" * 5, "xoxb-1234567890-abcdefghij",
    "AIza" + "B3c4D5e6F7" * 3 + "G8h9I",
)  # fmt: skip


def test_no_planted_secret_is_in_the_summary_request() -> None:
    """SEC-01: an environment dump, a header, an address with a password, a key block, the focus, the last narrative."""
    dump = "\n".join(f"VALUE_{number}={secret}" for number, secret in enumerate(SECRETS))
    block = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAxyz1\n" * 20 + "-----END RSA PRIVATE KEY-----"
    events = [
        user("Print the environment."),
        assistant(
            "", ToolCall("c", "bash", json.dumps({"command": f"curl -H 'Authorization: Bearer {SECRETS[1]}' x"}))
        ),
        result("c", f"{dump}\nhttps://me:hunter2pass9@example.org/x\n{block}\n" + "filler line\n" * 3_000, name="bash"),
    ]
    previous = (Item("decisions", f"Use the key {SECRETS[2]}", (2,), why=f"{SECRETS[1]} is old"),)
    for window in (2_600, 4_096, 16_000, 100_000):
        for ask in asks(events, window, previous=previous, focus=f"the token {SECRETS[3]}"):
            held = [secret for secret in (*SECRETS, "hunter2pass9", "MIIEowIBAAKCAQEAxyz1") if secret in ask.prompt]
            assert held == []


def test_the_request_of_the_next_compaction_does_not_grow_with_the_past() -> None:
    """FIT-14: what is asked about is the narrative so far and the events since, never the whole history again."""
    previous = tuple(Item("decisions", f"Decision {number} about the ledger", (number,)) for number in range(12))
    since = [user("And now?"), assistant("Next.")]
    (ask,) = asks(since, 8_192, previous=previous)
    assert ask.tokens < 1_000
    assert "Decision 11 about the ledger (event:11)" in ask.prompt
