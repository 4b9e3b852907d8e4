"""The compactors under test, all as `compact(messages, tools, target_tokens) -> messages`. foldmark first.

A method also says which part of its request a text stands in, so that a measure can be split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from bench.sizes import message_text, message_tokens
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.wire import openai_chat

Message = dict[str, Any]

WINDOW = 1_000_000
"""Large enough that no measure is decided by the window: the target is."""

NAMES_HEADING = "## Names in use"
TAG = "<foldmark-checkpoint"


class Compactor(Protocol):
    def __call__(self, messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]: ...


class Method(NamedTuple):
    """`has_target` is False for peers that take none: they are run as they are."""

    name: str
    compact: Compactor
    has_target: bool = True


def policy_of(preset: str, target_tokens: int) -> Policy:
    """The preset with a target and nothing else changed."""
    return Policy.preset(preset).replace(budget={"target_tokens": target_tokens})


def session_of(messages: Sequence[Message], policy: Policy, store: Any = None) -> Session:
    """A session that has followed the messages; `store` defaults to memory."""
    session = Session("bench", store=store if store is not None else MemoryStore(), policy=policy)
    session.follow(list(messages), wire=openai_chat)
    return session


def foldmark(preset: str) -> Method:
    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        session = session_of(messages, policy_of(preset, target_tokens))
        session.describe(tools=tools)
        session.compact(force=True, window=WINDOW)
        return payload(session)

    return Method("foldmark", compact)


class Grown:
    """foldmark on a growing history: recorded once, each cut compacted in a scope of its own that sees all."""

    def __init__(self, messages: Sequence[Message], preset: str) -> None:
        self.messages, self.preset, self.store = messages, preset, MemoryStore()
        self.log = Session("bench", store=self.store, policy=Policy.preset(preset))

    def at(self, cut: int, target_tokens: int) -> Session:
        """The session compacted to a target when `messages[:cut]` is all that happened. Cuts must rise."""
        self.log.follow(list(self.messages[:cut]), wire=openai_chat)
        scope = f"cut-{cut}-{target_tokens}"
        policy = policy_of(self.preset, target_tokens)
        session = Session("bench", store=self.store, policy=policy, scope=scope)
        session.compact(force=True, window=WINDOW)
        return session


def payload(session: Session) -> list[Message]:
    return list(session.request(window=WINDOW, wire=openai_chat).payload()["messages"])


def keep_last() -> Method:
    """System text and the newest whole rounds that fit."""

    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        head = [message for message in messages[:1] if message["role"] == "system"]
        left = target_tokens - sum(map(message_tokens, head))
        start = len(messages)
        for at in range(len(messages) - 1, len(head) - 1, -1):
            left -= message_tokens(messages[at])
            if left < 0:
                break
            if messages[at]["role"] != "tool":
                start = at
        return [*head, *messages[start:]]

    return Method("keep-last", compact)


def parts(request: Sequence[Message]) -> dict[str, str]:
    """A request's text as `tail`, `checkpoint` and `names` (the list of working names in the checkpoint)."""
    found = {"tail": [], "checkpoint": [], "names": []}  # type: dict[str, list[str]]
    for message in request:
        text = message_text(message)
        if TAG not in text:
            found["tail"].append(text)
            continue
        body, _, names = text.partition(NAMES_HEADING)
        found["checkpoint"].append(body)
        found["names"].append(names)
    return {part: "\n".join(texts) for part, texts in found.items()}


Progress = Callable[[str], None]
