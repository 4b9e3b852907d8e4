"""How much room a request has and what a compaction aims at. Knows nothing of events or of who asks.

All arithmetic is in our tokens (o200k). What was learned of a provider's way of counting (`calibration`) shrinks the
room instead of inflating every count, so that choices inside a request never depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


QUIET = 1.25
"""So many landings above the static prefix is the least that a compaction pays for. A fixed 15,000 stood above the rent
rule's own point for landings of 8,000: 1.10 to 1.15 of the optimum where reads cost half, 1.01 to 1.02 with this
(docs/results.md, bills)."""

LEAST_CAP = 2_000
"""Fewer tokens beside the static prefix are no room for a session (design, PolicyError)."""

LEAST_LANDING = 1_200
"""0.6 of the least cap: what the landing is never pushed under by what a host adds."""

LEAST_TARGET = 500
"""A target that leaves less beside the static prefix cannot be reached."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one request, in tokens. `ceiling` is what the whole request may cost; `cap`, `landing` and
    `trigger` are above the static prefix `static`; `forced` says that a target size was asked for; `correction` is how
    the provider counts, `wire` and `model` are who reads the request, `bound_thinking` says that thinking must not
    stand behind another prefix. `burst` is what the tools of one step may bring (None: the cap is a share), `media`
    what images cost above their neutral prices, `reinjected` what the host adds after a compaction, on top of the
    landing. `refused` says that the window is the one that a provider's refusal named."""

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
    burst: int | None = None
    media: int = 0
    reinjected: int = 0
    refused: bool = False

    def extra(self, messages: Iterable[Event]) -> int:
        """What the images of these messages cost at the provider above (or below) their neutral prices."""
        return difference(messages, self.wire, self.model)

    @property
    def level(self) -> int:
        """The size above the static prefix that a session falls back to: the landing and what the host adds to it."""
        return self.landing + self.reinjected

    @property
    def quiet(self) -> int:
        """Up to this size above the static prefix no cleanup begins: the level of a target, else half the trigger
        (clearing pays from X/2 on), and nothing below 15,000."""
        return self.level if self.forced else max(self.nothing_below, self.trigger // 2)

    def cap_lines(self) -> tuple[tuple[str, int], ...]:
        """The arithmetic of the cap, line by line, behind `lines`: at which size above the static prefix a compaction
        cannot wait any longer."""
        left = self.ceiling - self.static
        burst = self.burst or 0
        rest = self.cap - (left - burst - self.media)
        return (
            *((("- what the tools of one step may bring", -burst),) if burst else ()),
            *((("- images, at this provider's prices", -self.media),) if self.media else ()),
            *(((f"{'-' if rest < 0 else '+'} the share of the room that the cap is", rest),) if rest else ()),
            ("= the cap, above the static prefix", self.cap),
        )

    def lines(self) -> tuple[tuple[str, int], ...]:
        """The arithmetic, line by line, for reports and BudgetExceeded."""
        room = self.window - self.reserve - self.margin
        return (
            ("context window" + (", as the provider's refusal said" if self.refused else ""), self.window),
            ("- reserved for the answer", -self.reserve),
            ("- safety margin", -self.margin),
            *((("- the provider counts more tokens than we do", self.ceiling - room),) if room > self.ceiling else ()),
            ("= room for the whole request", self.ceiling),
            ("- system text and tool schemas", -self.static),
        )


_MODELS_KEPT = 6  # usages of so many (wire, model) pairs: sessions move between a few


def with_usage(
    state: ScopeState, frame: Frame, sent: int, usage: Usage, model: str, *, taken: bool = False
) -> ScopeState:
    """The state once the size of a request of `sent` tokens was reported; `model` is the one that replied. `taken` says
    that the request was answered: a limit that a refusal named (or that was guessed from one) and that it passed was
    wrong, and is forgotten."""
    name = meter_name(frame.wire, frame.model or model)
    others = {key: value for key, value in state.usages.items() if key != name}
    usages = {**others, name: kept(state.usages.get(name, ()), Sample(sent, usage.input))}
    newest = dict(list(usages.items())[-_MODELS_KEPT:])
    limits = {key: limit for key, limit in state.limits.items() if key != name or not taken or limit >= usage.input}
    return msgspec.structs.replace(state, model=model or state.model, usages=newest, last_usage=usage, limits=limits)


def room(frame: Frame, policy: Policy, state: ScopeState | None = None, *, pictures: int = 0) -> Room:
    """The room for requests of a frame. `pictures` is what the images of the view cost at the frame's provider above
    their neutral prices (`media_prices.difference`): it brings the cap nearer. The ceiling leaves it to `fit`, which
    may drop images (`Room.extra`). A window that a provider's refusal named counts where it is the smaller one.

    Sources: output reserve min(16,000, 12% of the window); margin 3%, at least 512, 1% once two usages were
    reported; cap, landing and trigger as docs/explanation/when.md lists them. Raises PolicyError when less than
    2,000 tokens are left beside the static prefix, when a target does not leave 500 beside it, or when what the host
    adds after a compaction leaves no room for one.
    """
    budget, expected, static = policy.budget, policy.expected, frame.static_tokens
    made = _arithmetic(min(frame.window, _refused(frame, state) or frame.window), frame, policy, state)
    while made.cap < LEAST_CAP and made.window < frame.window:  # as with usages: what was learned refuses nothing
        made = _arithmetic(min(frame.window, round(1.25 * made.window) + 1), frame, policy, state)
    if made.cap < LEAST_CAP:
        raise PolicyError(_no_room(made, static, expected.burst_tokens or 0))
    if made.cap - LEAST_LANDING < expected.reinjected_tokens:
        raise PolicyError(
            f"Your host adds {expected.reinjected_tokens:,} tokens after a compaction (expected.reinjected_tokens) and "
            f"the cap is {made.cap:,} above the static prefix; at most {made.cap - LEAST_LANDING:,} leave room for one."
        )
    cap = max(LEAST_CAP, made.cap - pictures)
    landing, trigger = _landing(policy, made.window, static, cap)
    return Room(
        window=made.window,
        reserve=made.reserve,
        margin=made.margin,
        static=static,
        ceiling=made.ceiling,
        cap=cap,
        landing=landing,
        trigger=trigger,
        nothing_below=0 if budget.target_tokens is not None else min(budget.nothing_below, round(QUIET * landing)),
        forced=budget.target_tokens is not None,
        correction=made.correction,
        wire=frame.wire,
        model=_reader(frame, state),
        bound_thinking=policy.cleanup.bound_thinking,
        burst=expected.burst_tokens,
        media=pictures,
        reinjected=expected.reinjected_tokens,
        refused=made.window < frame.window,
    )


class _Arithmetic(NamedTuple):
    """What a window leaves: `ceiling` for the whole request, `cap` above the static prefix."""

    window: int
    reserve: int
    margin: int
    correction: Correction
    ceiling: int
    cap: int


def _arithmetic(window: int, frame: Frame, policy: Policy, state: ScopeState | None) -> _Arithmetic:
    budget, burst = policy.budget, policy.expected.burst_tokens
    found = _within(state.correction(frame) if state else Correction(), window)
    reserve = frame.max_output or budget.output_reserve
    if reserve is None:
        reserve = min(16_000, round(window * 0.12))
    margin = max(512, round(window * (0.01 if found.samples >= 2 else 0.03)))
    most = budget.cap_share * (window - reserve) if burst is None else window - reserve - margin
    taken = frame.static_tokens + (burst or 0)
    if found.ours(most) - taken < LEAST_CAP <= most - taken:
        # Usages may be another request's, or sums: what was learned refuses nothing by itself, since no request would
        # go out any more and nothing new could be learned.
        found = Correction(samples=1)
    ceiling = found.ours(window - reserve - margin)
    return _Arithmetic(window, reserve, margin, found, ceiling, found.ours(most) - taken)


def _no_room(made: _Arithmetic, static: int, burst: int) -> str:
    return (
        f"Only {max(made.cap, 0):,} tokens are left for messages: the window is {made.window:,}, {made.reserve:,} are "
        f"reserved for the answer and the system text with tool schemas takes {static:,}. "
        + (f"{burst:,} are kept free for what tools bring (expected.burst_tokens). " if burst else "")
        + (f"The provider counts {made.correction.factor:.2f} tokens for one of ours. "
           if made.correction.factor > 1.01 else "")
        + (f"It adds {made.correction.offset:,} that we do not see. " if made.correction.offset > 0 else "")
        + "Shorten the static prefix, lower max_output, or use a larger window."
    )  # fmt: skip


def _landing(policy: Policy, window: int, static: int, cap: int) -> tuple[int, int]:
    """(landing, trigger) above the static prefix. What the host adds after a compaction is part of the size that the
    session falls back to, so the landing is smaller by it and the next trigger stays above both."""
    budget, added = policy.budget, policy.expected.reinjected_tokens
    if budget.target_tokens is not None:
        left = budget.target_tokens - static
        if left - added < LEAST_TARGET:
            raise PolicyError(
                f"The target of {budget.target_tokens:,} tokens leaves {left - added:,} beside the static prefix of "
                f"{static:,}"
                + (f" and the {added:,} that your host adds" if added else "")
                + f"; ask for at least {static + added + LEAST_TARGET:,}."
            )
        level = min(left, cap)
        return max(LEAST_TARGET, level - added), min(round(level / 0.6), cap)
    wanted = budget.landing_tokens or min(budget.landing_default, window // 4)
    landing = min(wanted, max(round(0.6 * cap) - added, LEAST_LANDING))
    above = round((landing + added) / 0.6) if added else 0
    return landing, min(max(budget.trigger_tokens, above), cap)


def room_for(view: View, frame: Frame, policy: Policy, shown: Sequence[Event]) -> Room:
    """The room for the next request of a view. `shown` are its events as the mark shows them: an image that is still
    there has the price of the provider that will read it, one that left as a line has none."""
    pictures = difference((*view.kept, *shown), frame.wire, _reader(frame, view.state))
    return room(frame, policy, view.state, pictures=pictures)


def _refused(frame: Frame, state: ScopeState | None) -> int:
    """The window that a refusal of that model named, 0 for none."""
    return state.limits.get(meter_name(frame.wire, _reader(frame, state)), 0) if state else 0


def _reader(frame: Frame, state: ScopeState | None) -> str:
    """The model that will read the request: as the caller said, else the one that replied last."""
    return frame.model or (state.model if state else "")


def _within(found: Correction, window: int) -> Correction:
    """The correction; an offset that only a ratio speaks for is at most a quarter of the window."""
    return msgspec.structs.replace(found, offset=min(found.offset, window // 4)) if found.by_ratio else found
