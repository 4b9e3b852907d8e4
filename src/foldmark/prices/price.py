"""The prices of one model, and what a request or a call costs by them. Knows nothing of models' names or of sessions.

Amounts are in plain input tokens of the model, so that no currency and no vendor stands in the arithmetic.
"""

from __future__ import annotations

from math import sqrt

import msgspec

from foldmark.events import Usage


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
    long_from: int | None = None
    """Above so many input tokens the whole request is dearer. None: it never is."""
    long_input: float = 1.0
    """What all input and cache prices are multiplied with then."""
    long_output: float = 1.0
    """What the output price is multiplied with then."""
    dollars_per_million: float | None = None
    """The plain input price, only to show amounts of money."""
    model: str = ""
    """Whose prices these are."""
    as_of: str = ""
    """When and where the numbers were read."""

    def steps(self, size: int) -> tuple[float, float]:
        """(multiple of the input prices, multiple of the output price) for a request of `size` input tokens."""
        if self.long_from is None or size <= self.long_from:
            return 1.0, 1.0
        return self.long_input, self.long_output


def prompt_cost(price: Price, size: int, alive: int = 0) -> float:
    """What a request of `size` input tokens costs of which `alive` are in the cache, in plain input tokens.

    A prefix below the provider's minimum is not cached, whatever `alive` says.
    """
    read = min(alive, size) if alive >= price.minimum_prefix else 0
    return price.steps(size)[0] * (price.read * read + price.write * (size - read))


def bill(usage: Usage, price: Price) -> float:
    """What a call cost by the usage it reported, in plain input tokens. `usage.input` is the whole prompt.

    Tokens neither read from the cache nor written to it cost the plain price.
    """
    read = min(usage.cache_read, usage.input)
    written = min(usage.cache_write, usage.input - read)
    whole, answer = price.steps(usage.input)
    prompt = price.read * read + price.write * written + (usage.input - read - written)
    return whole * prompt + answer * price.output * usage.output


def dollars(units: float, price: Price) -> float | None:
    """An amount in plain input tokens as US dollars; None when the plain price is not known."""
    return None if price.dollars_per_million is None else units * price.dollars_per_million / 1e6


def swing(prices: Price, *, landing: int, growth: float) -> float:
    """Tokens that a request grows above its `landing` until the rent rule compacts it by code: X - Y = sqrt(2 g K / r)
    (docs/explanation/when.md), with K = (w - r) Y, what writing the landing anew costs over reading it.

    `landing` Y is above the static prefix; `growth` g is tokens a request. `prices.read` must not be 0. True to half of
    g with a warm cache.
    """
    cost = max(0.0, prices.write - prices.read) * landing
    return sqrt(2 * growth * cost / prices.read)
