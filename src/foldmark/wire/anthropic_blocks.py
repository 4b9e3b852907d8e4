"""The kinds of blocks of the Messages API: of what shape they are, which go out as they came, and which need another.
Knows nothing of events, requests or rules.

What Anthropic's own tools were asked (`server_tool_use`, `mcp_tool_use`) and what they gave stand in one assistant
message. Where the model asked tools of the client in the same message, the API waits with its own until their results
come, in a message that holds nothing else; what its tools gave then opens the next step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.shapes import fits, text_or

Block = Mapping[str, Any]
Message = Mapping[str, Any]

THINKING = ("thinking", "redacted_thinking")
FOREIGN = frozenset(
    ["image_url", "input_text", "output_text", "input_image", "input_audio", "refusal", "tool_call", "function_call"]
)
"""Blocks of other APIs: refused here."""
_SERVER_USES = ("server_tool_use", "mcp_tool_use")
_NEUTRAL = frozenset(["text", "tool_use", "tool_result", *THINKING])
"""Blocks that are parts of events in their own right, never carried whole."""

_BLOCK = {
    **{"type": str, "id": str, "name": str, "tool_use_id": str, "text": str, "thinking": str, "signature": str},
    "cache_control": Mapping,
}
_SOURCE = {"source": {"type": str, "media_type": str, "url": str, "data": str}}
_INSIDE = {"image": {**_BLOCK, **_SOURCE}, "document": {**_BLOCK, **_SOURCE}}
_SHAPES = {**_INSIDE, "tool_result": {**_BLOCK, "content": text_or([lambda block: _of_kind(block, _INSIDE)])}}


def block_shape(block: Any) -> Any:
    """The shape that a block of this type has, for `misfits`."""
    return _of_kind(block, _SHAPES)


def _of_kind(block: Any, shapes: Mapping[str, Any]) -> Any:
    kind = block.get("type") if isinstance(block, Mapping) else None
    return shapes.get(kind, _BLOCK) if isinstance(kind, str) else _BLOCK


def is_sendable(block: Block, role: str) -> bool:
    """Whether a block that was carried whole may go out in an event of that role: it has a type that is of this API and
    no part of its own, and its shape."""
    kind = block.get("type")
    if not isinstance(kind, str) or not kind or kind in FOREIGN or kind in _NEUTRAL:
        return False
    return fits(block, block_shape(block)) and (role == "assistant" or not is_of_server(block))


def is_of_server(block: Block) -> bool:
    """Whether a block is what a tool of Anthropic's side was asked, or gave."""
    return block["type"] in _SERVER_USES or block["type"].endswith("_tool_result")


def blocks_of(message: Message) -> Sequence[Block]:
    content = message.get("content")
    return () if content is None or isinstance(content, str) else content


def all_blocks(message: Message) -> Iterator[Block]:
    """The blocks of a message, and those inside its results."""
    for block in blocks_of(message):
        yield block
        inner = block.get("content") if block.get("type") == "tool_result" else None
        yield from inner if isinstance(inner, list) else ()


def linked(messages: Sequence[Message], at: int) -> list[Block]:
    """The blocks of an assistant message without those of the server's tools that miss their other half."""
    blocks = blocks_of(messages[at])
    asked = {block.get("id") for block in _asked_before(messages, at) if block.get("type") in _SERVER_USES}
    following = _following(messages, at)
    given = {block.get("tool_use_id") for block in (*blocks, *(following or ()))}
    kept: list[Block] = []
    for block in blocks:
        kind = block.get("type") or ""
        if kind in _SERVER_USES:
            asked.add(block.get("id"))
            if following is not None and block.get("id") not in given:
                continue
        elif kind.endswith("_tool_result") and block.get("tool_use_id") not in asked:
            continue
        kept.append(block)
    return kept


def _asked_before(messages: Sequence[Message], at: int) -> Sequence[Block]:
    """The blocks of the step that this one goes on from, with nothing but results of the client between."""
    goes_on = at > 1 and _holds_only(messages[at - 1], "tool_result") and messages[at - 2].get("role") == "assistant"
    return blocks_of(messages[at - 2]) if goes_on else ()


def _following(messages: Sequence[Message], at: int) -> Sequence[Block] | None:
    """The blocks that may still give what this message asked for; None while they are to come."""
    if at + 1 >= len(messages):
        return None
    has_calls = any(block.get("type") == "tool_use" for block in blocks_of(messages[at]))
    if not has_calls or not _holds_only(messages[at + 1], "tool_result"):
        return ()
    return blocks_of(messages[at + 2]) if at + 2 < len(messages) else None


def _holds_only(message: Message, kind: str) -> bool:
    blocks = blocks_of(message)
    return bool(blocks) and all(block.get("type") == kind for block in blocks)
