"""What a step did: changes, attempts and reports, as immutable values. Knows nothing of who prints them."""

from __future__ import annotations

from typing import Literal

import msgspec

Outcome = Literal["applied", "not_due", "deferred", "ineffective", "degraded", "failed"]
Status = Literal["raw", "demoted", "kept", "covered", "left_out"]


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of a report: event `seq` is shown in another form or not at all. Sizes in tokens."""

    seq: int
    status: Status
    reason: str
    before: int = 0
    after: int = 0


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `explain`: where an event is and why. Exactly one entry per event of the scope's log."""

    seq: int
    ref: str
    status: Status
    tokens: int
    reason: str
    artifact: str | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The note of one compaction attempt; what cooldown, breaker and history read. Not-due ones are not stored."""

    time: float
    outcome: Outcome
    trigger: str = ""
    version: int = 0
    boundary: int = 0
    before: int = 0
    after: int = 0
    target: int = 0
    mode: str = "code"
    reasons: tuple[str, ...] = ()


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a compaction is due: the trigger's name, its value and threshold in the trigger's own unit."""

    trigger: str
    value: float = 0.0
    threshold: float = 0.0
    text: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one `compact` or `request` did. Sizes in tokens; `boundary` is a seq, 0 for none."""

    outcome: Outcome
    trigger: str = ""
    text: str = ""
    boundary: int = 0
    version: int = 0
    before: int = 0
    after: int = 0
    target: int = 0
    epoch: str = ""
    changes: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
