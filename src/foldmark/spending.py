"""What a compaction cost and saves, in tokens and money. Knows nothing of how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import msgspec

from foldmark.asking import info_of
from foldmark.events import Usage
from foldmark.gauging import Gauge
from foldmark.pacing import first_reported, rests
from foldmark.policy import Policy
from foldmark.prices import Money, Price, PriceTable, bill, dollars, money, price_of
from foldmark.prompts import room_for_records
from foldmark.reports import Call
from foldmark.store import View
from foldmark.summarizer import Summarizer, names_of
from foldmark.triggers import BY_CODE, ComingCall, coming_call
from foldmark.triggers.renting import ANSWER_TOKENS


def coming(summarizer: Summarizer | None, policy: Policy, view: View, gauge: Gauge, now: float) -> ComingCall:
    """The summary call that a compaction would make now, for the rent rule: none while the models rest. (A cooldown is
    too short to count: a compaction that comes in it is priced with the call, so that it waits.)"""
    if summarizer is None:
        return BY_CODE
    reported = first_reported(view, gauge.room)
    if rests(view.attempts, summarizer.limits, now, models=names_of(summarizer), reported=reported):
        return BY_CODE
    info = info_of(summarizer.models[0])
    room = max(1, room_for_records(info, summarizer))
    return coming_call(
        "fork" if summarizer.fork else "standalone",
        policy.prices,
        price_of(info.name, policy.price_table),
        parts=max(1, min(summarizer.limits.parts, ceil(gauge.sizes.goes / room))),
    )


def spent(calls: Sequence[Call], policy: Policy, gauge: Gauge, after: int) -> tuple[Money | None, tuple[str, ...]]:
    """(the money of a compaction that landed on `after` tokens, warnings). None when the running model's prices are not
    known. The calls of other models are turned into its tokens by their dollars."""
    prices, table, sizes = policy.prices, policy.price_table, gauge.sizes
    if prices is None:
        return None, ()
    paid, warnings = 0.0, []
    for call in calls:
        if call.failure and not call.usage.input:
            continue  # it never got there
        if not call.usage.input:
            call = msgspec.structs.replace(call, usage=Usage(input=call.tokens, output=ANSWER_TOKENS))  # noqa: PLW2901
            warnings.append(f"{call.model} reported no usage; its call is estimated.")
        units = _units(call, prices, table)
        if units is None:
            warnings.append(f"The price of {call.model} is not known; its call is not in the sum.")
        paid += units or 0.0
    found = money(prices, before=sizes.sent, after=after, static=gauge.room.static, alive=sizes.alive, call=paid)
    if found.is_loss:
        warnings.append(found.text)
    return found, tuple(dict.fromkeys(warnings))


def of_calls(money: Money | None) -> Money | None:
    """What was paid for a compaction that did not come about: its calls, and no saving."""
    return msgspec.structs.replace(money, rewrite=0.0, saving=0.0) if money and money.call else None


def _units(call: Call, prices: Price, table: PriceTable | None) -> float | None:
    """A call in plain input tokens of the running model; None when its price, or how the two compare, is not known."""
    if call.mode == "fork" or call.model == prices.model:
        return bill(call.usage, prices)
    own = price_of(call.model, table)
    if own is None:
        return None
    amount, one = dollars(bill(call.usage, own), own), dollars(1.0, prices)
    return amount / one if amount is not None and one else None
