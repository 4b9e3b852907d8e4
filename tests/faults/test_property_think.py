"""THINK as one property: what a provider signed or sealed goes back as it came, or not at all, whole steps in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, fresh
from turns import conversation, errors

from foldmark import BudgetExceeded, Policy
from foldmark.events import Event, user
from foldmark.wire import anthropic, gemini, openai_responses

Block = dict[str, Any]
LONG = 30_000


def claude(number: int, size: int, shape: str) -> list[Block]:
    words = f"Thought {number}. " + "hm, so " * (size // 7)
    thought = {"type": "thinking", "thinking": words, "signature": f"c2ln{number:04}"}
    hidden = {"type": "redacted_thinking", "data": f"b3Bh{number:04}"}
    call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"{number}.py"}}
    said = {"type": "text", "text": f"Let me look at {number}."}
    blocks = {"whole": [thought, hidden, said, call], "bare": [thought, call], "between": [thought, said, hidden, call]}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"body {number} " * 60}
    return [{"role": "assistant", "content": blocks[shape]}, {"role": "user", "content": [answer]}]


def responses(number: int, size: int, shape: str) -> list[Block]:
    thought: Block = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "g" * size}
    words = [{"type": "output_text", "text": f"Let me look at {number}.", "annotations": []}]
    said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": words}
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"t{number}", "name": "read", "arguments": "{}"}
    search = {"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": {"type": "search"}}
    items = {"whole": [thought, said, call], "bare": [thought, call], "between": [thought, search, said, call]}
    return [*items[shape], {"type": "function_call_output", "call_id": f"t{number}", "output": f"body {number} " * 60}]


def gemini_turns(number: int, size: int, shape: str) -> list[Block]:
    thought = {"text": "hm, so " * (size // 7), "thought": True}
    said = {"text": f"Let me look at {number}."}
    call = {"functionCall": {"name": "read", "args": {"n": number}}, "thoughtSignature": f"c2ln{number:04}" + "A" * 40}
    parts = {"whole": [thought, said, call], "bare": [call], "between": [said, call]}[shape]
    answer = {"functionResponse": {"name": "read", "response": {"output": f"body {number} " * 60}}}
    return [{"role": "model", "parts": parts}, {"role": "user", "parts": [answer]}]


PROVIDERS: dict[str, tuple[Any, Any, Any]] = {
    "anthropic": (anthropic, claude, lambda words: {"role": "user", "content": words}),
    "openai-responses": (openai_responses, responses, lambda words: {"role": "user", "content": words}),
    "gemini": (gemini, gemini_turns, lambda words: {"role": "user", "parts": [{"text": words}]}),
}


def sealed(value: Any) -> Iterator[str]:
    """Every block of a message that a provider signed or sealed, as canonical JSON."""
    if isinstance(value, list):
        for inner in value:
            yield from sealed(inner)
    elif isinstance(value, dict):
        is_sealed = value.get("type") in ("thinking", "redacted_thinking", "reasoning", "web_search_call")
        if is_sealed or "thoughtSignature" in value:
            yield json.dumps({key: held for key, held in value.items() if key != "cache_control"}, sort_keys=True)
        for inner in value.values():
            yield from sealed(inner)


steps = st.tuples(st.sampled_from([50, 700, LONG]), st.sampled_from(["whole", "bare", "between"]))


@settings(max_examples=25)
@given(
    provider=st.sampled_from(sorted(PROVIDERS)),
    story=st.lists(st.one_of(steps, st.just("user")), min_size=2, max_size=10),
    target=st.sampled_from([1_500, 8_000, 60_000]),
    window=st.sampled_from([12_000, 40_000]),
    force=st.integers(0, 4),
    is_raw=st.booleans(),
)
@example("anthropic", [(LONG, "whole")] * 6, 8_000, 40_000, 3, False).via("S-THINK-01: thinking of 30,000 characters")
@example("openai-responses", [(50, "whole"), (700, "between")] * 5, 1_500, 12_000, 2, False).via("S-THINK-02")
@example("gemini", [(700, "whole"), (50, "bare")] * 5, 1_500, 12_000, 2, True).via("S-THINK-01, signed calls of Gemini")
def test_what_is_signed_goes_back_byte_equal_or_not_at_all(
    provider: str, story: list[Any], target: int, window: int, force: int, is_raw: bool
) -> None:
    wire, step, ask = PROVIDERS[provider]
    policy = Policy.coding(window=window, budget={"target_tokens": target}, admission=RAW if is_raw else {})
    session = fresh(policy)
    session.record(user("Begin."))
    known: list[str] = []
    for number, what in enumerate(story, 1):
        messages = [ask(f"Question {number}?")] if what == "user" else step(number, *what)
        known += sealed(messages)
        session.record(*wire.read_messages(messages).events)
        try:
            if force and number % force == 0:
                session.compact(force=True)
            payload = session.request(wire=wire).payload()
        except BudgetExceeded:
            continue
        shown = list(sealed(conversation(payload)))
        places = [known.index(block) for block in shown if block in known]
        assert len(places) == len(shown), "a signed block was changed"
        assert places == sorted(set(places)), "twice, or in another order"
        assert errors(payload, wire.NAME) == []
        _torn(conversation(payload))


def _torn(messages: list[Block]) -> None:
    """An item of the Responses API keeps its id only behind its own reasoning, and reasoning has its item behind it."""
    for item, following in zip(messages, [*messages[1:], {}], strict=True):
        if item.get("type") == "reasoning":
            assert str(following.get("id", "")).partition("_")[2] == item["id"].partition("_")[2], item["id"]
        elif item.get("id"):
            behind = [one["id"] for one in messages[: messages.index(item)] if one.get("type") == "reasoning"]
            assert behind, item["id"]
            assert behind[-1].partition("_")[2] == item["id"].partition("_")[2], item["id"]


def test_the_search_for_signed_blocks_finds_them() -> None:
    assert len(list(sealed(claude(1, 50, "whole")))) == 2
    assert len(list(sealed(responses(1, 50, "between")))) == 2
    assert len(list(sealed(gemini_turns(1, 50, "bare")))) == 1
    assert isinstance(anthropic.read_messages(claude(1, 50, "whole")).events[0], Event)
