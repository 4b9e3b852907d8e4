"""The wire of OpenAI chat completions and every server that speaks it. Knows nothing of storage or
budgets."""

from __future__ import annotations

from foldmark.wire.openai_reading import read, read_messages
from foldmark.wire.openai_rules import RULES, validate
from foldmark.wire.openai_writing import lost, write
from foldmark.wire.refusals import overflow
from foldmark.wire.values import Overhead

NAME = "openai-chat"
OVERHEAD = Overhead()

__all__ = ["NAME", "OVERHEAD", "RULES", "lost", "overflow", "read", "read_messages", "validate", "write"]
