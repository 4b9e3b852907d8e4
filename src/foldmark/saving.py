"""Reads off a scope's log and notes what `prices.saved` compares. Knows nothing of bills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from foldmark.checkpoint import Checkpoint, Mark
from foldmark.drafts import cost, without_thinking
from foldmark.events import CONTINUES, Event
from foldmark.policy import Policy
from foldmark.prices import Price, PriceTable, bill, dollars, price_of
from foldmark.prices.saved import Called, Replied, Saved, saved
from foldmark.reports import Attempt, summed
from foldmark.store import Frame, Key, Store


def saved_by(store: Store, key: Key, policy: Policy, frame: Frame) -> Saved:
    """What the scope's requests were billed against the whole log each time, at the prices of the policy.

    Counted are replies of this session: what a fork inherits was paid by its parent.
    """
    log, versions, state = store.log(key), store.checkpoints(key), store.view(key).state
    mine = _own(log, key.scope)
    replies = replied(log, mine, versions, key.session)
    answered = [event for event in log if event.role == "assistant" and event.session == key.session]
    changes = bool(versions) or state.mark != Mark()
    return saved(
        replies, policy.prices, called=called(store.attempts(key), policy.prices, policy.price_table), changes=changes,
        static=frame.static_tokens, factor=state.correction(frame).factor, window=0 if frame.assumed else frame.window,
        uncounted=_steps(answered) - sum(not one.inherited for one in replies),
        outside=sum(artifact.tokens for event in log for artifact in event.artifacts),
    )  # fmt: skip


def replied(
    log: Sequence[Event], mine: str | None, versions: Iterable[Checkpoint] = (), session: str = ""
) -> list[Replied]:
    """The replies of the agent `mine` with reported usage, each with what its request had that the one before had not.
    The rest of a step that came in twice is no reply of its own: the newer usage counts."""
    heads, out, new, last = sorted(one.head for one in versions), list[Replied](), list[Event](), 0
    for event in log:
        usage = event.usage if event.role == "assistant" and event.key == mine else None
        if usage and usage.input and CONTINUES in event.meta and out:
            out[-1] = msgspec.structs.replace(out[-1], usage=usage)
        elif usage and usage.input:
            plain = cost([without_thinking(one) for one in new])
            asked = next((one.time for one in reversed(new) if one.time is not None), None)
            out.append(Replied(
                seq=event.seq, usage=usage, tokens=plain, thinking=cost(new) - plain, model=event.model, asked=asked,
                answered=event.time, inherited=event.session != session,
                changed=any(last <= head < event.seq for head in heads),
            ))  # fmt: skip
            new, last = [], event.seq
        new.append(event)
    return out


def called(notes: Iterable[Attempt], price: Price | None, table: PriceTable | None = None) -> Called:
    """What summary calls took, used or not, in plain input tokens of `price`."""
    asked = [one for one in notes if one.calls]
    units = [_units(one, price, table) for one in asked]
    return Called(
        calls=sum(one.calls for one in asked), usage=summed(one.usage for one in asked),
        units=sum(one for one in units if one is not None),
        unpriced=sum(one.calls for one, paid in zip(asked, units, strict=True) if paid is None),
    )  # fmt: skip


def _units(note: Attempt, price: Price | None, table: PriceTable | None) -> float | None:
    """The calls of one attempt as the note has them, else by their usage; None when how their price compares with that
    of the running model is not known."""
    if price is None:
        return None
    if note.money and (note.money.call or not note.usage.input):
        return _turned(note.money.call, note.money.price, price)
    if note.mode == "fork" or note.model == price.model:
        return bill(note.usage, price)
    own = price_of(note.model, table)
    return _turned(bill(note.usage, own), own, price) if own else None


def _turned(units: float, own: Price, price: Price) -> float | None:
    """An amount at one price in tokens of another."""
    if own == price:
        return units
    amount, one = dollars(units, own), dollars(1.0, price)
    return amount / one if amount is not None and one else None


def _own(log: Iterable[Event], scope: str) -> str | None:
    """The key of the replies that answer the scope's requests: its own, or the only one there is. Replies of other
    agents have pasts of their own, and their sizes say nothing of this one. None: it cannot be told."""
    keys = {event.key for event in log if event.role == "assistant"}
    return scope if scope in keys else next(iter(keys)) if len(keys) == 1 else None


def _steps(replies: Iterable[Event]) -> int:
    return sum(CONTINUES not in event.meta for event in replies)
