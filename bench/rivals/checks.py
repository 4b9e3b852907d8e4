"""What must hold of a list that comes out, each as `check(before, after, budget) -> what is broken`. The same function
judges every method; none of it is shared with the library."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from bench.methods import Message
from bench.pairs import pair_errors
from bench.sizes import size

Messages = Sequence[Message]
Check = Callable[[Messages, Messages, int], list[str]]

TOLERANCE = 1.05
"""Methods that count in their own way may be off by so much and still meet a size."""


def words(value: Any) -> str:
    """All text inside a message or block, one string a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(words(inner) for key, inner in value.items() if key not in ("role", "type"))
    return "\n".join(map(words, value)) if isinstance(value, (list, tuple)) else ""


def content(message: Message) -> str:
    return words(message.get("content"))


def plain(message: Message) -> tuple[Any, ...]:
    """A message without what a faithful converter may change: empty text, JSON spacing, names of results."""
    calls = [(c["id"], c["function"]["name"], _arguments(c)) for c in message.get("tool_calls") or ()]
    return message["role"], message.get("tool_call_id"), content(message), json.dumps(calls, sort_keys=True)


def _arguments(call: Any) -> Any:
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return call["function"]["arguments"]


def result_ids(messages: Messages) -> list[str]:
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def call_ids(messages: Messages) -> list[str]:
    return [call["id"] for message in messages for call in message.get("tool_calls") or ()]


def added(before: Messages, after: Messages) -> list[tuple[int, Message]]:
    """User, system and assistant messages (with their place) whose text did not come in: the method's own words."""
    known = {content(message) for message in before}
    found = [(at, message) for at, message in enumerate(after) if message["role"] != "tool"]
    return [(at, message) for at, message in found if content(message) and content(message) not in known]


# -- shape


def pairs(before: Messages, after: Messages, budget: int) -> list[str]:
    return pair_errors(list(after))


def halves(before: Messages, after: Messages, budget: int) -> list[str]:
    """Calls without results and results without calls, wherever they stand."""
    calls, results = set(call_ids(after)), set(result_ids(after))
    return [f"result {one} without its call" for one in sorted(results - calls)] + [
        f"call {one} without its result" for one in sorted(calls - results)
    ]


def opens(before: Messages, after: Messages, budget: int) -> list[str]:
    """The first message that is not system is a user's."""
    talk = [message["role"] for message in after if message["role"] != "system"]
    return [] if talk[:1] == ["user"] else [f"opens with {talk[0]}" if talk else "no conversation left"]


def conversation(before: Messages, after: Messages, budget: int) -> list[str]:
    return [] if any(message["role"] != "system" for message in after) else ["only system text left"]


def alternates(before: Messages, after: Messages, budget: int) -> list[str]:
    """No two user and no two assistant messages in a row, for a list in which none were."""
    roles = [message["role"] for message in after if message["role"] != "system"]
    return [f"two {a} messages in a row" for a, b in pairwise(roles) if a == b in ("user", "assistant")][:1]


def summary_is_no_assistant(before: Messages, after: Messages, budget: int) -> list[str]:
    return ["its summary speaks as the assistant" for _, m in added(before, after) if m["role"] == "assistant"][:1]


def summary_is_marked(before: Messages, after: Messages, budget: int) -> list[str]:
    """It says what it is in its first line, and is never what the model is to answer."""
    broken = []
    for at, message in added(before, after):
        if not re.search(r"summar|checkpoint|compact|record|history", content(message)[:120], re.I):
            broken.append("its summary is not marked")
        if at == len(after) - 1 and content(before[-1]) not in content(message):
            broken.append("its summary is the last message")
    return broken


def system_first(before: Messages, after: Messages, budget: int) -> list[str]:
    is_kept = bool(after) and after[0]["role"] == "system" and content(after[0]).startswith(content(before[0]))
    return [] if is_kept else ["system text changed or gone"]


# -- size


def fits(before: Messages, after: Messages, budget: int) -> list[str]:
    got = size(after)
    return [] if got <= budget * TOLERANCE else [f"{got:,} tokens for {budget:,}"]


def smaller(before: Messages, after: Messages, budget: int) -> list[str]:
    """It shrank, or it is what it was."""
    got, was = size(after), size(before)
    return [] if got < was or not same(before, after, budget) else [f"{was:,} tokens became {got:,}"]


def same(before: Messages, after: Messages, budget: int) -> list[str]:
    if len(before) != len(after):
        return [f"{len(before)} messages in, {len(after)} out"]
    changed = [at for at, (a, b) in enumerate(zip(before, after, strict=True)) if plain(a) != plain(b)]
    return [f"message {changed[0]} changed"] if changed else []


def means_the_same(before: Messages, after: Messages, budget: int) -> list[str]:
    """As `same`, but JSON may be spaced anew, and a blank result may say in a word that it is one."""
    if len(before) != len(after):
        return [f"{len(before)} messages in, {len(after)} out"]
    for at, (was, now) in enumerate(zip(map(content, before), map(content, after), strict=True)):
        if was.strip() != now.strip() and not (not was.strip() and len(now) < 20) and not _equal_json(was, now):
            return [f"message {at}: {was!r} became {now[:20]!r}"]
    return []


def _equal_json(a: str, b: str) -> bool:
    try:
        return bool(json.loads(a) == json.loads(b))
    except ValueError:
        return False


def none_from_nothing(before: Messages, after: Messages, budget: int) -> list[str]:
    return [] if before or not after else ["something came out of nothing"]


# -- words and results


def keeps(*texts: str) -> Check:
    """Each text stands to the letter, and in this order."""

    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        whole, at = "\n".join(map(content, after)), 0
        for text in texts:
            found = whole.find(text, at)
            if found < 0:
                return [f"{text[:24]!r} is gone" if text not in whole else f"{text[:24]!r} out of order"]
            at = found + len(text)
        return []

    return check


def says(text: str) -> Check:
    """The words are a user's, to the letter."""

    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        return [] if any(m["role"] == "user" and text in content(m) for m in after) else [f"{text[:24]!r} is gone"]

    return check


def ends_with_user(text: str) -> Check:
    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        users = [content(message) for message in after if message["role"] == "user"]
        return [] if users and users[-1].endswith(text) else ["the newest request is not the last user text"]

    return check


def not_unanswered(request: str, answers: Sequence[str]) -> Check:
    """A finished request never stands raw without anything that shows it finished."""

    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        stands = any(message["role"] == "user" and content(message) == request for message in after)
        is_shown = any(answer in content(message) for message in after for answer in answers)
        return ["a finished request stands unanswered"] if stands and not is_shown else []

    return check


def result_stands(call_id: str) -> Check:
    """The newest result is there, shortened or not, and not as an empty shell."""

    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        texts = [
            content(message) for message in after if message["role"] == "tool" and message["tool_call_id"] == call_id
        ]
        if not texts:
            return ["the newest result is gone"]
        original = next(content(m) for m in before if m["role"] == "tool" and m["tool_call_id"] == call_id)
        shown = any(line.strip() and line in original for line in texts[0].splitlines())
        return [] if shown else ["nothing of the newest result is left"]

    return check


def whole_batch(ids: Sequence[str]) -> Check:
    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        kept = [one for one in ids if one in result_ids(after)]
        return [] if len(kept) in (0, len(ids)) else [f"{len(kept)} of {len(ids)} results of one step"]

    return check


def ends_as_it_was(before: Messages, after: Messages, budget: int) -> list[str]:
    is_kept = bool(after) and plain(after[-1]) == plain(before[-1])
    return [] if is_kept else ["the newest message is gone or changed"]


def order_stands(before: Messages, after: Messages, budget: int) -> list[str]:
    """What came through unchanged stands in its order, and nothing stands twice."""
    places: dict[Any, list[int]] = {}
    for at, message in enumerate(before):
        places.setdefault(plain(message), []).append(at)
    kept = [places[plain(message)][0] for message in after if len(places.get(plain(message), ())) == 1]
    return [] if all(a < b for a, b in pairwise(kept)) else ["messages out of order or twice"]


def cut_is_one(before: Messages, after: Messages, budget: int) -> list[str]:
    """Behind the cut nothing is missing: the assistant steps that stand unchanged are the newest ones."""
    steps = [plain(message) for message in before if message["role"] == "assistant"]
    kept = [step for step in steps if step in {plain(message) for message in after}]
    return [] if kept and kept == steps[-len(kept) :] else ["a hole behind the cut" if kept else "no step is left"]


# -- compressed text


def can_be_sent(before: Messages, after: Messages, budget: int) -> list[str]:
    try:
        json.dumps(list(after), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return ["a lone surrogate goes out"]
    return []


def no_piece_of(*clusters: str) -> Check:
    """A family, a flag, an accent: whole or not there at all."""

    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        text = "\n".join(map(content, after))
        for cluster in clusters:
            text = text.replace(cluster, "")
        return [
            f"{cluster!r} is torn" for cluster in clusters if any(sign in text for sign in cluster if sign > "\x7f")
        ]

    return check


def arguments_stand(before: Messages, after: Messages, budget: int) -> list[str]:
    """Arguments of calls that stay are JSON objects, and short values in them are what they were."""
    known = {call["id"]: _arguments(call) for message in before for call in message.get("tool_calls") or ()}
    for message in after:
        for call in message.get("tool_calls") or ():
            found = _arguments(call)
            if not isinstance(found, dict):
                return ["arguments are no JSON object"]
            if any(found.get(key) != value for key, value in known[call["id"]].items() if len(value) < 60):
                return ["a path in the arguments is gone"]
    return []


HIT = re.compile(r"^((?:[A-Za-z]:)?[^\s:][^:\n]*?\.\w+):(\d+):(.*)$")
CUT = re.compile(r"(…|\.{3}).*$")
PATH = re.compile(r"[\w:\\/.-]*[\w-]\.(?:log|py|ts)\b")


def hits_are_true(before: Messages, after: Messages, budget: int) -> list[str]:
    """Every path:line:text of a result stood in it with that text (a shown cut apart), and every path exists."""
    known = [line for message in before if message["role"] == "tool" for line in content(message).splitlines()]
    whole = "\n".join(known)
    for message in after:
        for line in content(message).splitlines() if message["role"] == "tool" else ():
            start = CUT.sub("", line.strip())
            if HIT.match(start) and not any(one.startswith(start.rstrip()) for one in known):
                return ["a line stands with a text that is not its own"]
            for path in PATH.findall(start):
                if path not in whole:
                    return ["a path that does not exist"]
    return []


def counts_records(marks: Sequence[str]) -> Check:
    """Of a JSON list all records stand and parse, or none stands, or the text says how many there are."""

    def check(before: Messages, after: Messages, budget: int) -> list[str]:
        [original] = [message for message in before if message["role"] == "tool" and marks[0] in content(message)]
        for message in after:
            if message["role"] != "tool" or message["tool_call_id"] != original["tool_call_id"]:
                continue
            text = content(message)
            shown = sum(mark in text for mark in marks)
            if shown in (0, len(marks)) or re.search(rf"\b({len(marks)}|{len(marks) - shown})\b", text):
                return []
            return [f"{shown} of {len(marks)} records, and it does not say so"]
        return []

    return check


def thinking_stands(before: Messages, after: Messages, budget: int) -> list[str]:
    """Signed thinking is byte-equal or gone."""
    known = [_bare(block) for block in _thinking(before)]
    return [] if all(_bare(block) in known for block in _thinking(after)) else ["signed thinking was edited"]


def _thinking(messages: Messages) -> list[Any]:
    blocks = [b for m in messages if isinstance(m.get("content"), list) for b in m["content"]]
    return [block for block in blocks if "thinking" in block.get("type", "")]


def _bare(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "cache_control"}


def anthropic_pairs(before: Messages, after: Messages, budget: int) -> list[str]:
    """Each `tool_use` is answered in the next message, each `tool_result` answers the message before."""
    asked: list[str] = []
    for message in after:
        blocks = message["content"] if isinstance(message["content"], list) else []
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(asked) != sorted(answered):
            return ["a tool_use and its tool_result are torn apart"]
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return []
