"""How much room a request has and what a compaction aims at. Knows nothing of events or of who asks.

All arithmetic is in our tokens (o200k). A calibrated provider factor shrinks the room instead of inflating every
count, so that choices inside a request never depend on it.
"""

from __future__ import annotations

import msgspec

from foldmark.errors import PolicyError
from foldmark.policy import Policy
from foldmark.store import Frame, ScopeState

UNKNOWN_WINDOW = 128_000
"""Used with a warning when nobody says how large the window is: the smallest window common in 2026."""

CHECKPOINT_FLOOR = 2_000
"""Room that a checkpoint gets even when the newest round fills the landing (design, rent rule: `+ 2K`)."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one request, in tokens. `ceiling` is what the whole request may cost; `cap`, `landing` and
    `trigger` are above the static prefix `static`; `forced` says that a target size was asked for."""

    window: int
    reserve: int
    margin: int
    static: int
    ceiling: int
    cap: int
    landing: int
    trigger: int
    nothing_below: int
    forced: bool = False

    @property
    def quiet(self) -> int:
        """Up to this size above the static prefix no cleanup begins: the landing of a target, else half the trigger
        (clearing pays from X/2 on), and nothing below 15,000."""
        return self.landing if self.forced else max(self.nothing_below, self.trigger // 2)

    def lines(self) -> tuple[tuple[str, int], ...]:
        """The arithmetic, line by line, for reports and BudgetExceeded."""
        room = self.window - self.reserve - self.margin
        return (
            ("context window", self.window),
            ("- reserved for the answer", -self.reserve),
            ("- safety margin", -self.margin),
            *((("- the provider counts more tokens than we do", self.ceiling - room),) if room > self.ceiling else ()),
            ("= room for the whole request", self.ceiling),
            ("- system text and tool schemas", -self.static),
        )


def room(frame: Frame, policy: Policy, state: ScopeState | None = None) -> Room:
    """The room for requests of a frame.

    Sources: output reserve min(16,000, 12% of the window); margin 3%, at least 512, 1% once two usages were
    reported; cap, landing and trigger as docs/explanation/when.md lists them. Raises PolicyError when less than
    2,000 tokens are left beside the static prefix, or when a target does not leave 500 beside it.
    """
    budget, window, static = policy.budget, frame.window, frame.static_tokens
    factor = state.factor if state else 1.0
    calibrated = bool(state and state.samples >= 2)
    reserve = frame.max_output or budget.output_reserve
    if reserve is None:
        reserve = min(16_000, round(window * 0.12))
    margin = max(512, round(window * (0.01 if calibrated else 0.03)))
    ceiling = int((window - reserve - margin) / factor)
    cap = int(budget.cap_share * (window - reserve) / factor) - static
    if cap < 2_000:
        raise PolicyError(
            f"Only {max(cap, 0):,} tokens are left for messages: the window is {window:,}, {reserve:,} are reserved "
            f"for the answer and the system text with tool schemas takes {static:,}. "
            + (f"The provider counts {factor:.2f} tokens for one of ours. " if factor > 1.01 else "")
            + "Shorten the static prefix, lower max_output, or use a larger window."
        )
    target = budget.target_tokens
    if target is not None:
        if target - static < 500:
            raise PolicyError(
                f"The target of {target:,} tokens leaves {target - static:,} beside the static prefix of {static:,}; "
                f"ask for at least {static + 500:,}."
            )
        landing = min(target - static, cap)
        trigger = min(round(landing / 0.6), cap)
    else:
        landing = budget.landing_tokens or min(budget.landing_default, window // 4)
        landing = min(landing, round(0.6 * cap))
        trigger = min(budget.trigger_tokens, cap)
    return Room(
        window=window,
        reserve=reserve,
        margin=margin,
        static=static,
        ceiling=ceiling,
        cap=cap,
        landing=landing,
        trigger=trigger,
        nothing_below=0 if target is not None else budget.nothing_below,
        forced=target is not None,
    )
