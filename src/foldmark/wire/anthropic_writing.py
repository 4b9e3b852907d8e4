"""Events as an Anthropic Messages payload. Knows nothing of reading, storage or budgets.

Roles alternate by merging neighbours; results come first in their user message, in call order. A call id that
comes back in a later step gets a number, because ids must be unique in a request. Arguments that are no JSON
object are wrapped as `{"_raw": "…"}`; ids and names outside the allowed pattern get a safe spelling; lone
surrogates and NUL become U+FFFD; text that ends an assistant message loses its trailing white space (the API
refuses it at the end of a request, and a text must look the same wherever it stands). No cache marks are set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldmark.events import Event, Image, Opaque, Part, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.wire.anthropic_blocks import THINKING, all_blocks, is_of_server, is_sendable, linked
from foldmark.wire.anthropic_reading import PROVIDER
from foldmark.wire.grouping import Group, Message, UsedIds, Writer
from foldmark.wire.ids import make_unique
from foldmark.wire.media import is_supported, left_out
from foldmark.wire.plain import clean_text, clean_value, compact_json, input_of, safe_name
from foldmark.wire.shapes import fits
from foldmark.wire.strings import dirty_strings
from foldmark.wire.tools import anthropic_tools

ID_LIMIT = 64
NAME_LIMIT = 128
EMPTY_RESULT = "(no output)"
IMAGE_BYTES = 5 * 1024 * 1024
"""`image exceeds 5 MB maximum` of base64: one such image would make every later request fail."""
OPENING = "[The conversation goes on from here.]"
"""Written in front when the first event is the assistant's: the first message must be the user's."""

_WHOLE_THINKING = {"thinking": {"thinking": str, "signature": str}, "redacted_thinking": {"data": str}}
"""What thinking must hold to go back."""

Block = dict[str, Any]


def write(
    system: str,
    tools: Iterable[Any] | None,
    events: Sequence[Event],
    *,
    model: str | None = None,
    max_output: int | None = None,
) -> dict[str, Any]:
    """The payload for `client.messages.create(**payload)`; the same input gives the same bytes.

    It is the caller's to change: nothing in it is shared with later payloads but strings and nested inputs.
    """
    payload: dict[str, Any] = {}
    if model:
        payload["model"] = model
    if max_output:
        payload["max_tokens"] = max_output
    if shaped := anthropic_tools(tools):
        payload["tools"] = shaped
    if system.strip():
        payload["system"] = clean_text(system)
    messages = _WRITER.messages(events)
    if messages and messages[0]["role"] == "assistant" and not _is_compaction(messages[0]["content"][0]):
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    payload["messages"] = messages
    return payload


def lost(events: Iterable[Event]) -> list[str]:
    """What this wire cannot carry of these events, one line per sort: other providers' reasoning and blocks,
    thinking without its signature, blocks that would be refused, what a server's tool was asked without what it gave
    (and the other way round), images of types and sizes that it refuses, and the error mark of a result that shows
    images."""
    counts: dict[str, int] = {}
    sent = [event for event in events if event.role != "control"]
    whole = any(isinstance(part, (Reasoning, Opaque)) for event in sent for part in event.parts)
    messages = _WRITER.messages(sent) if whole else []
    written = {compact_json(block) for message in messages for block in all_blocks(message) if _is_whole(block)}
    for at, event in enumerate(sent):
        for number, part in enumerate(event.parts):
            if what := _lost(part, written, is_first=not at and not number):
                counts[what] = counts.get(what, 0) + 1
    return [f"{count} x {what}" for what, count in counts.items()]


def _lost(part: Part, written: set[str], *, is_first: bool) -> str:
    if isinstance(part, Reasoning):
        is_sent = part.raw is not None and _replayable(part) and compact_json(part.raw) in written
        return "" if is_sent else f"reasoning of {part.provider or 'an unnamed provider'}"
    if isinstance(part, Opaque):
        kind = part.raw.get("type", "block")
        if part.provider != PROVIDER:
            return f"{kind} block of {part.provider or 'an unnamed provider'}"
        if _is_compaction(part.raw) and not is_first:
            return "compaction behind other content"
        return "" if compact_json(clean_value(part.raw)) in written else f"{kind} block that would be refused"
    if isinstance(part, Image):
        return "" if _is_taken(part) else f"image of type {part.media_type or 'unknown'}"
    if isinstance(part, ToolResult) and part.images:
        if not all(map(_is_taken, part.images)):
            return "image that cannot be sent"
        return "error mark of a result" if part.is_error else ""
    return ""


def _extend(messages: list[Message], group: Group[list[Block]], used: UsedIds) -> None:
    steps = [dict(block) for _, form in group.assistants for block in form]
    steps = [block for at, block in enumerate(steps) if not _is_compaction(block) or not (messages or at)]
    answers = [dict(block) for _, form in group.results for block in form]
    calls = [block for block in steps if block["type"] == "tool_use"]
    make_unique(calls, answers, used, call_key="id", answer_key="tool_use_id")
    if steps:
        _append(messages, "assistant", steps)
    words = [block for _, form in group.others for block in form]
    if answers or words:
        _append(messages, "user", answers + words)


def _is_whole(block: Mapping[str, Any]) -> bool:
    """Whether a written block was carried whole."""
    return block["type"] not in ("text", "tool_use", "tool_result")


def _fresh(message: Message) -> Message:
    """A copy that a caller may change (mark for caching, extend) without touching what is remembered."""
    return {"role": message["role"], "content": [{**block} for block in message["content"]]}


def _is_compaction(block: Mapping[str, Any]) -> bool:
    """A signed compaction stands for all before it: the API takes it as the very first block, or not at all."""
    return block.get("type") == "compaction" and bool(block.get("signature"))


def is_too_large(data: str) -> bool:
    """Whether an image (base64) is longer than the API takes; it measures the base64 text, not what it stands for."""
    return len(data) > IMAGE_BYTES


def _is_taken(image: Image) -> bool:
    return is_supported(image) and not is_too_large(image.data)


def _left_out(image: Image) -> str:
    if is_supported(image):
        return f"[an image of {len(image.data) * 3 // 4:,} bytes is too large to be sent here]"
    return left_out(image)


def _append(messages: list[Message], role: str, blocks: list[Block]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1] = {"role": role, "content": messages[-1]["content"] + blocks}
    else:
        messages.append({"role": role, "content": blocks})
    for at in range(len(messages) - 1, max(0, len(messages) - 3) - 1, -1):
        if messages[at]["role"] == "assistant" and any(map(is_of_server, messages[at]["content"])):
            _link(messages, at)


def _link(messages: list[Message], at: int) -> None:
    """Leave out of a message what misses its other half. Users' messages that become neighbours are one."""
    kept = linked(messages, at)
    if len(kept) == len(messages[at]["content"]):
        return
    if blocks := _finished([dict(block) for block in kept]):
        messages[at] = {"role": "assistant", "content": blocks}
        return
    following = messages[at + 1 :]
    del messages[at:]
    for message in following:
        _append(messages, message["role"], message["content"])


def _form(event: Event) -> list[Block]:
    """The blocks of one event, empty when it has nothing to say."""
    if event.role == "assistant":
        return _assistant(event)
    if event.role == "tool":
        return _result(event)
    return [block for part in event.parts for block in _said(part)]


def _assistant(event: Event) -> list[Block]:
    blocks: list[Block] = []
    for part in event.parts:
        if isinstance(part, Reasoning):
            if part.raw is not None and _replayable(part):
                blocks.append(dict(part.raw))
        elif isinstance(part, ToolCall):
            blocks.append(_call(part))
        elif isinstance(part, Opaque):
            if part.provider == PROVIDER and is_sendable(part.raw, "assistant"):
                blocks.append(dict(clean_value(part.raw)))
        elif not isinstance(part, Image):
            blocks += _said(part)
    return _finished(blocks)


def _finished(blocks: list[Block]) -> list[Block]:
    """The API refuses a message that ends in thinking: it says nothing without the step that it led to. Nor may its
    last text end in white space."""
    while blocks and blocks[-1]["type"] in THINKING:
        blocks.pop()
    if blocks and blocks[-1]["type"] == "text":
        blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
    return blocks


def _replayable(part: Reasoning) -> bool:
    """Thinking goes back only whole: without its signature it is refused, and dirty text must not be
    mended."""
    if part.provider != PROVIDER or part.raw is None or any(dirty_strings(part.raw, "")):
        return False
    wanted = _WHOLE_THINKING.get(str(part.raw.get("type")))
    return wanted is not None and fits(part.raw, wanted) and all(part.raw.get(key) is not None for key in wanted)


def _call(call: ToolCall) -> Block:
    return {
        "type": "tool_use",
        "id": safe_name(call.id, ID_LIMIT),
        "name": safe_name(call.name, NAME_LIMIT),
        "input": input_of(call.arguments),
    }


def _result(event: Event) -> list[Block]:
    result = event.result
    if result is None:
        return []
    lines = [clean_text(result.text)] if result.text.strip() else []
    lines += [_left_out(image) for image in result.images if not _is_taken(image)]
    content: list[Block] = [{"type": "text", "text": "\n".join(lines)}] if lines else []
    content += [_image(image) for image in result.images if _is_taken(image)]
    content += [block for part in event.parts if _is_mine(part) for block in _said(part)]
    block: Block = {"type": "tool_result", "tool_use_id": safe_name(result.call_id, ID_LIMIT)}
    only_text = len(content) == 1 and content[0]["type"] == "text"
    block["content"] = content[0]["text"] if only_text else (content or EMPTY_RESULT)
    if result.is_error and all(part["type"] == "text" for part in content):  # anything else is refused
        block["is_error"] = True
    return [block]


def _said(part: Any) -> list[Block]:
    """A text, paste, image or foreign block as blocks; blank text writes nothing."""
    if isinstance(part, Text) and part.text.strip() and part.raw and _is_text(part.raw, part.text):
        return [dict(clean_value(part.raw))]
    if isinstance(part, (Text, Paste)):
        return [{"type": "text", "text": clean_text(part.text)}] if part.text.strip() else []
    if isinstance(part, Image):
        return [_image(part)]
    if isinstance(part, Opaque):
        if part.provider == PROVIDER:
            return [dict(clean_value(part.raw))] if is_sendable(part.raw, "user") else []
        what = f"[a {part.raw.get('type', 'foreign')} block of another provider is left out]"
        return [{"type": "text", "text": clean_text(what)}]
    if isinstance(part, ToolResult):
        return [{"type": "text", "text": clean_text(part.text) or EMPTY_RESULT}]
    return []


def _is_mine(part: Part) -> bool:
    return isinstance(part, Opaque) and part.provider == PROVIDER


def _is_text(raw: Mapping[str, Any], text: str) -> bool:
    """Whether a block still is the text that it was kept with."""
    return raw.get("type") == "text" and raw.get("text") == text


def _image(image: Image) -> Block:
    if not _is_taken(image):
        return {"type": "text", "text": _left_out(image)}
    if image.data:
        source = {"type": "base64", "media_type": image.media_type, "data": clean_text(image.data)}
    else:
        source = {"type": "url", "url": clean_text(image.url)}
    return {"type": "image", "source": source}


_WRITER: Writer[list[Block]] = Writer(_form, _extend, _fresh)
