"""Other people's compactors behind the same interface. A peer that is not installed is skipped with a clear word.

Peers with a dial (how many recent steps or results to keep) are given the widest setting that meets the target.
Distil and Headroom take no target: they are run as they are, and their size is what it is.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from bench.methods import Method, keep_last
from bench.sizes import message_tokens, size

Message = dict[str, Any]


def widest(make: Callable[[int], list[Message]], most: int, target_tokens: int) -> list[Message]:
    """The result of the widest setting, 1 to `most`, whose size meets the target; else that of the narrowest."""
    best = make(1)
    low, high = 1, most
    while low <= high:
        middle = (low + high) // 2
        made = make(middle)
        if size(made) <= target_tokens:
            best, low = made, middle + 1
        else:
            high = middle - 1
    return best


def cliff() -> Method:
    from cliffcompaction.cliff import compact as cliff_compact
    from cliffcompaction.config import Config
    from cliffcompaction.dialects import detect

    dialect = detect("/v1/chat/completions")

    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        def make(keep: int) -> list[Message]:
            config = Config()
            config.keep_recent = keep
            found = cliff_compact(list(messages), dialect, config)
            return found.messages if found else list(messages)

        return widest(make, 200, target_tokens)

    return Method("CliffCompaction", compact)


def distil() -> Method:
    from distil import compress_messages

    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        return list(compress_messages(copy.deepcopy(list(messages))).messages)

    return Method("distil-llm", compact, has_target=False)


def headroom() -> Method:
    from headroom import compress

    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        return list(compress(copy.deepcopy(list(messages)), model="gpt-4o").messages)

    return Method("headroom-ai", compact, has_target=False)


def langchain_trim() -> Method:
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages

    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        kept = trim_messages(
            convert_to_messages(list(messages)),
            max_tokens=target_tokens,
            strategy="last",
            include_system=True,
            start_on=("human", "ai"),
            token_counter=_langchain_tokens,
        )
        return _without_orphans(convert_to_openai_messages(kept))

    return Method("LangChain trim", compact)


def langchain_editing() -> Method:
    from langchain.agents.middleware.context_editing import ClearToolUsesEdit
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages

    def compact(messages: Sequence[Message], tools: Sequence[Message], target_tokens: int) -> list[Message]:
        def make(keep: int) -> list[Message]:
            held = convert_to_messages(copy.deepcopy(list(messages)))
            ClearToolUsesEdit(trigger=0, keep=keep, clear_tool_inputs=True).apply(held, count_tokens=_langchain_tokens)
            return list(convert_to_openai_messages(held))

        return widest(make, 200, target_tokens)

    return Method("LangChain ContextEditing", compact)


def _langchain_tokens(messages: Any) -> int:
    from langchain_core.messages import convert_to_openai_messages

    held = messages if isinstance(messages, list) else [messages]
    return sum(message_tokens(message) for message in convert_to_openai_messages(held))


def _without_orphans(messages: list[Message]) -> list[Message]:
    """Results whose call was trimmed away would be refused; the peer's documentation says to start on a human."""
    asked = {call["id"] for message in messages for call in message.get("tool_calls") or []}
    return [message for message in messages if message["role"] != "tool" or message["tool_call_id"] in asked]


PEERS: tuple[tuple[str, Callable[[], Method]], ...] = (
    ("CliffCompaction", cliff),
    ("distil-llm", distil),
    ("headroom-ai", headroom),
    ("LangChain trim", langchain_trim),
    ("LangChain ContextEditing", langchain_editing),
    ("keep-last", keep_last),
)


def installed(say: Callable[[str], None] = print) -> list[Method]:
    """The peers that can be imported; `say` hears of those that cannot."""
    found = []
    for name, make in PEERS:
        try:
            found.append(make())
        except Exception as error:  # a peer may fail at import in any way
            say(f"{name} is skipped: {type(error).__name__}: {json.dumps(str(error))[:120]}")
    return found
