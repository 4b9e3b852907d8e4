"""The rent rule: compact when the reads of what a compaction would remove have cost as much as it costs now.

Amounts are in plain input tokens of the running model (docs/explanation/when.md has the formulas and their source).
Knows nothing of events or of other triggers.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal

import msgspec

from foldmark.budget import Room
from foldmark.policy import Policy
from foldmark.prices import Price, prompt_cost, swing
from foldmark.reports import Reason
from foldmark.triggers.measuring import Sizes

INSTRUCTION_TOKENS = 500
"""What a summary request adds to the text it is about (the study's number)."""
ANSWER_TOKENS = 1_500
"""What a summary model writes (the study's number; 500 to 4,000 move the bill by 3 points)."""
LEAST_SHARE = 0.25
"""The share of the landing that must go, unless `pace.minimum_reclaim` says otherwise: the one guard of the study that
was set by hand."""


class ComingCall(msgspec.Struct, frozen=True, kw_only=True):
    """The summary call that a compaction would make now. By `code` there is none; a `fork` rides on the cache of the
    running model; `standalone` asks anew, in `parts`, a model whose plain input token costs `price` of ours and whose
    output token costs `output` of its own input tokens."""

    mode: Literal["code", "fork", "standalone"] = "code"
    price: float = 1.0
    output: float = 5.0
    answer_tokens: int = ANSWER_TOKENS
    parts: int = 1


BY_CODE = ComingCall()
"""No call: code writes the checkpoint."""


def coming_call(
    mode: Literal["code", "fork", "standalone"], running: Price | None, summary: Price | None, *,
    answer_tokens: int = ANSWER_TOKENS, parts: int = 1,
) -> ComingCall:  # fmt: skip
    """The call as the price lists of both models tell it. A model whose plain price is unknown is taken to be as dear
    as the running one: that errs towards fewer calls."""
    plain = running.dollars_per_million if running else None
    asked = summary.dollars_per_million if summary else None
    price = asked / plain if plain and asked is not None else 1.0
    output = summary.output if summary else running.output if running else 5.0
    return ComingCall(mode=mode, price=price, output=output, answer_tokens=answer_tokens, parts=parts)


def call_price(call: ComingCall, prices: Price, measured: Sizes) -> float:
    """What the summary call costs. A fork pays the long-request step of the request that it clones; standalone, what a
    compaction takes off the request stands for the text that is read."""
    if call.mode == "fork":
        size = measured.sent + INSTRUCTION_TOKENS
        step, step_out = prices.steps(size)
        prompt = prices.read * measured.alive + size - measured.alive
        return step * prompt + step_out * prices.output * call.answer_tokens
    if call.mode == "standalone":
        asked = INSTRUCTION_TOKENS + call.output * call.answer_tokens
        return call.price * (max(0, measured.goes) + call.parts * asked)
    return 0.0


def rent_account(
    prices: Price, room: Room, measured: Sizes, call: ComingCall = BY_CODE, *, pause_chance: float = 0.0
) -> tuple[float, float]:
    """(cost of compacting now, rent paid since the last compaction).

    Reading the covered text in a standalone call is no cost of compacting *now*: it is paid once per token whenever
    one compacts. A likely pause takes off what writing the large prefix again would cost.
    """
    kept = room.static if measured.alive else 0
    after = prompt_cost(prices, measured.landed, kept)
    before = prompt_cost(prices, measured.sent, measured.alive)
    asked = call_price(call, prices, measured)
    if call.mode == "standalone":
        asked -= call.price * max(0, measured.goes)
    spared = pause_chance * prices.write * max(0, measured.goes)
    home = _reading(prices, measured.landed)
    paid = sum(max(0.0, _reading(prices, size) - home) for size in measured.past)
    return asked + after - before - spared, paid


def rent_reason(
    prices: Price, policy: Policy, room: Room, measured: Sizes, call: ComingCall = BY_CODE
) -> Reason | None:
    """Why the rent rule compacts now, or None."""
    expected = policy.expected
    cost, paid = rent_account(prices, room, measured, call, pause_chance=expected.pause_chance)
    if paid < cost or measured.goes < _least(policy, room, measured):
        return None
    if expected.requests_left is not None and expected.requests_left * prices.read * measured.goes <= cost:
        return None  # the requests that still come could not pay it back
    return Reason("rent", paid, cost, f"reads of what would go have cost {paid:,.0f}, compacting costs {cost:,.0f}")


def rent_point(
    prices: Price, policy: Policy, room: Room, measured: Sizes, growth: float | None, call: ComingCall = BY_CODE
) -> tuple[int, str]:
    """(size of the whole request at which the rent rule will compact, why), at `growth` tokens a request (None: the
    mean since the last compaction): X - Y = sqrt(2 g K / r), and less when a pause is likely."""
    if prices.read <= 0:
        return room.static + room.cap, "cached tokens cost nothing, so only the cap counts"
    if growth is None:
        growth = (measured.whole - min(measured.past)) / len(measured.past) if measured.past else 1_000.0
    growth = max(growth, 1.0)
    root = swing(prices, landing=measured.landed - room.static, growth=growth)
    asked = INSTRUCTION_TOKENS + (prices.output if call.mode == "fork" else call.output) * call.answer_tokens
    fork = asked + prices.read * measured.landed  # it reads the whole request
    added = {"code": 0.0, "fork": fork, "standalone": call.price * call.parts * asked}[call.mode]
    spared = policy.expected.pause_chance * prices.write * growth / prices.read
    away = sqrt(root**2 + 2 * growth * added / prices.read + spared**2) - spared
    away = max(away, _least(policy, room, measured))
    size = max(measured.landed + round(away), room.static + room.nothing_below)
    return size, f"rent rule at {growth:,.0f} tokens of growth per request"


def _least(policy: Policy, room: Room, measured: Sizes) -> float:
    """Tokens that must go for a compaction to be worth it."""
    share = policy.pace.minimum_reclaim
    return (LEAST_SHARE if share is None else share) * (measured.landed - room.static)


def _reading(prices: Price, size: int) -> float:
    return prices.read * size * prices.steps(size)[0]
