"""The wire of Anthropic Messages. Knows nothing of storage or budgets."""

from __future__ import annotations

from foldmark.wire.anthropic_reading import read, read_messages, read_payload
from foldmark.wire.anthropic_rules import RULES, validate
from foldmark.wire.anthropic_writing import OPENING, lost, write
from foldmark.wire.appending import to_anthropic as append_user
from foldmark.wire.refusals import overflow
from foldmark.wire.values import Overhead

NAME = "anthropic"
OVERHEAD = Overhead()
MESSAGES = "messages"
"""The key of a payload that holds the conversation."""
NEEDS_MAX_OUTPUT = True
"""The Messages API refuses a request without `max_tokens`."""

__all__ = [
    "MESSAGES",
    "NAME",
    "NEEDS_MAX_OUTPUT",
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
