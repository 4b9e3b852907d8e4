"""Chat completions for servers whose chat template wants user and assistant to take turns. Knows nothing of storage or
budgets.

Many open models are served behind such templates; OpenAI itself takes neighbours of one role. Everything is as on
`openai-chat`, but neighbours of one role become one message, and a conversation that begins with the assistant gets an
opening in front. (Some templates also refuse a user behind a tool result; `validate(payload, suspected=True)` says
where.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from foldmark.events import Event
from foldmark.wire import openai_writing
from foldmark.wire.appending import to_strict_chat as append_user
from foldmark.wire.openai_chat import MESSAGES, OVERHEAD
from foldmark.wire.openai_reading import read, read_messages, read_payload
from foldmark.wire.openai_rules import RULES, validate
from foldmark.wire.openai_writing import join, lost
from foldmark.wire.refusals import overflow

NAME = "openai-chat-strict"
OPENING = "[The conversation goes on from here.]"
"""Written in front when the first event is the assistant's."""

Message = dict[str, Any]


def write(
    system: str,
    tools: Iterable[Any] | None,
    events: Sequence[Event],
    *,
    model: str | None = None,
    max_output: int | None = None,
) -> dict[str, Any]:
    """The payload for `client.chat.completions.create(**payload)`, with roles that take turns."""
    payload = openai_writing.write(system, tools, events, model=model, max_output=max_output)
    head = [message for message in payload["messages"][:1] if message["role"] == "system"]
    talk = payload["messages"][len(head) :]
    if talk and talk[0]["role"] == "assistant":
        talk.insert(0, {"role": "user", "content": OPENING})
    payload["messages"] = head + _taking_turns(talk)
    return payload


def _taking_turns(messages: Iterable[Message]) -> list[Message]:
    out: list[Message] = []
    for message in messages:
        last = out[-1] if out else {}
        if message["role"] == last.get("role") and message["role"] in ("user", "assistant"):
            join(last, message)
        else:
            out.append(message)
    return out


__all__ = [
    "MESSAGES",
    "NAME",
    "OPENING",
    "OVERHEAD",
    "RULES",
    "append_user",
    "lost",
    "overflow",
    "read",
    "read_messages",
    "read_payload",
    "validate",
    "write",
]
