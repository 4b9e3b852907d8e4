"""Events as a Gemini payload. Knows nothing of reading, storage or budgets.

Neighbours of one role are merged. The turn behind a call turn begins with one response for every call, in call order;
words follow behind them. An id that reading derived is not written (what came without an id goes back without one, as
some endpoints refuse the field): it is exactly the one that reading the message derives again. Arguments that are no
JSON object are wrapped as `{"_raw": "…"}`, results as `{"output": "…"}` or `{"error": "…"}` unless they came as an
object; images of results go into `functionResponse.parts`.

A thought signature goes back onto its part or is left out whole; none is made up. Gemini 3 refuses calls of the current
turn without one, and documents a placeholder for calls that another model made: whoever wants it sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foldmark.events import Event, Image, Opaque, Part, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.wire.gemini_reading import DATA, PART, RESPONSE, derived_id, text_of_response, type_of_url
from foldmark.wire.gemini_schema import PROVIDER, gemini_tools
from foldmark.wire.gemini_spelling import as_sent
from foldmark.wire.gemini_turns import OLDER_MODELS, Block, extend, for_older, fresh
from foldmark.wire.grouping import Writer
from foldmark.wire.media import left_out
from foldmark.wire.plain import HOLDERS, clean_text, clean_value, digest, input_of, objects_in, parse_json
from foldmark.wire.shapes import misfits
from foldmark.wire.strings import dirty_strings

NAME_LIMIT = 64
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
"""The image types that Gemini documents; it refuses others."""
OPENING = "[The conversation goes on from here.]"
"""Written in front when the first event is the assistant's: a call turn must follow a user turn."""
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_.:-]")
_ADDRESS = "$ref"
_PAIRED = ("functionCall", "functionResponse")
_MEDIA = ("inlineData", "fileData")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}\Z")


def write(
    system: str,
    tools: Iterable[Any] | None,
    events: Sequence[Event],
    *,
    model: str | None = None,
    max_output: int | None = None,
) -> dict[str, Any]:
    """The body of `generateContent`; the same input gives the same bytes.

    REST names the model in the address: take `model` out of the body there. The Python SDK takes `contents` as it is
    and the other fields in `config` (`system_instruction`, `tools`, `max_output_tokens`). For a model of the second
    generation or older, media of results and words stand in a turn of their own behind the responses, and call ids are
    left out. The payload is the caller's to change: nothing in it is shared with later ones but strings and nested
    objects.
    """
    payload: dict[str, Any] = {}
    if model:
        payload["model"] = model
    if max_output:
        payload["generationConfig"] = {"maxOutputTokens": max_output}
    if shaped := gemini_tools(tools):
        payload["tools"] = shaped
    if system.strip():
        payload["systemInstruction"] = {"parts": [{"text": clean_text(system)}]}
    contents = _WRITER.messages(events)
    if contents and contents[0]["role"] == "model":
        contents.insert(0, {"role": "user", "parts": [{"text": OPENING}]})
    payload["contents"] = for_older(contents) if model and OLDER_MODELS.match(model) else contents
    return payload


def lost(events: Iterable[Event]) -> list[str]:
    """What this wire cannot carry of these events, one line per sort: other providers' reasoning and blocks,
    signatures whose part is gone, and images of types that Gemini refuses, in results too."""
    counts: dict[str, int] = {}
    for event in events:
        for at, part in enumerate(event.parts if event.role != "control" else ()):
            if isinstance(part, Reasoning):
                if _replayable(part) and (not _is_beside(part) or _takes(event.parts[at + 1 : at + 2])):
                    continue
                what = f"reasoning of {part.provider or 'an unnamed provider'}"
            elif isinstance(part, Opaque) and part.provider == PROVIDER:
                if _holds_data(part):
                    continue
                what = "part without data that we know"
            elif isinstance(part, Opaque):
                what = f"{part.raw.get('type', 'block')} block of {part.provider or 'an unnamed provider'}"
            elif isinstance(part, Image) and not is_supported(part):
                what = f"image of type {part.media_type or type_of_url(part.url) or 'unknown'}"
            elif isinstance(part, ToolResult) and not all(map(is_supported, part.images)):
                what = "image that cannot be sent"
            else:
                continue
            counts[what] = counts.get(what, 0) + 1
    return [f"{count} x {what}" for what, count in counts.items()]


def _form(event: Event) -> list[Block]:
    """The parts of one event, empty when it has nothing to say."""
    if event.role == "tool":
        return _result(event)
    if event.role != "assistant":
        return [block for part in event.parts for block in _said(part, is_model=False)]
    blocks = list(_step(event.parts))
    # A step that was cut off while thinking says nothing.
    return [] if all(block.get("thought") or block.get("text") == "" for block in blocks) else blocks


def _step(parts: Sequence[Part]) -> Iterator[Block]:
    beside: dict[str, Any] = {}
    for part in parts:
        given, beside = beside, {}
        if isinstance(part, Reasoning):
            if part.raw is not None and _replayable(part):
                if _is_beside(part):
                    beside = part.raw
                else:
                    yield dict(part.raw) if "text" in part.raw else {"text": part.text, "thought": True, **part.raw}
        elif isinstance(part, ToolCall):
            yield {**_call(part), **given}
        else:
            blocks = _said(part, is_model=True)
            yield from ({**block, **given} if "text" in block else block for block in blocks)


def _is_beside(part: Reasoning) -> bool:
    """Whether it is no part of its own but what stood beside the data of the part behind it: a signature."""
    return not part.text and part.raw is not None and "text" not in part.raw


def _takes(following: Sequence[Part]) -> bool:
    return any(isinstance(part, (ToolCall, Text)) for part in following)


def _replayable(part: Reasoning) -> bool:
    """Thoughts go back only whole: dirty text must not be mended under its signature."""
    return part.provider == PROVIDER and part.raw is not None and not any(dirty_strings(part.raw, ""))


def _call(call: ToolCall) -> Block:
    name = safe_name(call.name)
    call_id = clean_text(call.id) or derived_id(name, 1)
    return {"functionCall": {"id": call_id, "name": name, "args": input_of(call.arguments)}}


def safe_name(name: str) -> str:
    """A name that Gemini takes; others get a hash, so that two different ones never meet."""
    if _NAME.match(name):
        return name
    head = _UNSAFE.sub("_", name)
    head = head if head[:1].isalpha() or head[:1] == "_" else f"_{head}"
    return f"{head[: NAME_LIMIT - 9]}_{digest(name)}"


def _result(event: Event) -> list[Block]:
    result = event.result
    if result is None:
        return []
    media = [_image(image) for image in result.images if is_supported(image)]
    mine = (part for part in event.parts if isinstance(part, Opaque) and part.provider == PROVIDER)
    media += [_whole(part) for part in mine if _holds_data(part)]
    name = safe_name(result.name or "tool")
    response: Block = {
        "id": clean_text(result.call_id) or derived_id(name, 1),
        "name": name,
        "response": _response(result, is_object=event.meta.get(RESPONSE) == "object", media=media),
    }
    if media:
        response["parts"] = media
    return [{"functionResponse": response}]


def _response(result: ToolResult, *, is_object: bool, media: Sequence[Block]) -> dict[str, Any]:
    """The object that a result goes out as: its own when it came as one and still is it, else its text under `output`
    or `error`."""
    refused = [left_out(image) for image in result.images if not is_supported(image)]
    value = _object(result.text) if is_object and not refused else None
    is_still = value is not None and text_of_response(value)[1:] == (result.is_error, True)
    if is_still and refs_in(value) <= display_names(media):
        return dict(clean_value(value))
    lines = [clean_text(result.text)] if result.text or not refused else []
    return {"error" if result.is_error else "output": "\n".join(lines + refused)}


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def refs_in(value: Any) -> set[str]:
    """What the `$ref` keys of a response name: Gemini refuses one that names anything but media of that response."""
    found = [one[_ADDRESS] for one in objects_in(value) if _ADDRESS in one]
    return {"" if isinstance(ref, HOLDERS) else str(ref) for ref in found}


def display_names(media: Iterable[Mapping[str, Any]]) -> set[str]:
    """The names that media of a response go by."""
    return {str(data.get("displayName")) for part in media for data in part.values() if isinstance(data, Mapping)}


def _said(part: Part, *, is_model: bool) -> list[Block]:
    """A text, paste, image or foreign block as parts; blank text writes nothing."""
    if isinstance(part, (Text, Paste)):
        raw = part.raw if isinstance(part, Text) else None
        if not part.text.strip() and not (raw and "thoughtSignature" in raw):
            return []
        if raw and "type" not in raw and raw.get("text") == part.text and not any(dirty_strings(raw, "")):
            return [dict(raw)]
        return [{"text": clean_text(part.text)}]
    if isinstance(part, Image):
        return [_image(part)] if is_supported(part) or not is_model else []
    if isinstance(part, Opaque):
        if part.provider == PROVIDER:
            return [_whole(part)] if _holds_data(part) else []
        what = f"[a {part.raw.get('type', 'foreign')} block of another provider is left out]"
        return [] if is_model else [{"text": clean_text(what)}]
    return [{"text": clean_text(part.text)}] if isinstance(part, ToolResult) and part.text.strip() else []


def _holds_data(part: Opaque) -> bool:
    """Whether a part of this provider holds one datum that it takes by itself: it refuses any other, and calls and
    responses go out from events that can be paired."""
    sent = as_sent(part.raw)
    held = [key for key in DATA if key in sent]
    if len(held) != 1 or held[0] in _PAIRED or misfits(sent, PART):
        return False
    return not media_faults(held[0], sent[held[0]])


def media_faults(key: str, media: Any) -> list[tuple[str, str]]:
    """(field, rule) of what is refused in `inlineData` or `fileData`; nothing for any other key."""
    found: list[tuple[str, str]] = []
    if key in _MEDIA and isinstance(media, Mapping):
        kind = str(media.get("mimeType") or "")
        if (not kind and key == "inlineData") or (kind.startswith("image/") and kind not in IMAGES):
            found.append(("mimeType", "media_type"))
        if key == "inlineData" and not _BASE64.match(str(media.get("data") or "")):
            found.append(("data", "base64"))
    return found


def _whole(part: Opaque) -> Block:
    return dict(clean_value(as_sent(part.raw)))


def is_supported(image: Image) -> bool:
    """Whether Gemini takes it: data or an address of a type that it documents, or an address that tells none."""
    if image.data:
        return image.media_type in IMAGES
    return bool(image.url) and (image.media_type or type_of_url(image.url) or IMAGES[0]) in IMAGES


def _image(image: Image) -> Block:
    if not is_supported(image):
        return {"text": left_out(image)}
    if image.data:
        return {"inlineData": {"mimeType": image.media_type, "data": clean_text(image.data)}}
    media_type = image.media_type or type_of_url(image.url)
    return {"fileData": {**({"mimeType": media_type} if media_type else {}), "fileUri": clean_text(image.url)}}


def may_grow(message: Block) -> bool:
    """Whether a step that follows could be merged into this content."""
    return bool(message["role"] == "model")


_WRITER: Writer[list[Block]] = Writer(_form, extend, fresh, may_grow=may_grow)
