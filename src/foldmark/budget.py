"""How much room a request has and what a compaction aims at. Knows nothing of events or of who asks.

All arithmetic is in our tokens (o200k). What was learned of a provider's way of counting (`calibration`) shrinks the
room instead of inflating every count, so that choices inside a request never depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from foldmark.calibration import Correction, Sample, kept
from foldmark.errors import PolicyError
from foldmark.events import Event, Usage
from foldmark.media_prices import difference
from foldmark.policy import Policy
from foldmark.store import Frame, ScopeState, View, meter_name

UNKNOWN_WINDOW = 128_000
"""Used with a warning when nobody says how large the window is: the smallest window common in 2026."""

CHECKPOINT_FLOOR = 2_000
"""Room that a checkpoint gets even when the newest round fills the landing (design, rent rule: `+ 2K`)."""


LEAST_CAP = 2_000
"""Fewer tokens beside the static prefix are no room for a session (design, PolicyError)."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one request, in tokens. `ceiling` is what the whole request may cost; `cap`, `landing` and
    `trigger` are above the static prefix `static`; `forced` says that a target size was asked for; `correction` is how
    the provider counts, `wire` and `model` are who reads the request, `bound_thinking` says that thinking must not
    stand behind another prefix."""

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
    correction: Correction = Correction()
    wire: str = ""
    model: str = ""
    bound_thinking: bool = False

    def extra(self, messages: Iterable[Event]) -> int:
        """What the images of these messages cost at the provider above (or below) their neutral prices."""
        return difference(messages, self.wire, self.model)

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


_MODELS_KEPT = 6  # usages of so many (wire, model) pairs: sessions move between a few


def with_usage(state: ScopeState, frame: Frame, sent: int, usage: Usage, model: str) -> ScopeState:
    """The state once a reply reported what a request of `sent` tokens cost; `model` is the one that replied."""
    name = meter_name(frame.wire, frame.model or model)
    others = {key: value for key, value in state.usages.items() if key != name}
    usages = {**others, name: kept(state.usages.get(name, ()), Sample(sent, usage.input))}
    newest = dict(list(usages.items())[-_MODELS_KEPT:])
    return msgspec.structs.replace(state, model=model or state.model, usages=newest, last_usage=usage)


def room(frame: Frame, policy: Policy, state: ScopeState | None = None, *, pictures: int = 0) -> Room:
    """The room for requests of a frame. `pictures` is what the images of the view cost at the frame's provider above
    their neutral prices (`media_prices.difference`): it brings the cap nearer. The ceiling leaves it to `fit`, which
    may drop images (`Room.extra`).

    Sources: output reserve min(16,000, 12% of the window); margin 3%, at least 512, 1% once two usages were
    reported; cap, landing and trigger as docs/explanation/when.md lists them. Raises PolicyError when less than
    2,000 tokens are left beside the static prefix, or when a target does not leave 500 beside it.
    """
    budget, window, static = policy.budget, frame.window, frame.static_tokens
    found = _within(state.correction(frame) if state else Correction(), window)
    reserve = frame.max_output or budget.output_reserve
    if reserve is None:
        reserve = min(16_000, round(window * 0.12))
    margin = max(512, round(window * (0.01 if found.samples >= 2 else 0.03)))
    most = budget.cap_share * (window - reserve)
    if found.ours(most) - static < LEAST_CAP <= most - static:
        # Usages may be another request's, or sums: what was learned refuses nothing by itself, since no request would
        # go out any more and nothing new could be learned.
        found = Correction(samples=1)
    ceiling = found.ours(window - reserve - margin)
    cap = found.ours(most) - static
    if cap < LEAST_CAP:
        raise PolicyError(
            f"Only {max(cap, 0):,} tokens are left for messages: the window is {window:,}, {reserve:,} are reserved "
            f"for the answer and the system text with tool schemas takes {static:,}. "
            + (f"The provider counts {found.factor:.2f} tokens for one of ours. " if found.factor > 1.01 else "")
            + (f"It adds {found.offset:,} that we do not see. " if found.offset > 0 else "")
            + "Shorten the static prefix, lower max_output, or use a larger window."
        )
    cap = max(LEAST_CAP, cap - pictures)
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
        correction=found,
        wire=frame.wire,
        model=_reader(frame, state),
        bound_thinking=policy.cleanup.bound_thinking,
    )


def room_for(view: View, frame: Frame, policy: Policy, shown: Sequence[Event]) -> Room:
    """The room for the next request of a view. `shown` are its events as the mark shows them: an image that is still
    there has the price of the provider that will read it, one that left as a line has none."""
    pictures = difference((*view.kept, *shown), frame.wire, _reader(frame, view.state))
    return room(frame, policy, view.state, pictures=pictures)


def _reader(frame: Frame, state: ScopeState | None) -> str:
    """The model that will read the request: as the caller said, else the one that replied last."""
    return frame.model or (state.model if state else "")


def _within(found: Correction, window: int) -> Correction:
    """The correction; an offset that only a ratio speaks for is at most a quarter of the window."""
    return msgspec.structs.replace(found, offset=min(found.offset, window // 4)) if found.by_ratio else found
