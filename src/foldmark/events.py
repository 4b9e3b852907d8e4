"""The event: one thing that happened, immutable, the source of truth. Knows nothing of storage, providers, tokens.

An event is one message-sized step: a user's words, an assistant step with all its calls, *one* tool result, an
injected text, or a control record that is kept but never shown to a model. Parallel results are events of
their own, in arrival order; the wire writes them in call order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

CONTINUES = "continues"
"""`meta` key of an assistant event that is the rest of the step at the seq it names (a transcript grew in mid-step).
Its fingerprints are those of the whole step, so that the transcript matches again."""

Role = Literal["system", "user", "assistant", "tool", "control"]
Origin = Literal["user", "agent", "tool", "injected", "control"]


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="type", omit_defaults=True):
    """Plain text. `raw` keeps a provider block verbatim where the text alone would lose something (citations)."""

    text: str
    raw: dict[str, Any] | None = None


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning", tag_field="type", omit_defaults=True):
    """A model's thinking. `raw` is the provider's block, untouched: signed or encrypted blocks are replayed
    byte-equal or left out whole, never edited."""

    text: str = ""
    provider: str = ""
    raw: dict[str, Any] | None = None


class ToolCall(msgspec.Struct, frozen=True, tag="call", tag_field="type", omit_defaults=True):
    """A call that the model made. `arguments` is JSON text exactly as it arrived."""

    id: str
    name: str
    arguments: str = "{}"


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the full body of a shortened part is: `sha256` of its UTF-8 bytes, `size` in bytes, `lines`, `kind`.

    `number` counts the artifacts of one event (1, 2, …): `artifact:812` is the first, `artifact:812.2` the second.
    `tokens` is what the whole body would cost, 0 when it was not counted.
    """

    sha256: str
    size: int
    lines: int
    kind: str
    number: int = 1
    tokens: int = 0


class Image(msgspec.Struct, frozen=True, tag="image", tag_field="type", omit_defaults=True):
    """An image: either `data` (base64) with `media_type`, or a `url`. `width` and `height` in pixels, 0 unknown.

    With an `artifact` the base64 text is outside and `data` is empty, until a request that shows it goes out.
    """

    media_type: str = ""
    data: str = ""
    url: str = ""
    width: int = 0
    height: int = 0
    detail: str = ""
    artifact: Artifact | None = None


class ToolResult(msgspec.Struct, frozen=True, tag="result", tag_field="type", omit_defaults=True):
    """What a call returned. With an `artifact`, `text` is the preview and the body is outside."""

    call_id: str
    text: str = ""
    name: str = ""
    is_error: bool = False
    images: tuple[Image, ...] = ()
    artifact: Artifact | None = None


class Paste(msgspec.Struct, frozen=True, tag="paste", tag_field="type", omit_defaults=True):
    """A giant piece of a user's message that was admitted like a tool result: `text` is its preview."""

    text: str
    artifact: Artifact


class Opaque(msgspec.Struct, frozen=True, tag="opaque", tag_field="type", omit_defaults=True):
    """A provider block or a foreign record that we carry and do not read. `provider` says whose."""

    provider: str
    raw: dict[str, Any]


Part = Text | Reasoning | ToolCall | ToolResult | Image | Paste | Opaque


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the provider reported, normalised: `input` is the *whole* prompt in tokens, cached ones included."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened.

    `id` is the caller's, else derived. `seq` is given by the store, 1, 2, … per lineage; 0 means not recorded yet.
    `session` is the session that owns the row (an inherited event names the parent). `scope` is the filter key;
    an event without one takes its `branch`. `time` is Unix seconds. `plain` and `chain` are fingerprints: of this
    event alone, and of the line of events up to it. `tokens` is the o200k count of its parts, without overhead.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    origin: Origin = "injected"
    id: str = ""
    session: str = ""
    seq: int = 0
    branch: str = ""
    scope: str = ""
    time: float | None = None
    usage: Usage | None = None
    provider: str = ""
    model: str = ""
    meta: dict[str, str] = {}
    plain: str = ""
    chain: str = ""
    tokens: int = 0

    @property
    def key(self) -> str:
        """The filter key that scopes compare with: `scope`, else `branch`."""
        return self.scope or self.branch

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def result(self) -> ToolResult | None:
        """The tool result of a tool event (there is exactly one), else None."""
        return next((part for part in self.parts if isinstance(part, ToolResult)), None)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Of every part, and of the images of a result; in order, each with a number of its own."""
        held = (each for part in self.parts for each in (part, *getattr(part, "images", ())))
        return tuple(artifact for each in held if (artifact := getattr(each, "artifact", None)))

    @property
    def text(self) -> str:
        """The words of the event as shown: texts, paste previews and result text, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, (Text, ToolResult, Paste)) and part.text)

    @property
    def is_user(self) -> bool:
        """A real user's words; injected user-role rows are not."""
        return self.role == "user" and self.origin == "user"


def images_of(event: Event) -> Iterator[Image]:
    """Every image of an event, those of its results too."""
    for part in event.parts:
        if isinstance(part, Image):
            yield part
        elif isinstance(part, ToolResult):
            yield from part.images


def with_images(events: Iterable[Event]) -> list[Event]:
    """Those of the events that hold an image, in a result or by itself. Every request asks this of its whole past:
    plain loops, a look at each part and no more."""
    found = []
    for event in events:
        for part in event.parts:
            kind = type(part)
            if kind is Image or (kind is ToolResult and part.images):  # type: ignore[union-attr]
                found.append(event)
                break
    return found


def user(text: str, **fields: Any) -> Event:
    """A real user's message."""
    return Event(role="user", origin="user", parts=(Text(text),), **fields)


def injected(text: str, **fields: Any) -> Event:
    """Text that code put in as role user: a reminder, a notice, a foreign summary. Never the user's authority."""
    return Event(role="user", origin="injected", parts=(Text(text),), **fields)


def assistant(text: str = "", *calls: ToolCall, **fields: Any) -> Event:
    """An assistant step: its text and all its calls."""
    parts: tuple[Part, ...] = ((Text(text),) if text else ()) + calls
    return Event(role="assistant", origin="agent", parts=parts, **fields)


def result(
    call_id: str, text: str, *, name: str = "", is_error: bool = False, images: Iterable[Image] = (), **fields: Any
) -> Event:
    """One tool result, with the images that it shows."""
    made = ToolResult(call_id, text, name=name, is_error=is_error, images=tuple(images))
    return Event(role="tool", origin="tool", parts=(made,), **fields)


def control(kind: str, raw: dict[str, Any], *, provider: str = "", **fields: Any) -> Event:
    """A record that is kept and never sent: an unknown transcript line, a setting change."""
    return Event(role="control", origin="control", parts=(Opaque(provider, raw),), meta={"control": kind}, **fields)


class Body(msgspec.Struct, frozen=True):
    """A full text on its way to the artifact store, as `artifact:<seq>.<number>`; stored as UTF-8 (surrogatepass)."""

    seq: int
    number: int
    sha256: str
    kind: str
    text: str


class Reading(msgspec.Struct, frozen=True):
    """A new event as the note-taking steps read it: whole and redacted.

    `text` is its whole words (a result's or paste's full body, not the preview), `calls` its calls and `call` the
    call it answers, both with redacted arguments; `call_seq` is where that call was made, `call_key` the key of the
    event that made it.
    """

    event: Event
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: ToolCall | None = None
    call_seq: int = 0
    call_key: str = ""


_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Event)


def to_json(event: Event) -> bytes:
    """The JSON form of an event. Lone surrogates are kept as escapes, so every string survives."""
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(event), sort_keys=True, ensure_ascii=True).encode()


def from_json(data: bytes | str) -> Event:
    """Read the JSON form back. Raises `msgspec.DecodeError` when it is not one."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        import json

        return msgspec.convert(json.loads(data), Event)


_TEXTS = ("role", "origin", "id", "session", "branch", "scope", "provider", "model", "plain", "chain")


def misfit(event: Event) -> str:
    """What of an event is not of its type, empty for nothing. A store could not read such an event again."""
    for name in _TEXTS:
        if not isinstance(getattr(event, name), str):
            return f"{name} is {getattr(event, name)!r:.80}, and takes a text"
    try:
        from_json(to_json(event))
    except (msgspec.MsgspecError, TypeError, ValueError, AttributeError, OverflowError) as error:
        return str(error) or type(error).__name__
    return ""


def _digest(value: Any) -> str:
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        data = repr(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _identity(part: Part) -> Any:
    """What of a part makes two events the same: never cache marks, usage, times or provider message ids."""
    match part:
        case Text(text=text):
            return ["t", text]
        case Reasoning(text=text):
            return ["r", text]
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return ["c", call_id, name, arguments]
        case ToolResult(call_id=call_id, text=text, images=images, artifact=artifact):
            body = artifact.sha256 if artifact else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            return ["o", call_id, body, [_identity(image) for image in images]]
        case Image(artifact=artifact) if artifact:
            return ["i", artifact.sha256]
        case Image(data=data, url=url):
            return ["i", hashlib.sha256((data or url).encode("utf-8", "surrogatepass")).hexdigest()]
        case Paste(artifact=artifact):
            return ["p", artifact.sha256]
        case Opaque(raw=raw):
            return ["x", {key: value for key, value in raw.items() if key not in ("id", "cache_control", "usage")}]


def fingerprint(event: Event) -> str:
    """The plain fingerprint: role, call ids, names, arguments, text and media hashes of this event."""
    if event.plain:
        return event.plain
    return _digest([event.role, [_identity(part) for part in event.parts]])


def named(event: Event) -> Event:
    """The event with its plain fingerprint filled in, so that it is worked out once."""
    return event if event.plain else msgspec.structs.replace(event, plain=fingerprint(event))


def chained(events: Iterable[Event], after: str = "") -> list[Event]:
    """Fill `plain` and `chain`, each chain over all before it (`after` is the chain of the event in front).

    Fingerprint events *as they arrived*: before admission replaces a body by its preview.
    """
    out: list[Event] = []
    for event in events:
        plain = fingerprint(event)
        after = linked(after, plain)
        out.append(msgspec.structs.replace(event, plain=plain, chain=after))
    return out


def linked(after: str, plain: str) -> str:
    """The chain of an event with this plain fingerprint behind the chain `after`."""
    return hashlib.blake2b((after + plain).encode(), digest_size=16).hexdigest()
