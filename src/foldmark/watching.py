"""Whether the provider's cache held what it should have: misses by cause, read off the reported usage. Pure.

A request goes on from the last one, so nearly all of that should be read from the cache. Where much less was read, the
rest was paid in full: after a `pause` longer than the cache lives, behind a `changed prefix` (an epoch, a compaction,
other system text or tools, another model), or for a reason that we do not see (`unknown`). In two logs with real usage
42 of 50 misses were of the last kind and one bill was 77% above what its clock explains: worth a look at what else
writes into the prefix. Knows nothing of requests or stores' insides.
"""

from __future__ import annotations

import msgspec

from foldmark.events import Usage
from foldmark.prices import Price, dollars
from foldmark.store import Awaited, Frame, Miss, ScopeState, meter_name

PAUSE, CHANGED, UNKNOWN = "pause", "changed prefix", "unknown"

READ_SHARE = 0.6
"""Less than this share of what should be there is a miss. Providers read in steps of 128 tokens and up to the last
cache mark, which may stand in front of one large result: that alone is none."""

LIFETIME_SECONDS, MINIMUM_PREFIX = 300.0, 1_024
"""Without prices: the shortest lifetime and the usual smallest prefix on sale."""

_METERS_KEPT = 6


def awaited(before: ScopeState, frame: Frame, *, size: int, now: float, epoch: str, prices: Price | None) -> Awaited:
    """What the cache should hold of a request of `size` tokens (our count) that was built at `now`. `before` is the
    scope's state from before it; `epoch` why its prefix does not go on from the last one's (`Report.epoch`)."""
    if not before.last_time or not before.last_size or before.frame is None:
        return Awaited(size=size)
    lifetime = prices.cache_seconds if prices else LIFETIME_SECONDS
    other = (frame.wire, frame.model) != (before.frame.wire, before.frame.model)
    changed = CHANGED if epoch or other or frame.static_hash != before.frame.static_hash else ""
    cause = PAUSE if now - before.last_time > lifetime else changed
    return Awaited(min(before.last_size, size), size, cause)


def miss(state: ScopeState, usage: Usage, prices: Price | None = None) -> tuple[str, int] | None:
    """(cause, tokens that were not read though they should have been, as the provider counts) of the last request by
    the usage of its reply; None when enough was read or nothing can be said: a small prefix, a first request, or a
    provider that never reported on its cache."""
    due = state.awaited
    if not _is_watched(state, usage, prices):
        return None
    expected = due.tokens * usage.input / due.size
    if usage.cache_read >= READ_SHARE * expected:
        return None
    return due.cause or UNKNOWN, round(expected - usage.cache_read)


def watched(state: ScopeState, usage: Usage, prices: Price | None = None) -> ScopeState:
    """The state once the reply to the last request reported its usage: one more request watched, its miss counted."""
    found, misses, counts = miss(state, usage, prices), state.misses, state.watched
    if found:
        cause, tokens = found
        old = misses.get(cause, Miss())
        misses = {**misses, cause: Miss(old.count + 1, old.tokens + tokens)}
    if _is_watched(state, usage, prices):
        meter = _meter(state)
        others = {name: count for name, count in counts.items() if name != meter}
        counts = dict(list({**others, meter: counts.get(meter, 0) + 1}.items())[-_METERS_KEPT:])
    return msgspec.structs.replace(state, awaited=Awaited(), misses=misses, watched=counts)


def misses_text(state: ScopeState, prices: Price | None = None) -> str:
    """The misses so far with what they cost, as a sentence for reports; empty when there were none."""
    if not state.misses:
        return ""
    tokens = sum(one.tokens for one in state.misses.values())
    causes = ", ".join(f"{cause} {one.count:,}" for cause, one in sorted(state.misses.items()))
    text = (
        f"{sum(one.count for one in state.misses.values()):,} of {sum(state.watched.values()):,} requests missed the "
        f"cache ({causes}): {tokens:,} tokens were paid in full"
    )
    if prices is None:
        return text + "."
    extra = (prices.write - prices.read) * tokens
    money = dollars(extra, prices)
    return f"{text}, {extra:,.0f} tokens of plain input{f' (${money:,.2f})' if money is not None else ''} too much."


def _is_watched(state: ScopeState, usage: Usage, prices: Price | None) -> bool:
    """Whether reads can be judged: there is a prefix large enough, and the provider tells of its cache at all (a zero
    alone says nothing)."""
    due = state.awaited
    if not due.tokens or not due.size or not usage.input:
        return False
    least = prices.minimum_prefix if prices else MINIMUM_PREFIX
    last = state.last_usage or Usage()
    tells = (
        usage.cache_read or usage.cache_write or last.cache_read or last.cache_write or state.watched.get(_meter(state))
    )
    return bool(tells) and due.tokens * usage.input / due.size >= least


def _meter(state: ScopeState) -> str:
    wire, model = (state.frame.wire, state.frame.model) if state.frame else ("", "")
    return meter_name(wire, model or state.model)
