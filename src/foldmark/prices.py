"""What tokens cost: the prices of a model, a dated table of them, and bills. Knows nothing of sessions.

No constant of the library holds a vendor's price: a `Price` is given in the policy, or looked up by the model's name
in a `PriceTable` that has a date and a source for every row (`prices.toml` beside this file, yours over it).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from math import ceil, sqrt
from typing import Any

import msgspec

from foldmark.errors import PolicyError
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


def swing(prices: Price, *, landing: int, static: int, growth: float) -> float:
    """Tokens that a request grows above its `landing` until the rent rule compacts it: X - Y = sqrt(2 g K / r)
    (docs/explanation/when.md), with K = (w - r) Y + r (Y + h) the cost of a compaction of a warm cache.

    `landing` Y is above the `static` prefix h; `growth` g is tokens a request. `prices.read` must not be 0.
    """
    cost = (prices.write - prices.read) * landing + prices.read * (landing + static)
    return sqrt(2 * growth * cost / prices.read)


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
        return ceil(self.cost / self.saving) if self.saving > 0 else None

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
        if self.saving < 0:
            return f"{cost}, and each one after it is dearer by {self.show(-self.saving)}."
        after = self.pays_after
        when = (
            "nothing pays it back" if after is None else f"paid back after {after:,} requests" if after else "at once"
        )
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


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of one model as a vendor lists them, in US dollars per million tokens."""

    model: str
    """The model's name, as requests spell it."""
    input: float
    """Plain input."""
    read: float
    """Input read from the cache."""
    output: float
    """Output."""
    writes: tuple[tuple[float, float], ...] = ()
    """(price of a token written to the cache, seconds it stays there unused), the usual one first. None: plain input,
    for 300 seconds."""
    minimum_prefix: int = 1_024
    """The smallest prefix in tokens that is cached."""
    long_from: int | None = None
    """Above so many input tokens the whole request is dearer."""
    long_input: float = 1.0
    """By how much for input and cache."""
    long_output: float = 1.0
    """By how much for output."""
    also: tuple[str, ...] = ()
    """Other names of the same model."""
    as_of: str = ""
    """The day the numbers were read."""
    source: str = ""
    """Where they were read."""
    note: str = ""
    """What is doubtful about them."""

    def __post_init__(self) -> None:
        amounts = (self.input, self.read, self.output, *(write for write, _ in self.writes))
        if not self.model or self.input <= 0 or min(amounts) < 0:
            raise PolicyError(f"The prices of model {self.model!r} need a name, an input above 0 and nothing below 0.")

    def price(self, lifetime: float = 0.0) -> Price:
        """As a `Price`, with the first cache that holds an unused prefix for `lifetime` seconds (else the longest)."""
        offers = self.writes or ((self.input, 300.0),)
        write, seconds = next((one for one in offers if one[1] >= lifetime), max(offers, key=lambda one: one[1]))
        return Price(
            read=self.read / self.input,
            write=write / self.input,
            output=self.output / self.input,
            cache_seconds=seconds,
            minimum_prefix=self.minimum_prefix,
            long_from=self.long_from,
            long_input=self.long_input,
            long_output=self.long_output,
            dollars_per_million=self.input,
            model=self.model,
            as_of=", ".join(part for part in (self.as_of, self.source) if part),
        )


class PriceTable:
    """Rows of prices by model, with a date. Immutable; `replace` puts other rows over these."""

    def __init__(self, rows: Iterable[Row] = (), as_of: str = "", *, text: Callable[[], str] | None = None) -> None:
        """From rows, or from TOML `text` that is read when the first price is asked for."""
        self._given, self._as_of, self._text = tuple(rows), as_of, text

    @staticmethod
    def from_toml(text: str) -> PriceTable:
        """Read `as_of = "2026-11-30"` and `[[model]]` rows (fields of `Row`). Raises PolicyError that names the row."""
        return PriceTable(*_parsed(text))

    @cached_property
    def _read(self) -> tuple[tuple[Row, ...], str]:
        return _parsed(self._text()) if self._text else (self._given, self._as_of)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._read[0]

    @property
    def as_of(self) -> str:
        return self._read[1]

    def replace(self, other: PriceTable | Iterable[Row]) -> PriceTable:
        """This table with the rows of another over it: a row of the other takes the place of every name it has."""
        new = other if isinstance(other, PriceTable) else PriceTable(other)
        taken = {_plain(name) for row in new.rows for name in (row.model, *row.also)}
        kept = (_without(row, taken) for row in self.rows)
        return PriceTable((*new.rows, *(row for row in kept if row)), new.as_of or self.as_of)

    @cached_property
    def _names(self) -> dict[str, Row]:
        found: dict[str, Row] = {}
        for row in self.rows:
            for name in (row.model, *row.also):
                found.setdefault(_plain(name), msgspec.structs.replace(row, model=name, also=()))
        return found

    def find(self, model: str) -> Row | None:
        """The row of a model. Its exact name first; then without the name of who serves it, and with nothing behind it
        but a date, a version of the same model, or a mode that costs the same. None: unknown."""
        exact = self._names.get(_plain(model))
        if exact or not (name := _served(model)):
            return exact
        fitting = [known for known in self._names if name.startswith(known) and _SAME.fullmatch(name, len(known))]
        return self._names[max(fitting, key=len)] if fitting else None

    def near(self, model: str) -> tuple[str, ...]:
        """Known names that look like an unknown one."""
        return tuple(get_close_matches(_served(model) or _plain(model), self._names, 3, 0.7))


TABLE = PriceTable(text=lambda: files("foldmark").joinpath("prices.toml").read_text("utf-8"))
"""The table that comes with the library, read when it is first asked. Each row says when and where it was read."""


def price_of(model: str, table: PriceTable | None = None, *, lifetime: float = 0.0) -> Price | None:
    """The price of a model by its name, or None when the table does not know it: never a guess by likeness.

    `lifetime` asks for a cache that holds an unused prefix for so many seconds, where the provider sells several.
    """
    row = (TABLE if table is None else table).find(model)
    return row.price(lifetime) if row else None


_HOSTS = frozenset({
    *("anthropic", "openai", "google", "gemini", "deepseek", "models", "publishers"),
    *("bedrock", "vertex", "vertex_ai", "vertex-ai", "azure", "openrouter", "litellm", "vercel", "github"),
})  # fmt: skip
"""Names before a slash that say who serves a model at the vendor's own prices (or so near that the ratios hold)."""
_BEDROCK = re.compile(r"(?:(?:us|eu|apac|jp|au|global|us-gov)\.)?(?:anthropic|openai|deepseek|google)\.")
_SAME = re.compile(
    r"(?:-latest|-preview|-exp|@\d{8}|@default|-\d{8}|-\d{4}(?:-\d{2}-\d{2})?|-\d{2}-\d{2}(?:\d{2})?|-\d{2}-\d{4}"
    r"|-00\d|-v\d+(?::\d+)?|:thinking|:beta|\[1m\])*"
)
"""What may stand behind a model's name without making it another one. A size (`-mini`), a version (`-5`, `.1`) or an
unknown word (`-fast`, `:free`) does."""


def _plain(name: str) -> str:
    """A name to compare by: lower case, and a dash where some write a dot (`claude-opus-4.5`)."""
    return name.strip().lower().replace(".", "-")


def _served(model: str) -> str:
    """The plain name of a model without who serves it; empty when an unknown host does, whose prices are its own."""
    *hosts, name = model.strip().lower().split("/")
    if any(host not in _HOSTS for host in hosts):
        return ""
    return _plain(_BEDROCK.sub("", name, count=1) if _BEDROCK.match(name) else name)


def _without(row: Row, taken: set[str]) -> Row | None:
    names = [name for name in (row.model, *row.also) if _plain(name) not in taken]
    return msgspec.structs.replace(row, model=names[0], also=tuple(names[1:])) if names else None


def _parsed(text: str) -> tuple[tuple[Row, ...], str]:
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"The price table is not TOML: {error}.") from error
    if unknown := sorted(data.keys() - {"as_of", "model"}):
        raise PolicyError(f"The price table has {unknown[0]!r}; it takes as_of and [[model]] rows.")
    given = data.get("model", [])
    if not isinstance(given, list):
        raise PolicyError("A price table has rows [[model]], with two brackets.")
    return tuple(_row(one) for one in given), str(data.get("as_of", ""))


def _row(given: Any) -> Row:
    name = given.get("model", "without a name") if isinstance(given, dict) else given
    try:
        return msgspec.convert(given, Row)
    except msgspec.ValidationError as error:
        raise PolicyError(f"The price row of {name}: {error}.") from error
