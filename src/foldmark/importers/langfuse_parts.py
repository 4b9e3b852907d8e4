"""The `parts` of a traced message as events: OpenTelemetry's gen_ai conventions, and contents of Gemini. Knows
nothing of traces.

A call without an id has an empty one here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foldmark.events import Event, Image, Opaque, Origin, Part, Reasoning, Role, Text, ToolCall
from foldmark.importers import gemini_parts
from foldmark.importers.parts import arguments_of, mappings, result_of, words_of
from foldmark.wire.plain import as_mapping, as_name, as_text

CONVENTION = "gen_ai"
DERIVED = "call__"
_ORIGINS: dict[str, Origin] = {"user": "user", "assistant": "agent", "system": "injected", "tool": "injected"}


def said(content: Any, path: str) -> tuple[Part, ...]:
    """Content as text where it is text, whole where it is not."""
    if isinstance(content, list):
        return tuple(part for at, each in enumerate(content) for part in said(each, f"{path}[{at}]"))
    if isinstance(content, Mapping):
        words = content.get("text", content.get("content"))
        return (Text(words),) if isinstance(words, str) else (Opaque(CONVENTION, dict(content)),)
    return (Text(words_of(content)),) if content not in (None, "") else ()


def parts_events(parts: list[Any], role: Role, path: str) -> Iterable[Event]:
    """The events of one message: results first, then what else it says. Raises WireError with the path."""
    if any(isinstance(part, Mapping) and "type" in part for part in parts):
        return _of_convention(parts, role, path)
    return _of_gemini(parts, role, path)


def _of_gemini(parts: list[Any], role: Role, path: str) -> Iterable[Event]:
    found = list(gemini_parts.pieces(parts, path))
    if role == "assistant":
        step = gemini_parts.step_parts(found, "")
        yield Event(role="assistant", origin="agent", parts=tuple(without_derived_id(part) for part in step))
        return
    rest: list[Part] = []
    for piece in found:
        if piece.kind == "function_response":
            response = as_mapping(piece.value, piece.path)
            answer = response.get("response")
            words, is_error = gemini_parts.response_words(answer), gemini_parts.is_failure(answer)
            call_id = as_text(response.get("id"), f"{piece.path}.id")
            yield result_of(call_id, words, name=as_text(response.get("name"), piece.path), is_error=is_error)
        else:
            rest.append(gemini_parts.media_part(piece))
    if rest:
        yield Event(role="user" if role == "tool" else role, origin=_ORIGINS[role], parts=tuple(rest))


def without_derived_id(part: Part) -> Part:
    """A call whose id was made up while reading, with an empty one."""
    is_derived = isinstance(part, ToolCall) and part.id.startswith(DERIVED)
    return msgspec.structs.replace(part, id="") if is_derived else part


def _of_convention(parts: list[Any], role: Role, path: str) -> Iterator[Event]:
    rest: list[Part] = []
    for where, part in mappings(parts, path):
        if part.get("type") == "tool_call_response":
            answer = next((part[key] for key in ("result", "response", "content") if key in part), None)
            call_id = as_text(part.get("id"), f"{where}.id")
            is_error = bool(part.get("is_error")) or gemini_parts.is_failure(answer)
            yield result_of(
                call_id, words_of(answer), name=as_text(part.get("name"), f"{where}.name"), is_error=is_error
            )
        else:
            rest.append(_convention_part(part, where))
    if rest:
        yield Event(role="user" if role == "tool" else role, origin=_ORIGINS[role], parts=tuple(rest))


def _convention_part(part: Mapping[str, Any], path: str) -> Part:
    kind, content = str(part.get("type") or ""), part.get("content")
    if kind == "text":
        return Text(as_text(content if content is not None else part.get("text"), f"{path}.content"))
    if kind == "tool_call":
        call_id = as_text(part.get("id"), f"{path}.id")
        return ToolCall(call_id, as_name(part.get("name"), f"{path}.name"), arguments_of(part.get("arguments")))
    if kind in ("reasoning", "thinking") or kind.endswith("ReasoningContent"):
        words = content.get("text") if isinstance(content, Mapping) else content
        return Reasoning(as_text(words, f"{path}.content"), CONVENTION, dict(part))
    if kind in ("blob", "uri") and str(part.get("mime_type") or part.get("modality") or "").startswith("image"):
        media_type = str(part.get("mime_type") or "")
        return Image(media_type=media_type, data=str(content or part.get("data") or ""), url=str(part.get("uri") or ""))
    return Opaque(CONVENTION, dict(part))
