"""THINK: signed thinking and vendors' own blocks go back as they came, or not at all."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import RAW, SMALL, checked, fresh, pairs_of

from foldmark import Policy, Session
from foldmark.events import Event, Reasoning, ToolResult, assistant, user
from foldmark.wire import anthropic, gemini, openai_chat, openai_responses


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
    number = shown = 0
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
                    shown += 1
                    assert json.dumps({k: v for k, v in block.items() if k != "cache_control"}, sort_keys=True) in known
        session.record(
            *anthropic.read_messages([{"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]).events
        )
    assert shown or 30_000 in sizes, "thinking of the current request does go out"


def test_within_the_current_request_thinking_stays() -> None:
    """S-THINK-01: the newest round goes back with its thinking, signature and all."""
    session = fresh(Policy.coding())
    session.record(*anthropic.read_messages([{"role": "user", "content": "Go."}, thought(1, 30_000), answer(1)]).events)
    blocks = checked(session, anthropic, window=128_000).payload()["messages"][1]["content"]
    assert blocks == thought(1, 30_000)["content"]


def reasoned(number: int, size: int) -> list[dict[str, Any]]:
    """One response of the Responses API: reasoning, words, a hosted search now and then, a call."""
    search = {"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": {"type": "search"}}
    words = [{"type": "output_text", "text": f"Let me look at {number}.", "annotations": []}]
    return [
        {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "g" * size},
        *([search] if number % 3 == 0 else []),
        {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": words},
        {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "read", "arguments": "{}"},
    ]


def torn(items: list[dict[str, Any]]) -> list[str]:
    """What the Responses API refuses about reasoning, told by a few lines that know nothing of our validator: an id
    without its reasoning, reasoning without the item it led to."""
    wrong: list[str] = []
    thought = ""
    for item, following in zip(items, [*items[1:], {}], strict=True):
        number = str(item.get("id", "")).partition("_")[2]
        if item.get("type") == "reasoning":
            thought = number
            if str(following.get("id", "")).partition("_")[2] != number:
                wrong.append(item["id"])
        elif number and number != thought:
            wrong.append(item["id"])
    return wrong


@settings(max_examples=15)
@given(st.lists(st.sampled_from([50, 700, 9_000]), min_size=2, max_size=12), st.integers(1, 3), st.booleans())
def test_an_id_goes_out_only_with_its_reasoning_and_reasoning_only_with_its_item(
    sizes: list[int], turns: int, is_compacted: bool
) -> None:
    """S-THINK-02: reasoning is dropped by cleanup, compaction and fit; dependent ids and hosted calls leave with it."""
    session = fresh(SMALL.replace(window=40_000))
    sent: list[dict[str, Any]] = []
    number = 0
    for turn in range(turns):
        items: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": f"Question {turn}?"}]
        for size in sizes:
            number += 1
            items += reasoned(number, size)
            items.append({"type": "function_call_output", "call_id": f"c{number}", "output": f"body {number} " * 60})
        sent += items
        session.record(*openai_responses.read_messages(items).events)
        if is_compacted:
            session.compact(force=True)
        payload = session.request(wire=openai_responses).payload()
        assert torn(payload["input"]) == []
        assert all(item in sent for item in payload["input"] if item["type"] in ("reasoning", "web_search_call"))
        session.record(*openai_responses.read_messages([{"role": "assistant", "content": "Done."}]).events)


def test_taking_the_reasoning_away_takes_the_ids_away() -> None:
    """S-THINK-02 as it was reported: reasoning r1, message m1 with its id, a call; r1 goes."""
    whole = openai_responses.read_messages([{"role": "user", "content": "Go."}, *reasoned(3, 50)]).events
    answered = Event(role="tool", origin="tool", parts=(ToolResult("c3", "x"),))
    bare = msgspec.structs.replace(whole[1], parts=tuple(p for p in whole[1].parts if not isinstance(p, Reasoning)))
    kept = openai_responses.write("", [], [*whole, answered])["input"]
    assert [item.get("id") for item in kept[1:5]] == ["rs_3", "ws_3", "msg_3", "fc_3"]
    left = openai_responses.write("", [], [whole[0], bare, answered])["input"]
    assert [item.get("id") for item in left] == [None] * 4
    assert torn(left) == torn(kept) == []


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_compaction_item_is_byte_equal_or_absent(is_compacted: bool) -> None:
    """S-THINK-02: the provider's own compaction goes back verbatim until ours covers it."""
    block = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA" * 50}
    session = fresh(Policy.coding(budget={"target_tokens": 6_000}, admission=RAW))
    asked = [{"role": "user", "content": "Begin."}, block, {"role": "user", "content": "Go on."}]
    session.record(*openai_responses.read_messages(asked).events, *pairs_of(40 if is_compacted else 4, 300))
    if is_compacted:
        session.compact(force=True, window=128_000)
    payload = session.request(wire=openai_responses, window=128_000).payload()
    assert [item for item in payload["input"] if item["type"] == "compaction"] == ([] if is_compacted else [block])
    for other in (openai_chat, anthropic):
        assert "gAAAA" not in json.dumps(session.request(wire=other, window=128_000).payload())


def test_a_signed_compaction_goes_first_or_not_at_all() -> None:
    """S-THINK-01: everything in front of a signed compaction block makes the request fail."""
    block = {"type": "compaction", "content": "Beds were planned.", "encrypted_content": "x", "signature": "c2ln"}
    compacted = {"role": "assistant", "content": [block]}
    asked = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
    first = anthropic.read_messages([compacted, asked]).events
    payload = anthropic.write("", [], first)
    assert payload["messages"] == [compacted, asked]
    assert anthropic.validate(payload, suspected=True) == []
    behind = anthropic.write("", [], [user("Begin."), *first])
    assert block not in [part for message in behind["messages"] for part in message["content"]]
    assert anthropic.validate(behind) == []


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


RESPONSES_PARTS = [
    {"type": "input_text", "text": "look"},
    {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
    {"type": "input_image", "file_id": "file-122", "detail": "auto"},
    {"type": "input_file", "file_id": "file-123"},
    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
]
GEMINI_PARTS = [
    {"text": "look"},
    {"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}},
    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
    {
        "fileData": {
            "mimeType": "application/pdf",
            "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a",
        }
    },
    {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
    {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
]
PARTS = {
    openai_chat: OPENAI_PARTS,
    anthropic: ANTHROPIC_PARTS,
    openai_responses: RESPONSES_PARTS,
    gemini: GEMINI_PARTS,
}


def runs_of(payload: dict[str, Any], wire: Any) -> list[list[Any]]:
    """The content of every message as a list of blocks."""
    contents = [message.get("parts", message.get("content")) for message in payload[wire.MESSAGES]]
    return [content for content in contents if isinstance(content, list)]


@pytest.mark.parametrize("wire", list(PARTS), ids=lambda wire: str(wire.NAME))
def test_multimodal_parts_survive_two_compactions_unchanged(store: Any, wire: Any) -> None:
    """S-THINK-03: wire to store to wire is the identity for every content part, twice: in the tail and, pinned, behind
    two boundaries."""
    parts, field = PARTS[wire], "parts" if wire is gemini else "content"
    session = fresh(Policy.coding(budget={"target_tokens": 6_000}, admission=RAW), store)
    session.record(user("Begin."), *pairs_of(40, 300))
    [pictured] = wire.read_messages([{"role": "user", field: parts}]).events
    at = session.record(pictured)
    session.control.pin(at.ref)
    for turn in range(2):
        session.record(assistant("Seen."), user(f"And {turn}?"), *pairs_of(40, 300, start=100 * (turn + 1)))
        assert session.compact(force=True, window=128_000).outcome == "applied"
        assert session.control.history()[0].boundary > at.seq
        blocks = [block for run in runs_of(session.request(wire=wire, window=128_000).payload(), wire) for block in run]
        first = blocks.index(parts[1]) - 1
        assert blocks[first : first + len(parts)] == parts
    assert len(session.control.history()) == 2
    again = wire.read_messages([{"role": "user", field: parts}]).events
    assert wire.write("", [], again)[wire.MESSAGES][0][field] == parts


class Strict:
    """A provider that binds thinking to its prefix: it signs a hash of all that stands in front, and checks it."""

    def __init__(self) -> None:
        self.refused: list[int] = []
        self.thoughts_shown = 0

    @staticmethod
    def seal(payload: dict[str, Any], count: int) -> str:
        front = json.dumps([payload.get("system"), payload["messages"][:count]], sort_keys=True)
        return hashlib.sha256(front.encode()).hexdigest()

    def answer(self, payload: dict[str, Any], number: int) -> dict[str, Any]:
        for at, message in enumerate(payload["messages"]):
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "thinking":
                    self.thoughts_shown += 1
                    if block["signature"] != self.seal(payload, at):
                        self.refused.append(number)
        step = thought(number, 300)
        step["content"] = [
            {**step["content"][0], "signature": self.seal(payload, len(payload["messages"]))},
            *step["content"][2:],
        ]
        return step


def run_of(policy: Policy, turns: list[int], window: int) -> tuple[Strict, Session]:
    """An agent that thinks at every step, over so many turns of so many steps, behind such a provider."""
    provider, session, number = Strict(), fresh(policy), 0
    for turn, steps in enumerate(turns):
        session.record(user(f"Question {turn}?"))
        for _ in range(steps):
            number += 1
            payload = checked(session, anthropic, window=window).payload()
            session.record(*anthropic.read(provider.answer(payload, number)))
            session.record(*anthropic.read(answer(number)))
    return provider, session


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=7), st.sampled_from([8_000, 16_000, 60_000]))
def test_thinking_that_is_bound_to_its_prefix_never_goes_out_behind_another(turns: list[int], window: int) -> None:
    """S-THINK-01: a provider that signs what stands in front refuses no request, whatever was compacted or dropped."""
    provider, _ = run_of(SMALL.replace(window=window, cleanup={"bound_thinking": True}), turns, window)
    assert provider.refused == []


def test_a_run_that_thinks_is_waited_for_and_without_the_option_the_provider_does_refuse() -> None:
    bound, session = run_of(SMALL.replace(cleanup={"bound_thinking": True}), [30, 30], 60_000)
    assert bound.refused == []
    assert bound.thoughts_shown > 300, "thinking of the run in progress is kept"
    assert session.control.history() == [] or session.control.history()[0].boundary < 62
    loose, _ = run_of(SMALL.replace(window=16_000), [30, 30], 16_000)
    assert loose.refused, "the provider of this test does refuse"
