"""What a provider caches of a request as hashes, so that what broke the cache can be named. Knows nothing of models, of
replies or of how requests are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec


class Prints(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes of the parts of a body. `order` is that of the prompt, `settings` are further fields that are part of it.

    The print of a message joins those of its fields and of its pieces by `/`, so that one which was gone on with begins
    with what it was. Marks for caching are no part of any: they move from request to request.
    """

    model: str = ""
    system: str = ""
    tools: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    messages: tuple[str, ...] = ()
    order: tuple[str, ...] = ("system", "tools")


class _Layout(NamedTuple):
    system: str
    order: tuple[str, ...]
    settings: tuple[str, ...]


# Sources: the providers' guides on prompt caching, read November 2026. Anthropic: tools, system, messages, and what
# invalidates them. OpenAI: the schema of an answer stands in front of the system message, and another cache key leads
# to another machine. Google names no order: that of its documentation is taken.
_LAYOUTS = {
    "anthropic": _Layout(
        "system", ("tools", "system"), ("tool_choice", "thinking", "output_config", "output_format", "speed")
    ),
    "openai-chat": _Layout("", ("system", "tools"), ("response_format", "prompt_cache_key")),
    "openai-responses": _Layout("instructions", ("system", "tools"), ("text", "prompt_cache_key", "conversation")),
    "gemini": _Layout("systemInstruction", ("system", "tools"), ("cachedContent", "toolConfig")),
}
_OTHER = _Layout("system", ("system", "tools"), ())


def prints_of(body: Mapping[str, Any], wire: Any) -> Prints:
    """The prints of a payload of that wire (a wire module)."""
    layout = _LAYOUTS.get(wire.NAME.removesuffix("-strict"), _OTHER)
    messages = body.get(wire.MESSAGES) or ()
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    front = 0
    while not layout.system and front < len(messages) and messages[front].get("role") in ("system", "developer"):
        front += 1  # chat completions: the messages in front are the system text
    system = "/".join(map(_print_of, messages[:front])) if front else "/".join(_pieces(body.get(layout.system)))
    return Prints(
        model=str(body.get("model") or ""),
        system=system,
        tools=tuple(_hash(_bare(tool)) for tool in body.get("tools") or ()),
        settings=tuple((name, _hash(body[name])) for name in layout.settings if body.get(name) is not None),
        messages=tuple(map(_print_of, messages[front:])),
        order=layout.order,
    )


def what_changed(before: Prints, after: Prints) -> tuple[str, ...]:
    """What of `before` does not stand in front of `after`, in the order of the prompt: `model`, `tools` or `order of
    tools`, `system`, a setting by its name, and `order of messages` or the first message that differs (`message 7`,
    counted from 1 behind the system text). Empty: `after` goes on from `before`."""
    changed = ["model"] if before.model and after.model and before.model != after.model else []
    named = {"system": "system" if before.system != after.system else "", "tools": _tools_change(before, after)}
    changed += [named[part] for part in before.order if named[part]]
    changed += dict.fromkeys(name for name, _ in sorted(set(before.settings) ^ set(after.settings)))
    return (*changed, *_message_change(before.messages, after.messages))


def _tools_change(before: Prints, after: Prints) -> str:
    if before.tools == after.tools:
        return ""
    return "order of tools" if sorted(before.tools) == sorted(after.tools) else "tools"


def _message_change(before: Sequence[str], after: Sequence[str]) -> list[str]:
    for at, (one, other) in enumerate(zip_longest(before, after[: len(before)], fillvalue="")):
        is_grown = at == len(before) - 1 and other.startswith(f"{one}/")
        if one != other and not is_grown:
            is_moved = sorted(before) == sorted(after[: len(before)])
            return ["order of messages" if is_moved else f"message {at + 1}"]
    return []


def _print_of(message: Mapping[str, Any]) -> str:
    """The fields around the words of a message, then its pieces. What is left out means the user."""
    fields = {key: value for key, value in _bare(message).items() if key not in ("content", "parts")}
    words = message.get("content", message.get("parts"))
    return "/".join([_hash({"role": "user", **fields}), *_pieces(words)])


def _pieces(words: Any) -> list[str]:
    """The pieces of a content; a text is a list of one text block. A text is taken by paragraphs, as some wires go on
    with the text itself."""
    if words is None:
        return []
    if isinstance(words, str):
        return _paragraphs(words)
    blocks = words.get("parts", [words]) if isinstance(words, Mapping) else words
    out: list[str] = []
    for block in blocks:
        bare = _bare(block)
        text = bare.get("text")
        is_text = isinstance(text, str) and set(bare) <= {"type", "text"} and bare.get("type", "text") == "text"
        out += _paragraphs(text) if is_text and isinstance(text, str) else [_hash(bare)]
    return out


def _paragraphs(text: str) -> list[str]:
    return [_hash([not at, paragraph]) for at, paragraph in enumerate(text.split("\n\n"))]


def _bare(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block, message or tool without its mark for caching, and without those inside a result."""
    out = {key: value for key, value in block.items() if key != "cache_control"}
    inner = out.get("content")
    if block.get("type") == "tool_result" and isinstance(inner, list):
        out["content"] = [_bare(one) for one in inner]
    return out


def _hash(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
