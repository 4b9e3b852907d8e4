"""Reads the payload of any wire as turns, and says what a provider would refuse in it. Knows nothing of our validator.

A turn is what one side says at once: a step with its calls, or what comes back. The rules are those of the fault
list: PAIRS (right behind a step stand results for exactly its calls), ROLES (who may begin, who may follow whom) and
ONCE (no id twice where the provider forbids it).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

STRICT = ("anthropic", "gemini")
"""Wires on which the user begins and the roles alternate."""
UNIQUE = ("anthropic", "openai-responses")
"""Wires on which a call id may stand once in a request."""


class Turn(NamedTuple):
    """Who speaks, the words, the ids of calls, and the ids of calls that are answered."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


def turns(payload: Mapping[str, Any]) -> list[Turn]:
    """The conversation of a payload without its system text; the wire is told by the key that holds it."""
    if "contents" in payload:
        return [_content(content) for content in payload["contents"]]
    if "input" in payload:
        return _joined(_item(item) for item in payload["input"])
    found = [_message(message) for message in payload["messages"] if message["role"] != "system"]
    return _joined(found, only="tool")


def conversation(payload: Mapping[str, Any]) -> list[Any]:
    """The messages of a payload as they are written, whatever the wire."""
    key = next(key for key in ("contents", "input", "messages") if key in payload)
    return [each for each in payload[key] if each.get("role") != "system"]


def system_of(payload: Mapping[str, Any]) -> str:
    """The system text, wherever the wire puts it."""
    held = [payload.get(key) for key in ("system", "instructions", "systemInstruction")]
    held += [message.get("content") for message in payload.get("messages", ()) if message["role"] == "system"]
    return "\n".join(text for part in held for text in strings(part))


def result_ids(payload: Mapping[str, Any]) -> list[str]:
    """Ids of all answered calls, in the order of the payload."""
    return [name for turn in turns(payload) for name in turn.results]


def errors(payload: Mapping[str, Any], wire: str) -> list[str]:
    """Every breach of PAIRS, ROLES and ONCE, with its place; empty for a payload that the provider takes."""
    said = turns(payload)
    return [*_pair_errors(said), *_role_errors(said, wire), *_id_errors(said, wire)]


def _pair_errors(said: Sequence[Turn]) -> Iterator[str]:
    before: tuple[str, ...] = ()
    for at, turn in enumerate(said):
        if Counter(turn.results) != Counter(before):
            yield f"{at}: {list(turn.results)} answer {list(before)}"
        before = turn.calls
        if turn.calls and turn.role != "assistant":
            yield f"{at}: a call of role {turn.role}"
    if before:
        yield f"the end: {list(before)} unanswered"


def _role_errors(said: Sequence[Turn], wire: str) -> Iterator[str]:
    if not said:
        yield "there is no conversation"
    elif said[0].role == "tool" or (wire in STRICT and said[0].role != "user"):
        yield f"0: {said[0].role} begins"
    for at, (one, other) in enumerate(itertools.pairwise(said)):
        if wire in STRICT and one.role == other.role:
            yield f"{at + 1}: {one.role} follows {one.role}"


def _id_errors(said: Sequence[Turn], wire: str) -> Iterator[str]:
    for names in (turn.calls for turn in said):
        if len(set(names)) < len(names) and wire != "gemini":  # a name, where Gemini gave no id
            yield f"{list(names)} holds an id twice"
    counts = Counter(name for turn in said for name in turn.calls)
    if wire in UNIQUE:
        yield from (f"call id {name} stands {count} times" for name, count in counts.items() if count > 1)


def _message(message: Mapping[str, Any]) -> Turn:
    """Chat completions and Anthropic."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    calls += [block["id"] for block in blocks if block.get("type") == "tool_use"]
    results = [message["tool_call_id"]] if message["role"] == "tool" else []
    results += [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
    return Turn(message["role"], words_of(message), tuple(calls), tuple(results))


def _content(content: Mapping[str, Any]) -> Turn:
    """Gemini, which pairs by id or, without one, by name."""
    role = {"model": "assistant"}.get(content["role"], content["role"])
    held = [
        [part[key].get("id") or part[key]["name"] for part in content["parts"] if key in part]
        for key in ("functionCall", "functionResponse")
    ]
    return Turn(role, words_of(content), tuple(held[0]), tuple(held[1]))


def _item(item: Mapping[str, Any]) -> Turn:
    """One item of the Responses API."""
    kind, words = item.get("type", "message"), words_of(item)
    if kind.endswith("_call_output"):
        return Turn("tool", words, (), (item["call_id"],))
    if kind.endswith("_call"):
        return Turn("assistant", words, (item["call_id"],) if "call_id" in item else ())
    return Turn(item.get("role", "assistant"), words)


def _joined(said: Iterator[Turn] | Sequence[Turn], only: str = "") -> list[Turn]:
    """Neighbours of one role as one turn (of the role `only`, when it is given)."""
    out: list[Turn] = []
    for turn in said:
        if out and out[-1].role == turn.role and only in ("", turn.role):
            last = out.pop()
            text = "\n".join(filter(None, (last.text, turn.text)))
            out.append(Turn(turn.role, text, last.calls + turn.calls, last.results + turn.results))
        else:
            out.append(turn)
    return out


_UNSPOKEN = ("role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "name", "signature", "thoughtSignature")


def words_of(message: Mapping[str, Any]) -> str:
    """What a message says: its strings without ids, names and types."""
    return "\n".join(strings(message, _UNSPOKEN))


def strings(value: Any, but: Sequence[str] = ()) -> Iterator[str]:
    """Every string inside a value, in order, but those under the keys `but`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in but:
                yield from strings(inner, but)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from strings(inner, but)


def goes_on(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether the bytes of a payload begin with those of an earlier one, up to the brackets that close it."""
    heads = [{key: value for key, value in one.items() if key not in _TALK} for one in (earlier, later)]
    told = [conversation(one) for one in (earlier, later)]
    count = len(told[0])
    if heads[0] != heads[1] or len(told[1]) < count:
        return False
    if not count:
        return True
    opened = _bytes(told[0][-1]).rstrip('"]}')
    return told[1][: count - 1] == told[0][:-1] and _bytes(told[1][count - 1]).startswith(opened)


_TALK = ("contents", "input", "messages")


def _bytes(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
