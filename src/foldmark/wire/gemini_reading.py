"""Gemini contents and replies as events, in either spelling. Knows nothing of how requests are built.

- A `thoughtSignature` belongs to the part it came on. A text part keeps it in `raw`; a call's stands as reasoning
  directly in front of the call, `Reasoning(raw={"thoughtSignature": …})`, and is written back onto that call.
- Calls of older models have no ids. Such a call is named after where it stands, `<name>_<n>` for the n-th of its name
  in its message, and so is a response without an id: each message can be read for itself, and pairs hold. A whole list
  knows more: there a response answers the first unanswered call of its name.
- A response is an object. `{"output": text}` and `{"error": text}` are that text; any other object is its JSON text,
  and the event says so in `meta`, so that it is written as an object again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from foldmark.wire.gemini_schema import PROVIDER, read_tools
from foldmark.wire.gemini_spelling import as_sent
from foldmark.wire.plain import as_count, as_mapping, as_name, as_text, compact_json, items
from foldmark.wire.shapes import misfits
from foldmark.wire.strangers import check_reply
from foldmark.wire.values import Transcript

RESPONSE = "response"
"""`meta` key of a tool event; its value `object` says that the response came as an object of its own."""
DATA = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""What a part can hold; exactly one of them."""
_MEDIA = {"mimeType": str, "data": str, "fileUri": str}
_NAMED = {"id": str, "name": str}
PART = {
    **dict.fromkeys(DATA, Mapping),
    "text": str,
    "inlineData": _MEDIA,
    "fileData": _MEDIA,
    "functionCall": _NAMED,
    "functionResponse": {**_NAMED, "parts": [{"inlineData": _MEDIA, "fileData": _MEDIA}]},
}
"""Of what shape a part is, for `misfits`."""

_NORMAL_STOPS = (None, "STOP", "FINISH_REASON_UNSPECIFIED")
_REPLY = ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata")
_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
}


_ENDING = re.compile(r"/[^/?#]*(\.[a-z]+)(?:[?#].*)?\Z")


class OpenCall(msgspec.Struct, frozen=True):
    """A call that no response has answered yet; `has_id` says whether the provider gave its id."""

    id: str
    name: str
    has_id: bool


def read(reply: Any) -> list[Event]:
    """One content, or a reply, as events (SDK object or dict). Raises WireError with the path.

    Of several candidates the first is read. `promptTokenCount` holds cached tokens already; thoughts are output.
    """
    reply = as_mapping(reply, "message")
    if not any(key in reply for key in _REPLY):
        fits = "parts" in reply or set(reply) == {"role"}
        check_reply(reply, "gemini", "generateContent", "`candidates` and no `parts`", fits=fits)
        return read_message(reply, "message")
    reply = as_sent(reply)
    candidates = items(reply.get("candidates"), "candidates")
    if not candidates:
        blocked = as_mapping(reply.get("promptFeedback") or {}, "promptFeedback").get("blockReason")
        why = f" (the prompt was blocked: {blocked})" if blocked else ""
        raise WireError("candidates", f"the reply holds no candidate{why}, so there is no message to read.")
    candidate = as_mapping(candidates[0], "candidates[0]")
    content = as_mapping(candidate.get("content") or {}, "candidates[0].content")
    events = read_message({"role": "model", "parts": content.get("parts")}, "candidates[0].content")
    stop = candidate.get("finishReason")
    fields: dict[str, Any] = {
        "usage": read_usage(reply.get("usageMetadata")),
        "model": str(reply.get("modelVersion") or ""),
    }
    if stop not in _NORMAL_STOPS:
        fields["meta"] = {"stop": str(stop)}
    return [msgspec.structs.replace(event, **fields) for event in events]


def read_messages(messages: Any, system: Any = None, tools: Any = None) -> Transcript:
    """A list of contents as a transcript. Parts nobody knows are kept and give one warning each. Raises WireError
    with the path `contents[i]…`."""
    if isinstance(messages, (str, Mapping)):
        messages = [messages]
    events: list[Event] = []
    waiting: list[OpenCall] = []
    for at, message in enumerate(items(messages, "contents")):
        events += read_message(message, f"contents[{at}]", waiting)
    return Transcript(
        system="\n\n".join(text for text in _system_texts(system) if text),
        tools=tuple(read_tools(tools)),
        events=tuple(events),
        warnings=tuple(unknown_parts(events)),
    )


def read_payload(payload: Mapping[str, Any]) -> Transcript:
    """A whole payload (`systemInstruction`, `contents`, `tools`) as a transcript. Raises WireError."""
    payload = as_mapping(payload, "payload")
    system = payload.get("systemInstruction", payload.get("system_instruction"))
    return read_messages(payload.get("contents"), system, payload.get("tools"))


def unknown_parts(events: Iterable[Event]) -> list[str]:
    """One warning for every sort of part that was kept whole because we do not know it."""
    kinds = {
        kind_of(part.raw)
        for event in events
        for part in event.parts
        if isinstance(part, Opaque) and part.provider == PROVIDER
    }
    return [f"parts of type {kind!r} are kept whole and not read" for kind in sorted(kinds - set(DATA))]


def kind_of(part: Mapping[str, Any]) -> str:
    """Which kind of data a part holds; the name of its first field when it is none we know."""
    return next((key for key in DATA if key in part), next(iter(part), "nothing"))


def read_usage(usage: Any) -> Usage | None:
    usage = as_sent(usage)
    if not isinstance(usage, Mapping):
        return None
    return Usage(
        input=as_count(usage.get("promptTokenCount")),
        output=as_count(usage.get("candidatesTokenCount")) + as_count(usage.get("thoughtsTokenCount")),
        cache_read=as_count(usage.get("cachedContentTokenCount")),
    )


def read_message(message: Any, path: str, waiting: list[OpenCall] | None = None) -> list[Event]:
    """One content as events. `waiting` holds the unanswered calls of the contents in front: it is kept up to date,
    and tells which call a response answers."""
    if isinstance(message, str):
        return [Event(role="user", origin="user", parts=(Text(message),))]
    message = as_sent(as_mapping(message, path))
    role = message.get("role")
    where = f"{path}.parts"
    if "parts" not in message and message.get("content"):
        raise WireError(where, "are missing: the message has `content`, as other APIs take it. Nothing was read.")
    parts = [as_mapping(part, f"{where}[{at}]") for at, part in enumerate(items(message.get("parts"), where))]
    for at, part in enumerate(parts):
        for place in misfits(part, PART):
            raise WireError(f"{where}[{at}]{place}", "is not of the shape that the API takes.")
    if role == "model":
        return [_step(parts, where, waiting)]
    if role not in (None, "user", "function"):
        raise WireError(f"{path}.role", f"{role!r} is no role of the Gemini API.")
    events = _results(parts, where, [] if waiting is None else waiting)
    rest = tuple(
        _part(part, f"{where}[{at}]") for at, part in enumerate(parts) if part and "functionResponse" not in part
    )
    if rest or not events:
        events.append(Event(role="user", origin="user", parts=rest))
    return events


def derived_id(name: str, number: int) -> str:
    """The id of the n-th call (or response) of that name in its message, where the provider gave none."""
    return f"{name}_{number}"


def _step(parts: list[Mapping[str, Any]], path: str, waiting: list[OpenCall] | None) -> Event:
    found: list[Part] = []
    counts: dict[str, int] = {}
    made: list[OpenCall] = []
    for at, part in enumerate(parts):
        where = f"{path}[{at}]"
        if "functionCall" in part:
            found += _call(part, where, counts, made)
        elif part:
            found.append(_part(part, where))
    if waiting is not None:
        waiting[:] = made
    return Event(role="assistant", origin="agent", parts=tuple(found), provider=PROVIDER)


def _call(part: Mapping[str, Any], path: str, counts: dict[str, int], made: list[OpenCall]) -> list[Part]:
    path = f"{path}.functionCall"
    call = as_mapping(part["functionCall"], path)
    name = as_name(call.get("name"), f"{path}.name")
    call_id = as_text(call.get("id"), f"{path}.id")
    if not call_id:
        counts[name] = counts.get(name, 0) + 1
    made.append(OpenCall(call_id or derived_id(name, counts[name]), name, bool(call_id)))
    arguments = call.get("args")
    if not isinstance(arguments, str):
        arguments = compact_json(as_mapping({} if arguments is None else arguments, f"{path}.args"))
    beside = {key: value for key, value in part.items() if key != "functionCall"}
    before = [Reasoning("", PROVIDER, beside)] if beside else []
    return [*before, ToolCall(made[-1].id, name, arguments)]


def _results(parts: list[Mapping[str, Any]], path: str, waiting: list[OpenCall]) -> list[Event]:
    counts: dict[str, int] = {}
    events = []
    for at, part in enumerate(parts):
        if "functionResponse" not in part:
            continue
        where = f"{path}[{at}].functionResponse"
        response = as_mapping(part["functionResponse"], where)
        name = as_name(response.get("name"), f"{where}.name")
        call_id = as_text(response.get("id"), f"{where}.id")
        if not call_id:
            counts[name] = counts.get(name, 0) + 1
        call = _answered(call_id, name, waiting)
        events.append(_result(response, where, call.id if call else call_id or derived_id(name, counts[name])))
    return events


def _answered(call_id: str, name: str, waiting: list[OpenCall]) -> OpenCall | None:
    """The call that a response answers, taken out of those that wait: the one of its id, else the first of its name
    that came without an id, else (for a response without one) the first of its name."""
    alike = [call for call in waiting if call.name == name]
    found = next((call for call in waiting if call_id and call.id == call_id), None)
    found = found or next((call for call in alike if not call.has_id), None)
    found = found or (alike[0] if alike and not call_id else None)
    if found is not None:
        waiting.remove(found)
    return found


def _result(response: Mapping[str, Any], path: str, call_id: str) -> Event:
    given = response.get("response")
    value = as_mapping({"output": ""} if given is None else given, f"{path}.response")
    text, is_error, is_object = text_of_response(value)
    media = [
        _part(part, f"{path}.parts[{at}]") for at, part in enumerate(items(response.get("parts"), f"{path}.parts"))
    ]
    images = tuple(part for part in media if isinstance(part, Image))
    result = ToolResult(call_id, text, name=response["name"], is_error=is_error, images=images)
    extra = tuple(part for part in media if not isinstance(part, Image))
    meta = {RESPONSE: "object"} if is_object else {}
    return Event(role="tool", origin="tool", parts=(result, *extra), meta=meta)


def text_of_response(response: Mapping[str, Any]) -> tuple[str, bool, bool]:
    """A response as (text, whether it is an error, whether it is an object of its own)."""
    if len(response) == 1:
        for key, is_error in (("output", False), ("error", True)):
            if isinstance(response.get(key), str):
                return response[key], is_error, False
    return compact_json(response), bool(response.get("error")) and "output" not in response, True


def _part(part: Any, path: str) -> Part:
    part = as_mapping(part, path)
    if "text" in part:
        return _text(part, as_text(part["text"], f"{path}.text"))
    for key in part:
        if key in DATA:
            value = as_mapping(part[key], f"{path}.{key}")
            if len(part) == 1 and key in ("inlineData", "fileData"):
                return _media(part, value)
    if set(part) == {"thoughtSignature"}:
        # A signature on no data is refused when it comes back; on an empty text it is taken.
        return Reasoning("", PROVIDER, {"text": "", **part})
    return Opaque(PROVIDER, dict(part))


def _text(part: Mapping[str, Any], text: str) -> Part:
    if part.get("thought") or (not text and "thoughtSignature" in part):
        return Reasoning(text, PROVIDER, dict(part))
    return Text(text, raw=dict(part) if len(part) > 1 else None)


def _media(part: Mapping[str, Any], value: Mapping[str, Any]) -> Part:
    media_type = str(value.get("mimeType") or "")
    if media_type.startswith("image/"):
        if set(value) == {"mimeType", "data"} and isinstance(value["data"], str):
            return Image(media_type=media_type, data=value["data"])
        url = value.get("fileUri")
        if set(value) == {"mimeType", "fileUri"} and isinstance(url, str) and _is_open(url):
            return Image(media_type="" if media_type == type_of_url(url) else media_type, url=url)
    return Opaque(PROVIDER, dict(part))


def _is_open(url: str) -> bool:
    """Whether any provider could fetch it: files of the provider's own store are kept whole instead."""
    return url.startswith(("https://", "http://")) and not url.startswith("https://generativelanguage.googleapis.com/")


def type_of_url(url: str) -> str:
    """The image type that the ending of an address tells, empty when it tells none."""
    ending = _ENDING.search(url.lower())
    return _TYPES.get(ending[1], "") if ending else ""


def _system_texts(system: Any) -> list[str]:
    if system is None or isinstance(system, str):
        return [system or ""]
    system = as_sent(system)
    parts = system.get("parts", [system]) if isinstance(system, Mapping) else system
    parts = [parts] if isinstance(parts, (str, Mapping)) else items(parts, "systemInstruction.parts")
    return [
        part
        if isinstance(part, str)
        else as_text(as_mapping(part, path := f"systemInstruction.parts[{at}]").get("text"), f"{path}.text")
        for at, part in enumerate(parts)
    ]
