"""When a compaction is due. Knows nothing of how one is made.

With prices the rent rule decides (see docs/explanation/when.md): compact when the reads of what a compaction
would remove have cost as much as the compaction costs now. Without prices a size does. The cap always counts. Whoever
wants another rule puts one together: `any_of(rent(), idle(1_800))`.
"""

from foldmark.triggers.deciding import due, expected_next, landing_warning, static_warning, trigger_of
from foldmark.triggers.measuring import IDLE_SECONDS, Sizes, is_cold, sizes
from foldmark.triggers.renting import BY_CODE, ComingCall, call_price, coming_call, rent_account
from foldmark.triggers.rules import (
    Moment,
    Rule,
    Trigger,
    all_of,
    any_of,
    custom,
    events,
    idle,
    rent,
    share,
    size,
    tokens,
)

__all__ = [
    "BY_CODE",
    "IDLE_SECONDS",
    "ComingCall",
    "Moment",
    "Rule",
    "Sizes",
    "Trigger",
    "all_of",
    "any_of",
    "call_price",
    "coming_call",
    "custom",
    "due",
    "events",
    "expected_next",
    "idle",
    "is_cold",
    "landing_warning",
    "rent",
    "rent_account",
    "share",
    "size",
    "sizes",
    "static_warning",
    "tokens",
    "trigger_of",
]
