"""What a session was billed against what it would have been with its whole log in every request. Knows nothing of
stores, and of how requests are made.

What was sent is what providers reported. What was not sent has no meter, so it is worked out: the whole request grows
from one reply to the next by what the provider's own count grew, and over a compaction, where that says nothing, by our
count of what came in times the provider's factor. Until something was left out the two are the same request, and the
same bill with all its cache misses. From there on the other side has a cache that misses nothing while it lives, so
that the saving is rather too small than too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import msgspec

from foldmark.calibration import LEAST_FACTOR, LEAST_GROWTH, MOST_FACTOR
from foldmark.events import Usage
from foldmark.prices.money import Money
from foldmark.prices.price import Price, bill, dollars
from foldmark.refs import event_ref

WITHIN, SLACK = 2.0, 64
"""A request that grew by less than half or more than twice of what came in, beyond so many tokens, does not only go on
from the last one: something was left out or put back."""

LIFETIME_SECONDS = 300.0
"""Without prices: the shortest lifetime on sale."""


class Replied(msgspec.Struct, frozen=True, kw_only=True):
    """A reply with the usage it reported, and what its request has that the one before had not: `tokens` of events (our
    count, no thinking) and of `thinking`. `changed`: a checkpoint was made, edited or taken back in between. Its
    request was `asked` not before the newest event in it, and `answered` when the reply came (Unix seconds; None: not
    known): a pause shows in one of the two. `inherited`: another session paid for it."""

    seq: int
    usage: Usage
    tokens: int
    thinking: int = 0
    changed: bool = False
    asked: float | None = None
    answered: float | None = None
    model: str = ""
    inherited: bool = False


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls of summary models took: how many, their usage, their price in plain input tokens of the running
    model, and how many of them are not in that sum because their price is not known."""

    calls: int = 0
    usage: Usage = Usage()
    units: float = 0.0
    unpriced: int = 0


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A bill and the bill that it takes the place of; `str` says it in words. Both are at the prices of `price`.

    `requests` are those whose reply reported its usage, `uncounted` those whose did not or that another agent of the
    session sent. `sent` and `original` are the sums of their usages: as reported, and with the whole log each time
    (previews as admitted; bodies of `outside` tokens stand behind them and are counted on neither side). `called` is
    what summaries took. `billed` (summaries included) and `would` are amounts in plain input tokens; None where the
    running model's prices are not known. `unread` requests read nothing of a cache that should have lived: they are
    billed as they were, and the other side as if it had read. `beyond` is the first reply (a seq) whose whole request
    would not have fitted `window` (tokens; 0: unknown): from there on the comparison is with what cannot be sent.
    """

    requests: int = 0
    uncounted: int = 0
    sent: Usage = Usage()
    original: Usage = Usage()
    called: Called = Called()
    price: Price | None = None
    billed: float | None = None
    would: float | None = None
    unread: int = 0
    outside: int = 0
    window: int = 0
    beyond: int = 0

    @property
    def not_sent(self) -> int:
        """Prompt tokens that were left out of the requests, summed; below 0 when they were larger for it."""
        return self.original.input - self.sent.input

    @property
    def saving(self) -> float | None:
        """In plain input tokens; below 0 when it cost more than it saved, None without prices."""
        return None if self.billed is None or self.would is None else self.would - self.billed

    @property
    def share(self) -> float | None:
        """The saving as a share of what would have been billed."""
        return self.saving / self.would if self.saving is not None and self.would else None

    @property
    def dollars(self) -> float | None:
        """The saving in US dollars where the plain price is known."""
        return None if self.saving is None or self.price is None else dollars(self.saving, self.price)

    def __str__(self) -> str:
        if not self.requests:
            return f"Nothing can be said of a saving: no reply reported its usage ({self.uncounted:,} did not)."
        return f"{self._bills()} {self._compared()}"

    def _bills(self) -> str:
        """The two bills, or the two sizes where there is no price."""
        many = f"{self.requests:,} request{'' if self.requests == 1 else 's'}"
        if self.price is None or self.billed is None or self.would is None or self.saving is None:
            took = f", and {self.called.usage.input:,} to write summaries" if self.called.calls else ""
            return (
                f"{many} took {self.sent.input:,} prompt tokens{took}; with the whole log each time they would have "
                f"taken {self.original.input:,} (the model's prices are not known, so nothing is said of money)."
            )
        show = Money(price=self.price).show
        called = f", {show(self.called.units)} of it for summaries" if self.called.units else ""
        paid = f"{many} were billed {show(self.billed)}{called}"
        if not self.not_sent and not self.called.calls:
            return f"{paid}; no compaction left anything out of them, so nothing was saved."
        other = f"{paid}; with the whole log each time it would have been {show(self.would)}"
        if self.saving < 0:
            return f"{other}: compaction has cost {show(-self.saving)} more than it saved."
        return f"{other}: {show(self.saving)} ({self.share or 0:.0%}) saved."

    def _compared(self) -> str:
        """What the comparison is with, and what is not in it."""
        left_out = f"{abs(self.not_sent):,} prompt tokens were"
        said = [f"{left_out} not sent" if self.not_sent >= 0 else f"{left_out} sent that the whole log has not"]
        if self.beyond:
            at = event_ref(self.beyond)
            said.append(f"from {at} on the whole log would not have fitted the window of {self.window:,} tokens")
        if self.unread and self.price:
            said.append(f"{self.unread:,} read nothing from the cache, which the other side is taken to have read")
        if self.called.unpriced and self.price:
            said.append(f"{self.called.unpriced:,} calls for summaries have no known price and are not in the sum")
        if self.uncounted:
            said.append(f"{self.uncounted:,} replies without a usage of their own are not counted")
        return "; ".join(said) + "."


def saved(
    replies: Sequence[Replied], price: Price | None = None, *, called: Called = Called(), changes: bool = True,
    static: int = 0, factor: float = 1.0, window: int = 0, uncounted: int = 0, outside: int = 0,
) -> Saved:  # fmt: skip
    """The two bills of a scope by its replies, oldest first.

    `changes` is False for a log of which nothing was ever left out: then both bills are one, whatever the sizes say.
    `static` (tokens of the static prefix) and `factor` (the provider's tokens for one of ours) are used where replies
    do not tell: when the first of them came after a compaction already, and when too few grew.
    """
    sizes = whole_sizes(replies, static, factor) if changes else [one.usage.input for one in replies]
    first = next((at for at, one in enumerate(replies) if changes and one.usage.input != sizes[at]), len(replies))
    whole = [*(one.usage for one in replies[:first]), *_cached(replies, sizes, first, price)]
    pairs = [(one, other) for one, other in zip(replies, whole, strict=True) if not one.inherited]
    sent, original = [one.usage for one, _ in pairs], [other for _, other in pairs]
    unread = sum(other.cache_read > 0 and not one.cache_read for one, other in zip(sent, original, strict=True))
    return Saved(
        requests=len(pairs), uncounted=uncounted, sent=_sum(sent), original=_sum(original), called=called, price=price,
        billed=None if price is None else sum(bill(one, price) for one in sent) + called.units,
        would=None if price is None else sum(bill(one, price) for one in original),
        unread=unread, outside=outside, window=window,
        beyond=next((one.seq for one, other in pairs if window and other.input > window), 0),
    )  # fmt: skip


def whole_sizes(replies: Sequence[Replied], static: int = 0, factor: float = 1.0) -> list[int]:
    """What each request would have come to with the whole log in it, as the provider counts."""
    factor, sizes, thinking = _factor(replies, factor), list[int](), 0
    for before, one in zip([None, *replies], replies, strict=False):
        expected = factor * one.tokens
        if before is None:
            size = round(factor * static + expected) if one.changed else one.usage.input
        else:
            grown = one.usage.input - before.usage.input
            low = expected / WITHIN - SLACK - factor * thinking  # thinking of earlier turns may have left by itself
            high = expected * WITHIN + SLACK + factor * one.thinking
            goes_on = not one.changed and low <= grown <= high
            size = sizes[-1] + (grown if goes_on else round(expected))
        thinking += one.thinking
        sizes.append(size)
    return sizes


def _factor(replies: Sequence[Replied], otherwise: float) -> float:
    """The provider's tokens for one of ours: what requests that go on grew by, the middle one by the tokens that came
    in (a small step says little: its rounding is a large part of it)."""
    found = list[tuple[float, int]]()
    for before, one in pairwise(replies):
        came = one.tokens + one.thinking
        if not one.changed and came >= LEAST_GROWTH:
            ratio = (one.usage.input - before.usage.input) / came
            found += [(ratio, came)] if LEAST_FACTOR <= ratio <= MOST_FACTOR else []
    found.sort()
    upto, half = list(accumulate(came for _, came in found)), sum(came for _, came in found) / 2
    return next((ratio for (ratio, _), sofar in zip(found, upto, strict=True) if sofar >= half), otherwise)


def _cached(replies: Sequence[Replied], sizes: Sequence[int], first: int, price: Price | None) -> Iterable[Usage]:
    """The usages from `first` on of requests of those sizes, with a cache that misses nothing while it lives. One that
    the provider never told of counts on neither side."""
    tells, writes = _tells(replies), any(one.usage.cache_write for one in replies)
    lifetime, least = (price.cache_seconds, price.minimum_prefix) if price else (LIFETIME_SECONDS, 0)
    for at in range(first, len(replies)):
        one, size = replies[at], sizes[at]
        if not at:
            there = size if one.usage.cache_read else 0  # what was sent before it is not known: the cheaper side
        else:
            there = min(sizes[at - 1], size) if tells and _lives(replies[at - 1], one, lifetime) else 0
        read = there if there >= least else 0
        yield Usage(input=size, output=one.usage.output, cache_read=read, cache_write=size - read if writes else 0)


def _lives(before: Replied, one: Replied, lifetime: float) -> bool:
    """Whether what the last request left is still there: what was read says so, or the clock does."""
    if one.model != before.model:
        return False
    both = ((before.asked, one.asked), (before.answered, one.answered))
    gaps = [later - earlier for earlier, later in both if earlier is not None and later is not None]
    return one.usage.cache_read > 0 or max(gaps, default=0.0) <= lifetime


def _tells(replies: Sequence[Replied]) -> bool:
    return any(one.usage.cache_read or one.usage.cache_write for one in replies)


def _sum(usages: Iterable[Usage]) -> Usage:
    found = list(usages)
    return Usage(**{name: sum(getattr(one, name) for one in found) for name in Usage.__struct_fields__})
