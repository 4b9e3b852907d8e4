"""The wire of Gemini's `generateContent`. Knows nothing of storage or budgets."""

from __future__ import annotations

from foldmark.wire.appending import to_gemini as append_user
from foldmark.wire.gemini_reading import read, read_messages, read_payload
from foldmark.wire.gemini_rules import RULES, validate
from foldmark.wire.gemini_writing import OPENING, lost, write
from foldmark.wire.refusals import overflow
from foldmark.wire.values import Overhead

NAME = "gemini"
OVERHEAD = Overhead()
MESSAGES = "contents"
"""The key of a payload that holds the conversation."""

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
