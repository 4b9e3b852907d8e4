"""What went wrong in a call of a summary model, and the rule for it. Knows nothing of who called, of a clock or of any
SDK: exceptions are told by what they carry, so that nothing has to be installed to understand them."""

from __future__ import annotations

from foldmark.failures.reading import failure_in, failure_in_reply, failure_of
from foldmark.failures.rules import MESSAGE_LIMIT, RULES, Failure, FailureKind, ModelFailed, Rule

__all__ = [
    "MESSAGE_LIMIT",
    "RULES",
    "Failure",
    "FailureKind",
    "ModelFailed",
    "Rule",
    "failure_in",
    "failure_in_reply",
    "failure_of",
]
