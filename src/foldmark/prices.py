"""What tokens cost, as ratios of the plain input price. Knows nothing of sessions.

No constant of the library holds a vendor's price: a `Price` is given in the policy. (A dated table of models
comes with the model-made summaries.)
"""

from __future__ import annotations

from math import sqrt

import msgspec


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Prices of one model, each a multiple of its plain input price (so `read=0.1` is a tenth of it)."""

    read: float
    """A token read from the cache."""
    write: float = 1.0
    """A token that is not in the cache (written to it where the provider charges for that)."""
    output: float = 5.0
    """A token of the answer."""
    cache_seconds: float = 300.0
    """How long an unused prefix stays in the cache."""
    minimum_prefix: int = 1_024
    """The smallest prefix in tokens that is cached."""
    dollars_per_million: float | None = None
    """The plain input price, only to show amounts of money."""
    as_of: str = ""
    """When and where the numbers were read."""


def swing(prices: Price, *, landing: int, static: int, growth: float) -> float:
    """Tokens that a request grows above its `landing` until the rent rule compacts it: X - Y = sqrt(2 g K / r)
    (docs/explanation/when.md), with K = (w - r) Y + r (Y + h) the cost of a compaction of a warm cache.

    `landing` Y is above the `static` prefix h; `growth` g is tokens a request. `prices.read` must not be 0.
    """
    cost = (prices.write - prices.read) * landing + prices.read * (landing + static)
    return sqrt(2 * growth * cost / prices.read)
