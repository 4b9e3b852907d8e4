"""Finds items and conversations that are too large for a provider, or soon will be. Knows nothing of formats beyond
where a unit holds its text and images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from foldmark.doctor.talk import Strand, Talk, Unit, words
from foldmark.tokens import count

ITEM_TOKENS = 25_000
"""An item above this takes a fifth of a common window for itself; agents cut tool results near it."""

NEAR = 0.8
_EXACT_LIMIT = 200_000
_CHARACTERS_A_TOKEN = 3.6


class Limits(NamedTuple):
    """What a provider documents for one request: bytes of an image (base64), number of images, characters of one text,
    bytes of the body, messages, calls in one message. 0 where it names none."""

    image: int = 0
    images: int = 0
    text: int = 0
    body: int = 0
    messages: int = 0
    calls: int = 0


LIMITS = {
    "anthropic": Limits(image=5 * 1024**2, images=100, body=32 * 1000**2, messages=100_000),
    "openai-chat": Limits(text=10_485_760, images=500, body=50 * 1000**2, messages=2_048, calls=128),
    "openai-responses": Limits(text=10_485_760, images=500, body=50 * 1000**2),
    "gemini": Limits(images=3_600, body=20 * 1000**2),
}
"""Anthropic: 5 MB an image, 100 images and 32 MB a request. OpenAI: texts of 10,485,760 characters, 500 images and
50 MB a request, lists of 2,048 messages and 128 calls. Gemini: 3,600 images, 20 MB with inline data."""

Found = tuple[str, str, str]
"""Path, code, message."""


def size_problems(talk: Talk, window: int | None) -> Iterator[Found]:
    """Everything that is too large. The whole is measured against `window` tokens when one is named."""
    limits = LIMITS.get(talk.wire, Limits())
    for strand in talk.strands:
        yield from _item_problems(talk, strand, limits)
    if talk.strands:
        yield from _count_problems(talk, current(talk), limits)
        yield from _window_problems(talk, current(talk), window or 0)


def current(talk: Talk) -> Strand:
    """The conversation that goes on: the last part of the main line."""
    main = [strand for strand in talk.strands if not _is_side(strand)]
    return main[-1] if main else talk.strands[-1]


def _is_side(strand: Strand) -> bool:
    value = strand.turns[0].row.value if strand.turns else None
    return isinstance(value, dict) and bool(value.get("isSidechain"))


def _item_problems(talk: Talk, strand: Strand, limits: Limits) -> Iterator[Found]:
    for unit in strand.units:
        text = unit_text(talk, unit)
        if limits.text and len(text) > limits.text:
            said = f"a text of {len(text):,} characters; at most {limits.text:,} are taken."
            yield talk.path(unit), "string_size", said
        tokens = estimate(text) if len(text) > ITEM_TOKENS else 0
        if tokens > ITEM_TOKENS:
            said = f"one item of about {tokens:,} tokens."
            yield talk.path(unit), "oversize_item", said
        for size in unit_images(unit):
            if limits.image and size > limits.image:
                said = f"an image of {size:,} bytes in base64; at most {limits.image:,} are taken."
                yield talk.path(unit), "image_size", said


def _count_problems(talk: Talk, strand: Strand, limits: Limits) -> Iterator[Found]:
    if not strand.turns:
        return
    last = talk.at(strand.turns[-1].row)
    images = sum(1 for unit in strand.units for _ in unit_images(unit))
    if limits.images and images > limits.images:
        yield last, "too_many_images", f"{images} images; at most {limits.images} are taken in one request."
    if limits.messages and len(strand.turns) > limits.messages:
        said = f"{len(strand.turns):,} messages; lists longer than {limits.messages:,} are refused."
        yield last, "too_many_messages", said
    for turn in strand.turns:
        calls = sum(unit.kind == "call" for unit in turn.units)
        if limits.calls and calls > limits.calls:
            said = f"{calls} calls in one message; at most {limits.calls} are taken."
            yield talk.at(turn.row), "too_many_calls", said
    size = sum(_bytes(talk, unit) for unit in strand.units)
    if limits.body and size > limits.body:
        said = f"about {size:,} bytes; a request holds at most {limits.body:,}."
        yield last, "request_size" if talk.is_request() else "long_session", said


def _bytes(talk: Talk, unit: Unit) -> int:
    return len(unit_text(talk, unit)) + sum(unit_images(unit))


def _window_problems(talk: Talk, strand: Strand, window: int) -> Iterator[Found]:
    total = 0
    for unit in strand.units if window else ():
        total += estimate(unit_text(talk, unit)) + sum(1_500 for _ in unit_images(unit))
    where = talk.at(strand.turns[-1].row) if strand.turns else "file"
    if window and total > window:
        yield where, "window", f"about {total:,} tokens; the window holds {window:,}."
    elif window and total > NEAR * window:
        yield where, "window_near", f"about {total:,} tokens, {100 * total // window}% of the window of {window:,}."


def estimate(text: str) -> int:
    """Tokens of a text: counted when it is short, else scaled up from its first part."""
    if len(text) <= _EXACT_LIMIT:
        return count(text)
    return round(count(text[:_EXACT_LIMIT]) * len(text) / _EXACT_LIMIT)


def unit_text(talk: Talk, unit: Unit) -> str:
    """The words of a unit that take room: its text, its arguments, its result. Read once, then remembered."""
    if unit.said is None:
        unit.said = _read_text(talk, unit)
    return unit.said


def _read_text(talk: Talk, unit: Unit) -> str:
    if unit.kind == "result":
        return talk.result_text(unit)
    if unit.kind == "call":
        return talk.call_text(unit)
    return words(unit.value)


def unit_images(unit: Unit) -> Iterator[int]:
    """Bytes of every image in a unit. Texts and calls hold none."""
    return iter(()) if unit.kind in ("text", "call") else image_sizes(unit.value)


def image_sizes(value: Any) -> Iterator[int]:
    """Bytes of base64 of every image in a unit, 0 for one that is only an address."""
    if isinstance(value, dict):
        source = value.get("source")
        if value.get("type") == "image" and isinstance(source, dict):
            yield len(str(source.get("data") or ""))
        elif value.get("type") in ("image_url", "input_image"):
            held = value.get("image_url")
            address = held.get("url") if isinstance(held, dict) else held
            yield len(str(address or "")) if str(address or "").startswith("data:") else 0
        elif isinstance(value.get("inlineData") or value.get("inline_data"), dict):
            yield len(str((value.get("inlineData") or value.get("inline_data")).get("data") or ""))  # type: ignore[union-attr]
        else:
            for key in ("content", "output"):
                yield from image_sizes(value.get(key))
    elif isinstance(value, list):
        for item in value:
            yield from image_sizes(item)
