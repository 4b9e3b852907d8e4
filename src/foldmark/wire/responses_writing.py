"""Events as a payload of the Responses API. Knows nothing of reading, storage or budgets.

System text goes to `instructions`. Reasoning goes back whole, directly before the item it led to, or not at all: with
its encrypted content, its readable content, or by its id (the API keeps items unless `store` is false). An item keeps
its own id only behind the reasoning it came with, because the API refuses an id whose reasoning is gone; reasoning with
nothing behind it is left out for the same reason. What the provider's own tools did leaves together with the reasoning
it came with. An id stands once in a request; a call id that comes back in a later step gets a number.

Calls and answers go back in their own kind. Where the answer no longer fits it (a screenshot that became a line of
words), the pair is written as a function call and its output. Arguments that are no JSON are wrapped as
`{"_raw": "…"}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldmark.events import Event, Image, Opaque, Part, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.wire.grouping import Group, UsedIds, Writer
from foldmark.wire.ids import make_unique
from foldmark.wire.media import is_supported, left_out, url_of_image
from foldmark.wire.openai_writing import valid_arguments
from foldmark.wire.plain import clean_text, clean_value, compact_json, safe_name
from foldmark.wire.responses_ids import ID_LIMIT, is_valid_id, settled
from foldmark.wire.responses_items import (
    CALLS,
    PROVIDER,
    Item,
    arguments_of,
    is_sendable_block,
    is_sendable_item,
    item_shape,
    with_arguments,
    written_answer,
)
from foldmark.wire.responses_reading import about
from foldmark.wire.shapes import fits
from foldmark.wire.strings import dirty_strings
from foldmark.wire.tools import responses_tools

NAME_LIMIT = 64
EMPTY_RESULT = "(no output)"
_ASKING = {"mcp_approval_request": "id", "program": "call_id"}
_GIVING = {"mcp_approval_response": "approval_request_id", "program_output": "call_id"}
"""Items of the provider's side that come in two halves, and the field that links them."""
_OURS = ("type", "lengths", "outcomes", "output", "is_linked_by_id")
"""What is kept of an answer's item so that it can be built again, and is no field of it."""


def write(
    system: str,
    tools: Iterable[Any] | None,
    events: Sequence[Event],
    *,
    model: str | None = None,
    max_output: int | None = None,
) -> dict[str, Any]:
    """The payload for `client.responses.create(**payload)`; the same input gives the same bytes.

    It is the caller's to change: nothing in it is shared with later payloads but strings and nested values.
    """
    payload: dict[str, Any] = {}
    if model:
        payload["model"] = model
    if max_output:
        payload["max_output_tokens"] = max_output
    if system:
        payload["instructions"] = clean_text(system)
    if shaped := responses_tools(tools):
        payload["tools"] = shaped
    payload["input"] = _WRITER.messages(events)
    return payload


def lost(events: Iterable[Event]) -> list[str]:
    """What this wire cannot carry of these events, one line per sort: other providers' reasoning and blocks, reasoning
    that cannot go back, what hosted tools did without it, images of the assistant or of refused types, and error
    marks of most results."""
    counts: dict[str, int] = {}
    sent = [event for event in events if event.role != "control"]
    whole = any(isinstance(part, (Reasoning, Opaque)) for event in sent for part in event.parts)
    written = {compact_json(item) for item in _WRITER.messages(sent) if item["type"] != "message"} if whole else set()
    for event in sent:
        for part in event.parts:
            if what := _lost(part, event, written):
                counts[what] = counts.get(what, 0) + 1
    return [f"{count} x {what}" for what, count in counts.items()]


def _lost(part: Part, event: Event, written: set[str]) -> str:
    if isinstance(part, Reasoning) and not (is_replayable(part) and compact_json(part.raw) in written):
        return f"reasoning of {part.provider or 'an unnamed provider'}"
    if isinstance(part, Opaque) and part.provider != PROVIDER:
        return f"{part.raw.get('type', 'block')} block of {part.provider or 'an unnamed provider'}"
    if isinstance(part, Opaque):
        may_stand = event.role == "assistant" or (event.role != "tool" and len(event.parts) == 1)
        if may_stand and _is_item(part):
            other = "reasoning" if event.role == "assistant" else "other half"
            is_sent = compact_json(clean_value(part.raw)) in written
            return "" if is_sent else f"{part.raw['type']} item without its {other}"
        if event.role == "assistant" or not _is_own_block(part):
            return f"{part.raw.get('type', 'block')} block that cannot stand there"
    if isinstance(part, Image) and (event.role == "assistant" or not is_supported(part)):
        return f"image of type {part.media_type or 'unknown'}"
    if isinstance(part, ToolResult):
        if not all(map(is_supported, part.images)):
            return "image that cannot be sent"
        if part.is_error and about(event).get("type") not in ("shell_call_output", "apply_patch_call_output"):
            return "error mark of a result"
    return ""


def is_replayable(part: Reasoning) -> bool:
    """Whether reasoning can go back: whole, clean, under an id the API takes, and with something to go by."""
    raw = part.raw
    if part.provider != PROVIDER or raw is None or raw.get("type") != "reasoning" or any(dirty_strings(raw, "")):
        return False
    if "id" in raw and not is_valid_id(raw):
        return False
    if not fits(raw, item_shape):
        return False
    return isinstance(raw.get("summary"), list) and any(raw.get(key) for key in ("encrypted_content", "content", "id"))


# -- one event


def _form(event: Event) -> list[Item]:
    """The items of one event, empty when it has nothing to say."""
    if event.role == "assistant":
        return _assistant(event)
    if event.role == "tool":
        return [_answer(event, event.result)] if event.result else []
    if len(event.parts) == 1 and isinstance(part := event.parts[0], Opaque) and _is_item(part):
        return [dict(clean_value(part.raw))]
    content = _blocks(event.parts)
    return [{"type": "message", "role": event.role, "content": _short(content, "input_text")}] if content else []


def _assistant(event: Event) -> list[Item]:
    kept = about(event)
    calls = _mapping(kept.get("calls"))
    found: list[Item | None] = []
    for part in event.parts:
        if isinstance(part, Reasoning):
            if part.provider == PROVIDER:  # nothing here depends on another provider's
                found.append(dict(part.raw) if part.raw is not None and is_replayable(part) else None)
        elif isinstance(part, ToolCall):
            found.append(_call(part, _mapping(calls.get(part.id))))
        elif isinstance(part, Opaque):
            if _is_item(part):
                found.append(dict(clean_value(part.raw)))
        elif isinstance(part, (Text, Paste)) and part.text:
            _say(found, part)
    items = settled(found, bool(kept.get("is_reasoned")), {})
    return [_dressed(item) if item["type"] == "message" else item for item in items]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _dressed(item: Item) -> Item:
    """A message in the form that it came in: whole under its id, else as short as it can be."""
    if "id" in item:
        blocks = [
            {"annotations": [], **block} if block["type"] == "output_text" else block for block in item["content"]
        ]
        return {**item, "content": blocks}
    is_short = set(item) == {"type", "role", "content"}
    return {**item, "content": _short(item["content"], "output_text")} if is_short else item


def _say(found: list[Item | None], part: Text | Paste) -> None:
    """Words as a message of their own, or as one more block of the message before."""
    raw = (part.raw or {}) if isinstance(part, Text) else {}
    last = found[-1] if found else None
    if last and last["type"] == "message" and "message" not in raw:
        last["content"] = [*last["content"], _output_block(part.text, raw)]
        return
    head = clean_value(raw.get("message") or {})
    found.append({"type": "message", "role": "assistant", **head, "content": [_output_block(part.text, raw)]})


def _output_block(text: str, raw: Mapping[str, Any]) -> Item:
    if raw.get("type") == "refusal":
        return {"type": "refusal", "refusal": clean_text(text)}
    block: Item = {"type": "output_text", "text": clean_text(text)}
    if raw.get("type") == "output_text":
        block |= {key: clean_value(value) for key, value in raw.items() if key not in ("type", "text", "message")}
    return block


def _short(blocks: list[Item], kind: str) -> Any:
    """One text as text, everything else as blocks."""
    is_text = len(blocks) == 1 and blocks[0]["type"] == kind and set(blocks[0]) <= {"type", "text", "annotations"}
    return blocks[0]["text"] if is_text and not blocks[0].get("annotations") else blocks


def _is_item(part: Opaque) -> bool:
    return part.provider == PROVIDER and is_sendable_item(part.raw)


def _call(call: ToolCall, fields: Mapping[str, Any]) -> Item:
    kind = str(fields.get("type") or "function_call")
    call_id = safe_name(call.id, ID_LIMIT)
    more = {key: clean_value(value) for key, value in fields.items() if key != "type"}
    if kind in CALLS and kind != "function_call":
        own = with_arguments(CALLS[kind], call.arguments)
        if own is not None:
            named = {} if CALLS[kind].name else {"name": safe_name(call.name, NAME_LIMIT)}
            return {"type": kind, "call_id": call_id, **named, **own, **more}
        more.pop("id", None)
    name = safe_name(call.name, NAME_LIMIT)
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": valid_arguments(call.arguments),
        **more,
    }


def _answer(event: Event, result: ToolResult) -> Item:
    lines = [clean_text(result.text)] if result.text.strip() else []
    lines += [left_out(image) for image in result.images if not is_supported(image)]
    blocks = [{"type": "input_text", "text": "\n".join(lines)}] if lines else []
    blocks += [_image(image) for image in result.images if is_supported(image)]
    blocks += [dict(clean_value(part.raw)) for part in event.parts if isinstance(part, Opaque) and _is_own_block(part)]
    output = _short(blocks, "input_text") if blocks else EMPTY_RESULT
    return {"type": "function_call_output", "call_id": safe_name(result.call_id, ID_LIMIT), "output": output}


def _is_own_block(part: Opaque) -> bool:
    return part.provider == PROVIDER and is_sendable_block(part.raw)


def _blocks(parts: Iterable[Any]) -> list[Item]:
    """The content of a message that the model is given; empty texts are left out."""
    blocks: list[Item] = []
    for part in parts:
        if isinstance(part, (Text, Paste)):
            blocks += [{"type": "input_text", "text": clean_text(part.text)}] if part.text else []
        elif isinstance(part, Image):
            blocks.append(_image(part))
        elif isinstance(part, Opaque):
            if _is_own_block(part):
                blocks.append(dict(clean_value(part.raw)))
            else:
                what = f"a {part.raw.get('type', 'foreign')} block is left out"
                blocks.append({"type": "input_text", "text": f"[{clean_text(what)}]"})
        elif isinstance(part, ToolResult):
            blocks.append({"type": "input_text", "text": clean_text(part.text) or EMPTY_RESULT})
    return blocks


def _image(image: Image) -> Item:
    if not is_supported(image):
        return {"type": "input_text", "text": left_out(image)}
    return {"type": "input_image", "image_url": clean_text(url_of_image(image)), "detail": image.detail or "auto"}


# -- a group of events


def _extend(items: list[Item], group: Group[list[Item]], used: UsedIds) -> None:
    steps: list[Item] = []
    for event, form in group.assistants:
        steps += [dict(item) for item in settled(form, bool(about(event).get("is_reasoned")), used)]
    answers = [dict(form[0]) for _, form in group.results]
    calls = [item for item in steps if item["type"] in CALLS and "call_id" in item]
    make_unique(calls, answers, used, call_key="call_id", answer_key="call_id")
    places = {item["call_id"]: at for at, item in enumerate(steps) if item["type"] in CALLS and "call_id" in item}
    for number, (event, _) in enumerate(group.results):
        at = places.get(answers[number]["call_id"])
        if at is not None and event.result:
            steps[at], answers[number] = _paired(steps[at], answers[number], event.result, about(event))
    used.update((f"?{item.get(field)}", None) for item in steps if (field := _ASKING.get(item["type"])))
    given = [item for _, form in group.others for item in form]
    items += [item for item in steps + answers + given if _is_linked(item, used)]


def _paired(call: Item, answer: Item, result: ToolResult, rest: Mapping[str, Any]) -> tuple[Item, Item]:
    """A call and its answer, both in the call's own kind, or both as a function's."""
    more = {key: clean_value(value) for key, value in rest.items() if key not in _OURS}
    if own := written_answer(call, result, answer, rest):
        return call, own | (more if rest.get("type", "function_call_output") == own["type"] else {})
    kind = CALLS[call["type"]]
    arguments = arguments_of(call, kind, "call")
    plain = {"type": "function_call", "call_id": call["call_id"], "name": call.get("name") or kind.name}
    return {**plain, "arguments": arguments}, answer


def _is_linked(item: Item, used: UsedIds) -> bool:
    """An approval without its request is refused, as is what a program put out without the program: what was asked may
    be gone with the reasoning it came with."""
    field = _GIVING.get(item["type"])
    return field is None or f"?{item.get(field)}" in used


def _fresh(item: Item) -> Item:
    """A copy that a caller may change (mark for caching, extend) without touching what is remembered."""
    copy = item.copy()
    for key, value in item.items():
        if type(value) is list:
            copy[key] = [inner.copy() if type(inner) is dict else inner for inner in value]
    return copy


_WRITER: Writer[list[Item]] = Writer(_form, _extend, _fresh, may_grow=lambda item: False)
