"""The wire of OpenAI chat completions and every server that speaks it. Knows nothing of storage or
budgets."""

from __future__ import annotations

from foldmark.wire.appending import to_chat as append_user
from foldmark.wire.openai_reading import read, read_messages, read_payload
from foldmark.wire.openai_rules import RULES, validate
from foldmark.wire.openai_writing import lost, write
from foldmark.wire.refusals import overflow
from foldmark.wire.values import Overhead

NAME = "openai-chat"
OVERHEAD = Overhead()
MESSAGES = "messages"
"""The key of a payload that holds the conversation."""
OPENING = ""
"""What is written in front of a conversation that begins with the assistant: nothing, this API takes it."""

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
