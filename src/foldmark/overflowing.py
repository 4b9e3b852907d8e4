"""What a too-long refusal teaches: the provider's limit and how it counts. Knows nothing of what is done about it."""

from __future__ import annotations

import msgspec

from foldmark.budget import with_usage
from foldmark.events import Usage
from foldmark.store import Frame, ScopeState, meter_name
from foldmark.wire import Overflow

LEAST_LIMIT = 1_000
"""A smaller number in a refusal is no context window (a field's length, a page size)."""

STEP_DOWN = 0.9
"""Without a number the limit is taken to be a tenth below what was refused: two steps are a fifth, and every step is
told."""


def learned_limit(state: ScopeState, frame: Frame, found: Overflow, head: int) -> ScopeState:
    """The scope's state once the last request, built at `head`, was refused. Limits only fall, and are kept per wire
    and model, in the provider's own tokens."""
    name = meter_name(frame.wire, frame.model or state.model)
    if found.unit == "tokens" and found.size and state.last_size and state.frame:
        state = with_usage(state, frame, state.last_size, Usage(input=found.size), frame.model or state.model)
    limit = _limit(state, frame, found)
    known = state.limits.get(name, limit)
    limits = {**state.limits, name: min(limit, known)} if limit >= LEAST_LIMIT else state.limits
    return msgspec.structs.replace(state, limits=limits, overflowed=head)


def _limit(state: ScopeState, frame: Frame, found: Overflow) -> int:
    """The limit in the provider's tokens; 0 when nothing can be said (a limit of bytes)."""
    if found.unit != "tokens":
        return 0
    if found.limit:
        return found.limit
    refused = found.size or state.correction(frame).theirs(state.last_size)
    return round(STEP_DOWN * min(refused, frame.window)) if refused else 0
