"""What a compaction costs and what it saves, as one value for reports. Knows nothing of how it was made."""

from __future__ import annotations

from math import ceil, inf, isfinite

import msgspec

from foldmark.prices.price import Price, dollars, prompt_cost


class Money(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction costs and what it saves. Amounts are plain input tokens of `price`.

    `call` is what the summary calls cost (0 by code). `rewrite` is what the next request costs more than it would have
    without the compaction; below 0 when it is cheaper. `saving` is what each request after that one is cheaper by, read
    from a warm cache; below 0 when the compaction made requests larger.
    """

    price: Price
    call: float = 0.0
    rewrite: float = 0.0
    saving: float = 0.0

    @property
    def cost(self) -> float:
        return self.call + self.rewrite

    @property
    def is_loss(self) -> bool:
        """Whether no number of requests pays it back, or each one adds to the loss."""
        return self.pays_after is None

    @property
    def pays_after(self) -> int | None:
        """After how many further requests the saving has paid the cost; None when it never does."""
        if self.cost <= 0:
            return 0 if self.saving >= 0 else None
        requests = self.cost / self.saving if self.saving > 0 else inf
        return ceil(requests) if isfinite(requests) else None

    def show(self, units: float) -> str:
        """An amount as dollars where the plain price is known, else as tokens."""
        amount = dollars(units, self.price)
        if amount is None:
            return f"{units:,.0f} tokens of plain input"
        return f"{'-' if amount < 0 else ''}${abs(amount):,.4f}"

    @property
    def text(self) -> str:
        """One sentence for reports; says so when there is nothing to save."""
        called = f", {self.show(self.call)} of it for the summary" if self.call else ""
        cost = f"It cost {self.show(self.cost)}{called}"
        if self.cost < 0:
            cost = f"The next request is cheaper by {self.show(-self.cost)}"
        elif self.rewrite < 0:
            spared = self.show(-self.rewrite)
            cost = f"It cost {self.show(self.call)} for the summary, of which the next request spares {spared}"
        if self.saving < 0:
            return f"{cost}, and each one after it is dearer by {self.show(-self.saving)}."
        after = self.pays_after
        when = "at once"
        if after != 0:
            plural = "" if after == 1 else "s"
            when = "nothing pays it back" if after is None else f"paid back after {after:,} request{plural}"
        return f"{cost}; each request is cheaper by {self.show(self.saving)}: {when}."


def money(
    price: Price, *, before: int, after: int, static: int = 0, alive: int | None = None, call: float = 0.0
) -> Money:
    """The money of a compaction that makes a request of `before` tokens one of `after`, both with the `static` prefix.

    `alive` is the part of the large request that the cache held (None: all of it, 0: a cold cache); the static prefix
    stays alive with it. `call` is what the summary calls cost (`bill` of their usage at their own price, in tokens of
    this one).
    """
    held = before if alive is None else alive
    kept = min(static, after) if held else 0
    return Money(
        price=price,
        call=call,
        rewrite=prompt_cost(price, after, kept) - prompt_cost(price, before, held),
        saving=prompt_cost(price, before, before) - prompt_cost(price, after, after),
    )
