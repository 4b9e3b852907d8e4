"""The wire of OpenAI Responses and every server that speaks it. Knows nothing of storage or budgets."""

from __future__ import annotations

from foldmark.wire.appending import to_responses as append_user
from foldmark.wire.refusals import overflow
from foldmark.wire.responses_items import PROVIDER
from foldmark.wire.responses_reading import read, read_messages, read_payload
from foldmark.wire.responses_rules import RULES, validate
from foldmark.wire.responses_writing import lost, write
from foldmark.wire.values import Overhead

NAME = "openai-responses"
OVERHEAD = Overhead()
MESSAGES = "input"
"""The key of a payload that holds the conversation."""
OPENING = ""
"""What is written in front of a conversation that begins with the assistant: nothing, this API takes it."""

__all__ = [
    "MESSAGES",
    "NAME",
    "OPENING",
    "OVERHEAD",
    "PROVIDER",
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
