"""How far a sub-agent may go, and how far it has gone. Knows nothing of sessions, threads and reports."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

import msgspec

from foldmark.errors import PolicyError
from foldmark.events import Event

LEAST_REPORT_TOKENS = 200
"""Less holds no outcome, no words and no refs."""
SPENT = "child_tokens"
"""Under which name of its `meta` a report says what the sub-agent spent."""


class RunLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far one run of a sub-agent may go; None sets no limit. Raises PolicyError for numbers that make no sense.

    `report_tokens` is the most that the parent gets of it. `rounds` counts its replies, `events` all it records.
    `spent_tokens` counts what its replies were billed for (input and output, and those of sub-agents below it); a
    reply without usage counts with its own size alone. `timeout_seconds` is how long whoever started it waits. `depth`
    is how many sub-agents may stand below each other: with 1 a sub-agent starts none.
    """

    report_tokens: int = 1_000
    rounds: int | None = None
    events: int | None = None
    spent_tokens: int | None = None
    timeout_seconds: float | None = None
    depth: int = 3

    def __post_init__(self) -> None:
        if self.report_tokens < LEAST_REPORT_TOKENS:
            raise PolicyError(f"report_tokens is {self.report_tokens}; it takes {LEAST_REPORT_TOKENS} or more.")
        for name in ("rounds", "events", "spent_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise PolicyError(f"{name} is {value}; it takes 1 or more, or None for no limit.")
        if self.depth < 0:
            raise PolicyError(f"depth is {self.depth}; it takes 0 (no sub-agents) or more.")
        if self.timeout_seconds is not None and not (isfinite(self.timeout_seconds) and self.timeout_seconds > 0):
            raise PolicyError(f"timeout_seconds is {self.timeout_seconds}; it takes seconds above 0, or None.")


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """How far a sub-agent has gone: replies, events, tokens."""

    rounds: int = 0
    events: int = 0
    tokens: int = 0


def spent_with(spent: Spent, events: Iterable[Event]) -> Spent:
    """With further events of its log."""
    rounds, count, tokens = spent.rounds, spent.events, spent.tokens
    for event in events:
        count += 1
        if event.role == "assistant":
            rounds += 1
            tokens += event.usage.input + event.usage.output if event.usage else event.tokens
        else:
            tokens += int(event.meta.get(SPENT, "0"))
    return Spent(rounds=rounds, events=count, tokens=tokens)


def limit_used(spent: Spent, limits: RunLimits, *, begins: bool) -> str:
    """Which limit ends the run, empty for none: one that is used up where a step `begins`, else one that is passed."""
    for noun, value, limit in (
        ("rounds", spent.rounds, limits.rounds),
        ("events", spent.events, limits.events),
        ("tokens", spent.tokens, limits.spent_tokens),
    ):
        if limit is not None and (value > limit or (begins and value == limit)):
            return f"it has used {value:,} of {limit:,} {noun}"
    return ""
