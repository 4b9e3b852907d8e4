"""Contents of the Gemini API as parts and results: both spellings of their keys. Knows nothing of the files they
stand in.

A thought's signature belongs to the part it came with; it is kept as reasoning right before that part. Calls of
older servers have no ids: they get one from where they stand, and a response without an id answers the oldest call of
its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

import msgspec

from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, Usage
from foldmark.importers.parts import Waiting, arguments_of, result_of, words_of
from foldmark.wire.plain import as_count, as_mapping, as_name, as_text, items

PROVIDER = "gemini"

_NORMAL_STOPS = ("", "STOP", "FINISH_REASON_UNSPECIFIED")
_SPOKEN = ("text", "function_call", "function_response", "inline_data", "file_data")


class Piece(msgspec.Struct, frozen=True):
    """One part of a content with keys in one spelling: which kind it is, its value, its thought signature."""

    kind: str
    value: Any
    raw: Mapping[str, Any]
    path: str
    is_thought: bool = False
    signature: str = ""


def field(value: Mapping[str, Any], name: str) -> Any:
    """A field by its name in snake case, in either spelling."""
    if name in value:
        return value[name]
    head, *rest = name.split("_")
    return value.get(head + "".join(word.capitalize() for word in rest))


def pieces(content: Any, path: str) -> Iterator[Piece]:
    """The parts of a content: text, one part, or a list of parts."""
    if isinstance(content, (str, Mapping)):
        content = [content]
    for at, part in enumerate(items(content, path)):
        where = f"{path}[{at}]"
        if isinstance(part, str):
            yield Piece("text", part, {"text": part}, where)
            continue
        raw = as_mapping(part, where)
        kind = next((name for name in _SPOKEN if field(raw, name) is not None), "")
        signature = field(raw, "thought_signature")
        yield Piece(
            kind,
            field(raw, kind) if kind else None,
            raw,
            where,
            is_thought=bool(raw.get("thought")),
            signature=signature if isinstance(signature, str) else "",
        )


def step_parts(found: list[Piece], stand: str, *, is_stream: bool = False) -> tuple[Part, ...]:
    """What the model's parts say. `stand` names their place: calls without ids get one of it. The pieces of a
    stream are put together."""
    out: list[Part] = []
    for at, piece in enumerate(found):
        if piece.signature and piece.kind != "text":
            out.append(Reasoning("", PROVIDER, {"thoughtSignature": piece.signature}))
        part = _step_part(piece, f"call_{stand}_{at}")
        if part is not None:
            out.append(part)
    return tuple(_joined(out) if is_stream else out)


def _step_part(piece: Piece, call_id: str) -> Part | None:
    if piece.kind == "text":
        return _words(piece, as_text(piece.value, f"{piece.path}.text"))
    if piece.kind == "function_call":
        call = as_mapping(piece.value, piece.path)
        name = as_name(call.get("name"), f"{piece.path}.name")
        return ToolCall(str(call.get("id") or call_id), name, arguments_of(call.get("args")))
    return media_part(piece)


def _words(piece: Piece, words: str) -> Part | None:
    """A thought, or a text; a signature on a text without words is all that a thought left."""
    raw: dict[str, Any] = {"text": words}
    if piece.signature:
        raw["thoughtSignature"] = piece.signature
    if piece.is_thought:
        return Reasoning(words, PROVIDER, {**raw, "thought": True})
    if not words:
        return Reasoning("", PROVIDER, raw) if piece.signature else None
    return Text(words, raw if piece.signature else None)


def _joined(parts: list[Part]) -> list[Part]:
    """Texts, and thoughts, that follow each other are one: a stream cuts anywhere, and signs at the end."""
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        if isinstance(part, Text) and isinstance(last, Text) and last.raw is None and part.raw is None:
            out[-1] = Text(last.text + part.text)
        elif _is_thought(part) and _is_thought(last) and "thoughtSignature" not in (last.raw or {}):
            words = last.text + part.text
            out[-1] = Reasoning(words, PROVIDER, {**(part.raw or {}), "text": words})
        else:
            out.append(part)
    return out


def _is_thought(part: Part | None) -> TypeGuard[Reasoning]:
    return isinstance(part, Reasoning) and bool((part.raw or {}).get("thought"))


def media_part(piece: Piece) -> Part:
    """An image from its data or address; anything else whole."""
    value = piece.value if isinstance(piece.value, Mapping) else {}
    media_type = str(field(value, "mime_type") or "")
    if media_type.startswith("image/"):
        if piece.kind == "inline_data":
            return Image(media_type=media_type, data=as_text(value.get("data"), f"{piece.path}.data"))
        if piece.kind == "file_data":
            return Image(url=as_name(field(value, "file_uri"), f"{piece.path}.file_uri"))
    if piece.kind == "text":
        return Text(as_text(piece.value, f"{piece.path}.text"))
    return Opaque(PROVIDER, dict(piece.raw))


def response_event(piece: Piece, waiting: Waiting, **fields: Any) -> Event:
    """The result that a function response is. Raises WireError when no call can be meant."""
    response = as_mapping(piece.value, piece.path)
    name = as_text(response.get("name"), f"{piece.path}.name")
    call_id = as_name(response.get("id") or waiting.oldest(name), f"{piece.path}.id")
    answer = response.get("response")
    event = result_of(call_id, response_words(answer), name=name, is_error=is_failure(answer), **fields)
    waiting.made([event])
    return event


def response_words(answer: Any) -> str:
    """The words of a function's response: those of its one text, else the object as JSON."""
    if isinstance(answer, Mapping) and len(answer) == 1:
        (key, value) = next(iter(answer.items()))
        if key in ("output", "result", "content", "error") and isinstance(value, str):
            return value
    return words_of(answer)


def is_failure(answer: Any) -> bool:
    """Whether a response says that the function failed: under `error`, or as its status."""
    return isinstance(answer, Mapping) and (bool(answer.get("error")) or answer.get("status") == "error")


def usage_metadata(found: Any) -> Usage | None:
    """Usage as the API reports it; thoughts are output."""
    if not isinstance(found, Mapping):
        return None
    output = as_count(field(found, "candidates_token_count")) + as_count(field(found, "thoughts_token_count"))
    usage = Usage(
        as_count(field(found, "prompt_token_count")), output, as_count(field(found, "cached_content_token_count"))
    )
    return usage if usage != Usage() else None


def stop_of(reason: Any) -> dict[str, str]:
    """The `meta` of a step that did not end by itself."""
    return {} if str(reason or "") in _NORMAL_STOPS else {"stop": str(reason)}
