"""Items of the Responses API and whole responses as events. Knows nothing of how requests are built.

The API has a flat list; an event is a step. Items of the model's side that stand together (reasoning, words, calls,
what its own tools did) are one assistant event, up to the next answer or input item. Words end a step when other
words follow: behind a message and before the next one a new step begins, unless a call of the step waits for its
answer or the message says it is a `commentary`. So steps that follow each other are told apart again when our own
payload is read.

Every call that is ours to answer is a `ToolCall` with neutral arguments, whatever its kind; its kind, its item id and
what else it carries stand in the event's `meta` under this wire's name, so that it goes back in its own form. Fields
that are null are left out, as are those that only SDKs add.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from foldmark.wire.media import image_of_url
from foldmark.wire.plain import (
    DEEPEST,
    as_count,
    as_mapping,
    as_name,
    as_text,
    compact_json,
    items,
    parse_json,
    plain,
    too_deep,
)
from foldmark.wire.responses_items import (
    CALLS,
    KNOWN,
    PROVIDER,
    arguments_of,
    is_answer,
    is_block,
    is_call,
    is_of_a_step,
    kind_of,
    read_answer,
)
from foldmark.wire.strangers import check_reply
from foldmark.wire.tools import neutral_tools
from foldmark.wire.values import Transcript

_SDK_ONLY = ("parsed", "parsed_arguments", "created_by")
"""Fields that SDK objects add to what arrived; the API answers them with `Unknown parameter`."""


def read(reply: Any) -> list[Event]:
    """One item, a list of items, or a whole response, as events (SDK object or dict). Raises WireError with the path.

    Usage and the reason of an early stop stand on the last event of a response. `input_tokens` holds cached ones.
    """
    if isinstance(reply, (list, tuple)):
        return read_items(reply)
    reply = as_mapping(reply, "item")
    if not _is_response(reply):
        check_reply(reply, "openai-responses", "the Responses API", "`output` and no item in it", fits=_is_item(reply))
        return read_items([reply])
    events = read_items(items(reply.get("output"), "output"), "output")
    if not events or events[-1].role != "assistant":
        events.append(Event(role="assistant", origin="agent", provider=PROVIDER))
    model = str(reply.get("model") or "")
    events = [msgspec.structs.replace(event, model=model) for event in events]
    stop = _stop(reply)
    meta = {**events[-1].meta, "stop": stop} if stop else events[-1].meta
    events[-1] = msgspec.structs.replace(events[-1], usage=read_usage(reply.get("usage")), meta=meta)
    return events


def read_messages(messages: Any, system: Any = None, tools: Any = None) -> Transcript:
    """Items (or one text) as a transcript. Leading system and developer messages are part of the system text; later
    ones are events where they stand. Raises WireError with the path `input[i]…`."""
    given = [{"role": "user", "content": messages}] if isinstance(messages, str) else items(messages, "input")
    texts = [as_text(system, "instructions")] if system else []
    events = read_items(given)
    front = next((at for at, event in enumerate(events) if event.role != "system"), len(events))
    texts += [event.text for event in events[:front]]
    return Transcript(
        system="\n\n".join(text for text in texts if text),
        tools=tuple(neutral_tools(tools)),
        events=tuple(events[front:]),
        warnings=tuple(_unknown(events)),
    )


def read_payload(payload: Mapping[str, Any]) -> Transcript:
    """A whole payload (`instructions`, `input`, `tools`) as a transcript. Raises WireError."""
    payload = as_mapping(payload, "payload")
    return read_messages(payload.get("input"), payload.get("instructions"), payload.get("tools"))


def read_usage(usage: Any) -> Usage | None:
    usage = plain(usage)
    if not isinstance(usage, Mapping):
        return None
    details = plain(usage.get("input_tokens_details"))
    details = details if isinstance(details, Mapping) else {}
    return Usage(
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cache_read=as_count(details.get("cached_tokens")),
        cache_write=as_count(details.get("cache_write_tokens")),
    )


def read_items(given: Iterable[Any], path: str = "input") -> list[Event]:
    """A list of items as events. Raises WireError with the path `input[i]…`."""
    events: list[Event] = []
    step: list[_Piece] = []
    names: dict[str, str] = {}
    for at, value in enumerate(given):
        where = f"{path}[{at}]"
        item = _bare(as_mapping(value, where))
        kind = kind_of(item, where)
        if is_of_a_step(item, kind):
            piece = _piece(item, kind, where)
            if piece.is_message and (ended := _ended(step)):
                events.append(_step(step[:ended], names))
                step = step[ended:]
            step.append(_parted(piece) if step and step[-1].is_message else piece)
            continue
        if step:
            events.append(_step(step, names))
            step = []
        events.append(_given(item, kind, where, names))
    return [*events, _step(step, names)] if step else events


def about(event: Event) -> dict[str, Any]:
    """What this wire keeps of an event beside its neutral parts: of an assistant event `calls` (call id to type and
    fields) and `is_reasoned`, of a tool event the fields of its item."""
    text = event.meta.get(PROVIDER)
    try:
        found = parse_json(text) if text else {}
    except ValueError:  # not of our writing
        found = {}
    return found if isinstance(found, dict) else {}


def _is_response(reply: Mapping[str, Any]) -> bool:
    return str(reply.get("object") or "").startswith("response") or ("output" in reply and "type" not in reply)


def _is_item(reply: Mapping[str, Any]) -> bool:
    """Whether an object may be one item. One of its own types may carry an error; an error alone is none."""
    if kind := reply.get("type"):
        return bool(kind != "error")
    return ("role" in reply or "id" in reply) and not reply.get("error")


def _stop(reply: Mapping[str, Any]) -> str:
    if reply.get("status") in (None, "completed"):
        return ""
    details = plain(reply.get("incomplete_details"))
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return str(reason or reply["status"])


def _unknown(events: Iterable[Event]) -> list[str]:
    """One warning for every type of item that was kept whole because nobody can read it."""
    kinds = {
        str(part.raw.get("type") or "item_reference")
        for event in events
        for part in event.parts
        if isinstance(part, Opaque) and part.provider == PROVIDER and not is_block(part.raw)
    }
    return [f"items of type {kind!r} are kept whole and not read" for kind in sorted(kinds - KNOWN)]


def _bare(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: plain(value) for key, value in item.items() if value is not None and key not in _SDK_ONLY}


# -- the model's side


class _Piece(msgspec.Struct, frozen=True):
    """One item of a step: its parts, and what of a call the parts do not say."""

    kind: str
    parts: tuple[Part, ...]
    fields: dict[str, Any] = {}
    is_message: bool = False
    is_commentary: bool = False


def _ended(step: list[_Piece]) -> int:
    """How many items of a step are a step of their own when another message follows: those up to its last words, 0 when
    it goes on."""
    last = next((at for at in range(len(step), 0, -1) if step[at - 1].is_message), 0)
    goes_on = any(isinstance(part, ToolCall) for piece in step for part in piece.parts)
    return 0 if goes_on or not last or step[last - 1].is_commentary else last


def _step(pieces: list[_Piece], names: dict[str, str]) -> Event:
    event = Event(
        role="assistant",
        origin="agent",
        parts=tuple(part for piece in pieces for part in piece.parts),
        provider=PROVIDER,
    )
    names.update((call.id, call.name) for call in event.calls)
    kept: dict[str, Any] = {}
    calls = {part.id: piece.fields for piece in pieces for part in piece.parts if isinstance(part, ToolCall)}
    if calls := {call_id: fields for call_id, fields in calls.items() if fields != {"type": "function_call"}}:
        kept["calls"] = calls
    if {piece.kind for piece in pieces} - {"message", "function_call"} > {"reasoning"}:
        kept["is_reasoned"] = True
    return msgspec.structs.replace(event, meta={PROVIDER: compact_json(_deep(kept))}) if kept else event


def _piece(item: Mapping[str, Any], kind: str, path: str) -> _Piece:
    if kind == "message":
        return _words(item, path)
    if kind == "reasoning":
        return _Piece(kind, (_reasoning(item, path),))
    if not is_call(item, kind):
        return _Piece(kind, (Opaque(PROVIDER, {"type": kind} | _deep(item)),))
    about_kind = CALLS[kind]
    name = about_kind.name or as_name(item.get("name"), f"{path}.name")
    call = ToolCall(as_name(item.get("call_id"), f"{path}.call_id"), name, arguments_of(item, about_kind, path))
    said = ("call_id", about_kind.field, "actions" if about_kind.is_kept else "", "" if about_kind.name else "name")
    return _Piece(kind, (call,), {"type": kind} | {key: value for key, value in item.items() if key not in said})


def _reasoning(item: Mapping[str, Any], path: str) -> Reasoning:
    blocks = [*items(item.get("summary"), f"{path}.summary"), *items(item.get("content"), f"{path}.content")]
    texts = [block.get("text") for block in map(plain, blocks) if isinstance(block, Mapping)]
    words = "\n\n".join(text for text in texts if isinstance(text, str) and text)
    return Reasoning(words, PROVIDER, {"type": "reasoning"} | _deep(item))


def _deep(value: Any, room: int = DEEPEST) -> Any:
    """SDK objects inside a value as plain data. Raises WireError when it is more than `room` levels deep."""
    value = plain(value)
    if not room:
        raise too_deep("item")
    if isinstance(value, Mapping):
        return {str(key): _deep(item, room - 1) for key, item in value.items()}
    return [_deep(item, room - 1) for item in value] if isinstance(value, (list, tuple)) else value


def _words(item: Mapping[str, Any], path: str) -> _Piece:
    """A message of the model. What it has beside its words (id, status, phase) goes with its first text; texts that
    name no message of their own belong to the one before."""
    head = {key: value for key, value in item.items() if key not in ("type", "role", "content")}
    piece = _Piece("message", _content(item.get("content"), f"{path}.content"), is_message=True)
    piece = msgspec.structs.replace(piece, is_commentary=head.get("phase") == "commentary")
    return _parted(piece, head) if head else piece


def _parted(piece: _Piece, head: Mapping[str, Any] | None = None) -> _Piece:
    """A message whose first text says that it begins one."""
    at = next((at for at, part in enumerate(piece.parts) if isinstance(part, Text)), None)
    if at is None:
        return piece
    first = piece.parts[at]
    raw = {"type": "output_text", "message": {}, **(getattr(first, "raw", None) or {})}
    first = msgspec.structs.replace(first, raw=raw | ({"message": dict(head)} if head else {}))
    return msgspec.structs.replace(piece, parts=(*piece.parts[:at], first, *piece.parts[at + 1 :]))


# -- what the model is given


def _given(item: Mapping[str, Any], kind: str, path: str, names: Mapping[str, str]) -> Event:
    if kind == "message":
        role, content = as_text(item.get("role"), f"{path}.role"), _content(item.get("content"), f"{path}.content")
        if role == "user":
            return Event(role="user", origin="user", parts=content)
        if role in ("system", "developer"):
            return Event(role="system", origin="injected", parts=content)
        raise WireError(f"{path}.role", f"{role!r} is no role of the Responses API.")
    if is_answer(item, kind):
        return _answer(item, kind, path, names)
    return Event(role="user", origin="injected", parts=(Opaque(PROVIDER, {"type": kind} | _deep(item)),))


def _answer(item: Mapping[str, Any], kind: str, path: str, names: Mapping[str, str]) -> Event:
    call_id = as_name(item.get("call_id") or item.get("id"), f"{path}.call_id")
    found = read_answer(item, kind, path)
    content = () if found else _content(item.get("output"), f"{path}.output")
    result = ToolResult(
        call_id,
        found.text if found else "\n".join(part.text for part in content if isinstance(part, Text)),
        name=names.get(call_id, ""),
        is_error=bool(found and found.is_error),
        images=found.images if found else tuple(part for part in content if isinstance(part, Image)),
    )
    extra = tuple(part for part in content if isinstance(part, Opaque))
    said = ("type", "call_id", "id", "status", "output", "tools")
    fields = {key: value for key, value in item.items() if key not in said} | (found.rest if found else {})
    if kind == "local_shell_call_output" and not item.get("call_id"):
        fields["is_linked_by_id"] = True
    kept = {"type": kind, **fields} if kind != "function_call_output" or fields else {}
    meta = {PROVIDER: compact_json(_deep(kept))} if kept else {}
    return Event(role="tool", origin="tool", parts=(result, *extra), meta=meta)


def _content(content: Any, path: str) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_block(block, f"{path}[{at}]") for at, block in enumerate(items(content, path)))


def _block(block: Any, path: str) -> Part:
    if isinstance(block, str):
        return Text(block)
    block = _bare(as_mapping(block, path))
    kind = block.get("type")
    if kind in ("input_text", "output_text", "text"):
        text = as_text(block.get("text"), f"{path}.text")
        more = {key: _deep(value) for key, value in block.items() if key not in ("type", "text") and value != []}
        return Text(text, raw={"type": "output_text", **more} if more and kind == "output_text" else None)
    if kind == "refusal":
        refusal = as_text(block.get("refusal"), f"{path}.refusal")
        return Text(refusal, raw={"type": "refusal", "refusal": refusal})
    if kind == "input_image" and isinstance(block.get("image_url"), str) and block["image_url"]:
        detail = as_text(block.get("detail"), f"{path}.detail")
        return image_of_url(block["image_url"], "" if detail == "auto" else detail)
    if not isinstance(kind, str):
        raise WireError(f"{path}.type", "a content block has no type.")
    return Opaque(PROVIDER, {key: _deep(value) for key, value in block.items() if key != "prompt_cache_breakpoint"})
