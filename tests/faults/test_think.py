"""THINK: signed thinking and vendors' own blocks go back as they came, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import RAW, SMALL, checked, fresh, pairs_of

from foldmark import Policy
from foldmark.events import user
from foldmark.wire import anthropic, openai_chat


def thought(number: int, size: int) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [
            {
                "type": "thinking",
                "thinking": f"Thought {number}. " + "hm, so " * (size // 7),
                "signature": f"sig-{number}==",
            },
            {"type": "redacted_thinking", "data": f"opaque{number}"},
            {"type": "text", "text": f"Let me look at {number}."},
            {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"{number}.py"}},
        ],
    }


def answer(number: int) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"body {number} " * 60}],
    }


@settings(max_examples=15)
@given(st.lists(st.sampled_from([50, 700, 30_000]), min_size=2, max_size=12), st.integers(1, 3))
def test_a_thinking_block_is_byte_equal_or_absent(sizes: list[int], turns: int) -> None:
    """S-THINK-01: thinking of up to 30,000 characters under cleanup, compaction and fit keeps its signature."""
    session = fresh(SMALL.replace(window=40_000))
    known: set[str] = set()
    number = 0
    for turn in range(turns):
        messages: list[dict[str, Any]] = [{"role": "user", "content": f"Question {turn}?"}]
        for size in sizes:
            number += 1
            step = thought(number, size)
            known |= {json.dumps(block, sort_keys=True) for block in step["content"] if "thinking" in block["type"]}
            messages += [step, answer(number)]
        session.record(*anthropic.read_messages(messages).events)
        payload = checked(session, anthropic).payload()
        for message in payload["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if "thinking" in block["type"]:
                    assert json.dumps({k: v for k, v in block.items() if k != "cache_control"}, sort_keys=True) in known
        session.record(
            *anthropic.read_messages([{"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]).events
        )


def test_within_the_current_request_thinking_stays() -> None:
    """S-THINK-01: the newest round goes back with its thinking, signature and all."""
    session = fresh(Policy.coding())
    session.record(*anthropic.read_messages([{"role": "user", "content": "Go."}, thought(1, 30_000), answer(1)]).events)
    blocks = checked(session, anthropic, window=128_000).payload()["messages"][1]["content"]
    assert blocks == thought(1, 30_000)["content"]


OPENAI_PARTS = [
    {"type": "text", "text": "look"},
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
    {"type": "file", "file": {"file_id": "file-123"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
]
ANTHROPIC_PARTS = [
    {"type": "text", "text": "look"},
    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    {"type": "document", "source": {"type": "file", "file_id": "file-123"}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
]


@pytest.mark.parametrize("wire", [openai_chat, anthropic])
def test_multimodal_parts_survive_two_compactions_unchanged(store: Any, wire: Any) -> None:
    """S-THINK-03: wire to store to wire is the identity for every content part, twice."""
    parts = OPENAI_PARTS if wire is openai_chat else ANTHROPIC_PARTS
    session = fresh(Policy.coding(budget={"target_tokens": 6_000}, admission=RAW), store)
    session.record(user("Begin."), *pairs_of(40, 300))
    session.record(
        *wire.read_messages(
            [
                {"role": "user", "content": parts},
                {"role": "assistant", "content": "Seen."},
                {"role": "user", "content": "And?"},
            ]
        ).events
    )
    for _ in range(2):
        session.compact(force=True, window=128_000)
        payload = checked(session, wire, window=128_000).payload()
        assert payload["messages"][-3]["role"] == "user"
        assert list(payload["messages"][-3]["content"])[-len(parts) :] == parts
    assert len(session.control.history()) >= 1
    again = wire.read_messages(payload["messages"][-3:]).events
    assert wire.write("", [], again)["messages"] == payload["messages"][-3:]
